//! Decimal numbers from text: eight digits at a time where speed matters, else one by one.

use crate::cause::Cause;

/// The number of bytes past a number that [`number_at`] may look at.
pub(crate) const SLACK: usize = 24;

/// A field that is a number and nothing else; `what` names it in the error.
pub(crate) fn number(field: &[u8], what: &str) -> Result<u64, Cause> {
    let digits = |value: u64, &byte: &u8| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { value.checked_mul(10)?.checked_add(u64::from(digit)) }
    };
    if field.is_empty() {
        return Err(Cause::not_a_number(what, field));
    }
    field.iter().try_fold(0, digits).ok_or_else(|| Cause::not_a_number(what, field))
}

/// The number of 1 to 16 digits at `at`, and where it ends; `None` also if it is longer.
///
/// `text` must continue for [`SLACK`] bytes after it, otherwise the result is `None`. Numbers of
/// all lengths take the same path: lengths vary from line to line, and mispredicted branches would
/// cost most here.
#[inline(always)]
pub(crate) fn number_at(text: &[u8], at: usize) -> Option<(u64, usize)> {
    let (high, n) = eight_at(text, at)?;
    let (low, more) = eight_at(text, at + 8)?;
    let more = if n == 8 { more } else { 0 };
    if n == 0 || more == 8 && text.get(at + 16)?.is_ascii_digit() {
        return None;
    }
    Some((leading(high, n) * TEN_TO[more] + leading(low, more), at + n + more))
}

/// The number of 1 to 7 digits at `at`, and where it ends; `None` also if it is longer.
///
/// `text` must continue for [`SLACK`] bytes after it, otherwise the result is `None`.
#[inline(always)]
pub(crate) fn short_number_at(text: &[u8], at: usize) -> Option<(u64, usize)> {
    let (digits, n) = eight_at(text, at)?;
    if n == 0 || n == 8 { None } else { Some((leading(digits, n), at + n)) }
}

const TEN_TO: [u64; 9] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// The values of eight bytes as digits, and the number of digits before the first other byte.
#[inline(always)]
fn eight_at(text: &[u8], at: usize) -> Option<(u64, usize)> {
    let bytes: [u8; 8] = text.get(at..at + 8)?.try_into().ok()?;
    let digits = u64::from_le_bytes(bytes) ^ 0x3030_3030_3030_3030;
    // A byte over 9 gets its top bit set; carries only go up, past the first such byte.
    let others = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
    Some((digits, (others.trailing_zeros() / 8) as usize))
}

/// The number that the first `n` of eight digits make.
#[inline(always)]
fn leading(digits: u64, n: usize) -> u64 {
    debug_assert!(n <= 8, "eight digits at most");
    // Two shifts, because a shift by 64 is not defined.
    eight(digits << (32 - 4 * n) << (32 - 4 * n))
}

/// The number of eight digits, one a byte, the most significant in the lowest byte: pairs, then
/// fours, then all eight.
#[inline(always)]
fn eight(digits: u64) -> u64 {
    let pairs = (digits.wrapping_mul(10 << 8 | 1) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100 << 16 | 1) >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000 << 32 | 1) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length_are_read_with_their_end() {
        let digits = "1234567890123456";
        for n in 1..=16 {
            for end in [",", "\n", "\r", "/", ":", "\u{e9}", "x"] {
                let text = format!("{}{end}{}", &digits[..n], "9".repeat(SLACK));
                let value = digits[..n].parse().unwrap();
                assert_eq!(number_at(text.as_bytes(), 0), Some((value, n)), "{text}");
                let short = short_number_at(text.as_bytes(), 0);
                assert_eq!(short, (n < 8).then_some((value, n)), "{text}");
                assert_eq!(number(&text.as_bytes()[..n], "n").unwrap(), value);
            }
        }
    }

    #[test]
    fn numbers_that_are_long_or_none_are_left_to_others() {
        let text = format!("12345678901234567,{}", " ".repeat(SLACK));
        assert_eq!(number_at(text.as_bytes(), 0), None);
        assert_eq!(number_at(b"x2345678901234567890123456789", 0), None);
        assert_eq!(number_at(b"123", 0), None);
    }

    #[test]
    fn the_largest_number_is_read_and_one_more_is_not() {
        assert_eq!(number(b"18446744073709551615", "n").unwrap(), u64::MAX);
        assert!(number(b"18446744073709551616", "n").is_err());
        assert!(number(b"-1", "n").is_err());
        assert!(number(b"", "n").is_err());
    }
}
