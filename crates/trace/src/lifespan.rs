//! The lifespan of each write: user writes from it to the next write of its page, or to its trim,
//! whichever comes first.

use frostline_placement::NEVER;

use crate::bits::Bits;
use crate::trim::{Trim, stretches};
use crate::word::FINAL;

/// The lifespan of each write, in user writes; [`NEVER`] if its page is valid at the end. A trim
/// takes no time: a version that is trimmed before anything else is written has the lifespan 0.
///
/// `words` are fewer than 2^32 - 1 LBAs below `space`, with or without [`FINAL`]; `trims` are of
/// pages below `space`, in order. One backward pass over a table of four bytes a page.
///
/// # Panics
/// If an LBA is not below `space`.
pub fn lifespans(words: &[u32], trims: &[Trim], space: u32) -> Vec<u32> {
    // A position is stored as its distance from the end of the trace, plus one. So the table starts
    // as zeroes, which the operating system provides without touching them.
    let mut next = vec![0u32; space as usize];
    let mut lifespans = vec![NEVER; words.len()];
    assert!(words.len() < NEVER as usize, "no lifespan is as long as never");
    for (stretch, trim) in stretches(words.len(), trims).rev() {
        if let Some(trim) = trim {
            // The lifespan is as if the page were written in place of the write before the trim.
            next[trim.indices()].fill((words.len() - trim.at) as u32 + 1);
        }
        let mut here = (words.len() - stretch.end) as u32;
        let writes = words[stretch.clone()].iter().zip(&mut lifespans[stretch]);
        for (&word, lifespan) in writes.rev() {
            here += 1;
            let there = std::mem::replace(&mut next[(word & !FINAL) as usize], here);
            if there != 0 {
                debug_assert!(there <= here, "a version ends after it began");
                *lifespan = here - there;
            }
        }
    }
    lifespans
}

/// The versions of an LBA: they lived from `first` to `last` without a gap.
#[derive(Clone, Copy, Default)]
struct VersionSpan {
    first: u32,
    last: u32,
    /// The number of versions that ended, plus one.
    ends: u32,
}

/// The mean lifespan of each LBA's writes over the whole trace, in user writes; versions that live
/// for ever do not count.
///
/// An LBA first written at `f`, last at `l`, `k` times in all, and never trimmed, has `(l - f) / (k
/// - 1)`; an LBA of which no version ends has infinity. `words` and `trims` are as for
/// [`lifespans`].
///
/// # Panics
/// If an LBA is not below `space`.
pub fn mean_lifespans(words: &[u32], trims: &[Trim], space: u32) -> Vec<f32> {
    let mut pages = vec![VersionSpan::default(); space as usize];
    // Without trims this takes no memory.
    let mut trimmed = Bits::zeros(if trims.is_empty() { 0 } else { space as usize });
    for (stretch, trim) in stretches(words.len(), trims) {
        for (i, &word) in stretch.clone().zip(&words[stretch]) {
            let lba = (word & !FINAL) as usize;
            let page = &mut pages[lba];
            if trimmed.get(lba) {
                // The time in which the page did not exist does not count.
                page.first += i as u32 - page.last;
                trimmed.set(lba, false);
            } else {
                page.first = if page.ends == 0 { i as u32 } else { page.first };
                page.ends += 1;
            }
            page.last = i as u32;
        }
        for lba in trim.into_iter().flat_map(|trim| trim.indices()) {
            let page = &mut pages[lba];
            if page.ends > 0 && !trimmed.insert(lba) {
                page.ends += 1;
                page.last = trim.map_or(0, |trim| trim.at as u32 - 1);
            }
        }
    }
    let mean = |page: &VersionSpan| match page.ends {
        0 | 1 => f32::INFINITY,
        // In `f64`, because `f32` can't hold differences of positions above 2^24.
        k => (f64::from(page.last - page.first) / f64::from(k - 1)) as f32,
    };
    pages.iter().map(mean).collect()
}
