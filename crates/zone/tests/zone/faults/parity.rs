//! Parity: whatever one zone below loses is read all the same, and no crash leaves wrong parity.

use std::sync::Arc;

use frostline_zone::{
    Device, DeviceError, Fault, Faulty, Shape, Tail, ZoneState, in_memory, with_parity,
};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

const BLOCK: usize = 4096;
const ZONES: u32 = 3;
/// Blocks of a zone below.
const ROWS: usize = 5;

fn below(data: u32) -> Arc<dyn Device> {
    let zone_bytes = (ROWS * BLOCK) as u64;
    // Two zones are for the log.
    let bytes = zone_bytes * u64::from(ZONES * (data + 1) + 2);
    in_memory(&Shape { bytes, zone_bytes: Some(zone_bytes), ..Shape::default() }).unwrap()
}

/// Blocks that differ from each other.
fn blocks(rng: &mut SmallRng, count: usize) -> Vec<u8> {
    (0..count).flat_map(|_| [rng.random::<u8>() | 1; BLOCK]).collect()
}

fn content(device: &dyn Device, zone: u32) -> Vec<u8> {
    let mut bytes = vec![0; device.zone(zone).unwrap().write_pointer as usize];
    device.read(zone, 0, &mut bytes).unwrap();
    bytes
}

/// A device with a zone that is full, one that was finished early, and one that is open.
fn filled(device: &dyn Device, rng: &mut SmallRng) -> [Vec<u8>; ZONES as usize] {
    let capacity = device.geometry().zone_capacity as usize / BLOCK;
    let lengths = [capacity, capacity / 2, capacity - 1];
    let contents = lengths.map(|length| blocks(rng, length));
    for (zone, content) in (0..).zip(&contents) {
        for (n, part) in content.chunks(2 * BLOCK).enumerate() {
            device.append(zone, (2 * n * BLOCK) as u64, part).unwrap();
        }
    }
    device.finish(1).unwrap();
    device.flush().unwrap();
    contents
}

/// Reads each zone whole and block by block.
fn check(device: &dyn Device, contents: &[Vec<u8>], what: &str) {
    for (zone, content) in (0..).zip(contents) {
        let mut whole = vec![0; content.len()];
        device.read(zone, 0, &mut whole).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(whole == *content, "{what}: zone {zone}");
        for (n, block) in content.chunks(BLOCK).enumerate() {
            let mut read = [0; BLOCK];
            device.read(zone, (n * BLOCK) as u64, &mut read).unwrap();
            assert!(read == block, "{what}: block {n} of zone {zone}");
        }
    }
}

#[test]
fn a_zone_that_is_lost_while_the_device_is_used_costs_no_block() {
    let mut rng = SmallRng::seed_from_u64(1);
    for data in 1..=4 {
        for lost in 0..ZONES * (data + 1) {
            let faulty = Arc::new(Faulty::new(below(data), 1));
            let device = with_parity(faulty.clone(), data).unwrap();
            let contents = filled(&*device, &mut rng);
            let wear = Fault::Wear { zone: lost, state: ZoneState::Offline };
            faulty.schedule(faulty.operations() + 1, wear);
            device.flush().unwrap();
            let what = format!("{data} zones of data, zone {lost} lost");
            check(&*device, &contents, &what);
            let set = lost / (data + 1);
            let is_parity = lost % (data + 1) == data;
            assert_eq!(device.rebuilt_blocks() > 0, !is_parity, "{what}");
            assert_eq!(device.zone(set).unwrap().state, ZoneState::ReadOnly, "{what}");
            device.reset(set).unwrap_err();
            // The others go on.
            let other = (set + 1) % ZONES;
            device.reset(other).unwrap();
            device.append(other, 0, &blocks(&mut rng, 3)).unwrap();
        }
    }
}

#[test]
fn a_zone_that_is_lost_between_two_openings_costs_no_block() {
    let mut rng = SmallRng::seed_from_u64(2);
    for data in 1..=4 {
        let below = below(data);
        let device = with_parity(below.clone(), data).unwrap();
        let contents = filled(&*device, &mut rng);
        drop(device);
        for lost in 0..ZONES * (data + 1) + 2 {
            let faulty = Arc::new(Faulty::new(below.clone(), 1));
            faulty.schedule(1, Fault::Wear { zone: lost, state: ZoneState::Offline });
            faulty.flush().unwrap();
            let device = with_parity(faulty, data).unwrap();
            check(&*device, &contents, &format!("{data} zones of data, zone {lost} lost"));
            let states = [0, 1, 2].map(|zone| device.zone(zone).unwrap().state);
            let is_lost = |zone| lost / (data + 1) == zone;
            let lacking = states.map(|state| state == ZoneState::ReadOnly);
            assert_eq!(lacking, [is_lost(0), is_lost(1), is_lost(2)]);
            if is_lost(2) {
                let at = device.zone(2).unwrap().write_pointer;
                device.append(2, at, &[0; BLOCK]).unwrap_err();
            }
        }
    }
}

#[test]
fn a_flush_empties_all_zones_of_a_set_that_was_reset() {
    let below = below(2);
    let device = with_parity(below.clone(), 2).unwrap();
    let empty =
        || below.report(0, 3).unwrap().iter().filter(|zone| zone.write_pointer == 0).count();
    device.append(0, 0, &[1; 4 * BLOCK]).unwrap();
    device.flush().unwrap();
    assert_eq!(empty(), 0);
    device.reset(0).unwrap();
    device.flush().unwrap();
    assert_eq!(empty(), 3);
}

