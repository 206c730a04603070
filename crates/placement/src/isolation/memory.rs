//! One memory for an isolating scheme: its recogniser's and its inner scheme's.

use crate::LARGEST_MEMORY;

/// Marks a memory of two parts; the length of the first part follows. A recogniser's memory begins
/// with its version, which never has this value.
const TWO: u32 = u32::MAX;

/// Joins the memories of a recogniser and of the inner scheme. Without an inner memory the result
/// is the recogniser's alone. The inner memory is left out if both don't fit into
/// [`LARGEST_MEMORY`].
pub(super) fn join(recogniser: Vec<u8>, inner: &[u8]) -> Vec<u8> {
    if inner.is_empty() || 8 + recogniser.len() + inner.len() > LARGEST_MEMORY {
        return recogniser;
    }
    let head = [TWO, recogniser.len() as u32].map(u32::to_le_bytes);
    [head.as_flattened(), &recogniser, inner].concat()
}

/// Splits a memory that [`join`] made; damaged bytes give two empty memories.
pub(super) fn split(memory: &[u8]) -> (&[u8], &[u8]) {
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
        for (recogniser, inner) in [(&b"12345"[..], &b"abc"[..]), (b"", b"abc"), (b"12345", b"")] {
            assert_eq!(split(&join(recogniser.to_vec(), inner)), (recogniser, inner));
        }
    }

    #[test]
    fn a_recogniser_s_memory_alone_is_kept_as_it_is() {
        assert_eq!(join(b"12345".to_vec(), b""), b"12345");
        assert_eq!(split(b"12345"), (&b"12345"[..], &b""[..]));
    }

    #[test]
    fn two_memories_stay_within_the_bound() {
        let recogniser = vec![1; LARGEST_MEMORY - 18];
        assert_eq!(join(recogniser.clone(), &[7; 10]).len(), LARGEST_MEMORY);
        assert_eq!(join(recogniser.clone(), &[7; 11]), recogniser);
    }

    #[test]
    fn what_looks_like_two_memories_and_is_not_gives_none() {
        let two = join(b"12345".to_vec(), b"abc");
        (4..13).for_each(|cut| assert_eq!(split(&two[..cut]), (&b""[..], &b""[..]), "{cut}"));
        (13..16).for_each(|cut| assert_eq!(split(&two[..cut]).0, b"12345"));
    }
}
