//! One request of a trace.

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// A read; a replay shows it only to schemes that want reads.
    Read,
    /// A write.
    Write,
    /// A trim: the content is no longer needed. It affects pages that it covers whole.
    Trim,
    /// A sync of a page store, which ended its chunks. It has no pages.
    Sync,
    /// Cleaning of a page store made an image of a page's base, delta and tail.
    Merge,
}

/// A request of a trace. It is in bytes and microseconds, whatever the units of its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Microseconds on the trace's own clock.
    pub time_us: u64,
    /// First byte.
    pub offset: u64,
    /// Bytes; may be 0.
    pub length: u64,
    /// Index into [`Reader::volume_names`](crate::Reader::volume_names).
    pub volume: u32,
    /// Its operation.
    pub op: Op,
}

impl Request {
    /// The first page that the request overlaps, and the number of such pages; pages have
    /// `2^page_shift` bytes.
    ///
    /// Readers ensure that all these pages have LBAs.
    #[inline]
    pub(crate) fn extent(&self, page_shift: u32) -> (u32, u64) {
        let first = self.offset >> page_shift;
        debug_assert!(
            self.length == 0 || u32::try_from(first).is_ok(),
            "readers refuse requests beyond the last LBA"
        );
        let pages = match self.length {
            0 => 0,
            length => ((self.offset + length - 1) >> page_shift) - first + 1,
        };
        (first as u32, pages)
    }

    /// The first and the last page that the request covers whole; `None` if there is none.
    pub(crate) fn whole_pages(&self, page_shift: u32) -> Option<(u32, u32)> {
        let first = self.offset.div_ceil(1 << page_shift);
        let end = (self.offset + self.length) >> page_shift;
        (first < end).then(|| (first as u32, (end - 1) as u32))
    }
}

/// The longest accepted request, in bytes: 4 GiB.
///
/// No block device takes requests nearly as long, and without a limit a line of forty bytes could
/// ask for gigabytes of page writes. Trims are exempt: whole devices are trimmed at once.
pub const LONGEST_REQUEST: u64 = 1 << 32;
