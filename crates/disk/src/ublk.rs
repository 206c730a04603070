//! The disk as a block device of Linux, served by this process (ublk, Linux 6.5 and later).
//!
//! # Promises
//! * A flush is complete after [`Store::sync`](frostline_store::Store::sync) returned: each write
//!   and discard that was complete before survives a crash. A write with FUA is complete after a
//!   sync that follows it.
//! * A block of 4,096 bytes is written whole or not at all.

mod driver;

use std::io;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use self::driver::{Added, CONTROL, Control, Parameters, Queue, Request};
use crate::disk::{Disk, PAGE};

/// Queues of a device, each with a thread. While one syncs, the others go on.
const QUEUES: u16 = 4;

/// Requests that a queue has under way.
const DEPTH: u16 = 32;

/// Bytes of the longest read or write.
const LONGEST: u32 = 256 << 10;

/// Bytes of the longest discard. A discard of what the store does not hold is cheap.
const LONGEST_DISCARD: u32 = 1 << 30;

/// Bytes of a sector, the unit of lengths and offsets here.
const SECTOR: u64 = 512;

/// The interval at which the server checks whether it shall stop.
const TICK: Duration = Duration::from_millis(100);

/// Numbers of errors, which a request is answered with.
const EIO: i32 = 5;
const ENOSPC: i32 = 28;
const EOPNOTSUPP: i32 = 95;

/// Kinds of requests, and their flags.
mod op {
    pub(super) const READ: u32 = 0;
    pub(super) const WRITE: u32 = 1;
    pub(super) const FLUSH: u32 = 2;
    pub(super) const DISCARD: u32 = 3;
    pub(super) const WRITE_ZEROES: u32 = 5;
    pub(super) const KIND: u32 = 0xff;
    pub(super) const FUA: u32 = 1 << 13;
    /// Zeroes shall take space.
    pub(super) const NO_HOLE: u32 = 1 << 15;
}

/// An error of the block device itself.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UblkServeError {
    /// This kernel has no ublk driver, or it is not loaded.
    #[error("there is no {CONTROL}: the kernel's driver ublk_drv is not loaded")]
    NoDriver,
    /// The driver or io_uring refuses to make or to serve the device.
    #[error("the kernel makes no block device: {0}")]
    Refused(#[from] io::Error),
}

/// Serves a disk as a block device until `is_stopped` returns true, or until the device is removed
/// by others. Calls `begun` with the path of the device when it can be used. What is never flushed
/// is flushed when the disk is idle. At the end the device is removed, and requests to it fail;
/// unmount what is on it before. It does not sync the store at the end.
///
/// # Errors
/// The driver is not there (it is in Linux 6.5 and later), or this process may not make devices
/// (which needs root), or the kernel refuses the device.
pub fn serve(
    disk: &Disk<'_>,
    is_read_only: bool,
    begun: &dyn Fn(&Path),
    is_stopped: &dyn Fn() -> bool,
) -> Result<(), UblkServeError> {
    let mut control = Control::open().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => UblkServeError::NoDriver,
        _ => error.into(),
    })?;
    let added = control.add(QUEUES, DEPTH, LONGEST)?;
    let parameters = Parameters {
        size: disk.size(),
        block: PAGE as u32,
        longest: LONGEST,
        longest_discard: LONGEST_DISCARD,
        is_read_only,
    };
    let served = control
        .describe(added.number, &parameters)
        .and_then(|()| serve_device(disk, &mut control, &added, begun, is_stopped));
    let deleted = control.delete(added.number);
    Ok(served.and(deleted)?)
}

