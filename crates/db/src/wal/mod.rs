//! The write-ahead log of a database, in zones of its own.
//!
//! The log is a stream of records, `[kind u8][length][payload]`. It reaches the device in
//! *batches*, each what one append to a zone writes: a head and a part of the stream, padded to
//! whole blocks, or cut off at the end of one. It is compressed where that takes fewer blocks;
//! positions count the stream as it is. Records may cross batches and zones. All numbers are
//! little-endian; batch.rs has the head, chain.rs how the log is found again, and why no crash can
//! confuse it.
//!
//! | file | content |
//! |---|---|
//! | batch.rs | the bytes of a batch on the device |
//! | scan.rs | the batches that lie in the zones |
//! | chain.rs | the batches that are the log |
//! | replay.rs | the records in them |
//! | payload.rs | the part of the stream in a batch, compressed or not |
//! | round.rs | what one flush writes, cut into batches |
//! | writer.rs | the zones: place of the next batch, resets |
//! | buffer.rs | records that are not yet written, and their limit |
//! | flusher.rs | flushes, and threads that wait for them |

mod batch;
mod buffer;
mod chain;
mod error;
mod flusher;
#[cfg(test)]
mod hostile;
mod lsn;
mod payload;
mod replay;
mod round;
mod scan;
mod writer;

use std::sync::Arc;
use std::task::{Poll, Waker};
use std::thread::JoinHandle;
use std::time::Duration;

use frostline_store::Compression;
use frostline_zone::{Device, ZoneInfo, ZoneState};
use parking_lot::Mutex;

use batch::{BLOCK, kind_bit};
use buffer::Buffer;
use chain::Chain;
pub use error::WalError;
pub use flusher::Flusher;
use flusher::Shared;
pub use lsn::Lsn;
pub use replay::Visit;
use round::Round;
pub use scan::logs_on;
use writer::Writer;

/// Options for opening a log.
#[derive(Debug, Clone, Copy)]
pub struct WalOptions {
    /// The thread that writes it.
    pub flusher: Flusher,
    /// Delay after which a record is flushed although no thread waits for it. Without a background
    /// thread a record stays in memory until a thread waits for it.
    pub delay: Duration,
    /// Bytes of records that may be appended and not yet taken by a flush before appends wait. The
    /// log takes twice as much memory, and a sixteenth is written without delay. Less than a page
    /// counts as one, and more than the log as much as that.
    pub buffer_bytes: usize,
    /// A position up to which the log was durable, as its owner knows from elsewhere; 0 if it
    /// doesn't. A log that ends before it has lost its end.
    pub durable: Lsn,
    /// How batches are compressed where that takes fewer blocks. Any log is read whatever it was
    /// compressed with; zstd needs its feature.
    pub compression: Compression,
}

impl Default for WalOptions {
    fn default() -> Self {
        WalOptions {
            flusher: Flusher::Background,
            delay: Duration::from_millis(10),
            buffer_bytes: 4 << 20,
            durable: 0,
            compression: Compression::default(),
        }
    }
}

/// Counters of a log since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WalStats {
    /// Records appended.
    pub records: u64,
    /// Bytes of them, their heads included.
    pub bytes: u64,
    /// Pages of 4 KiB written.
    pub pages: u64,
    /// Pages that the batches would take beyond those if none was compressed.
    pub pages_saved: u64,
    /// Flushes of the device.
    pub flushes: u64,
    /// Zones that the log does without, as they could not be reset.
    pub zones_lost: u64,
}

/// A write-ahead log, shared by threads.
///
/// A record is durable when [`Wal::wait`] returns. A crash loses only records at the end of the log
/// that no thread waited for.
///
/// Records stay until they are [released](Wal::release). The owner must see to it that
/// [`Wal::used_bytes`] does not come close to [`Wal::capacity_bytes`]: at half of it, what is
/// appended while a checkpoint is taken has as much room as what the checkpoint will release. Where
/// it comes so close that a record finds no room, [`Wal::append`] waits for a release (or, inline,
/// fails with [`WalError::Full`]). Nothing else waits for a release: every appended record can be
/// made durable, so [`Wal::wait`] returns, and [`Wal::release`] succeeds in a full log.
///
/// Dropping the log writes nothing: records that no thread waited for are lost as in a crash,
/// unless [`Wal::close`] was called.
///
/// ```
/// use frostline_db::wal::{Wal, WalError, WalOptions};
/// use frostline_zone::{Shape, in_memory};
///
/// let device = in_memory(&Shape { bytes: 4 << 20, ..Shape::default() })?;
/// Wal::format(device.clone(), 7)?;
/// let wal = Wal::open(device.clone(), 7, &WalOptions::default())?;
/// let (lsn, ()) = wal.append(1, &[b"key", b"value"], |_| ())?;
/// wal.wait(lsn)?;
/// drop(wal);
///
/// let wal = Wal::open(device, 7, &WalOptions::default())?;
/// let mut records = Vec::new();
/// let mut visit = |lsn, kind, payload: &[u8]| {
///     records.push((lsn, kind, payload.to_vec()));
///     Ok::<(), WalError>(())
/// };
/// wal.replay(&mut visit, &mut |_, _| ())?;
/// assert_eq!(records, [(lsn, 1, b"keyvalue".to_vec())]);
/// # Ok::<(), WalError>(())
/// ```
pub struct Wal {
    shared: Arc<Shared>,
    device: Arc<dyn Device>,
    /// The log as found at the opening, until records are released.
    found: Mutex<Option<Chain>>,
    keep_from: Lsn,
    begin: Lsn,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// How much of a log is in use, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct InUse {
    /// See [`Wal::used_bytes`].
    pub used: u64,
    /// See [`Wal::capacity_bytes`].
    pub capacity: u64,
    /// Of what recovery would need, as [`Wal::kept_bytes_from`] has it.
    pub kept: u64,
}

