//! Complete reads and writes at a place in a file, also for files that bypass the page cache.
//! `docs/decisions/0007-io-uring.md` says why not io_uring.

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;

use rustix::io::pwritev;

use crate::buffer::{AlignedBuf, is_aligned};

/// The most parts that the system accepts in one call.
pub(crate) const MOST_PARTS: usize = 1024;

/// Writes all parts at `at`, one behind the other. With `aligned`, parts that are not aligned, or
/// not a multiple of `block` bytes long, are copied.
pub(crate) fn write_all(
    file: &File,
    at: u64,
    parts: &[IoSlice<'_>],
    aligned: Option<u32>,
) -> io::Result<()> {
    write_all_by(at, parts, aligned, |parts, at| Ok(pwritev(file, parts, at)?))
}

/// The same with another way to write a beginning of some parts at a place.
pub(crate) fn write_all_by(
    at: u64,
    parts: &[IoSlice<'_>],
    aligned: Option<u32>,
    write: impl Fn(&[IoSlice<'_>], u64) -> io::Result<usize>,
) -> io::Result<()> {
    let is_fit = |part: &IoSlice<'_>, block: u32| {
        is_aligned(part) && part.len().is_multiple_of(block as usize)
    };
    match aligned {
        Some(block) if !parts.iter().all(|part| is_fit(part, block)) => {
            let mut copy = AlignedBuf::zeroed(parts.iter().map(|part| part.len()).sum());
            let mut end = 0;
            for part in parts {
                copy[end..end + part.len()].copy_from_slice(part);
                end += part.len();
            }
            write_parts(at, &mut [IoSlice::new(&copy)], write)
        }
        _ => write_parts(at, &mut parts.to_vec(), write),
    }
}

fn write_parts(
    mut at: u64,
    parts: &mut [IoSlice<'_>],
    write: impl Fn(&[IoSlice<'_>], u64) -> io::Result<usize>,
) -> io::Result<()> {
    let mut rest = parts;
    IoSlice::advance_slices(&mut rest, 0);
    while !rest.is_empty() {
        match write(&rest[..rest.len().min(MOST_PARTS)], at) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                at += written as u64;
                IoSlice::advance_slices(&mut rest, written);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Fills the buffer from `offset`. With `aligned`, a buffer that is not aligned is filled through a
/// copy.
pub(crate) fn read_exact(
    file: &File,
    offset: u64,
    buffer: &mut [u8],
    aligned: Option<u32>,
) -> io::Result<()> {
    if aligned.is_none() || is_aligned(buffer) {
        return file.read_exact_at(buffer, offset);
    }
    let mut copy = AlignedBuf::zeroed(buffer.len());
    file.read_exact_at(&mut copy, offset)?;
    buffer.copy_from_slice(&copy);
    Ok(())
}