/// Serves a device that was added, until it is stopped.
fn serve_device(
    disk: &Disk<'_>,
    control: &mut Control,
    added: &Added,
    begun: &dyn Fn(&Path),
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<()> {
    let requests = driver::open_requests(added.number)?;
    thread::scope(|scope| {
        let (tell, told) = channel();
        let start = |number| {
            let (requests, tell) = (&requests, tell.clone());
            thread::Builder::new().spawn_scoped(scope, move || {
                match Queue::new(requests, number, DEPTH) {
                    Ok(queue) => serve_queue(disk, queue, &tell),
                    Err(error) => drop(tell.send(Err(error))),
                };
            })
        };
        let queues: io::Result<Vec<_>> = (0..added.queues).map(start).collect();
        drop(tell);
        let are_made = queues.and_then(|queues| {
            told.iter().take(queues.len()).collect::<io::Result<()>>()?;
            Ok(queues)
        });
        let result = are_made.and_then(|queues| {
            control.start(added.number)?;
            begun(&driver::block_device(added.number));
            while !is_stopped() && !queues.iter().all(|queue| queue.is_finished()) {
                thread::sleep(TICK);
                if let Err(error) = disk.flush_when_idle(Instant::now()) {
                    tracing::warn!(%error, "what no client has flushed is not durable");
                }
            }
            Ok(())
        });
        // The queues end with this.
        result.and(control.stop(added.number))
    })
}

/// Serves the requests of a queue until the device is stopped; tells that it begins.
fn serve_queue(disk: &Disk<'_>, mut queue: Queue<'_>, tell: &Sender<io::Result<()>>) {
    let mut buffer = vec![0; LONGEST as usize];
    let _ = tell.send(Ok(()));
    let served = queue.serve(&mut |request| match carry_out(disk, request, &mut buffer) {
        Ok(bytes) => bytes as i32,
        Err(number) => -number,
    });
    if let Err(error) = served {
        tracing::warn!(%error, "a queue of the block device ends");
    }
}

/// Does what a request asks for; its length in bytes, or the number of an error.
fn carry_out(disk: &Disk<'_>, request: &Request<'_>, buffer: &mut [u8]) -> Result<u32, i32> {
    let asked = request.description;
    let (offset, length) = (asked.first_sector * SECTOR, asked.sectors * SECTOR as u32);
    let kind = asked.op_flags & op::KIND;
    let has_bytes = matches!(kind, op::READ | op::WRITE);
    let bytes = buffer.get_mut(..if has_bytes { length as usize } else { 0 }).ok_or(EIO)?;
    if kind == op::WRITE {
        request.take(bytes).map_err(|_| EIO)?;
    }
    act(disk, asked.op_flags, offset, length, bytes)?;
    if kind == op::READ {
        request.give(bytes).map_err(|_| EIO)?;
    }
    Ok(length)
}

/// Reads into `bytes`, or writes them, or does what else is asked for; or the number of an error.
fn act(
    disk: &Disk<'_>,
    op_flags: u32,
    offset: u64,
    length: u32,
    bytes: &mut [u8],
) -> Result<(), i32> {
    let is_to_be_durable = op_flags & op::FUA != 0;
    let done = match op_flags & op::KIND {
        op::READ => {
            bytes.fill(0);
            disk.read(offset, bytes).map(drop)
        }
        op::WRITE => disk.write(offset, bytes),
        op::DISCARD => disk.trim(offset, length),
        op::WRITE_ZEROES if op_flags & op::NO_HOLE == 0 => disk.zero(offset, length),
        op::WRITE_ZEROES => disk.write_zeroes(offset, length),
        op::FLUSH => disk.flush(),
        _ => return Err(EOPNOTSUPP),
    };
    let done = if is_to_be_durable { done.and_then(|()| disk.flush()) } else { done };
    done.map_err(|error| {
        tracing::info!(%error, offset, "a request failed");
        if error.is_full() { ENOSPC } else { EIO }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use frostline_store::{Format, Open, Store};
    use frostline_zone::{Fault, Faulty, Operation, Shape, in_memory};

    use super::*;

    const BYTES: usize = 3 * PAGE;

    #[test]
    fn a_full_file_system_is_no_space() {
        let zone_bytes = 256 << 10;
        let shape = Shape::of_zones(24, zone_bytes);
        let faulty = Arc::new(Faulty::new(in_memory(&shape).unwrap(), 1));
        Store::format(faulty.clone(), &Format::default()).unwrap();
        let store = Store::open(faulty.clone(), Open::default()).unwrap();
        let disk = Disk::new(&store);
        let write = || act(&disk, op::WRITE | op::FUA, 0, BYTES as u32, &mut [7; BYTES]);
        faulty.fail(Operation::Append, 0..u64::MAX, Fault::Full);
        assert_eq!(write(), Err(ENOSPC));
        assert_eq!(write(), Err(ENOSPC), "until the store is opened again");
    }

    #[test]
    fn requests_of_each_kind_do_what_they_say_and_others_are_refused() {
        let zone_bytes = 256 << 10;
        let shape = Shape::of_zones(24, zone_bytes);
        let device = in_memory(&shape).unwrap();
        Store::format(device.clone(), &Format::default()).unwrap();
        let store = Store::open(device, Open::default()).unwrap();
        let disk = Disk::new(&store);
        // Asks for all at offset 0, with bytes of a value; then reads.
        let ask = |op_flags, value| {
            let mut bytes = [value; BYTES];
            act(&disk, op_flags, 0, BYTES as u32, &mut bytes)?;
            act(&disk, op::READ, 0, BYTES as u32, &mut bytes)?;
            Ok(bytes)
        };
        assert_eq!(ask(op::WRITE, 7), Ok([7; BYTES]));
        assert_eq!(ask(op::DISCARD, 1), Ok([0; BYTES]));
        assert_eq!(ask(op::WRITE | op::FUA, 8), Ok([8; BYTES]));
        assert_eq!(ask(op::WRITE_ZEROES, 1), Ok([0; BYTES]));
        assert_eq!(ask(op::WRITE, 9), Ok([9; BYTES]));
        assert_eq!(ask(op::WRITE_ZEROES | op::NO_HOLE, 1), Ok([0; BYTES]));
        assert_eq!(ask(op::FLUSH, 1), Ok([0; BYTES]));
        assert_eq!(ask(15, 1), Err(EOPNOTSUPP));
    }
}