/// A log that was found on a device, which nothing was changed of.
pub struct FoundLog {
    device: Arc<dyn Device>,
    id: u64,
    zones: Vec<ZoneInfo>,
    chain: Chain,
}

impl FoundLog {
    /// Finds a log. It reads all that the zones hold.
    ///
    /// # Errors
    /// The device holds no such log, or one of a newer version; [`WalError::Damaged`] if something
    /// is missing that was durable and is needed; errors of the device.
    pub fn find(device: Arc<dyn Device>, id: u64) -> Result<FoundLog, WalError> {
        let zones = zones(&*device)?;
        let chain = Chain::find(id, &zones, &scan::scan(&*device, id, &zones)?)?;
        Ok(FoundLog { device, id, zones, chain })
    }

    /// The zones of the device on which it was found.
    pub fn zones(&self) -> u32 {
        self.zones.len() as u32
    }

    /// The log on `device`, which has the same zones, as nothing has changed there since.
    pub fn on(self, device: Arc<dyn Device>) -> FoundLog {
        FoundLog { device, ..self }
    }

    /// Opens the log, as [`Wal::open`] does.
    ///
    /// # Errors
    /// Those of [`Wal::open`] but for what it finds.
    pub fn open(self, options: &WalOptions) -> Result<Wal, WalError> {
        Wal::resume(self, options)
    }

    /// Calls `pick` for records of a kind, and perhaps others, and returns what it makes of the last
    /// one that is not `None`. Reads the last part of the log first, and more only if `pick` found
    /// nothing there.
    ///
    /// # Errors
    /// Those of `pick`; [`WalError::Damaged`] if a record is not what was written; errors of the
    /// device.
    pub fn last<T, E: From<WalError>>(
        &self,
        kind: u8,
        mut pick: impl FnMut(Lsn, u8, &[u8]) -> Result<Option<T>, E>,
    ) -> Result<Option<T>, E> {
        let parts = &self.chain.parts;
        let mut last = None;
        for share in [8, 2, 1] {
            let begins = |at: &usize| parts[*at].head.first_record().is_some();
            let from = parts.len() - parts.len().div_ceil(share);
            let from = (0..=from).rev().find(begins).unwrap_or(0);
            let mut visit = |lsn, kind, payload: &[u8]| {
                last = pick(lsn, kind, payload)?.or(last.take());
                Ok::<(), E>(())
            };
            let kinds = kind_bit(kind);
            replay::replay(&*self.device, &self.chain, from, kinds, &mut visit, &mut |_, _| ())?;
            if last.is_some() || from == 0 {
                break;
            }
        }
        Ok(last)
    }
}

impl Wal {
    /// Makes an empty log of all zones of a device. **What they hold is lost.** `id` distinguishes
    /// the log from others that were on the device: it must be a number that can't be guessed.
    ///
    /// # Errors
    /// The device has fewer than three zones that can be written, or zones of less than two pages
    /// of 4 KiB, or not of whole ones; errors of the device.
    pub fn format(device: Arc<dyn Device>, id: u64) -> Result<(), WalError> {
        let zones = zones(&*device)?;
        for (zone, info) in (0..).zip(&zones) {
            if is_usable(info) {
                device.reset(zone)?;
            }
        }
        // Nothing of an older log comes back.
        device.flush()?;
        let zones = self::zones(&*device)?;
        if zones.iter().filter(|info| info.state == ZoneState::Empty).count() < 3 {
            return Err(WalError::Unsuitable { why: "a log needs three zones" });
        }
        Writer::begin(device, id, &zones, Compression::None)
            .write(&Round { offset: 0, bytes: &[], wanted: 0, keep_from: 0 })
            .map(drop)
    }

