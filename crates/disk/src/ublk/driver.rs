//! The kernel's driver: the commands of `linux/ublk_cmd.h`, through io_uring.

#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use io_uring::{IoUring, opcode, squeue, types};
use memmap2::{MmapOptions, MmapRaw};

/// Where the driver is asked for devices.
pub(super) const CONTROL: &str = "/dev/ublk-control";

/// Requests of a queue that the driver's addresses have room for.
const MOST_DEPTH: u64 = 4096;

/// The driver copies bytes when this process reads or writes the device of the requests.
const USER_COPY: u64 = 1 << 7;

/// The number of a command that goes to no queue, and of a device that the driver chooses.
const NONE: u32 = u32::MAX;

/// `_IOWR('u', number, …)`, with the bytes of the structure.
const fn code(number: u32, bytes: u32) -> u32 {
    3 << 30 | bytes << 16 | (b'u' as u32) << 8 | number
}

const ADD: u32 = code(0x04, 32);
const DELETE: u32 = code(0x05, 32);
const START: u32 = code(0x06, 32);
const STOP: u32 = code(0x07, 32);
const SET_PARAMETERS: u32 = code(0x08, 32);
const FETCH: u32 = code(0x20, 16);
const COMMIT_AND_FETCH: u32 = code(0x21, 16);

/// Puts numbers into bytes at their places.
fn put<const N: usize>(bytes: &mut [u8], at: usize, number: [u8; N]) {
    bytes[at..at + N].copy_from_slice(&number);
}

/// What the driver is told about a device.
pub(super) struct Parameters {
    /// Bytes of the device.
    pub size: u64,
    /// Bytes of a block, a power of two.
    pub block: u32,
    /// Bytes of the longest read or write.
    pub longest: u32,
    /// Bytes of the longest discard and of the longest write of zeroes.
    pub longest_discard: u32,
    /// True if it can't be written.
    pub is_read_only: bool,
}

impl Parameters {
    /// The structure `ublk_params` up to its discards.
    fn bytes(&self) -> [u8; 64] {
        let mut bytes = [0; 64];
        let sectors = |bytes: u32| (bytes >> 9).to_le_bytes();
        assert!(self.block.is_power_of_two() && self.longest.is_multiple_of(self.block));
        let (basic, discard) = (8, 40);
        put(&mut bytes, 0, 64u32.to_le_bytes());
        // Both parts are there.
        put(&mut bytes, 4, 3u32.to_le_bytes());
        // A volatile cache, which is flushed, and FUA.
        let attributes = 1 << 2 | 1 << 3 | u32::from(self.is_read_only);
        put(&mut bytes, basic, attributes.to_le_bytes());
        put(&mut bytes, basic + 4, [self.block.trailing_zeros() as u8; 4]);
        put(&mut bytes, basic + 8, sectors(self.longest));
        put(&mut bytes, basic + 16, (self.size >> 9).to_le_bytes());
        put(&mut bytes, discard + 4, self.block.to_le_bytes());
        put(&mut bytes, discard + 8, sectors(self.longest_discard));
        put(&mut bytes, discard + 12, sectors(self.longest_discard));
        put(&mut bytes, discard + 16, 1u16.to_le_bytes());
        bytes
    }
}

/// A device that the driver has added.
pub(super) struct Added {
    /// Its number.
    pub number: u32,
    /// Its queues: no more than the machine has processors.
    pub queues: u16,
}

/// The driver's end for making and removing devices.
pub(super) struct Control {
    file: File,
    ring: IoUring<squeue::Entry128>,
}

impl Control {
    /// # Errors
    /// The driver is not there, or this process may not use it or io_uring.
    pub(super) fn open() -> io::Result<Control> {
        let file = OpenOptions::new().read(true).write(true).open(CONTROL)?;
        Ok(Control { file, ring: IoUring::builder().build(1)? })
    }

    /// Adds a device that does not run yet; it has at most so many queues.
    pub(super) fn add(&mut self, queues: u16, depth: u16, longest: u32) -> io::Result<Added> {
        // The structure `ublksrv_ctrl_dev_info`.
        let mut info = [0; 64];
        put(&mut info, 0, queues.to_le_bytes());
        put(&mut info, 2, depth.to_le_bytes());
        put(&mut info, 8, longest.to_le_bytes());
        put(&mut info, 12, NONE.to_le_bytes());
        put(&mut info, 24, USER_COPY.to_le_bytes());
        self.command(ADD, NONE, &mut info, 0)?;
        let number = u32::from_le_bytes([info[12], info[13], info[14], info[15]]);
        Ok(Added { number, queues: u16::from_le_bytes([info[0], info[1]]) })
    }

    /// Describes a device that was added.
    pub(super) fn describe(&mut self, device: u32, parameters: &Parameters) -> io::Result<()> {
        self.command(SET_PARAMETERS, device, &mut parameters.bytes(), 0)
    }

    /// Lets a device run, once threads have fetched from all of its queues.
    pub(super) fn start(&mut self, device: u32) -> io::Result<()> {
        self.command(START, device, &mut [], std::process::id().into())
    }

    /// Ends a device and the fetching from its queues.
    pub(super) fn stop(&mut self, device: u32) -> io::Result<()> {
        self.command(STOP, device, &mut [], 0)
    }

    /// Removes a device that nobody has open.
    pub(super) fn delete(&mut self, device: u32) -> io::Result<()> {
        self.command(DELETE, device, &mut [], 0)
    }

