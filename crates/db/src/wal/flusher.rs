//! Flushes of pending records, and the threads that wait for them.
//!
//! One flush is under way at a time, and takes all that is pending when it begins. Threads
//! that begin to wait meanwhile share the next one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Poll, Waker};
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::batch::BLOCK;
use super::buffer::{Buffer, cost};
use super::error::WalError;
use super::lsn::Lsn;
use super::round::Round;
use super::writer::Writer;

/// The thread that writes the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Flusher {
    /// A background thread of the log.
    #[default]
    Background,
    /// The caller's thread: the first that waits, releases records or finds the buffer full. The
    /// order of all accesses to the device is that of a single thread's calls.
    Inline,
}

/// Pending bytes at which the thread begins to write unasked: this share of those at which
/// appends wait.
const EARLY: usize = 16;

/// State shared by the log's users and its thread.
pub(super) struct Shared {
    buffer: Mutex<Guarded>,
    /// Held by the thread that flushes.
    writer: Mutex<Writer>,
    /// The thread sleeps here.
    work: Condvar,
    /// Threads that wait for records to become durable wait here.
    done: Condvar,
    /// Threads that wait for room wait here.
    room: Condvar,
    durable: AtomicU64,
    flusher: Flusher,
    delay: Duration,
}

/// State under the lock.
pub(super) struct Guarded {
    /// Records and room.
    pub buffer: Buffer,
    /// State of the thread.
    thread: Sleep,
    /// Futures that wait for records up to a position to become durable.
    wakers: Vec<(Lsn, Waker)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sleep {
    /// It is awake, or there is none.
    Awake,
    /// Until it is woken: nothing is pending.
    Long,
    /// Until the delay is over, unless it is woken.
    Short,
}

type Guard<'a> = MutexGuard<'a, Guarded>;

impl Shared {
    /// Of a log in which all up to `buffer.end` is durable.
    pub(super) fn new(buffer: Buffer, writer: Writer, flusher: Flusher, delay: Duration) -> Self {
        Shared {
            durable: AtomicU64::new(buffer.end),
            buffer: Mutex::new(Guarded { buffer, thread: Sleep::Awake, wakers: Vec::new() }),
            writer: Mutex::new(writer),
            work: Condvar::new(),
            done: Condvar::new(),
            room: Condvar::new(),
            flusher,
            delay,
        }
    }

    /// The buffer. A panic of a caller's closure leaves it whole: its record is not in it.
    pub(super) fn lock(&self) -> Guard<'_> {
        self.buffer.lock()
    }

    /// The end of the durable records.
    pub(super) fn durable(&self) -> Lsn {
        self.durable.load(Ordering::Acquire)
    }

    /// Locks the buffer when it has room for a record, and copies the record into it unless
    /// `numbered` fails.
    pub(super) fn append<R, E: From<WalError>>(
        &self,
        kind: u8,
        parts: &[&[u8]],
        numbered: impl FnOnce(Lsn) -> Result<R, E>,
    ) -> Result<(Lsn, R), E> {
        let bytes = parts.iter().map(|part| part.len()).sum::<usize>();
        let mut guard = self.lock();
        if !guard.buffer.admits(bytes) {
            guard = self.wait_for_room(guard, bytes)?;
        }
        let lsn = guard.buffer.end_with(bytes);
        let result = numbered(lsn)?;
        guard.buffer.push(kind, lsn, bytes, parts);
        let is_much = guard.buffer.pending.len() >= guard.buffer.most_pending / EARLY;
        if guard.thread == Sleep::Long || guard.thread == Sleep::Short && is_much {
            self.wake(&mut guard);
        }
        Ok((lsn, result))
    }