#[test]
fn blocks_that_cannot_be_read_or_are_rotten_are_made_of_the_others() {
    let mut rng = SmallRng::seed_from_u64(3);
    let faulty = Arc::new(Faulty::new(below(3), 1));
    let device = with_parity(faulty.clone(), 3).unwrap();
    let contents = filled(&*device, &mut rng);
    faulty.fail_reads(1, BLOCK as u64);
    faulty.fail_reads(8, 0);
    check(&*device, &contents, "two blocks that can't be read");
    let (mut rotten, mut other) = ([0; BLOCK], [0; BLOCK]);
    faulty.flip(2, 2 * BLOCK as u64, 0x10);
    // Row 2 of the third zone below.
    let at = 8 * BLOCK;
    device.read(0, at as u64, &mut rotten).unwrap();
    assert!(device.read_other(0, at as u64, &mut other).unwrap());
    assert!(rotten != contents[0][at..][..BLOCK] && other == contents[0][at..][..BLOCK]);
    // Two of one row are one too many.
    faulty.fail_reads(0, 2 * BLOCK as u64);
    faulty.fail_reads(1, 2 * BLOCK as u64);
    let failed = device.read(0, 6 * BLOCK as u64, &mut other);
    assert!(matches!(failed, Err(DeviceError::Io { zone: 0, .. })), "{failed:?}");
    assert!(!device.read_other(0, 6 * BLOCK as u64, &mut other).unwrap());
}

/// A zone as it was after some operation.
#[derive(Clone, Default)]
struct State {
    bytes: Vec<u8>,
    finished: bool,
    /// Bytes that no crash may take or change.
    durable: usize,
    /// Bytes that were written before the zone was finished.
    written: usize,
}

impl State {
    /// True if a crash may leave this of it.
    fn explains(&self, found: &[u8], capacity: usize) -> bool {
        let is_full = self.finished || self.bytes.len() == capacity;
        let length = if is_full { capacity } else { self.bytes.len() };
        found.len() == length && found[..self.durable] == self.bytes[..self.durable]
    }
}

/// Random operations with power cuts and kills, against a model of each zone's possible states.
fn survives(seed: u64, data: u32, tail: Tail) {
    let what = format!("seed {seed}, {data} zones of data");
    let mut rng = SmallRng::seed_from_u64(seed);
    let memory = below(data);
    let mut faulty = Arc::new(Faulty::new(memory.clone(), seed).with_tail(tail));
    let mut device = with_parity(faulty.clone(), data).unwrap();
    let capacity = device.geometry().zone_capacity as usize;
    let mut zones: Vec<Vec<State>> = vec![vec![State::default()]; ZONES as usize];
    for _ in 0..4 {
        let end = if rng.random() { Fault::PowerCut } else { Fault::Kill };
        faulty.schedule(rng.random_range(1..60), end);
        loop {
            let zone = rng.random_range(0..ZONES);
            let states = &mut zones[zone as usize];
            let mut now = states.last().unwrap().clone();
            let is_full = now.finished || now.bytes.len() == capacity;
            let done = match rng.random_range(0..20) {
                0..=1 => {
                    states.push(State::default());
                    device.reset(zone)
                }
                2 => {
                    states.push(State { finished: true, ..now });
                    device.finish(zone)
                }
                3..=5 => device.flush().inspect(|()| {
                    for states in &mut zones {
                        states.drain(..states.len() - 1);
                        states[0].durable = states[0].bytes.len();
                    }
                }),
                _ if is_full => continue,
                _ => {
                    let room = (capacity - now.bytes.len()) / BLOCK;
                    let count = rng.random_range(1..=room.min(7));
                    let (at, bytes) = (now.bytes.len() as u64, blocks(&mut rng, count));
                    for block in bytes.chunks(BLOCK) {
                        now.bytes.extend_from_slice(block);
                        now.written = now.bytes.len();
                        states.push(now.clone());
                    }
                    device.append(zone, at, &bytes)
                }
            };
            match done {
                Ok(()) => {}
                Err(DeviceError::Crashed) => break,
                Err(error) => panic!("{what}: {error}"),
            }
        }
        let is_kill = end == Fault::Kill;
        faulty = Arc::new(if is_kill { faulty.reopen() } else { faulty.restart() }.unwrap());
        device = with_parity(faulty.clone(), data).unwrap();
        for (zone, states) in (0..).zip(&mut zones) {
            let bytes = content(&*device, zone);
            let explained = || states.iter().filter(|state| state.explains(&bytes, capacity));
            let Some(written) = explained().map(|state| state.written).min() else {
                panic!("{what}: zone {zone} after {end:?}")
            };
            let durable = explained().map(|state| state.durable).min().unwrap();
            if !is_kill {
                states.clear();
            }
            let finished = bytes.len() == capacity;
            states.push(State { bytes, finished, durable, written });
        }
    }
    // Parity is complete from the first flush on, and that of what is there. Where a crash may
    // leave garbage in unflushed blocks, these may be the last ones of parity.
    device.flush().unwrap();
    if tail != Tail::Whole {
        return;
    }
    let contents: Vec<_> = (0..ZONES).map(|zone| content(&*device, zone)).collect();
    for ((zone, content), states) in (0..).zip(&contents).zip(&zones) {
        let written = states.last().unwrap().written / BLOCK;
        let whole = written / data as usize * data as usize;
        for (n, block) in content.chunks(BLOCK).take(whole).enumerate() {
            let mut other = [0; BLOCK];
            let has = device.read_other(zone, (n * BLOCK) as u64, &mut other).unwrap();
            assert!(has && other == block, "{what}: block {n} of zone {zone}");
        }
    }
}

#[test]
fn no_crash_takes_what_was_flushed_or_leaves_wrong_parity() {
    for seed in 0..400 {
        let tail = if seed % 2 == 0 { Tail::Whole } else { Tail::Holes };
        survives(seed, 1 + seed as u32 % 4, tail);
    }
}
