//! A device that fails as drives do, from a seed: power cuts, errors, decay.

mod decay;
mod unflushed;

use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::chance::Chance;
use crate::{Device, DeviceError, Geometry, Operation, ZoneInfo, ZoneState};
use decay::Decay;
use unflushed::Unflushed;

/// How bad the end of a zone may be after a crash.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tail {
    /// The zone ends between two blocks.
    Whole,
    /// Its last block may be torn: new sectors of 512 bytes, then garbage.
    #[default]
    Torn,
    /// As torn, and the write pointer may have stayed while blocks before it are garbage, as in a
    /// file whose length was written before its content.
    Garbage,
}

/// What happens instead of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The power is cut in the middle of it. Part of it may have been done.
    PowerCut,
    /// It fails with an I/O error, and nothing is done.
    Error,
    /// A zone changes to this state (read-only or offline) just before it.
    Wear {
        /// The zone.
        zone: u32,
        /// Its state from now on.
        state: ZoneState,
    },
}

/// A device whose faults are drawn from a seed, or set by hand: for tests of recovery.
///
/// Everything goes straight to the device below. When the power is cut, by [`Faulty::crash`] or
/// as [scheduled](Faulty::schedule), every call fails with [`DeviceError::Crashed`] until
/// [`Faulty::restart`], which takes back from the device below what the crash lost: of each zone,
/// independently, a beginning of what was done since the last flush survives. An unflushed
/// append may be cut; an unflushed reset or finish may not have happened.
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
    state: Mutex<State>,
}

struct State {
    chance: Chance,
    tail: Tail,
    crashed: bool,
    operations: u64,
    schedule: BTreeMap<u64, Vec<Fault>>,
    unflushed: BTreeMap<u32, Unflushed>,
    decay: Decay,
}

impl Faulty {
    /// Wraps a device, all of whose content counts as durable.
    pub fn new(inner: Arc<dyn Device>, seed: u64) -> Self {
        Faulty::started(inner, Chance::new(seed), Tail::default(), Decay::default())
    }

    fn started(inner: Arc<dyn Device>, chance: Chance, tail: Tail, decay: Decay) -> Self {
        let state = State {
            chance,
            tail,
            crashed: false,
            operations: 0,
            schedule: BTreeMap::new(),
            unflushed: BTreeMap::new(),
            decay,
        };
        Faulty { inner, state: Mutex::new(state) }
    }

    /// Sets how bad the ends of zones may be after a crash.
    pub fn with_tail(self, tail: Tail) -> Self {
        self.state().tail = tail;
        self
    }

    /// Appends, resets, finishes and flushes so far.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Makes the `operation`-th append, reset, finish or flush, counted from 1, go wrong.
    pub fn schedule(&self, operation: u64, fault: Fault) {
        self.state().schedule.entry(operation).or_default().push(fault);
    }

    /// Flips the bits of `mask` in a byte, until its zone is reset.
    pub fn flip(&self, zone: u32, offset: u64, mask: u8) {
        self.state().decay.flip(zone, offset, mask);
    }

    /// Makes reads of the byte at `offset` fail with an I/O error, until its zone is reset.
    pub fn fail_reads(&self, zone: u32, offset: u64) {
        self.state().decay.fail_reads(zone, offset);
    }

    /// Cuts the power now.
    pub fn crash(&self) {
        self.state().crashed = true;
    }

    /// True after a power cut.
    pub fn has_crashed(&self) -> bool {
        self.state().crashed
    }

