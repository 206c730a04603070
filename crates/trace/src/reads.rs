//! Reads: requests at a place between the writes of a volume.
//!
//! Only schemes that go by reads as well as by writes need them, so they have a list of their own.

/// A read request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Read {
    /// The number of the volume's page writes before it.
    pub at: usize,
    /// The first page's LBA.
    pub first: u32,
    /// Pages that it overlaps.
    pub pages: u32,
}

/// Renumbers the pages of reads, given the new position of each boundary between pages. A read none
/// of whose pages remain has 0 pages then.
pub(crate) fn renumber(reads: &mut [Read], boundary: impl Fn(u64) -> u64) {
    for read in reads {
        let first = u64::from(read.first);
        let (from, to) = (boundary(first), boundary(first + u64::from(read.pages)));
        assert!(from <= to && to - from <= u64::from(read.pages), "boundaries keep their order");
        (read.first, read.pages) = (from.min(u64::from(u32::MAX)) as u32, (to - from) as u32);
    }
}
