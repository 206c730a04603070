//! The memories of a scheme that stands around another and of the one within, as one.

use crate::LARGEST_MEMORY;

/// The beginning of two memories; the length of the first follows. No memory of a recogniser begins
/// like this, for they begin with a version.
const TWO: u32 = u32::MAX;

/// The memory of a recogniser and that of the scheme within. If the scheme has none it is the
/// recogniser's alone, in the form in which it always was. What the scheme within has learned is left
/// out if both don't fit into [`LARGEST_MEMORY`].
pub fn join(judge: Vec<u8>, within: &[u8]) -> Vec<u8> {
    if within.is_empty() || 8 + judge.len() + within.len() > LARGEST_MEMORY {
        return judge;
    }
    let head = [TWO, judge.len() as u32].map(u32::to_le_bytes);
    [head.as_flattened(), &judge, within].concat()
}

/// Parts what [`join`] joined; nothing of bytes that it did not make so.
pub fn split(memory: &[u8]) -> (&[u8], &[u8]) {
    let Some(rest) = memory.strip_prefix(&TWO.to_le_bytes()) else { return (memory, &[]) };
    let parts = rest
        .split_first_chunk()
        .and_then(|(length, both)| both.split_at_checked(u32::from_le_bytes(*length) as usize));
    parts.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_memories_are_parted_as_they_were_joined() {
        for (judge, within) in [(&b"12345"[..], &b"abc"[..]), (b"", b"abc"), (b"12345", b"")] {
            assert_eq!(split(&join(judge.to_vec(), within)), (judge, within));
        }
    }

    #[test]
    fn a_recogniser_s_memory_alone_keeps_the_form_that_older_stores_hold() {
        assert_eq!(join(b"12345".to_vec(), b""), b"12345");
        assert_eq!(split(b"12345"), (&b"12345"[..], &b""[..]));
    }

    #[test]
    fn two_memories_stay_within_the_bound() {
        let judge = vec![1; LARGEST_MEMORY - 18];
        assert_eq!(join(judge.clone(), &[7; 10]).len(), LARGEST_MEMORY);
        assert_eq!(join(judge.clone(), &[7; 11]), judge);
    }

    #[test]
    fn what_looks_like_two_memories_and_is_not_gives_none() {
        let two = join(b"12345".to_vec(), b"abc");
        (4..13).for_each(|cut| assert_eq!(split(&two[..cut]), (&b""[..], &b""[..]), "{cut}"));
        (13..16).for_each(|cut| assert_eq!(split(&two[..cut]).0, b"12345"));
    }
}
