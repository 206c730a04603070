//! Power cuts at any moment, from a seed: what was waited for is replayed, and of the rest a
//! beginning, whole and in order.
//!
//! Every history is a function of its seed. `FROSTLINE_SEED=n` runs that one alone, and
//! `FROSTLINE_TIMES=n` n times as many crashes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use frostline_db::wal::{Flusher, Lsn, Wal, WalError, WalOptions};
use frostline_store::Compression;
use frostline_testkit::seeds;
use frostline_zone::{Device, DeviceError, Fault, Faulty, Shape, Tail, in_memory};

const ID: u64 = 0x1234_5678_9abc_def0;

/// SplitMix64.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn from(&mut self, range: std::ops::Range<u64>) -> u64 {
        range.start + self.next() % (range.end - range.start)
    }

    fn percent(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }
}

/// A record as it was appended.
struct Record {
    lsn: Lsn,
    number: u64,
    bytes: usize,
}

fn payload(number: u64, bytes: usize) -> Vec<u8> {
    // Every other payload compresses.
    let times = 1 + number % 2 * 1000;
    let words =
        (0..).map(|n: u64| ((number << 20) | (n / times)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    words.flat_map(u64::to_le_bytes).take(bytes).collect()
}

struct World {
    chance: Chance,
    options: WalOptions,
    records: Vec<Record>,
    numbers: u64,
    /// Records up to here are durable.
    durable: Lsn,
    /// Records up to here were released, and up to `released` perhaps.
    kept: Lsn,
    released: Lsn,
}

/// True if the error was scheduled.
fn is_fault(error: &WalError) -> bool {
    use DeviceError::{Crashed, Flush, Io};
    matches!(error, WalError::Device(error) if matches!(**error, Crashed | Flush { .. } | Io { .. }))
}

impl World {
    /// One operation of the log's owner.
    fn act(&mut self, wal: &Wal) -> Result<(), WalError> {
        match self.chance.from(0..100) {
            0..75 => self.append(wal)?,
            75..93 => {
                let behind = self.records.len().min(3) as u64;
                let back = self.chance.from(0..behind + 1) as usize;
                let lsn = self.records.iter().rev().nth(back).map_or(0, |record| record.lsn);
                wal.wait(lsn)?;
            }
            _ => {
                let upto = wal.keep_from().max(self.released);
                let upto = upto + self.chance.from(0..wal.end().saturating_sub(upto) + 1);
                self.release(wal, upto)?;
            }
        }
        Ok(())
    }

    fn append(&mut self, wal: &Wal) -> Result<(), WalError> {
        let largest = wal.largest_record() as u64;
        let most = if self.chance.percent(3) { largest } else { 3000 };
        let bytes = self.chance.from(0..most + 1) as usize;
        let (number, kind) = (self.numbers, self.numbers as u8);
        let payload = payload(number, bytes);
        let mut result = wal.append(kind, &[&payload], |_| ());
        if let Err(WalError::Full { .. }) = result {
            // A full log takes records again when others are released.
            wal.wait(wal.end())?;
            self.release(wal, wal.end())?;
            result = wal.append(kind, &[&payload], |_| ());
        }
        // A zone that could not be reset makes the log smaller.
        if let Err(WalError::TooLarge { most, .. }) = result {
            assert!((most as u64) < largest);
            return Ok(());
        }
        let (lsn, ()) = result?;
        self.numbers += 1;
        self.records.push(Record { lsn, number, bytes });
        Ok(())
    }

    /// A release is clipped to the durable records, now or when they are written.
    fn release(&mut self, wal: &Wal, upto: Lsn) -> Result<(), WalError> {
        self.released = self.released.max(upto);
        wal.release(upto)
    }

    /// Compares the log with the records, which end from now on where the log does.
    fn check(&mut self, wal: &Wal) {
        let (kept, end) = (wal.keep_from(), wal.end());
        assert!(kept >= self.kept && kept <= self.released, "{kept}");
        assert!(end >= self.durable, "{end}: {} was durable", self.durable);
        self.records.retain(|record| record.lsn <= end);
        assert_eq!(self.records.last().map_or(end, |record| record.lsn), end);
        self.records.retain(|record| record.lsn > kept);
        let mut expected = self.records.iter();
        let mut visit = |lsn, kind, found: &[u8]| {
            let record = expected.next().expect("no more records were appended");
            assert_eq!((lsn, kind), (record.lsn, record.number as u8));
            assert!(found == payload(record.number, record.bytes), "record {}", record.number);
            Ok::<(), WalError>(())
        };
        wal.replay(&mut visit, &mut |_, _| ()).unwrap();
        assert!(expected.next().is_none(), "records are missing");
        let kinds = [0, 1, 2].map(|part| self.records.len() * part / 3);
        let kinds = kinds.map(|at| self.records.get(at).map_or(0, |record| record.number as u8));
        for kinds in [&kinds[..1], &kinds] {
            let of_kind =
                self.records.iter().filter(|record| kinds.contains(&(record.number as u8)));
            let mut expected = of_kind.peekable();
            let mut visit = |lsn, kind, found: &[u8]| {
                if let Some(record) = expected.next_if(|record| record.lsn == lsn) {
                    assert_eq!(kind, record.number as u8);
                    assert!(found == payload(record.number, record.bytes));
                }
                Ok::<(), WalError>(())
            };
            wal.replay_kinds(kinds, &mut visit).unwrap();
            assert!(expected.next().is_none(), "records of some kinds are missing");
        }
        (self.kept, self.durable) = (kept, end);
    }
}

/// Counters of events.
#[derive(Default)]
struct Tally {
    crashes: AtomicU64,
    openings: AtomicU64,
    torn: AtomicU64,
    pages_saved: AtomicU64,
}

fn live(seed: u64, most: u64, tally: &Tally) {
    let mut chance = Chance(seed);
    let zones = chance.from(3..9);
    let zone_bytes = 4096 * chance.from(14..28);
    let limit = [None, Some(1), Some(2)][chance.from(0..3) as usize];
    let shape = Shape {
        bytes: zones * (zone_bytes - 4096),
        zone_bytes: Some(zone_bytes),
        zone_capacity: Some(zone_bytes - 4096),
        max_open: limit,
        max_active: limit,
        ..Shape::default()
    };
    let memory = in_memory(&shape).unwrap();
    Wal::format(memory.clone(), ID).unwrap();
    let options = WalOptions {
        flusher: Flusher::Inline,
        delay: Duration::ZERO,
        buffer_bytes: chance.from(4096..100_000) as usize,
        durable: 0,
        compression: [Compression::None, Compression::Lz4, Compression::Zstd][seed as usize % 3],
    };
    let tail = [Tail::Whole, Tail::Torn, Tail::Garbage, Tail::Holes][chance.from(0..4) as usize];
    let mut device = Arc::new(Faulty::new(memory, seed).with_tail(tail));
    let mut world = World {
        chance,
        options,
        records: Vec::new(),
        numbers: 0,
        durable: 0,
        kept: 0,
        released: 0,
    };
    for _ in 0..most {
        device = survive(device, &mut world, tally);
    }
    let wal = Wal::open(device, ID, &world.options).unwrap();
    world.check(&wal);
}

/// Opens the log and works with it until the power is cut. Before that some owners are killed and
/// some end with an error of the device: what they left, durable or not, is read, and may still be
/// lost when the power is cut.
fn survive(mut device: Arc<Faulty>, world: &mut World, tally: &Tally) -> Arc<Faulty> {
    let mut left = world.chance.from(1..50);
    while !device.has_crashed() {
        device.schedule(device.operations() + left, Fault::PowerCut);
        if world.chance.percent(40) {
            let fault = if world.chance.percent(50) { Fault::Error } else { Fault::Partial };
            device.schedule(device.operations() + world.chance.from(1..20), fault);
        }
        let wal = match Wal::open(device.clone() as Arc<dyn Device>, ID, &world.options) {
            Ok(wal) => wal,
            Err(error) => {
                assert!(is_fault(&error), "{error}");
                tally.openings.fetch_add(1, Relaxed);
                device = next_owner(device, &mut left);
                continue;
            }
        };
        world.check(&wal);
        let acts = if world.chance.percent(20) { world.chance.from(0..30) } else { u64::MAX };
        let worked = (0..acts).try_for_each(|_| world.act(&wal));
        world.durable = world.durable.max(wal.durable());
        if let Err(error) = worked {
            assert!(is_fault(&error), "{error}");
            tally.torn.fetch_add(u64::from(wal.end() > wal.durable()), Relaxed);
        }
        tally.pages_saved.fetch_add(wal.stats().pages_saved, Relaxed);
        drop(wal);
        device = next_owner(device, &mut left);
    }
    tally.crashes.fetch_add(1, Relaxed);
    Arc::new(device.restart().unwrap())
}

/// The device as another process finds it, unless its power is cut, which is so many operations
/// away.
fn next_owner(device: Arc<Faulty>, left: &mut u64) -> Arc<Faulty> {
    if device.has_crashed() {
        return device;
    }
    *left -= device.operations().min(*left - 1);
    Arc::new(device.reopen().unwrap())
}

#[test]
fn what_was_waited_for_survives_power_cuts_and_of_the_rest_a_beginning() {
    let tally = Tally::default();
    let wanted = seeds::times(7_000);
    let is_enough = || tally.crashes.load(Relaxed) >= wanted;
    let lived = seeds::run_until(is_enough, |seed| live(seed, 20, &tally));
    let Some(logs) = lived else { return };
    println!(
        "{} crashes of {} logs: {} in openings, {} with records that were not durable; {} pages saved by compression",
        tally.crashes.load(Relaxed),
        logs,
        tally.openings.load(Relaxed),
        tally.torn.load(Relaxed),
        tally.pages_saved.load(Relaxed),
    );
    assert!(tally.torn.load(Relaxed) > wanted / 4);
    assert!(tally.pages_saved.load(Relaxed) > wanted / 4);
}
