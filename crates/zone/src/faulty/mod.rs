//! A device that fails like drives do, from a seed: power cuts, errors, decay.

mod decay;
mod fault;
mod nth;
mod unflushed;

use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::fault_rng::FaultRng;
use crate::{Device, DeviceError, Geometry, Operation, ZoneInfo};
use decay::Decay;
pub use fault::{Fault, Tail};
use nth::Nth;
use unflushed::{Finished, Unflushed};

/// A device with faults that are drawn from a seed, or set by hand: for tests of recovery.
///
/// Every operation goes directly to the device below. When the power is cut or the process is
/// killed, by [`Faulty::crash`] or as [scheduled](Faulty::schedule), every call fails with
/// [`DeviceError::Crashed`]. The device can then be continued in one of two ways:
///
/// * [`Faulty::restart`], after a power cut, takes back the lost operations from the device below:
///   of
///   each zone, independently, a beginning of the operations since the last flush survives. An
///   unflushed append may be cut; an unflushed reset or finish may not have happened.
/// * [`Faulty::reopen`], after a process was killed, gives the device as the next process finds it:
///   everything is there, but unflushed operations may still be lost in a later power cut.
///
/// After a flush that failed, every flush fails until then, and data that it should have made
/// durable may also be lost to the next process.
///
/// ```
/// use frostline_zone::{DeviceError, Fault, Faulty, Shape, in_memory};
/// use frostline_zone::Device;
///
/// let device = in_memory(&Shape { bytes: 4 << 20, ..Shape::default() })?;
/// let device = Faulty::new(device, 42);
/// device.append(0, 0, &[1; 4096])?;
/// device.flush()?;
/// device.schedule(device.operations() + 1, Fault::PowerCut);
/// let cut = device.append(0, 4096, &[2; 65536]);
/// assert!(matches!(cut, Err(DeviceError::Crashed)));
///
/// let device = device.restart()?;
/// let end = device.zone(0)?.write_pointer;
/// assert!((4096..=4096 + 65536).contains(&end));
/// # Ok::<(), DeviceError>(())
/// ```
pub struct Faulty {
    inner: Arc<dyn Device>,
    state: Mutex<FaultyState>,
}

struct FaultyState {
    chance: FaultRng,
    tail: Tail,
    crashed: bool,
    operations: u64,
    schedule: BTreeMap<u64, Vec<Fault>>,
    nth: Nth,
    unflushed: BTreeMap<u32, Unflushed>,
    finished: Finished,
    decay: Decay,
    flush_failed: bool,
}

impl Faulty {
    /// Wraps a device; all its content counts as durable.
    pub fn new(inner: Arc<dyn Device>, seed: u64) -> Self {
        let state = FaultyState {
            chance: FaultRng::new(seed),
            tail: Tail::default(),
            crashed: false,
            operations: 0,
            schedule: BTreeMap::new(),
            nth: Nth::default(),
            unflushed: BTreeMap::new(),
            finished: Finished::new(),
            decay: Decay::default(),
            flush_failed: false,
        };
        Faulty { inner, state: Mutex::new(state) }
    }

    /// Sets how much damage a crash may do to the ends of zones.
    pub fn with_tail(self, tail: Tail) -> Self {
        self.state().tail = tail;
        self
    }

    /// Appends, resets, finishes and flushes so far.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Makes a fault happen at the `operation`-th append, reset, finish or flush, counted from 1.
    pub fn schedule(&self, operation: u64, fault: Fault) {
        self.state().schedule.entry(operation).or_default().push(fault);
    }

    /// The number of operations of a kind so far; reads, reports and failed operations count too.
    pub fn count(&self, operation: Operation) -> u64 {
        self.state().nth.count(operation)
    }

    /// Makes a fault happen at those operations of a kind whose numbers, counted from 1, are in
    /// `which`.
    pub fn fail(&self, operation: Operation, which: Range<u64>, fault: Fault) {
        self.state().nth.fail(operation, which, fault);
    }

    /// Cancels all scheduled faults. Decay stays, and so does the state after a failed flush.
    pub fn stop_failing(&self) {
        let mut state = self.state();
        state.nth.stop();
        state.schedule.clear();
    }

    /// Flips the bits of `mask` in a byte, until its zone is reset.
    pub fn flip(&self, zone: u32, offset: u64, mask: u8) {
        self.state().decay.flip(zone, offset, mask);
    }

    /// Makes reads of the byte at `offset` fail with an I/O error, until its zone is reset.
    pub fn fail_reads(&self, zone: u32, offset: u64) {
        self.state().decay.fail_reads(zone, offset);
    }

    /// Crashes now: cuts the power, or kills the process, which is the same until the device is
    /// continued.
    pub fn crash(&self) {
        self.state().crashed = true;
    }

    /// True after a power cut, or when the process was killed.
    pub fn has_crashed(&self) -> bool {
        self.state().crashed
    }

