//! A plain block device through kills and power cuts of a disk that loses any sector that was not
//! synced, against a naive model: flushed changes survive, and of each zone's later changes a
//! beginning.
//!
//! `FROSTLINE_CRASHES=n` asks for n lives in each test.

use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::disk::Disk;
use super::state::{Layout, WritePointers};
use super::{Ranges, description, lay_out, parse};
use crate::chance::Chance;
use crate::geometry::BLOCK_BYTES;
use crate::zoned::Zoned;
use crate::{Device, Geometry, Shape, ZoneState};

const SECTOR: usize = 512;
const BLOCK: usize = BLOCK_BYTES as usize;
/// So many that their state takes two blocks.
const ZONES: u32 = 260;
/// The zones that are used, whose states lie in both blocks.
const USED: [u32; 5] = [0, 1, 50, 258, 259];
const CAPACITY: usize = 4 * BLOCK;

/// A disk that remembers all that each sector may hold after a power cut.
#[derive(Clone)]
struct FragileDisk(Arc<Mutex<Sectors>>);

struct Sectors {
    now: Vec<u8>,
    /// The sectors changed since the last sync, with their contents since then, oldest first.
    unsynced: BTreeMap<usize, Vec<Vec<u8>>>,
    /// Calls that change or sync the disk until the process is killed: that call is done in part.
    left: u64,
    chance: Chance,
}

impl FragileDisk {
    fn new(bytes: u64, seed: u64) -> FragileDisk {
        let (now, unsynced) = (vec![0; bytes as usize], BTreeMap::new());
        let chance = Chance::new(seed);
        FragileDisk(Arc::new(Mutex::new(Sectors { now, unsynced, left: u64::MAX, chance })))
    }

    fn sectors(&self) -> MutexGuard<'_, Sectors> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Each sector keeps one of the contents that it had since the last sync.
    fn cut_power(&self) {
        let mut sectors = self.sectors();
        let Sectors { now, unsynced, chance, .. } = &mut *sectors;
        // Now and then all is lost, or nothing.
        let kind = chance.up_to(3);
        for (at, mut contents) in std::mem::take(unsynced) {
            contents.push(now[at..at + SECTOR].to_vec());
            let most = contents.len() as u64 - 1;
            let which = match kind {
                0 => 0,
                1 => most,
                _ => chance.up_to(most),
            };
            now[at..at + SECTOR].copy_from_slice(&contents[which as usize]);
        }
    }
}

