//! Reads of several places side by side, past the page cache: the drive has all requests at once,
//! and the caller waits for the slowest of them. `docs/decisions/0007-io-uring.md` says why all
//! else is system calls.

use std::fs::File;
use std::io;

use crate::positional;

/// A place in a file, and the buffer that it is read to.
pub(crate) struct FileRead<'a> {
    pub file: &'a File,
    pub at: u64,
    pub buffer: &'a mut [u8],
}

/// Fills all buffers; on an error, says which could not be filled. With `aligned` the files bypass
/// the page cache. Where requests can't be handed over together, they follow each other.
pub(crate) fn read_all(
    reads: &mut [FileRead<'_>],
    aligned: Option<u32>,
) -> Result<(), (usize, io::Error)> {
    #[cfg(target_os = "linux")]
    let filled = match aligned {
        Some(_) => rings::read(reads),
        None => Vec::new(),
    };
    #[cfg(not(target_os = "linux"))]
    let filled = Vec::new();
    for (index, read) in reads.iter_mut().enumerate() {
        // What was not read whole is read again, which tells why.
        if filled.get(index) != Some(&read.buffer.len()) {
            let done = positional::read_exact(read.file, read.at, read.buffer, aligned);
            done.map_err(|error| (index, error))?;
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
mod rings {
    #![allow(unsafe_code)]

    use std::cell::RefCell;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::{process, thread};

    use io_uring::{IoUring, opcode, types};

    use super::FileRead;
    use crate::buffer::is_aligned;

    /// Requests that are handed over together: those of 32 pages, each with image, delta and tail.
    const TOGETHER: usize = 96;

    /// A thread's queue.
    enum Ring {
        Unused,
        /// Of this process: a fork leaves a queue to both, and each would see the other's reads.
        Open(Box<IoUring>, u32),
        /// The system has none, or refuses it.
        Refused,
    }

    thread_local! {
        static RING: RefCell<Ring> = const { RefCell::new(Ring::Unused) };
    }

    /// The process of the thread's queue, if it has one.
    #[cfg(test)]
    pub(super) fn owner() -> Option<u32> {
        RING.with_borrow(|ring| if let Ring::Open(_, of) = ring { Some(*of) } else { None })
    }

    /// Reads what can be read side by side; the bytes that each buffer got, of as many as were
    /// tried.
    pub(super) fn read(reads: &mut [FileRead<'_>]) -> Vec<usize> {
        let fit = reads.iter().all(|read| is_aligned(read.buffer));
        if !fit || reads.len() < 2 {
            return Vec::new();
        }
        RING.with_borrow_mut(|ring| {
            let is_to_open = match ring {
                Ring::Unused => true,
                Ring::Open(_, of) => *of != process::id(),
                Ring::Refused => false,
            };
            if is_to_open {
                *ring = match IoUring::new(TOGETHER.next_power_of_two() as u32) {
                    Ok(open) => Ring::Open(Box::new(open), process::id()),
                    Err(_) => Ring::Refused,
                };
            }
            let Ring::Open(open, _) = ring else { return Vec::new() };
            let mut filled = Vec::with_capacity(reads.len());
            for reads in reads.chunks_mut(TOGETHER) {
                match submit(open, reads) {
                    Ok(bytes) => filled.extend(bytes),
                    Err(_) => {
                        *ring = Ring::Refused;
                        break;
                    }
                }
            }
            filled
        })
    }

    /// Hands the requests over, and waits until all that were taken are completed. After an error
    /// the ring must not be used again.
    fn submit(ring: &mut IoUring, reads: &mut [FileRead<'_>]) -> io::Result<Vec<usize>> {
        assert!(reads.len() <= TOGETHER, "the queue has a place for each request");
        assert!(
            ring.submission().is_empty() && ring.completion().is_empty(),
            "all requests before were awaited"
        );
        for (index, read) in reads.iter_mut().enumerate() {
            let (to, bytes) = (read.buffer.as_mut_ptr(), read.buffer.len() as u32);
            let request = opcode::Read::new(types::Fd(read.file.as_raw_fd()), to, bytes);
            let entry = request.offset(read.at).build().user_data(index as u64);
            // SAFETY: file and buffer live until the request is completed, which is awaited below;
            // a request that the system did not take is dropped with the ring.
            let pushed = unsafe { ring.submission().push(&entry) };
            pushed.map_err(|_| io::Error::other("the queue of io_uring is full"))?;
        }
        let mut filled = vec![0; reads.len()];
        let (mut taken, mut done) = (0, 0);
        while done < reads.len() {
            match ring.submit_and_wait(reads.len() - done) {
                Ok(more) => taken += more,
                Err(error) if taken == done => return Err(error),
                // It may be interrupted; what was taken is completed nevertheless.
                Err(_) => thread::yield_now(),
            }
            for completed in ring.completion() {
                filled[completed.user_data() as usize] = completed.result().max(0) as usize;
                done += 1;
            }
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::AlignedBuf;

    #[cfg(target_os = "linux")]
    #[test]
    #[allow(unsafe_code)]
    fn a_forked_process_reads_by_a_queue_of_its_own() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[7; 8192], 0).unwrap();
        let owner = || {
            let mut buffers = [AlignedBuf::zeroed(4096), AlignedBuf::zeroed(4096)];
            let read = |buffer| FileRead { file: &file, at: 4096, buffer };
            let mut reads = buffers.each_mut().map(|buffer| read(&mut buffer[..]));
            read_all(&mut reads, Some(4096)).ok();
            rings::owner()
        };
        let Some(before) = owner() else { return };
        assert_eq!(before, std::process::id());
        // SAFETY: the child reads, and ends without a destructor.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let is_own = owner().is_none_or(|of| of == std::process::id());
            // SAFETY: as above.
            unsafe { libc::_exit(i32::from(!is_own)) }
        }
        let mut status = 0;
        // SAFETY: the child is this process's, and nobody else waits for it.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0);
        assert_eq!(owner(), Some(before), "the parent's is as it was");
    }

    #[test]
    fn several_places_are_read_and_an_error_says_which_is_missing() {
        let file = tempfile::tempfile().unwrap();
        const BLOCKS: u8 = 200;
        for block in 0..BLOCKS {
            file.write_all_at(&[block + 1; 4096], u64::from(block) * 4096).unwrap();
        }
        for count in (1..8).chain([95, 96, 97, 192, 193]) {
            let mut buffers = vec![AlignedBuf::zeroed(4096); count];
            let read = |(at, buffer): (u64, _)| FileRead { file: &file, at: at * 4096, buffer };
            let mut reads: Vec<_> =
                (0..).zip(buffers.iter_mut().map(|buffer| &mut buffer[..])).map(read).collect();
            // A file in the page cache can be read both ways.
            read_all(&mut reads, Some(4096)).unwrap();
            reads[count - 1].at = u64::from(BLOCKS) * 4096;
            let (index, error) = read_all(&mut reads, Some(4096)).unwrap_err();
            assert_eq!((index, error.kind()), (count - 1, io::ErrorKind::UnexpectedEof));
            let is_block = |(n, buffer): (usize, &AlignedBuf)| buffer[..] == [n as u8 + 1; 4096];
            assert!(buffers.iter().enumerate().take(count - 1).all(is_block));
        }
    }
}