    /// Opens a log: finds its end, and lets go of what a crash tore there. All that was found is
    /// durable. It reads all that the zones hold.
    ///
    /// # Errors
    /// The device holds no such log, or one of a newer version; [`WalError::Damaged`] if something
    /// is missing that was durable and is needed, or the log ends before [`WalOptions::durable`];
    /// too few zones that can be written are left; errors of the device.
    pub fn open(device: Arc<dyn Device>, id: u64, options: &WalOptions) -> Result<Wal, WalError> {
        FoundLog::find(device, id)?.open(options)
    }

    /// As [`Wal::open`], once the log is found.
    fn resume(found: FoundLog, options: &WalOptions) -> Result<Wal, WalError> {
        let FoundLog { device, id, zones, chain } = found;
        chain.check_end(options.durable)?;
        let writer = Writer::resume(device.clone(), id, &chain, &zones, options.compression)?;
        if writer.zones() < 2 {
            return Err(WalError::Unsuitable { why: "a log needs two zones that can be written" });
        }
        let (begin, keep_from) = (chain.end, chain.keep_from);
        let buffer = Buffer::new(options.buffer_bytes, begin, keep_from, &writer);
        let shared = Arc::new(Shared::new(buffer, writer, options.flusher, options.delay));
        let thread = match options.flusher {
            Flusher::Background => Some(start(shared.clone())?),
            Flusher::Inline => None,
        };
        let found = Mutex::new(Some(chain));
        Ok(Wal { shared, device, found, keep_from, begin, thread: Mutex::new(thread) })
    }

    /// As found at the opening: records that end behind this are replayed.
    pub fn keep_from(&self) -> Lsn {
        self.keep_from
    }

    /// Calls `visit` with the number, kind and payload of every record that was found at the
    /// opening and is needed, in order; and `progress` from time to time with how many bytes of
    /// how many were read. May be repeated until records are released.
    ///
    /// # Errors
    /// Those of `visit`; [`WalError::Damaged`] if a record is not what was written;
    /// [`WalError::NoReplay`] after a release; errors of the device.
    pub fn replay<E: From<WalError>>(
        &self,
        visit: &mut Visit<'_, E>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), E> {
        self.replay_bits(u32::MAX, visit, progress)
    }

    /// As [`Wal::replay`] for records of these kinds; others may be among them. Parts of the log
    /// that have none of them are not read.
    ///
    /// # Errors
    /// As for [`Wal::replay`].
    pub fn replay_kinds<E: From<WalError>>(
        &self,
        kinds: &[u8],
        visit: &mut Visit<'_, E>,
    ) -> Result<(), E> {
        let bits = kinds.iter().fold(0, |bits, &kind| bits | kind_bit(kind));
        self.replay_bits(bits, visit, &mut |_, _| ())
    }

    fn replay_bits<E: From<WalError>>(
        &self,
        kinds: u32,
        visit: &mut Visit<'_, E>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), E> {
        let found = self.found.lock();
        let chain = found.as_ref().ok_or(WalError::NoReplay)?;
        replay::replay(&*self.device, chain, 0, kinds, visit, progress)
    }

    /// Appends a record, whose payload is the parts one behind the other. `numbered` is called
    /// with its number under the lock that orders records, so that what it does happens in the
    /// order of the log; it must not call the log.
    ///
    /// Waits while too much is pending, or the log is full.
    ///
    /// # Errors
    /// The record is larger than [`Wal::largest_record`]; the log is full (inline only), closed,
    /// or failed earlier.
    pub fn append<R>(
        &self,
        kind: u8,
        parts: &[&[u8]],
        numbered: impl FnOnce(Lsn) -> R,
    ) -> Result<(Lsn, R), WalError> {
        self.append_if(kind, parts, |lsn| Ok(numbered(lsn)))
    }

    /// As [`Wal::append`], unless `numbered` fails: then there is no such record, and the next one
    /// may get its number.
    ///
    /// # Errors
    /// As for [`Wal::append`]; the error of `numbered`.
    pub fn append_if<R, E: From<WalError>>(
        &self,
        kind: u8,
        parts: &[&[u8]],
        numbered: impl FnOnce(Lsn) -> Result<R, E>,
    ) -> Result<(Lsn, R), E> {
        self.shared.append(kind, parts, numbered)
    }

    /// All records that end here or before are durable.
    pub fn durable(&self) -> Lsn {
        self.shared.durable()
    }

    /// The end of the last record.
    pub fn end(&self) -> Lsn {
        self.shared.lock().buffer.end
    }

    /// Waits until all records that end at `lsn` or before are durable. Threads that wait at the
    /// same time share a flush.
    ///
    /// # Errors
    /// No such record was appended; the log failed before it was durable.
    pub fn wait(&self, lsn: Lsn) -> Result<(), WalError> {
        self.shared.wait(lsn)
    }