    /// The device as it is after a power cut (which happens now, if it has not), without a
    /// schedule. Decay stays. The old device fails for ever.
    ///
    /// # Errors
    /// Those of the device below.
    pub fn restart(&self) -> Result<Faulty, DeviceError> {
        let mut state = self.state();
        state.crashed = true;
        let unflushed = std::mem::take(&mut state.unflushed);
        let tail = state.tail;
        unflushed::lose(&*self.inner, unflushed, tail, &mut state.chance)?;
        let (chance, decay) = (state.chance.clone(), state.decay.clone());
        Ok(Faulty::started(Arc::clone(&self.inner), chance, tail, decay))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Fails after a power cut.
    fn check_power(&self) -> Result<(), DeviceError> {
        if self.crashed { Err(DeviceError::Crashed) } else { Ok(()) }
    }

    /// Counts an operation and lets the faults scheduled for it happen; true if the power is cut
    /// in the middle of it.
    fn begin(
        &mut self,
        failed: impl FnOnce(io::Error) -> DeviceError,
    ) -> Result<bool, DeviceError> {
        self.check_power()?;
        self.operations += 1;
        let mut result = Ok(false);
        for fault in self.schedule.remove(&self.operations).unwrap_or_default() {
            match fault {
                Fault::PowerCut => self.crashed = true,
                Fault::Error => result = Err(io::Error::other("a scheduled fault")),
                Fault::Wear { zone, state } => self.decay.wear(zone, state),
            }
        }
        if self.crashed { Ok(true) } else { result.map_err(failed) }
    }

    /// Begins an operation on a zone.
    fn begin_at(
        &mut self,
        operation: Operation,
        zone: u32,
        offset: u64,
    ) -> Result<bool, DeviceError> {
        let is_cut = self.begin(|source| DeviceError::Io { operation, zone, offset, source })?;
        self.decay.check(operation, zone, true)?;
        Ok(is_cut)
    }
}

impl Device for Faulty {
    fn geometry(&self) -> &Geometry {
        self.inner.geometry()
    }

    fn report(&self, first: u32, count: u32) -> Result<Vec<ZoneInfo>, DeviceError> {
        let state = self.state();
        state.check_power()?;
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
        // Of an append that the power cut meets, the restart decides how much survives.
        let is_cut = state.begin_at(Operation::Append, zone, at)?;
        let result = self.inner.append_vectored(zone, at, parts);
        if result.is_ok() {
            let bytes: usize = parts.iter().map(|part| part.len()).sum();
            unflushed::appended(&mut state.unflushed, zone, at, bytes as u64);
        }
        if is_cut { Err(DeviceError::Crashed) } else { result }
    }

    fn read(&self, zone: u32, offset: u64, buffer: &mut [u8]) -> Result<(), DeviceError> {
        let state = self.state();
        state.check_power()?;
        state.decay.check(Operation::Read, zone, false)?;
        self.inner.read(zone, offset, buffer)?;
        state.decay.spoil(zone, offset, buffer)
    }

    fn reset(&self, zone: u32) -> Result<(), DeviceError> {
        let mut state = self.state();
        let is_cut = state.begin_at(Operation::Reset, zone, 0)?;
        if is_cut && state.chance.one_in(2) {
            return Err(DeviceError::Crashed);
        }
        let State { unflushed, chance, .. } = &mut *state;
        unflushed::reset(unflushed, &*self.inner, zone, chance)?;
        state.decay.heal(zone);
        if is_cut { Err(DeviceError::Crashed) } else { Ok(()) }
    }

    fn finish(&self, zone: u32) -> Result<(), DeviceError> {
        let mut state = self.state();
        let is_cut = state.begin_at(Operation::Finish, zone, 0)?;
        if is_cut && state.chance.one_in(2) {
            return Err(DeviceError::Crashed);
        }
        unflushed::finish(&mut state.unflushed, &*self.inner, zone)?;
        if is_cut { Err(DeviceError::Crashed) } else { Ok(()) }
    }

    fn flush(&self) -> Result<(), DeviceError> {
        let mut state = self.state();
        if state.begin(|source| DeviceError::Flush { source })? {
            let State { unflushed, chance, .. } = &mut *state;
            let all = chance.one_in(3);
            unflushed.retain(|_, _| !all && chance.one_in(2));
            return Err(DeviceError::Crashed);
        }
        self.inner.flush()?;
        state.unflushed.clear();
        Ok(())
    }
}
