//! Zones on one disk through kills and power cuts, which lose any sector that was not synced, each
//! by itself, against a naive model: flushed changes survive, and of each zone's later changes a
//! beginning. What survives is what was written: not one byte is of a former life.
//!
//! `FROSTLINE_TIMES=n` asks for n times as many lives.

use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::disk::Disk;
use super::journal::{FoundJournal, Journal, Layout, ZoneRecord};
use super::medium::{Ranges, Unopened};
use super::space::UNIT;
use super::{Placing, UNFINISHED, describe, description, lay_out, layout_of, parse, zones_on};
use crate::fault_rng::FaultRng;
use crate::geometry::BLOCK_BYTES;
use crate::zoned::Zoned;
use crate::{Device, Geometry, OpenOptions, Shape, ZoneState};

const SECTOR: usize = 512;
const BLOCK: usize = BLOCK_BYTES as usize;
/// So many that a snapshot of all takes two blocks.
const ZONES: u32 = 260;
/// The zones that are used.
const USED: [u32; 5] = [0, 1, 50, 258, 259];
const BOTH: [Placing; 2] = [Placing::Fixed, Placing::Growing];

/// A disk that remembers all that each sector may hold after a power cut.
#[derive(Clone)]
struct FragileDisk(Arc<Mutex<Sectors>>);

struct Sectors {
    now: Vec<u8>,
    /// The length of a file, and those that it had since the last sync.
    len: usize,
    lens: Vec<usize>,
    /// The sectors changed since the last sync, with their contents since then, oldest first.
    unsynced: BTreeMap<usize, Vec<Vec<u8>>>,
    /// Calls that change or sync the disk until the process is killed: that call is done in part.
    left: u64,
    chance: FaultRng,
}

impl FragileDisk {
    fn new(bytes: u64, seed: u64) -> FragileDisk {
        let (now, unsynced) = (vec![0; bytes as usize], BTreeMap::new());
        let (len, lens, chance) = (bytes as usize, Vec::new(), FaultRng::new(seed));
        let sectors = Sectors { now, len, lens, unsynced, left: u64::MAX, chance };
        FragileDisk(Arc::new(Mutex::new(sectors)))
    }

    fn sectors(&self) -> MutexGuard<'_, Sectors> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Each sector keeps one of the contents that it had since the last sync.
    fn cut_power(&self) {
        let mut sectors = self.sectors();
        let Sectors { now, len, lens, unsynced, chance, .. } = &mut *sectors;
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
        lens.push(*len);
        *len = lens[match kind {
            0 => 0,
            1 => lens.len() - 1,
            _ => chance.up_to(lens.len() as u64 - 1) as usize,
        }];
        lens.clear();
        // What is not of the file is gone.
        now[*len..].fill(0);
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
        let (at, sectors) = (at as usize, self.sectors());
        if at + buffer.len() > sectors.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        buffer.copy_from_slice(&sectors.now[at..at + buffer.len()]);
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

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        let (mut sectors, bytes) = (self.sectors(), bytes as usize);
        if sectors.is_killed()? {
            return Err(io::Error::other("killed"));
        }
        let len = std::mem::replace(&mut sectors.len, bytes);
        sectors.lens.push(len);
        let most = sectors.now.len().max(bytes);
        sectors.now.resize(most, 0);
        if bytes < len {
            // These sectors may be there after a power cut that leaves the file as long as it was.
            sectors.put(bytes, &vec![0; len - bytes]);
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut sectors = self.sectors();
        if sectors.is_killed()? {
            return Err(io::Error::other("killed"));
        }
        sectors.unsynced.clear();
        sectors.lens.clear();
        Ok(())
    }
}

/// Zones of a few blocks, or of several extents.
fn geometry(placing: Placing) -> Geometry {
    let (size, capacity) = match placing {
        Placing::Fixed => (5 * BLOCK as u64, 4 * BLOCK as u64),
        Placing::Growing => (4 * UNIT, 3 * UNIT + 2 * BLOCK as u64),
    };
    let (zone_bytes, zone_capacity) = (Some(size), Some(capacity));
    let bytes = u64::from(ZONES) * capacity;
    Shape { bytes, zone_bytes, zone_capacity, ..Shape::default() }.geometry().unwrap()
}

fn disk(seed: u64, placing: Placing) -> FragileDisk {
    let geometry = geometry(placing);
    let zones_at = layout_of(&geometry, placing).zones_at;
    let of_zones = u64::from(ZONES) * geometry.zone_bytes;
    FragileDisk::new(zones_at + if placing == Placing::Fixed { of_zones } else { 0 }, seed)
}

/// Makes a device, as opened by its description.
fn make(disk: &FragileDisk, placing: Placing) -> io::Result<()> {
    lay_out(disk, &geometry(placing), placing)?;
    describe(disk, &description(&geometry(placing), placing))
}

fn open(disk: &FragileDisk, placing: Placing) -> io::Result<Zoned<Ranges<FragileDisk>>> {
    let len = disk.sectors().len as u64;
    let options = OpenOptions::default();
    let opened = Ranges::open(disk.clone(), len, &geometry(placing), placing, &options, None);
    let (ranges, zones) = match opened {
        Err(Unopened::Io(error)) => return Err(error),
        opened => opened.expect("the journal is sound, and no crash cuts a zone"),
    };
    Ok(Zoned::new(ranges, geometry(placing), zones))
}

/// The bytes written to a zone, and whether it was finished.
#[derive(Clone, Debug, Default, PartialEq)]
struct ZoneContent {
    bytes: Vec<u8>,
    is_full: bool,
}

impl ZoneContent {
    /// A finished zone reads as anything where it was never written.
    fn explains(&self, found: &ZoneContent, capacity: u64) -> bool {
        let len = if self.is_full { capacity as usize } else { self.bytes.len() };
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
            let is_explained = states.iter().any(|state| state.explains(&found, info.capacity));
            let short = |zone: &ZoneContent| {
                let blocks: Vec<u8> = zone.bytes.iter().copied().step_by(BLOCK).collect();
                (blocks, zone.is_full)
            };
            let known = || states.iter().map(short).collect::<Vec<_>>();
            assert!(is_explained, "seed {seed}: {zone} is {:?}, of {:?}", short(&found), known());
            *states = vec![found];
        }
    }
}