    fn command(&mut self, code: u32, device: u32, info: &mut [u8], data: u64) -> io::Result<()> {
        // The structure `ublksrv_ctrl_cmd`.
        let mut command = [0; 80];
        put(&mut command, 0, device.to_le_bytes());
        put(&mut command, 4, (NONE as u16).to_le_bytes());
        put(&mut command, 6, (info.len() as u16).to_le_bytes());
        put(&mut command, 8, (info.as_mut_ptr() as u64).to_le_bytes());
        put(&mut command, 16, data.to_le_bytes());
        let file = types::Fd(self.file.as_raw_fd());
        let entry = opcode::UringCmd80::new(file, code).cmd(command).build();
        // SAFETY: file and `info` live until the command is completed, which is awaited below.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|_| io::Error::other("the queue of io_uring is full"))?;
        let result = loop {
            let waited = self.ring.submit_and_wait(1);
            if let Some(done) = self.ring.completion().next() {
                break done.result();
            }
            // A signal interrupts the waiting; the command goes on.
            if waited.is_err() {
                thread::yield_now();
            }
        };
        if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(()) }
    }
}

/// The path of the block device of a number.
pub(super) fn block_device(device: u32) -> PathBuf {
    format!("/dev/ublkb{device}").into()
}

/// Opens the device by which the requests of a block device come.
///
/// # Errors
/// It does not appear within three seconds.
pub(super) fn open_requests(device: u32) -> io::Result<File> {
    let path = format!("/dev/ublkc{device}");
    let open = || OpenOptions::new().read(true).write(true).open(&path);
    for _ in 0..30 {
        if let Ok(file) = open() {
            return Ok(file);
        }
        // The system makes it, and sets its permissions, in its own time.
        thread::sleep(Duration::from_millis(100));
    }
    open()
}

/// What a request asks for: the structure `ublksrv_io_desc`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Description {
    /// Its kind in the lowest byte, and flags.
    pub op_flags: u32,
    /// Its length in sectors of 512 bytes.
    pub sectors: u32,
    /// Its offset in sectors.
    pub first_sector: u64,
    _address: u64,
}
// The layout is the driver's.
const _: () = assert!(size_of::<Description>() == 24);

/// A request under way.
pub(super) struct Request<'a> {
    /// What it asks for.
    pub description: Description,
    requests: &'a File,
    /// The place of its bytes in the device of the requests.
    at: u64,
}

impl Request<'_> {
    /// The bytes to be written.
    pub(super) fn take(&self, bytes: &mut [u8]) -> io::Result<()> {
        self.requests.read_exact_at(bytes, self.at)
    }

    /// Answers with bytes that were read.
    pub(super) fn give(&self, bytes: &[u8]) -> io::Result<()> {
        self.requests.write_all_at(bytes, self.at)
    }
}

/// A queue of requests, of the thread that made it.
pub(super) struct Queue<'a> {
    number: u16,
    depth: u16,
    requests: &'a File,
    descriptions: MmapRaw,
    ring: IoUring,
}

impl<'a> Queue<'a> {
    /// # Errors
    /// The queue can't be mapped, or the system refuses io_uring.
    pub(super) fn new(requests: &'a File, number: u16, depth: u16) -> io::Result<Queue<'a>> {
        assert!(u64::from(depth) <= MOST_DEPTH, "the driver's addresses have room for the queue");
        let bytes = size_of::<Description>();
        let at = u64::from(number) * MOST_DEPTH * bytes as u64;
        let descriptions = MmapOptions::new()
            .offset(at)
            .len(usize::from(depth) * bytes)
            .map_raw_read_only(requests)?;
        Ok(Queue { number, depth, requests, descriptions, ring: IoUring::new(depth.into())? })
    }

    /// Answers requests until the device is stopped. An answer is a length in bytes, or the
    /// negative number of an error.
    ///
    /// # Errors
    /// io_uring fails.
    pub(super) fn serve(&mut self, answer: &mut dyn FnMut(&Request<'_>) -> i32) -> io::Result<()> {
        for tag in 0..self.depth {
            self.push(FETCH, tag, 0)?;
        }
        let mut fetched = self.depth;
        while fetched > 0 {
            match self.ring.submit_and_wait(1) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            let done: Vec<_> = self
                .ring
                .completion()
                .map(|done| (done.user_data() as u16, done.result()))
                .collect();
            for (tag, result) in done {
                if result != 0 {
                    // The device is stopped.
                    fetched -= 1;
                    continue;
                }
                let result = answer(&self.request(tag));
                self.push(COMMIT_AND_FETCH, tag, result)?;
            }
        }
        Ok(())
    }

    fn request(&self, tag: u16) -> Request<'_> {
        assert!(tag < self.depth, "the mapping has room for the tag");
        let descriptions = self.descriptions.as_ptr().cast::<Description>();
        // SAFETY: a tag is less than the depth, which the mapping has room for. The driver does not
        // change the description while the request is under way.
        let description = unsafe { descriptions.add(tag.into()).read_volatile() };
        let at = 0x8000_0000 + (u64::from(self.number) << 41) + (u64::from(tag) << 25);
        Request { description, requests: self.requests, at }
    }

    /// Puts a command of a request into the ring, which has a place for each.
    fn push(&mut self, code: u32, tag: u16, result: i32) -> io::Result<()> {
        // The structure `ublksrv_io_cmd`.
        let mut command = [0; 16];
        put(&mut command, 0, self.number.to_le_bytes());
        put(&mut command, 2, tag.to_le_bytes());
        put(&mut command, 4, result.to_le_bytes());
        let file = types::Fd(self.requests.as_raw_fd());
        let entry = opcode::UringCmd16::new(file, code).cmd(command).build().user_data(tag.into());
        // SAFETY: the command has no pointers, and the file lives longer than the queue.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|_| io::Error::other("the queue of io_uring is full"))
    }
}
