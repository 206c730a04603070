//! Merges: images that cleaning of a page store made of pages' bases, deltas and tails.
//!
//! A page has no other content between two writes, so the length of such an image belongs to the
//! version that the page has then, whenever a replay merges it.

use std::collections::HashMap;

/// A merge in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MergeAt {
    /// The number of the volume's page writes before it.
    pub at: usize,
    /// The page's LBA.
    pub lba: u32,
    /// Bytes of the image.
    pub bytes: u16,
}

/// A merge of the version of a page that write number `write` made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VersionMerge {
    /// The number of the write.
    pub write: u32,
    /// Bytes of the image.
    pub bytes: u16,
}

/// The merges by version, in the order of versions; those of one version in their order.
pub(crate) fn of_versions(merges: &[MergeAt], lbas: &[u32]) -> Vec<VersionMerge> {
    let mut newest: HashMap<u32, Option<u32>> = merges.iter().map(|m| (m.lba, None)).collect();
    let (mut versions, mut next) = (Vec::with_capacity(merges.len()), 0);
    for &MergeAt { at, lba, bytes } in merges {
        assert!(next <= at && at <= lbas.len(), "merges are in the order of the writes");
        for (write, lba) in (next as u32..).zip(&lbas[next..at]) {
            if let Some(version) = newest.get_mut(lba) {
                *version = Some(write);
            }
        }
        next = at;
        let write = newest.get(&lba).copied().flatten();
        versions.extend(write.map(|write| VersionMerge { write, bytes }));
    }
    versions.sort_by_key(|version| version.write);
    versions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_is_of_the_last_write_of_its_page_before_it() {
        let merge = |at, lba, bytes| MergeAt { at, lba, bytes };
        let merges =
            [merge(0, 7, 1), merge(2, 7, 2), merge(4, 8, 3), merge(4, 7, 4), merge(4, 7, 5)];
        let version = |write, bytes| VersionMerge { write, bytes };
        let expected = [version(0, 2), version(1, 3), version(2, 4), version(2, 5)];
        assert_eq!(of_versions(&merges, &[7, 8, 7, 9]), expected);
    }
}
