//! A device that records the changes since its last flush, and can give every state that a crash
//! may leave: of each zone's changes a beginning, the last page torn or not, independently of other
//! zones.
//!
//! States share their pages and are identified by hashes, so that many can be kept and compared.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::IoSlice;
use std::sync::{Arc, Mutex, MutexGuard};

use frostline_zone::{Device, DeviceError, Geometry, Operation, Shape, ZoneInfo, ZoneState};

/// Bytes of a page.
pub const PAGE: usize = 4096;

/// Bytes that a drive writes atomically: a page may be torn between two of these units.
const SECTOR: usize = 512;

fn hash_of(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// A page, and its hash.
#[derive(Clone)]
struct Page(Arc<[u8]>, u64);

impl Page {
    fn new(bytes: &[u8]) -> Self {
        // Pages are many, and none is made so that its hash equals that of another.
        let mix = |hash: u64, word: &[u8; 8]| {
            (hash.rotate_left(23) ^ u64::from_le_bytes(*word)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        };
        let hash = bytes.as_chunks().0.iter().fold(0, mix);
        Page(bytes.into(), hash ^ hash >> 32)
    }

    /// The page of which only the first sector was written.
    fn torn(&self) -> Page {
        let mut bytes = self.0.to_vec();
        bytes[SECTOR..].fill(0);
        Page::new(&bytes)
    }
}

/// A zone: its pages, and whether it was finished.
#[derive(Clone, Default)]
struct Zone {
    pages: Vec<Page>,
    finished: bool,
}

impl Zone {
    fn hash(&self) -> u64 {
        let pages: Vec<u64> = self.pages.iter().map(|page| page.1).collect();
        hash_of((pages, self.finished))
    }

    fn apply(&mut self, change: &Change) {
        match change {
            Change::Append(page) => self.pages.push(page.clone()),
            Change::Finish => self.finished = true,
            Change::Reset => *self = Zone::default(),
        }
    }
}

/// A change of a zone. An append is one change for each page.
#[derive(Clone)]
enum Change {
    Append(Page),
    Finish,
    Reset,
}

/// A zone, and its hash.
type Known = (Arc<Zone>, u64);

/// All zones of a device.
#[derive(Clone)]
pub struct Medium(Vec<Known>);

impl Medium {
    /// The hash of the state; equal states have equal hashes.
    pub fn hash(&self) -> u64 {
        hash_of(self.0.iter().map(|(_, hash)| *hash).collect::<Vec<_>>())
    }
}

/// The changes that no flush has made durable yet.
pub struct Unflushed {
    durable: Medium,
    changes: BTreeMap<usize, Vec<Change>>,
}

impl Unflushed {
    /// Calls `visit` with every state that a crash may leave. With `holes`, a page may also be lost
    /// while pages behind it are there, as in a file whose pages are written in any order.
    pub fn each_crash(&self, holes: bool, visit: &mut dyn FnMut(Medium)) {
        let outcomes: Vec<(usize, Vec<Known>)> = self
            .changes
            .iter()
            .map(|(&zone, changes)| (zone, outcomes(&self.durable.0[zone].0, changes, holes)))
            .collect();
        let all: usize = outcomes.iter().map(|(_, of_zone)| of_zone.len()).product();
        for mut number in 0..all {
            let mut medium = self.durable.clone();
            for (zone, of_zone) in &outcomes {
                medium.0[*zone] = of_zone[number % of_zone.len()].clone();
                number /= of_zone.len();
            }
            visit(medium);
        }
    }
}

/// The states of a zone that a crash may leave, each once.
fn outcomes(durable: &Zone, changes: &[Change], holes: bool) -> Vec<Known> {
    let (mut seen, mut all) = (BTreeSet::new(), Vec::new());
    let mut add = |zone: &Zone| {
        let hash = zone.hash();
        if seen.insert(hash) {
            all.push((Arc::new(zone.clone()), hash));
        }
    };
    let (mut zone, mut begin) = (durable.clone(), durable.pages.len());
    add(&zone);
    for change in changes {
        if let Change::Append(page) = change {
            let mut torn = zone.clone();
            torn.pages.push(page.torn());
            add(&torn);
        }
        zone.apply(change);
        begin = if matches!(change, Change::Reset) { 0 } else { begin };
        add(&zone);
        for hole in begin..zone.pages.len().max(begin + 1) - 1 {
            if holes {
                let mut holed = zone.clone();
                holed.pages[hole] = Page::new(&[0; PAGE]);
                add(&holed);
            }
        }
    }
    all
}

/// The device.
pub struct World {
    geometry: Geometry,
    state: Mutex<State>,
}

struct State {
    /// Shared with the durable medium until it is changed. The hash of a zone with unflushed
    /// changes is the one before them.
    now: Medium,
    unflushed: Unflushed,
    /// The unflushed changes before each flush, in order.
    ended: Vec<Unflushed>,
    resets: u64,
}

impl State {
    /// The present content. Only zones that were changed are hashed.
    fn medium(&self) -> Medium {
        let mut medium = self.now.clone();
        for &zone in self.unflushed.changes.keys() {
            let (content, hash) = &mut medium.0[zone];
            *hash = content.hash();
        }
        medium
    }
}

impl World {
    /// An empty device.
    pub fn empty(zones: u64, zone_pages: u64) -> Arc<World> {
        let zone_bytes = zone_pages * PAGE as u64;
        let shape = Shape::of_zones(zones, zone_bytes);
        let zone = (Arc::new(Zone::default()), Zone::default().hash());
        World::of(shape.geometry().unwrap(), Medium(vec![zone; zones as usize]))
    }

    fn of(geometry: Geometry, durable: Medium) -> Arc<World> {
        let now = durable.clone();
        let unflushed = Unflushed { durable, changes: BTreeMap::new() };
        let state = State { now, unflushed, ended: Vec::new(), resets: 0 };
        Arc::new(World { geometry, state: Mutex::new(state) })
    }

    /// A device of the same shape with the content `medium`, all of it durable.
    pub fn with(&self, medium: Medium) -> Arc<World> {
        World::of(self.geometry.clone(), medium)
    }

    /// The present content of the device.
    pub fn medium(&self) -> Medium {
        self.state().medium()
    }

    /// The unflushed changes before each flush since the last call of this function.
    pub fn take_ended(&self) -> Vec<Unflushed> {
        std::mem::take(&mut self.state().ended)
    }

    /// The present unflushed changes.
    pub fn unflushed(&self) -> Unflushed {
        let state = self.state();
        Unflushed {
            durable: state.unflushed.durable.clone(),
            changes: state.unflushed.changes.clone(),
        }
    }

    /// Resets of zones that were not empty.
    pub fn resets(&self) -> u64 {
        self.state().resets
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn change(&self, zone: u32, changes: impl IntoIterator<Item = Change>) {
        let mut state = self.state();
        for change in changes {
            Arc::make_mut(&mut state.now.0[zone as usize].0).apply(&change);
            state.unflushed.changes.entry(zone as usize).or_default().push(change);
        }
    }

    fn info(&self, zone: &Zone) -> ZoneInfo {
        let capacity = self.geometry.zone_capacity;
        let written = (zone.pages.len() * PAGE) as u64;
        let is_full = zone.finished || written == capacity;
        let (state, write_pointer) = match written {
            _ if is_full => (ZoneState::Full, capacity),
            0 => (ZoneState::Empty, 0),
            _ => (ZoneState::Closed, written),
        };
        ZoneInfo { state, write_pointer, capacity }
    }
}

impl Device for World {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn report(&self, first: u32, count: u32) -> Result<Vec<ZoneInfo>, DeviceError> {
        let state = self.state();
        let zones = state.now.0.iter().skip(first as usize).take(count as usize);
        Ok(zones.map(|(zone, _)| self.info(zone)).collect())
    }

    fn append_vectored(
        &self,
        zone: u32,
        at: u64,
        parts: &[IoSlice<'_>],
    ) -> Result<(), DeviceError> {
        let parts: Vec<&[u8]> = parts.iter().map(|part| &**part).collect();
        let bytes = parts.concat();
        let ZoneInfo { state, write_pointer: pointer, capacity } = self.zone(zone)?;
        assert!(state.is_writable() && at == pointer, "an append to the wrong place");
        assert!(at + bytes.len() as u64 <= capacity, "an append that does not fit");
        self.change(zone, bytes.chunks_exact(PAGE).map(|page| Change::Append(Page::new(page))));
        Ok(())
    }

    fn read(&self, zone: u32, offset: u64, buffer: &mut [u8]) -> Result<(), DeviceError> {
        let state = self.state();
        let found = &state.now.0[zone as usize].0;
        let pointer = self.info(found).write_pointer;
        let bytes = buffer.len() as u64;
        if offset + bytes > pointer {
            return Err(DeviceError::ReadBeyondPointer { zone, offset, bytes, pointer });
        }
        for (n, to) in buffer.chunks_exact_mut(PAGE).enumerate() {
            match found.pages.get(offset as usize / PAGE + n) {
                Some(page) => to.copy_from_slice(&page.0),
                None => to.fill(0),
            }
        }
        Ok(())
    }

    fn reset(&self, zone: u32) -> Result<(), DeviceError> {
        if self.zone(zone)?.state != ZoneState::Empty {
            self.change(zone, [Change::Reset]);
            self.state().resets += 1;
        }
        Ok(())
    }

    fn finish(&self, zone: u32) -> Result<(), DeviceError> {
        match self.zone(zone)?.state {
            ZoneState::Full => Ok(()),
            ZoneState::Empty => {
                Err(DeviceError::OfflineZone { operation: Operation::Finish, zone })
            }
            _ => {
                self.change(zone, [Change::Finish]);
                Ok(())
            }
        }
    }

    fn flush(&self) -> Result<(), DeviceError> {
        let mut state = self.state();
        state.now = state.medium();
        let next = Unflushed { durable: state.now.clone(), changes: BTreeMap::new() };
        let ended = std::mem::replace(&mut state.unflushed, next);
        if !ended.changes.is_empty() {
            state.ended.push(ended);
        }
        Ok(())
    }
}

/// Recoveries of devices after power cuts. Each state of a device is recovered only once.
pub struct Recoveries<F> {
    /// For each state of the device: what recovery finds, and the number of further power cuts it
    /// was checked with.
    known: HashMap<u64, (F, u32)>,
    /// See [`Unflushed::each_crash`].
    holes: bool,
    /// Power cuts so far.
    pub crashes: u64,
    /// States of devices that were recovered.
    pub recovered: u64,
}

impl<F: Clone + PartialEq + Debug> Recoveries<F> {
    /// No state is recovered yet.
    pub fn new(holes: bool) -> Self {
        Recoveries { known: HashMap::new(), holes, crashes: 0, recovered: 0 }
    }

    /// Calls `judge` with what `open` finds after every power cut that is possible now. Also checks
    /// that it finds the same if the power is cut again during recovery, up to `cuts` times.
    pub fn each(
        &mut self,
        world: &World,
        unflushed: &Unflushed,
        cuts: u32,
        open: &dyn Fn(&Arc<World>) -> F,
        judge: &mut dyn FnMut(&F),
    ) {
        unflushed.each_crash(self.holes, &mut |medium| {
            self.crashes += 1;
            judge(&self.recover(world, medium, cuts, open));
        });
    }

    fn recover(
        &mut self,
        world: &World,
        medium: Medium,
        cuts: u32,
        open: &dyn Fn(&Arc<World>) -> F,
    ) -> F {
        let hash = medium.hash();
        if let Some((found, known)) = self.known.get(&hash)
            && *known >= cuts
        {
            return found.clone();
        }
        self.recovered += 1;
        let world = world.with(medium);
        let found = open(&world);
        if cuts > 0 {
            for unflushed in world.take_ended().into_iter().chain([world.unflushed()]) {
                self.each(&world, &unflushed, cuts - 1, open, &mut |again| {
                    assert_eq!(*again, found, "after a power cut while it recovered");
                });
            }
        }
        self.known.insert(hash, (found.clone(), cuts));
        found
    }
}