    /// As [`Wal::wait`], but returns at once: if they are not durable yet, `waker` is woken when it
    /// is worth asking again. An inline log waits.
    pub fn poll_wait(&self, lsn: Lsn, waker: &Waker) -> Poll<Result<(), WalError>> {
        self.shared.poll_wait(lsn, waker)
    }

    /// True if [`Wal::append`] of such a payload would not wait now.
    pub fn admits(&self, bytes: usize) -> bool {
        self.shared.admits(bytes)
    }

    /// Says that records which end at `upto` or before are never needed again, as far as they are
    /// durable. `upto` need not be the end of a record. Zones that hold no others are reset once
    /// that is durable: at the latest with the next flush, which is not waited for unless inline.
    ///
    /// # Errors
    /// The log failed, then or earlier.
    pub fn release(&self, upto: Lsn) -> Result<(), WalError> {
        *self.found.lock() = None;
        self.shared.release(upto)
    }

    /// Bytes of the zones that are in use: by records, the padding between them, what crashes
    /// tore, and what is pending.
    pub fn used_bytes(&self) -> u64 {
        self.shared.lock().buffer.used()
    }

    /// [`Self::used_bytes`], [`Self::capacity_bytes`], and [`Self::kept_bytes_from`] the first
    /// record that was not released, at one moment.
    pub fn in_use(&self) -> InUse {
        let buffer = &self.shared.lock().buffer;
        InUse {
            used: buffer.used(),
            capacity: buffer.capacity * BLOCK,
            kept: buffer.kept_from(buffer.keep_from),
        }
    }

    /// Bytes of what recovery would need, pending records included, if all records that end at
    /// `upto` or before were released: of the records, or of the blocks that these take, whichever
    /// is more. Blocks are reckoned as if the records of a zone were equally spread.
    pub fn kept_bytes_from(&self, upto: Lsn) -> u64 {
        self.shared.lock().buffer.kept_from(upto)
    }

    /// Bytes of the zones that can be in use before appends wait. Less if zones failed since.
    pub fn capacity_bytes(&self) -> u64 {
        self.shared.lock().buffer.capacity * BLOCK
    }

    /// Bytes of a zone: of their mean, if they differ.
    pub fn zone_bytes(&self) -> u64 {
        self.shared.lock().buffer.zone * BLOCK
    }

    /// Bytes of memory for records that are not written yet: two buffers. They take little of it as
    /// long as little is appended.
    pub(crate) fn buffer_bytes(&self) -> usize {
        2 * self.shared.lock().buffer.most_pending
    }

    /// Bytes of the largest payload of a record: a quarter of the log.
    pub fn largest_record(&self) -> usize {
        self.shared.lock().buffer.largest_record
    }

    /// Counters since the opening.
    pub fn stats(&self) -> WalStats {
        let guard = self.shared.lock();
        let buffer = &guard.buffer;
        WalStats {
            records: buffer.records,
            bytes: buffer.end - self.begin,
            pages: buffer.blocks,
            pages_saved: buffer.blocks_saved,
            flushes: buffer.flushes,
            zones_lost: buffer.zones_lost,
        }
    }

    /// Makes everything durable that was appended, and lets nothing be appended any more.
    ///
    /// # Errors
    /// The log failed, then or earlier.
    pub fn close(&self) -> Result<(), WalError> {
        self.shared.close()
    }
}

impl Drop for Wal {
    fn drop(&mut self) {
        self.shared.stop();
        if let Some(thread) = self.thread.lock().take() {
            // Its errors are kept in the log.
            let _ = thread.join();
        }
    }
}

fn start(shared: Arc<Shared>) -> Result<JoinHandle<()>, WalError> {
    let builder = std::thread::Builder::new().name("frostline-wal".to_string());
    builder.spawn(move || shared.run()).map_err(|error| WalError::Thread(Arc::new(error)))
}

fn is_usable(info: &ZoneInfo) -> bool {
    info.state.is_writable() || info.state == ZoneState::Full
}

/// The zones of a device on which a log can be.
fn zones(device: &dyn Device) -> Result<Vec<ZoneInfo>, WalError> {
    let geometry = device.geometry();
    if !BLOCK.is_multiple_of(u64::from(geometry.block_bytes)) {
        return Err(WalError::Unsuitable { why: "pages of 4 KiB are not in its blocks" });
    }
    let zones = device.report(0, geometry.zones)?;
    let fits = |info: &ZoneInfo| {
        info.capacity.is_multiple_of(BLOCK) && (2..1 << 32).contains(&(info.capacity / BLOCK))
    };
    if !zones.iter().filter(|info| is_usable(info)).all(fits) {
        return Err(WalError::Unsuitable {
            why: "its zones are not of two or more pages of 4 KiB",
        });
    }
    Ok(zones)
}