impl Sectors {
    fn put(&mut self, at: usize, bytes: &[u8]) {
        let (first, end) = (at / SECTOR * SECTOR, (at + bytes.len()).next_multiple_of(SECTOR));
        for sector in (first..end).step_by(SECTOR) {
            let was = self.now[sector..sector + SECTOR].to_vec();
            self.unsynced.entry(sector).or_default().push(was);
        }
        self.now[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// True if this call is the last one, of which a part is done.
    fn is_killed(&mut self) -> io::Result<bool> {
        match self.left {
            0 => Err(io::Error::other("killed")),
            _ => {
                self.left -= 1;
                Ok(self.left == 0)
            }
        }
    }
}

impl Disk for FragileDisk {
    fn read(&self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        let at = at as usize;
        buffer.copy_from_slice(&self.sectors().now[at..at + buffer.len()]);
        Ok(())
    }

    fn write(&self, at: u64, parts: &[IoSlice<'_>], stream: u8) -> io::Result<()> {
        assert_eq!(stream, 0);
        let mut bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_vec()).collect();
        let mut sectors = self.sectors();
        let is_killed = sectors.is_killed()?;
        if is_killed {
            let most = (bytes.len() / SECTOR) as u64;
            bytes.truncate(sectors.chance.up_to(most) as usize * SECTOR);
        }
        sectors.put(at as usize, &bytes);
        if is_killed { Err(io::Error::other("killed")) } else { Ok(()) }
    }

    /// Discarded sectors become zeroes, anything, or stay as they are.
    fn discard(&self, at: u64, bytes: u64) -> io::Result<()> {
        let mut sectors = self.sectors();
        let is_killed = sectors.is_killed()?;
        for sector in (at..at + bytes).step_by(SECTOR) {
            let mut content = vec![0; SECTOR];
            match sectors.chance.up_to(2) {
                0 => {}
                1 => sectors.chance.fill(&mut content),
                _ => continue,
            }
            sectors.put(sector as usize, &content);
        }
        if is_killed { Err(io::Error::other("killed")) } else { Ok(()) }
    }

    fn sync(&self) -> io::Result<()> {
        let mut sectors = self.sectors();
        if sectors.is_killed()? {
            return Err(io::Error::other("killed"));
        }
        sectors.unsynced.clear();
        Ok(())
    }
}

fn geometry() -> Geometry {
    let bytes = u64::from(ZONES) * CAPACITY as u64;
    let (zone_bytes, zone_capacity) = (Some(5 * BLOCK as u64), Some(CAPACITY as u64));
    Shape { bytes, zone_bytes, zone_capacity, ..Shape::default() }.geometry().unwrap()
}

fn disk(seed: u64) -> FragileDisk {
    let geometry = geometry();
    let layout = Layout::new(ZONES, geometry.zone_bytes);
    FragileDisk::new(layout.zones_at + u64::from(ZONES) * geometry.zone_bytes, seed)
}

fn open(disk: &FragileDisk) -> io::Result<Zoned<Ranges<FragileDisk>>> {
    let opened = Ranges::open(disk.clone(), &geometry(), false, None)?;
    let (ranges, zones) = opened.expect("the state is damaged");
    Ok(Zoned::new(ranges, geometry(), zones))
}

/// The bytes written to a zone, and whether it was finished.
#[derive(Clone, Debug, Default, PartialEq)]
struct ZoneContent {
    bytes: Vec<u8>,
    is_full: bool,
}

impl ZoneContent {
    /// A finished zone reads as anything where it was never written.
    fn explains(&self, found: &ZoneContent) -> bool {
        let len = if self.is_full { CAPACITY } else { self.bytes.len() };
        found.bytes.len() == len && found.bytes.starts_with(&self.bytes)
    }
}

/// The states that each zone may have after a power cut, the last of them the present one.
struct Model(Vec<Vec<ZoneContent>>);

impl Model {
    fn change(&mut self, zone: u32, change: impl FnOnce(&mut ZoneContent)) {
        let states = &mut self.0[zone as usize];
        let mut now = states.last().unwrap().clone();
        change(&mut now);
        states.push(now);
    }

    fn flushed(&mut self) {
        self.0.iter_mut().for_each(|states| drop(states.drain(..states.len() - 1)));
    }

    /// Checks that the device is in a state that the model allows. Opening has made it durable.
    fn compare(&mut self, device: &dyn Device, seed: u64) {
        for (zone, states) in (0..).zip(&mut self.0) {
            let info = device.zone(zone).unwrap();
            let mut bytes = vec![0; info.write_pointer as usize];
            device.read(zone, 0, &mut bytes).unwrap();
            let found = ZoneContent { bytes, is_full: info.state == ZoneState::Full };
            let is_explained = states.iter().any(|state| state.explains(&found));
            assert!(is_explained, "seed {seed}: zone {zone} is {found:?}, not of {states:?}");
            *states = vec![found];
        }
    }
}

/// Changes the device until the process is killed; returns the number of flushes.
fn act(device: &dyn Device, model: &mut Model, chance: &mut Chance) -> u64 {
    let mut flushes = 0;
    for fill in (1u8..=255).cycle() {
        let zone = USED[chance.up_to(USED.len() as u64 - 1) as usize];
        let info = device.zone(zone).unwrap();
        let room = (info.capacity - info.write_pointer) / BLOCK as u64;
        let done = match chance.up_to(19) {
            0..11 if room > 0 => {
                let data = vec![fill; BLOCK * (1 + chance.up_to(room - 1)) as usize];
                let done = device.append(zone, info.write_pointer, &data);
                // Of an append that failed, the zone's report tells nothing.
                if done.is_ok() {
                    model.change(zone, |now| now.bytes.extend(&data));
                }
                done
            }
            11 => {
                model.change(zone, |now| now.is_full = true);
                device.finish(zone)
            }
            12..16 => {
                let done = device.flush();
                if done.is_ok() {
                    model.flushed();
                    flushes += 1;
                }
                done
            }
            _ => {
                model.change(zone, |now| *now = ZoneContent::default());
                device.reset(zone)
            }
        };
        if done.is_err() {
            return flushes;
        }
    }
    flushes
}

fn lives() -> u64 {
    std::env::var("FROSTLINE_CRASHES").ok().and_then(|n| n.parse().ok()).unwrap_or(100)
}

/// Kills and power cuts of one disk; returns the number of flushes.
fn live(seed: u64) -> u64 {
    let mut chance = Chance::new(seed);
    let disk = disk(seed ^ 0x5eed);
    lay_out(&disk, &geometry()).unwrap();
    let mut model = Model(vec![vec![ZoneContent::default()]; ZONES as usize]);
    let mut flushes = 0;
    // On some disks all processes are killed soon, most while they open the device; on others they
    // live for several halves.
    let (lives, most) = if chance.one_in(2) { (60, 4) } else { (chance.up_to(8), 600) };
    for _ in 0..=lives {
        disk.sectors().left = 1 + chance.up_to(most);
        if let Ok(device) = open(&disk) {
            model.compare(&device, seed);
            flushes += act(&device, &mut model, &mut chance);
        }
        if chance.one_in(2) {
            disk.cut_power();
        }
    }
    disk.sectors().left = u64::MAX;
    disk.cut_power();
    model.compare(&open(&disk).unwrap(), seed);
    flushes
}

#[test]
fn what_was_flushed_survives_kills_and_power_cuts() {
    let flushes: u64 = (0..lives()).map(live).sum();
    println!("{} disks, {flushes} flushes", lives());
    assert!(flushes > 10 * lives());
}

#[test]
fn a_crash_while_a_device_is_made_leaves_remains_or_a_device() {
    let mut finished = 0;
    for seed in 0..lives() {
        let disk = disk(seed);
        disk.sectors().left = 1 + seed % 9;
        let made = lay_out(&disk, &geometry());
        disk.cut_power();
        disk.sectors().left = u64::MAX;
        let mut block = vec![0; BLOCK];
        disk.read(0, &mut block).unwrap();
        let text = String::from_utf8(block).unwrap();
        let text = text.trim_end_matches('\0');
        if text == description(&geometry()) {
            let device = open(&disk).unwrap();
            let zones = device.report(0, ZONES).unwrap();
            assert!(zones.iter().all(|zone| zone.state == ZoneState::Empty));
            finished += 1;
        } else {
            assert!(made.is_err() && ["", super::UNFINISHED].contains(&text), "{text:?}");
        }
    }
    assert!(finished > 0);
}

#[test]
fn descriptions_are_read_as_they_were_written() {
    let text = description(&geometry());
    let text = text.strip_prefix(super::FIRST_LINE).unwrap();
    assert_eq!(parse(text), Ok(geometry()));
    assert!(parse(&text.replace("zones 260", "zones 259")).is_err());
    assert!(parse("").is_err());
}

#[test]
fn a_device_has_room_for_as_many_zones_as_a_layout_says() {
    for (bytes, zone_bytes) in [(64 << 20, 1 << 20), (1 << 40, 256 << 20), (3 << 20, 4096)] {
        let zones = Layout::zones_on(bytes, zone_bytes);
        let end = |zones: u64| Layout::new(zones as u32, zone_bytes).zones_at + zones * zone_bytes;
        assert!(end(zones) <= bytes && end(zones + 1) > bytes, "{bytes} {zone_bytes}: {zones}");
    }
    assert_eq!(Layout::zones_on(1 << 40, 256 << 20), 4095);
    assert_eq!((Layout::zones_on(4096, 4096), Layout::zones_on(0, 1 << 20)), (0, 0));
}

#[test]
fn a_state_that_is_damaged_is_told_from_an_old_one() {
    let geometry = geometry();
    let layout = Layout::new(ZONES, geometry.zone_bytes);
    let disk = disk(1);
    WritePointers::make(&disk, layout, ZONES).unwrap();
    let read = || WritePointers::read(&disk, layout, &geometry).unwrap();
    let mut state = read().unwrap();
    state.record(&disk, &[(258, 4096)]).unwrap();
    state.record(&disk, &[(258, 8192), (1, 4096)]).unwrap();
    let some = || USED.map(|zone| read().unwrap().pointers()[zone as usize]);
    assert_eq!(some(), [0, 4096, 0, 8192, 0]);
    // The last block of changes is lost, then the snapshot before it, then the first one.
    let second_half = 1 + 66;
    let spoil = |block: u64| disk.write(block * BLOCK as u64 + 100, &[IoSlice::new(&[9; 8])], 0);
    spoil(second_half + 2).unwrap();
    assert_eq!(some(), [0, 0, 0, 4096, 0]);
    spoil(second_half + 1).unwrap();
    assert_eq!(some(), [0; 5]);
    spoil(2).unwrap();
    assert!(read().is_none());
}