    /// The device after a power cut (which happens now, if it has not yet), without a schedule.
    /// Decay stays. The old device fails for ever.
    ///
    /// # Errors
    /// Those of the device below.
    pub fn restart(&self) -> Result<Faulty, DeviceError> {
        self.next(true)
    }

    /// The device as the next process finds it after one was killed (which happens now, if it has
    /// not yet), without a schedule. Unflushed operations are there, and may still be lost in a
    /// power cut; only if a flush had failed, some of them are lost already. Decay stays. The old
    /// device fails for ever.
    ///
    /// # Errors
    /// Those of the device below.
    pub fn reopen(&self) -> Result<Faulty, DeviceError> {
        let is_lossy = self.state().flush_failed;
        self.next(is_lossy)
    }

    fn next(&self, is_lossy: bool) -> Result<Faulty, DeviceError> {
        let mut state = self.state();
        state.crashed = true;
        let mut unflushed = std::mem::take(&mut state.unflushed);
        let tail = state.tail;
        if is_lossy {
            let lost = std::mem::take(&mut unflushed);
            let FaultyState { finished, chance, .. } = &mut *state;
            unflushed::lose(&*self.inner, lost, finished, tail, chance)?;
        }
        let (chance, decay) = (state.chance.clone(), state.decay.clone());
        let finished = state.finished.clone();
        let next = FaultyState {
            chance,
            tail,
            crashed: false,
            operations: 0,
            schedule: BTreeMap::new(),
            nth: Nth::default(),
            unflushed,
            finished,
            decay,
            flush_failed: false,
        };
        Ok(Faulty { inner: Arc::clone(&self.inner), state: Mutex::new(next) })
    }

