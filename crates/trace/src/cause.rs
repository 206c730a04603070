//! The error of a line or record, before its place is known.

use std::path::Path;

use crate::error::{Place, TraceError, quoted};
use crate::request::{LONGEST_REQUEST, Op, Request};

/// A [`TraceError`] without file and place.
#[derive(Debug)]
pub(crate) enum Cause {
    Bad(String),
    LongRequest { length: u64 },
    FarRequest { offset: u64, length: u64, page_size: u32 },
    ManyVolumes { limit: usize },
}

impl Cause {
    pub(crate) fn bad(cause: String) -> Cause {
        Cause::Bad(cause)
    }

    /// The error for a field that should be a number.
    pub(crate) fn not_a_number(what: &str, field: &[u8]) -> Cause {
        if field.is_empty() {
            return Cause::Bad(format!("{what} is missing"));
        }
        if field.iter().all(u8::is_ascii_digit) {
            return Cause::too_large(what, field);
        }
        Cause::Bad(format!("{what} {} is not a number", quoted(field)))
    }

    /// The error for a number that does not fit into 64 bits in the unit needed.
    pub(crate) fn too_large(what: &str, field: &[u8]) -> Cause {
        Cause::Bad(format!("{what} {} is too large", quoted(field)))
    }

    pub(crate) fn at(self, file: &Path, place: Place) -> TraceError {
        let file = file.to_owned();
        match self {
            Cause::Bad(cause) => TraceError::Bad { file, place, cause },
            Cause::LongRequest { length } => {
                TraceError::LongRequest { file, place, length, limit: LONGEST_REQUEST }
            }
            Cause::FarRequest { offset, length, page_size } => {
                TraceError::FarRequest { file, place, offset, length, page_size }
            }
            Cause::ManyVolumes { limit } => TraceError::ManyVolumes { file, place, limit },
        }
    }
}

/// The bounds of requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    page_size: u32,
}

impl Bounds {
    /// Refuses page sizes that are not a power of two from 512 bytes up.
    pub(crate) fn new(page_size: u32) -> Result<Bounds, TraceError> {
        if page_size < 512 || !page_size.is_power_of_two() {
            return Err(TraceError::PageSize { bytes: page_size });
        }
        Ok(Bounds { page_size })
    }

    /// Bytes in a page.
    pub(crate) fn page_size(self) -> u32 {
        self.page_size
    }

    /// The first byte that no LBA reaches.
    fn end(self) -> u64 {
        u64::from(self.page_size) << 32
    }

    /// True if a request is neither too long nor too far.
    #[inline]
    pub(crate) fn holds(self, request: &Request) -> bool {
        let end = request.offset.checked_add(request.length);
        let short = request.length <= LONGEST_REQUEST || request.op == Op::Trim;
        short && end.is_some_and(|end| end <= self.end())
    }

    /// [`Bounds::holds`] with the reason why not.
    pub(crate) fn check(self, request: &Request) -> Result<(), Cause> {
        if self.holds(request) {
            return Ok(());
        }
        let Request { offset, length, .. } = *request;
        if length > LONGEST_REQUEST && request.op != Op::Trim {
            return Err(Cause::LongRequest { length });
        }
        Err(Cause::FarRequest { offset, length, page_size: self.page_size })
    }
}
