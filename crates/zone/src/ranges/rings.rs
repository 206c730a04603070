//! Writes through io_uring, which can say which write stream they belong to; system calls can't.
//! `docs/decisions/0007-io-uring.md` says why all else is system calls.

#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::fd::AsRawFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use io_uring::squeue::Entry;
use io_uring::{IoUring, opcode, types};

use crate::positional::MOST_PARTS;

/// Queues of one request each. A thread that writes takes one, so writes go on side by side.
pub(super) struct Rings(Mutex<Vec<IoUring>>);

impl Rings {
    /// # Errors
    /// The system has no io_uring, or refuses it.
    pub(super) fn new() -> io::Result<Rings> {
        Ok(Rings(Mutex::new(vec![IoUring::new(1)?])))
    }

    fn idle(&self) -> MutexGuard<'_, Vec<IoUring>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a beginning of the parts in a stream; returns its length in bytes.
    pub(super) fn write(
        &self,
        file: &File,
        parts: &[IoSlice<'_>],
        at: u64,
        stream: u8,
    ) -> io::Result<usize> {
        let idle = self.idle().pop();
        let mut ring = match idle {
            Some(ring) => ring,
            None => IoUring::new(1)?,
        };
        let entry = entry(file, parts, at, stream);
        assert!(
            ring.submission().is_empty() && ring.completion().is_empty(),
            "an idle ring has no request under way"
        );
        // SAFETY: file and parts live until the request is completed, which is awaited below.
        let pushed = unsafe { ring.submission().push(&entry) };
        pushed.map_err(|_| io::Error::other("the queue of io_uring is full"))?;
        // If this fails, the system has not taken the request, and the ring is dropped with it.
        ring.submit()?;
        let done = loop {
            if let Some(done) = ring.completion().next() {
                break done.result();
            }
            // It may be interrupted; what was taken is completed nevertheless.
            if ring.submit_and_wait(1).is_err() {
                thread::yield_now();
            }
        };
        self.idle().push(ring);
        usize::try_from(done).map_err(|_| io::Error::from_raw_os_error(-done))
    }
}

fn entry(file: &File, parts: &[IoSlice<'_>], at: u64, stream: u8) -> Entry {
    const { assert!(size_of::<IoSlice<'_>>() == 2 * size_of::<usize>()) };
    assert!(parts.len() <= MOST_PARTS, "the system takes so many parts at once");
    // `IoSlice` has the layout of the system's `iovec`.
    let request =
        opcode::Writev::new(types::Fd(file.as_raw_fd()), parts.as_ptr().cast(), parts.len() as u32);
    request.offset(at).write_stream(stream).build()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn a_request_says_its_stream_where_the_kernel_reads_it() {
        let file = tempfile::tempfile().unwrap();
        let entry = entry(&file, &[IoSlice::new(b"one"), IoSlice::new(b"two")], 8192, 7);
        assert_eq!(size_of::<Entry>(), 64);
        // SAFETY: an entry has this size, and all of its bytes are set.
        let bytes: [u8; 64] = unsafe { std::mem::transmute(entry) };
        // IORING_OP_WRITEV, its offset and number of parts, and `write_stream` of `io_uring_sqe`.
        let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!((bytes[0], number(8), number(24)), (2, 8192, 2));
        assert_eq!(bytes[44..48], [7, 0, 0, 0]);
    }

    #[test]
    fn parts_are_written_one_behind_the_other() {
        let Ok(rings) = Rings::new() else {
            eprintln!("not run: io_uring is refused here");
            return;
        };
        let file = tempfile::tempfile().unwrap();
        thread::scope(|scope| {
            for n in 0..4u8 {
                let (rings, file) = (&rings, &file);
                scope.spawn(move || {
                    let (one, two) = ([n; 3], [n + 10; 5]);
                    let parts = [IoSlice::new(&one), IoSlice::new(&two)];
                    assert_eq!(rings.write(file, &parts, 8 * u64::from(n), 0).unwrap(), 8);
                });
            }
        });
        let mut bytes = [0; 32];
        file.read_exact_at(&mut bytes, 0).unwrap();
        for n in 0..4u8 {
            let (at, other) = (8 * usize::from(n), n + 10);
            assert_eq!(bytes[at..at + 8], [n, n, n, other, other, other, other, other]);
        }
        let unwritable = File::open("/dev/null").unwrap();
        let refused = rings.write(&unwritable, &[IoSlice::new(b"x")], 0, 0).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(9));
    }
}
