//! Parts of a zone that are joined, so that there are few, and each byte is copied a few times
//! only.
//!
//! A part has a level by its length: below 64 KiB, below 1 MiB, below 16 MiB, and all others. A new
//! part takes in the ones before it that are of a lower level; and 16 of a level become one of the
//! next, but for the last level, whose parts stay as they are. So wherever a byte is copied again,
//! its part is of a higher level, as zones are written in blocks of 4 KiB: each byte is copied four
//! times at most. There are no more than 15 parts of each lower level.

use crate::manifest::ZonePart;

/// Parts of a level that become one of the next.
const FEW: usize = 16;

/// The lengths at which the levels above the lowest begin, in bytes.
const LEVELS: [u64; 3] = [1 << 16, 1 << 20, 1 << 24];
const _: () = assert!(LEVELS[0] < LEVELS[1] && LEVELS[1] < LEVELS[2] && FEW > 1);

/// The number of the last parts that a part of `len` bytes behind them takes in.
pub(crate) fn taken_in(parts: &[ZonePart], mut len: u64) -> usize {
    let mut left = parts;
    loop {
        let level = level(len);
        let behind = |is_taken: fn(usize, usize) -> bool| {
            left.iter().rev().take_while(|part| is_taken(self::level(part.bytes()), level)).count()
        };
        let (lower, equal) = (behind(|part, new| part < new), behind(|part, new| part == new));
        let taken = match lower {
            0 if level < LEVELS.len() && equal + 1 >= FEW => equal,
            lower => lower,
        };
        if taken == 0 {
            return parts.len() - left.len();
        }
        let (rest, joined) = left.split_at(left.len() - taken);
        len += joined.iter().map(ZonePart::bytes).sum::<u64>();
        left = rest;
    }
}

fn level(len: u64) -> usize {
    LEVELS.iter().filter(|&&least| len >= least).count()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    const BLOCK: u64 = 4096;

    /// Appends lengths one after the other, and returns the parts and how often the most copied
    /// block was copied.
    fn append(lens: impl Iterator<Item = u64>, check: impl Fn(&[ZonePart])) -> u32 {
        let (mut parts, mut copies) = (Vec::<ZonePart>::new(), HashMap::<u64, u32>::new());
        for blocks in lens {
            let to = parts.last().map_or(0, |part| part.to) + blocks * BLOCK;
            let kept = parts.len() - taken_in(&parts, blocks * BLOCK);
            parts.truncate(kept);
            let from = parts.last().map_or(0, |part| part.to);
            (from / BLOCK..to / BLOCK).for_each(|block| *copies.entry(block).or_default() += 1);
            parts.push(ZonePart { from, to, sum: 0 });
            check(&parts);
        }
        copies.into_values().max().unwrap()
    }

    fn few(parts: &[ZonePart]) {
        let large = parts.iter().filter(|part| part.bytes() >= 1 << 24).count();
        assert!(parts.len() - large <= 45, "{} parts, {large} of them large", parts.len());
    }

    #[test]
    fn no_block_is_copied_more_than_four_times_and_small_parts_are_few() {
        // Always as much, and lengths of each order in an order without a rule.
        for blocks in [1, 3, 15, 16, 100, 255, 256, 700, 4096] {
            assert!(append(std::iter::repeat_n(blocks, 9000 / blocks as usize), few) <= 4);
        }
        let mut state = 1_u64;
        let odd = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            1 + (state >> 40) % (1 << (4 * ((state >> 33) % 4)))
        });
        assert!(append(odd.take(300), few) <= 4);
    }

    #[test]
    fn a_block_a_time_is_copied_four_times_in_the_worst_case() {
        assert_eq!(append(std::iter::repeat_n(1, 4096), few), 4);
    }
}