    /// Waits until a record of `bytes` bytes may be appended.
    #[cold]
    fn wait_for_room<'a>(
        &'a self,
        mut guard: Guard<'a>,
        bytes: usize,
    ) -> Result<Guard<'a>, WalError> {
        loop {
            let buffer = &mut guard.buffer;
            check(buffer)?;
            if buffer.is_closing {
                return Err(WalError::Closed);
            }
            let most = buffer.largest_record;
            if bytes > most {
                return Err(WalError::TooLarge { bytes, most });
            }
            if buffer.admits(bytes) {
                return Ok(guard);
            }
            // A flush makes room in the buffer, and takes fewer blocks than is reckoned with.
            let helps = !buffer.pending.is_empty() || buffer.is_release_due;
            if self.flusher == Flusher::Background {
                buffer.is_short = helps;
                self.wake(&mut guard);
                self.room.wait(&mut guard);
            } else if buffer.is_flushing {
                self.room.wait(&mut guard);
            } else if helps {
                guard = self.flush(guard);
            } else {
                let (used, capacity) = (buffer.used(), buffer.capacity * BLOCK);
                return Err(WalError::Full { used, capacity });
            }
        }
    }

    /// Waits until all up to `lsn` is durable.
    pub(super) fn wait(&self, lsn: Lsn) -> Result<(), WalError> {
        if self.durable() >= lsn {
            return Ok(());
        }
        let mut guard = self.lock();
        if lsn > guard.buffer.end {
            return Err(WalError::BeyondEnd { lsn, end: guard.buffer.end });
        }
        guard.buffer.wanted = guard.buffer.wanted.max(lsn);
        while self.durable() < lsn {
            check(&guard.buffer)?;
            guard = self.await_flush(guard);
        }
        Ok(())
    }

    /// As [`Self::wait`], but returns at once; `waker` is woken when it is worth asking again.
    pub(super) fn poll_wait(&self, lsn: Lsn, waker: &Waker) -> Poll<Result<(), WalError>> {
        if self.flusher == Flusher::Inline {
            return Poll::Ready(self.wait(lsn));
        }
        if self.durable() >= lsn {
            return Poll::Ready(Ok(()));
        }
        let mut guard = self.lock();
        if lsn > guard.buffer.end {
            return Poll::Ready(Err(WalError::BeyondEnd { lsn, end: guard.buffer.end }));
        }
        if self.durable() >= lsn {
            return Poll::Ready(Ok(()));
        }
        check(&guard.buffer)?;
        guard.buffer.wanted = guard.buffer.wanted.max(lsn);
        let is_known = |(at, known): &(Lsn, Waker)| *at == lsn && known.will_wake(waker);
        if !guard.wakers.iter().any(is_known) {
            guard.wakers.push((lsn, waker.clone()));
        }
        self.wake(&mut guard);
        Poll::Pending
    }

    /// True if a record of `bytes` bytes may be appended without a wait, or is refused.
    pub(super) fn admits(&self, bytes: usize) -> bool {
        let guard = self.lock();
        let buffer = &guard.buffer;
        let is_refused =
            bytes > buffer.largest_record || buffer.failed.is_some() || buffer.is_closing;
        is_refused || buffer.admits(bytes)
    }

    /// Wakes futures whose records are durable, or all if no more will be.
    fn wake_futures(&self, mut guard: Guard<'_>) {
        let is_over = guard.buffer.failed.is_some();
        let durable = self.durable();
        let woken: Vec<_> =
            guard.wakers.extract_if(.., |(lsn, _)| is_over || *lsn <= durable).collect();
        drop(guard);
        woken.into_iter().for_each(|(_, waker)| waker.wake());
    }

    /// Lets go of all up to `upto` that is durable.
    pub(super) fn release(&self, upto: Lsn) -> Result<(), WalError> {
        let mut guard = self.lock();
        check(&guard.buffer)?;
        let buffer = &mut guard.buffer;
        buffer.keep_from = buffer.keep_from.max(upto.min(self.durable()));
        buffer.is_release_due |= buffer.keep_from >= buffer.frees_at;
        if !buffer.is_release_due {
            return Ok(());
        }
        match self.flusher {
            Flusher::Background => self.wake(&mut guard),
            Flusher::Inline => {
                while guard.buffer.is_release_due && guard.buffer.failed.is_none() {
                    guard = self.await_flush(guard);
                }
            }
        }
        check(&guard.buffer)
    }

    /// Makes everything durable that was appended, and lets nothing be appended any more.
    pub(super) fn close(&self) -> Result<(), WalError> {
        let mut guard = self.lock();
        guard.buffer.is_closing = true;
        // Otherwise the next opening would replay records that were released of late.
        guard.buffer.is_release_due = true;
        self.room.notify_all();
        while self.durable() < guard.buffer.end || guard.buffer.is_release_due {
            check(&guard.buffer)?;
            guard.buffer.wanted = guard.buffer.end;
            guard = self.await_flush(guard);
        }
        check(&guard.buffer)
    }

    /// Ends the thread, even if records are pending.
    pub(super) fn stop(&self) {
        let mut guard = self.lock();
        guard.buffer.is_closing = true;
        guard.buffer.failed.get_or_insert(WalError::Closed);
        self.wake(&mut guard);
        self.room.notify_all();
        self.done.notify_all();
        self.wake_futures(guard);
    }

    /// Waits for a flush to end: the thread's, another caller's, or one's own.
    fn await_flush<'a>(&'a self, mut guard: Guard<'a>) -> Guard<'a> {
        if self.flusher == Flusher::Inline && !guard.buffer.is_flushing {
            return self.flush(guard);
        }
        self.wake(&mut guard);
        self.done.wait(&mut guard);
        guard
    }

    fn wake(&self, guard: &mut Guard<'_>) {
        if guard.thread != Sleep::Awake {
            guard.thread = Sleep::Awake;
            self.work.notify_one();
        }
    }

    /// Writes the pending records: all of them, or those up to the end of a whole block, if no
    /// thread waits for the rest. The buffer is not locked meanwhile.
    fn flush<'a>(&'a self, mut guard: Guard<'a>) -> Guard<'a> {
        let buffer = &mut guard.buffer;
        assert!(!buffer.is_flushing, "one flush is under way at a time");
        buffer.is_flushing = true;
        buffer.is_release_due = false;
        let spare = std::mem::take(&mut buffer.spare);
        let bytes = std::mem::replace(&mut buffer.pending, spare);
        buffer.begun = 0;
        buffer.free = buffer.free.saturating_sub(cost(bytes.len()));
        let (wanted, keep_from) = (buffer.wanted, buffer.keep_from);
        let is_last = buffer.is_closing && bytes.is_empty() && keep_from >= buffer.end;
        let offset = buffer.end - bytes.len() as u64;
        let round = Round { offset, bytes: &bytes, wanted, keep_from };
        drop(guard);

        let mut writer = self.writer.lock();
        let left = if is_last { writer.leave_zone() } else { Ok(()) };
        let written = left.and_then(|()| writer.write(&round));
        if let Ok(written) = &written {
            assert!(written.bytes <= bytes.len(), "more was written than the round has");
            debug_assert!(self.durable() <= written.end, "what was durable stays so");
            self.durable.store(written.end, Ordering::Release);
            // A thread that is about to wait holds the lock; without it the thread would miss this.
            self.wake_futures(self.lock());
            self.done.notify_all();
        }
        let result = written.and_then(|written| writer.release(keep_from).map(|()| written));

        let mut guard = self.lock();
        let buffer = &mut guard.buffer;
        buffer.is_flushing = false;
        buffer.is_short = false;
        match result {
            Ok(written) => {
                buffer.pending.splice(0..0, bytes[written.bytes..].iter().copied());
                buffer.begun = (offset + written.bytes as u64 - written.end) as usize;
                buffer.blocks += written.blocks;
                buffer.blocks_saved += written.blocks_saved;
                buffer.flushes += 1;
            }
            Err(error) => buffer.failed = Some(error),
        }
        buffer.give_back(bytes);
        buffer.measure(&writer);
        if buffer.failed.is_some() {
            self.wake_futures(guard);
            guard = self.lock();
        }
        self.done.notify_all();
        self.room.notify_all();
        guard
    }

    /// Body of the background thread.
    pub(super) fn run(&self) {
        let mut guard = self.lock();
        let mut is_over = false;
        let mut was_busy = false;
        while guard.buffer.failed.is_none() {
            let is_pending = !guard.buffer.pending.is_empty();
            if is_over && is_pending {
                guard.buffer.wanted = guard.buffer.end;
            }
            if self.is_urgent(&guard.buffer) {
                guard = self.flush(guard);
                (is_over, was_busy) = (false, true);
            } else if is_pending || was_busy {
                // While there is work the delay is slept through again and again, which spares
                // the first append after a flush from having to wake the thread.
                guard.thread = Sleep::Short;
                is_over = self.work.wait_for(&mut guard, self.delay).timed_out();
                was_busy = was_busy && !is_over;
            } else {
                guard.thread = Sleep::Long;
                self.work.wait(&mut guard);
                is_over = false;
            }
            guard.thread = Sleep::Awake;
        }
    }

    /// True if there is something to write that can't wait.
    fn is_urgent(&self, buffer: &Buffer) -> bool {
        buffer.wanted > self.durable()
            || buffer.pending.len() >= buffer.most_pending / EARLY
            || buffer.is_release_due
            || buffer.is_short
    }
}

fn check(buffer: &Buffer) -> Result<(), WalError> {
    buffer.failed.as_ref().map_or(Ok(()), |error| Err(error.clone()))
}