    /// Reads the same place of the next zone that was written so far.
    fn misread(&self, zone: u32, offset: u64, buffer: &mut [u8]) -> Result<(), DeviceError> {
        let zones = self.inner.report(0, self.geometry().zones)?;
        let end = offset + buffer.len() as u64;
        let has = |other: &u32| zones[*other as usize].write_pointer >= end;
        match (zone + 1..zones.len() as u32).chain(0..zone).find(has) {
            Some(other) => self.inner.read(other, offset, buffer),
            None => Ok(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, FaultyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FaultyState {
    /// Fails after a power cut.
    fn check_power(&self) -> Result<(), DeviceError> {
        if self.crashed { Err(DeviceError::Crashed) } else { Ok(()) }
    }

    /// Counts an operation and applies the faults scheduled for it. Returns the last fault that
    /// affects the operation itself, if there is one.
    fn begin(&mut self, operation: Operation) -> Result<Option<Fault>, DeviceError> {
        self.check_power()?;
        self.operations += 1;
        let mut met = None;
        let scheduled = self.schedule.remove(&self.operations).unwrap_or_default();
        for fault in scheduled.into_iter().chain(self.nth.meet(operation)) {
            match fault {
                Fault::Wear { zone, state } => self.decay.wear(zone, state),
                Fault::Misdirected | Fault::Stale => {}
                _ if self.crashed => {}
                _ => met = Some(fault),
            }
            self.crashed |= matches!(fault, Fault::PowerCut | Fault::Kill);
        }
        Ok(met)
    }

    /// Begins an operation on a zone.
    fn begin_at(
        &mut self,
        operation: Operation,
        zone: u32,
        offset: u64,
    ) -> Result<Option<Fault>, DeviceError> {
        let met = self.begin(operation)?;
        self.decay.check(operation, zone, true)?;
        match met {
            Some(Fault::Partial) if operation == Operation::Append => Ok(met),
            Some(fault) if fault.is_error() => {
                let source = fault.source();
                Err(DeviceError::Io { operation, zone, offset, source })
            }
            met => Ok(met),
        }
    }

    /// Begins an operation that changes nothing. Returns the fault if it makes a read return wrong
    /// bytes.
    fn look(
        &mut self,
        operation: Operation,
        zone: u32,
        offset: u64,
    ) -> Result<Option<Fault>, DeviceError> {
        self.check_power()?;
        match self.nth.meet(operation) {
            met @ (None | Some(Fault::Misdirected | Fault::Stale)) => Ok(met),
            Some(fault) if fault.is_error() => {
                let source = fault.source();
                Err(DeviceError::Io { operation, zone, offset, source })
            }
            Some(Fault::Wear { zone, state }) => {
                self.decay.wear(zone, state);
                Ok(None)
            }
            Some(_) => {
                self.crashed = true;
                Err(DeviceError::Crashed)
            }
        }
    }
}

impl Fault {
    /// True if the operation fails while its user continues.
    fn is_error(self) -> bool {
        matches!(self, Fault::Error | Fault::Partial | Fault::Refused | Fault::Full)
    }

    /// The fault as an error of the system.
    fn source(self) -> io::Error {
        match self {
            Fault::Refused => io::ErrorKind::OutOfMemory.into(),
            Fault::Full => io::ErrorKind::StorageFull.into(),
            _ => io::Error::other("a scheduled fault"),
        }
    }
}

/// The bytes of a random number of first blocks, possibly none.
fn beginning(parts: &[IoSlice<'_>], block: u32, chance: &mut FaultRng) -> Vec<u8> {
    let mut bytes: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
    let blocks = chance.up_to(bytes.len() as u64 / u64::from(block));
    bytes.truncate(blocks as usize * block as usize);
    bytes
}

impl Device for Faulty {
    fn geometry(&self) -> &Geometry {
        self.inner.geometry()
    }

    fn report(&self, first: u32, count: u32) -> Result<Vec<ZoneInfo>, DeviceError> {
        let mut state = self.state();
        state.look(Operation::Report, first, 0)?;
        let mut zones = self.inner.report(first, count)?;
        for (zone, info) in (first..).zip(&mut zones) {
            state.decay.show(zone, info);
        }
        Ok(zones)
    }

    fn append_vectored(
        &self,
        zone: u32,
        at: u64,
        parts: &[IoSlice<'_>],
    ) -> Result<(), DeviceError> {
        let mut state = self.state();
        let met = state.begin_at(Operation::Append, zone, at)?;
        let whole: u64 = parts.iter().map(|part| part.len() as u64).sum();
        let fits = at.saturating_add(whole) <= self.inner.zone(zone)?.capacity;
        let (bytes, result) = match met {
            Some(Fault::Kill | Fault::Partial) if fits => {
                let block = self.geometry().block_bytes;
                let first = beginning(parts, block, &mut state.chance);
                (first.len() as u64, self.inner.append(zone, at, &first))
            }
            // If the power is cut during an append, the restart decides how much of it survives.
            _ => (whole, self.inner.append_vectored(zone, at, parts)),
        };
        if result.is_ok() && bytes > 0 {
            unflushed::appended(&mut state.unflushed, zone, at, bytes);
        }
        match met {
            None => result,
            Some(fault @ Fault::Partial) => result.and_then(|()| {
                let source = fault.source();
                Err(DeviceError::Io { operation: Operation::Append, zone, offset: at, source })
            }),
            Some(_) => Err(DeviceError::Crashed),
        }
    }

    fn read(&self, zone: u32, offset: u64, buffer: &mut [u8]) -> Result<(), DeviceError> {
        let mut state = self.state();
        let met = state.look(Operation::Read, zone, offset)?;
        state.decay.check(Operation::Read, zone, false)?;
        self.inner.read(zone, offset, buffer)?;
        match met {
            Some(Fault::Misdirected) => self.misread(zone, offset, buffer)?,
            Some(_) => state.nth.stale(zone, offset, buffer),
            None => {}
        }
        state.decay.spoil(zone, offset, buffer)
    }

    fn reset(&self, zone: u32) -> Result<(), DeviceError> {
        let mut state = self.state();
        let is_cut = state.begin_at(Operation::Reset, zone, 0)?.is_some();
        if is_cut && state.chance.one_in(2) {
            return Err(DeviceError::Crashed);
        }
        if state.nth.wants_past() {
            let mut past = vec![0; self.inner.zone(zone)?.write_pointer as usize];
            self.inner.read(zone, 0, &mut past)?;
            state.nth.remember(zone, past);
        }
        let FaultyState { unflushed, finished, chance, .. } = &mut *state;
        unflushed::reset(unflushed, finished, &*self.inner, zone, chance)?;
        state.decay.heal(zone);
        if is_cut { Err(DeviceError::Crashed) } else { Ok(()) }
    }

    fn finish(&self, zone: u32) -> Result<(), DeviceError> {
        let mut state = self.state();
        let is_cut = state.begin_at(Operation::Finish, zone, 0)?.is_some();
        if is_cut && state.chance.one_in(2) {
            return Err(DeviceError::Crashed);
        }
        let FaultyState { unflushed, finished, .. } = &mut *state;
        unflushed::finish(unflushed, finished, &*self.inner, zone)?;
        if is_cut { Err(DeviceError::Crashed) } else { Ok(()) }
    }

    fn flush(&self) -> Result<(), DeviceError> {
        let mut state = self.state();
        let met = state.begin(Operation::Flush)?;
        if state.crashed {
            let FaultyState { unflushed, chance, .. } = &mut *state;
            let all = chance.one_in(3);
            unflushed.retain(|_, _| !all && chance.one_in(2));
            return Err(DeviceError::Crashed);
        }
        if state.flush_failed {
            return Err(DeviceError::FlushFailedBefore);
        }
        if let Some(fault) = met {
            state.flush_failed = true;
            return Err(DeviceError::Flush { source: fault.source() });
        }
        self.inner.flush()?;
        state.unflushed.clear();
        Ok(())
    }
}