/// Changes the device so many times, or until the process is killed; returns the number of flushes.
fn act(device: &dyn Device, model: &mut Model, chance: &mut FaultRng, changes: u64) -> u64 {
    let mut flushes = 0;
    for (fill, _) in (1u8..=255).cycle().zip(0..changes) {
        let zone = USED[chance.up_to(USED.len() as u64 - 1) as usize];
        let info = device.zone(zone).unwrap();
        let room = (info.capacity - info.write_pointer) / BLOCK as u64;
        let done = match chance.up_to(19) {
            0..11 if room > 0 => {
                let most = if chance.one_in(3) { room } else { room.min(4) };
                let data = vec![fill; BLOCK * (1 + chance.up_to(most - 1)) as usize];
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
    frostline_testkit::seeds::times(35)
}

/// Kills and power cuts of one disk; returns the number of flushes.
fn live(seed: u64) -> u64 {
    let mut chance = FaultRng::new(seed);
    let placing = BOTH[seed as usize % 2];
    let disk = disk(seed ^ 0x5eed, placing);
    make(&disk, placing).unwrap();
    let mut model = Model(vec![vec![ZoneContent::default()]; ZONES as usize]);
    let mut flushes = 0;
    // On some disks all processes are killed soon, most while they open the device; on others they
    // live for several halves.
    let (lives, most) = if chance.one_in(2) { (60, 4) } else { (chance.up_to(8), 600) };
    for _ in 0..=lives {
        disk.sectors().left = 1 + chance.up_to(most);
        if let Ok(device) = open(&disk, placing) {
            model.compare(&device, seed);
            let changes = if chance.one_in(2) { u64::MAX } else { chance.up_to(100) };
            flushes += act(&device, &mut model, &mut chance, changes);
            // The device is closed, which may be cut short too.
            let left = if chance.one_in(2) { u64::MAX } else { chance.up_to(9) };
            disk.sectors().left = left;
            drop(device);
            disk.sectors().left = 0;
        }
        if chance.one_in(2) {
            disk.cut_power();
        }
    }
    disk.sectors().left = u64::MAX;
    disk.cut_power();
    let device = open(&disk, placing).unwrap();
    model.compare(&device, seed);
    USED.iter().for_each(|&zone| device.reset(zone).unwrap());
    device.flush().unwrap();
    drop(device);
    if placing == Placing::Growing {
        let zones_at = layout_of(&geometry(placing), placing).zones_at;
        assert_eq!(disk.sectors().len as u64, zones_at, "seed {seed}: an empty file is long");
    }
    flushes
}

#[test]
fn a_closed_file_is_not_much_longer_than_what_it_holds() {
    let placing = Placing::Growing;
    let disk = disk(3, placing);
    make(&disk, placing).unwrap();
    let zones_at = layout_of(&geometry(placing), placing).zones_at;
    let length = || disk.sectors().len as u64 - zones_at;
    let device = open(&disk, placing).unwrap();
    let bytes = 3 * UNIT as usize;
    (0..40).for_each(|zone| device.append(zone, 0, &vec![zone as u8; bytes]).unwrap());
    device.flush().unwrap();
    (0..37).for_each(|zone| device.reset(zone).unwrap());
    // Nothing is free before a record says so.
    assert!(length() >= 40 * bytes as u64);
    device.flush().unwrap();
    drop(device);
    assert!(length() <= 5 * bytes as u64, "{} units", length() / UNIT);
    let device = open(&disk, placing).unwrap();
    for zone in 37..40 {
        let mut read = vec![0; bytes];
        device.read(zone, 0, &mut read).unwrap();
        assert_eq!(read, vec![zone as u8; bytes]);
    }
}

#[test]
fn what_was_flushed_survives_kills_and_power_cuts() {
    let flushes: u64 = (0..lives()).map(live).sum();
    println!("{} disks, {flushes} flushes", lives());
    assert!(flushes > 10 * lives());
}

#[test]
fn a_crash_while_a_device_is_made_leaves_remains_or_a_device() {
    for placing in BOTH {
        let mut finished = 0;
        for seed in 0..lives() {
            let disk = disk(seed, placing);
            disk.sectors().left = 1 + seed % 12;
            let made = make(&disk, placing);
            disk.cut_power();
            disk.sectors().left = u64::MAX;
            let mut block = vec![0; BLOCK];
            if disk.sectors().len > 0 {
                disk.read(0, &mut block).unwrap();
            }
            let text = String::from_utf8(block).unwrap();
            let text = text.trim_end_matches('\0');
            if text == description(&geometry(placing), placing) {
                let device = open(&disk, placing).unwrap();
                let zones = device.report(0, ZONES).unwrap();
                assert!(zones.iter().all(|zone| zone.state == ZoneState::Empty));
                finished += 1;
            } else {
                assert!(made.is_err() && ["", UNFINISHED].contains(&text), "{text:?}");
            }
        }
        assert!(finished > 0);
    }
}

#[test]
fn a_small_flush_is_one_sync_and_its_record_does_not_count_without_its_bytes() {
    for placing in BOTH {
        let disk = disk(1, placing);
        make(&disk, placing).unwrap();
        let device = open(&disk, placing).unwrap();
        device.append(7, 0, &[1; BLOCK]).unwrap();
        device.flush().unwrap();
        // Calls that a flush makes: a record and a sync.
        device.append(7, BLOCK as u64, &[2; BLOCK]).unwrap();
        disk.sectors().left = 2;
        device.flush().unwrap_err();
        drop(device);
        disk.sectors().left = u64::MAX;
        // The record is there, though the sync was cut short. Its bytes are: it counts.
        let pointer =
            |disk: &FragileDisk| open(disk, placing).unwrap().zone(7).unwrap().write_pointer;
        let copy = FragileDisk(Arc::new(Mutex::new({
            let Sectors { now, len, .. } = &*disk.sectors();
            let (now, len, chance) = (now.clone(), *len, FaultRng::new(1));
            let (lens, unsynced) = (Vec::new(), BTreeMap::new());
            Sectors { now, len, lens, unsynced, left: u64::MAX, chance }
        })));
        assert_eq!(pointer(&copy), 2 * BLOCK as u64);
        // They are lost, and the record is not.
        let zone_begins = {
            let sectors = disk.sectors();
            let at = sectors.now.chunks(BLOCK).position(|block| block == [1; BLOCK]).unwrap();
            at * BLOCK
        };
        let lost = zone_begins + BLOCK;
        disk.sectors().now[lost..lost + SECTOR].fill(0);
        assert_eq!(pointer(&disk), BLOCK as u64);
    }
}

#[test]
fn a_finished_zone_has_nothing_of_what_a_killed_process_did_not_flush() {
    for placing in BOTH {
        for flushed in 0..3 {
            let disk = disk(1, placing);
            make(&disk, placing).unwrap();
            let device = open(&disk, placing).unwrap();
            let at = |block: usize| (block * BLOCK) as u64;
            (0..flushed).for_each(|n| device.append(7, at(n), &[1; BLOCK]).unwrap());
            device.flush().unwrap();
            (flushed..4).for_each(|n| device.append(7, at(n), &[2; BLOCK]).unwrap());
            disk.sectors().left = 0;
            drop(device);
            disk.sectors().left = u64::MAX;
            let device = open(&disk, placing).unwrap();
            assert_eq!(device.zone(7).unwrap().write_pointer, at(flushed));
            device.append(7, at(flushed), &[3; BLOCK]).unwrap();
            device.finish(7).unwrap();
            let read = |device: &dyn Device| {
                let mut bytes = vec![9; 4 * BLOCK];
                device.read(7, 0, &mut bytes).unwrap();
                bytes.into_iter().step_by(BLOCK).collect::<Vec<_>>()
            };
            let expected = [vec![1; flushed], vec![3], vec![0; 3 - flushed]].concat();
            assert_eq!(read(&device), expected, "{placing:?}");
            drop(device);
            assert_eq!(read(&open(&disk, placing).unwrap()), expected, "{placing:?}");
        }
    }
}

#[test]
fn descriptions_are_read_as_they_were_written() {
    for placing in BOTH {
        let text = description(&geometry(placing), placing);
        let text = text.strip_prefix(placing.first_line()).unwrap();
        assert_eq!(parse(text), Ok(geometry(placing)));
        assert!(parse(&text.replace("zones 260", "zones 259")).is_err());
    }
    assert!(parse("").is_err());
}

#[test]
fn a_device_has_room_for_as_many_zones_as_a_layout_says() {
    for (bytes, zone_bytes) in [(64 << 20, 1 << 20), (1 << 40, 256 << 20), (3 << 20, 4096)] {
        let zones = zones_on(bytes, zone_bytes);
        let at = |zones: u64| Layout::new(zones as u32, 0, zone_bytes).zones_at;
        let end = |zones: u64| at(zones) + zones * zone_bytes;
        assert!(end(zones) <= bytes && end(zones + 1) > bytes, "{bytes} {zone_bytes}: {zones}");
    }
    assert_eq!(zones_on(1 << 40, 256 << 20), 4095);
    assert_eq!((zones_on(4096, 4096), zones_on(0, 1 << 20)), (0, 0));
}

#[test]
fn a_journal_that_is_damaged_is_told_from_an_old_one() {
    let geometry = geometry(Placing::Fixed);
    let layout = layout_of(&geometry, Placing::Fixed);
    let disk = disk(1, Placing::Fixed);
    Journal::make(&disk, layout, ZONES).unwrap();
    let read = || Journal::read(&disk, layout, &geometry).unwrap();
    let all = |found: FoundJournal| {
        let FoundJournal { mut journal, last } = found;
        last.into_iter().for_each(|(zone, record)| journal.put(zone, record));
        journal
    };
    let at = |pointer| ZoneRecord { pointer, from: pointer, ..ZoneRecord::default() };
    let mut journal = all(read().unwrap());
    journal.take_over(&disk).unwrap();
    journal.record(&disk, vec![(258, at(4096))]).unwrap();
    journal.record(&disk, vec![(258, at(8192)), (1, at(4096))]).unwrap();
    let some = || USED.map(|zone| all(read().unwrap()).zones()[zone as usize].pointer);
    assert_eq!(some(), [0, 4096, 0, 8192, 0]);
    // The last block of changes is lost, then the one before it, the snapshot, and the first
    // half's.
    let second_half = 1 + 2 + 16;
    let spoil = |block: u64| disk.write(block * BLOCK as u64 + 100, &[IoSlice::new(&[9; 8])], 0);
    spoil(second_half + 2).unwrap();
    assert_eq!(some(), [0, 0, 0, 4096, 0]);
    spoil(second_half + 1).unwrap();
    assert_eq!(some(), [0; 5]);
    spoil(second_half).unwrap();
    assert_eq!(some(), [0; 5]);
    spoil(1).unwrap();
    assert!(read().is_none());
}
