//! Devices whose bytes were changed from outside: an error, or a database whose check tells of
//! it, or one that is sound. Never a panic, and an end in any case.
//!
//! `FROSTLINE_SEED=n` runs one alone, `FROSTLINE_TIMES=n` n times as many.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use frostline_db::{Create, Db, DbError, Direction, Options};
use frostline_store::{Cleaning, Format};
use frostline_testkit::seeds;
use frostline_zone::{Device, Fault, Faulty, Shape, ZoneState, in_memory};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

const LOG_ZONES: u32 = 5;

fn options() -> Options {
    Options { buffer_bytes: 0, background: false, cleaning: Cleaning::Inline, ..Options::default() }
}

fn shape() -> Shape {
    let zone_bytes = 40 * 4096;
    Shape::of_zones(30, zone_bytes)
}

fn write(rng: &mut SmallRng, db: &Db, transactions: u32) -> Result<(), DbError> {
    let table = match db.table("t") {
        Ok(table) => table,
        Err(_) => db.create_table("t")?,
    };
    for _ in 0..transactions {
        let mut transaction = db.begin()?;
        for _ in 0..rng.random_range(1..20) {
            let key = rng.random_range(0..400u32).to_be_bytes();
            match rng.random_range(0..10) {
                0..6 => {
                    let longest = if rng.random_bool(0.03) { 4000 } else { 400 };
                    let value = vec![rng.random(); rng.random_range(0..longest)];
                    transaction.put(table, &key, &value)?;
                }
                6 => transaction.patch(table, &key, 3, b"patched")?,
                _ => transaction.delete(table, &key)?,
            }
        }
        match transaction.commit() {
            Ok(()) | Err(DbError::Conflict | DbError::Full { .. } | DbError::TooLarge { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A database as a crash left it.
fn crashed(rng: &mut SmallRng) -> Arc<dyn Device> {
    let device: Arc<dyn Device> = in_memory(&shape()).unwrap();
    let log_bytes = Some(u64::from(LOG_ZONES) * device.geometry().zone_capacity);
    Db::create(&device, &Create { log_bytes, ..Create::default() }).unwrap();
    let db = Db::open(&device, &options()).unwrap();
    let transactions = rng.random_range(20..150);
    write(rng, &db, transactions).unwrap();
    if rng.random_bool(0.5) {
        db.checkpoint().unwrap();
        let transactions = rng.random_range(1..30);
        write(rng, &db, transactions).unwrap();
    }
    device
}

/// The bytes of each zone.
fn contents(device: &dyn Device) -> Vec<Vec<u8>> {
    let read = |zone| {
        let mut bytes = vec![0; device.zone(zone).unwrap().write_pointer as usize];
        device.read(zone, 0, &mut bytes).unwrap();
        bytes
    };
    (0..device.geometry().zones).map(read).collect()
}

/// A copy of a device some of whose bytes are others. Of the zones from `first` on.
fn changed(
    rng: &mut SmallRng,
    device: &dyn Device,
    zones: std::ops::Range<u32>,
) -> Arc<dyn Device> {
    let copy: Arc<dyn Device> = in_memory(&shape()).unwrap();
    let infos = device.report(0, device.geometry().zones).unwrap();
    let mut contents = contents(device);
    for _ in 0..rng.random_range(1..6) {
        let written: Vec<_> =
            zones.clone().filter(|zone| !contents[*zone as usize].is_empty()).collect();
        if written.is_empty() {
            break;
        }
        let zone = written[rng.random_range(0..written.len())] as usize;
        let bytes = &mut contents[zone];
        let at = rng.random_range(0..bytes.len());
        match rng.random_range(0..4) {
            0 => bytes[at] ^= 1 << rng.random_range(0..8),
            1 => {
                let end = bytes.len().min(at + rng.random_range(1..9000));
                bytes[at..end].fill_with(|| rng.random());
            }
            2 => {
                // Something of elsewhere.
                let page = at / 4096 * 4096;
                let other = rng.random_range(0..bytes.len() / 4096) * 4096;
                bytes.copy_within(other..other + 4096, page);
            }
            _ => bytes.truncate(at / 4096 * 4096),
        }
    }
    for ((zone, info), bytes) in (0..).zip(&infos).zip(&contents) {
        if !bytes.is_empty() {
            copy.append(zone, 0, bytes).unwrap();
        }
        if info.state == ZoneState::Full {
            copy.finish(zone).unwrap();
        }
    }
    copy
}

/// The outcome: an error when it was opened, findings, an error in its use, or nothing.
fn try_out(rng: &mut SmallRng, device: &Arc<dyn Device>) -> usize {
    let Ok(db) = Db::open(device, &options()) else { return 0 };
    let check = db.check();
    for (_, table) in db.tables() {
        for direction in [Direction::Forward, Direction::Backward] {
            let Ok(look) = db.begin_read() else { continue };
            let mut scan = look.scan_all(table, direction);
            while let Ok(Some(_)) = scan.next() {}
        }
    }
    let written = write(rng, &db, 20);
    let again = db.check();
    match (check, written, again) {
        (Ok(check), Ok(()), Ok(again)) if check.findings.is_empty() => {
            assert!(again.findings.is_empty(), "{:#?}", again.findings);
            3
        }
        (Ok(check), ..) if !check.findings.is_empty() => 1,
        _ => 2,
    }
}

#[test]
fn changed_bytes_are_reported_or_do_no_harm() {
    let seeds = match seeds::only() {
        Some(seed) => seed..seed + 1,
        None => seeds::first()..seeds::first() + seeds::times(170),
    };
    let mut ends = [0; 4];
    for seed in seeds {
        let end = seeds::run(seed, |seed| {
            let mut rng = SmallRng::seed_from_u64(seed);
            let device = crashed(&mut rng);
            let all = device.geometry().zones;
            let log = all - LOG_ZONES;
            let zones = [0..all, 0..log, log..all][rng.random_range(0..3)].clone();
            let device = changed(&mut rng, &*device, zones);
            try_out(&mut rng, &device)
        });
        ends[end] += 1;
    }
    let [refused, found, failed, sound] = ends;
    println!("{refused} not opened, {found} with findings, {failed} failed later, {sound} sound");
}

/// A database as a power cut left it, and its rows after each commit.
struct Crashed {
    device: Arc<dyn Device>,
    /// Rows after each commit that was acknowledged, and then those after one that was not.
    states: Vec<Rows>,
    /// The first zone of the log.
    log: u32,
}

type Rows = BTreeMap<u32, Vec<u8>>;

const ROWS: u32 = 3000;

/// Some thousand rows, a checkpoint and a few commits, until the power is cut: so that mostly the
/// log alone tells how much of the store was durable.
fn cut_short(seed: u64) -> Crashed {
    let rng = &mut SmallRng::seed_from_u64(seed);
    let memory: Arc<dyn Device> = in_memory(&shape()).unwrap();
    let log_bytes = Some(u64::from(LOG_ZONES) * memory.geometry().zone_capacity);
    let unit = [4096, 64][seed as usize % 2];
    let store = Format { unit, ..Create::default().store };
    Db::create(&memory, &Create { log_bytes, store, ..Create::default() }).unwrap();
    let device = Arc::new(Faulty::new(memory, seed));
    let shared: Arc<dyn Device> = device.clone();
    let db = Db::open(&shared, &options()).unwrap();
    let table = db.create_table("t").unwrap();
    let mut states = vec![Rows::new()];
    let mut commit = |rows: &mut dyn Iterator<Item = u32>, version: u8| {
        let mut next = states[states.len() - 1].clone();
        let mut transaction = db.begin()?;
        for row in rows {
            let value = vec![version; 20 + row as usize % 60];
            transaction.put(table, &row.to_be_bytes(), &value)?;
            next.insert(row, value);
        }
        states.push(next);
        transaction.commit()
    };
    for first in (0..ROWS).step_by(100) {
        commit(&mut (first..first + 100), 0).unwrap();
    }
    for version in 1..rng.random_range(2..60) {
        let rows: Vec<u32> = (0..60).map(|_| rng.random_range(0..ROWS)).collect();
        commit(&mut rows.into_iter(), version).unwrap();
        if rng.random_bool(0.1) {
            db.checkpoint().unwrap();
        }
    }
    db.checkpoint().unwrap();
    device.schedule(device.operations() + rng.random_range(1..30), Fault::PowerCut);
    let failed =
        (60..).find(|_| commit(&mut (0..3).map(|_| rng.random_range(0..ROWS)), 255).is_err());
    assert!(failed.is_some());
    drop((db, shared));
    let device: Arc<dyn Device> = Arc::new(device.restart().unwrap());
    let log = frostline_store::Store::zones_on(&*device).unwrap();
    Crashed { device, states, log }
}

/// The pages of the log behind all batches that another one says were durable: without a word of
/// them, what they hold looks as if the power had been cut before.
fn end_of_log(zones: &[Vec<u8>], log: u32) -> BTreeSet<(usize, usize)> {
    let number = |page: &[u8], at: usize| u64::from_le_bytes(page[at..at + 8].try_into().unwrap());
    let is_head = |page: &&[u8]| page.starts_with(b"FRWL");
    let of_log = || zones.iter().enumerate().skip(log as usize);
    let heads = of_log().flat_map(|(_, bytes)| bytes.chunks_exact(4096)).filter(is_head);
    let known = heads.map(|head| number(head, 96)).max().unwrap();
    let mut end = BTreeSet::new();
    for (zone, bytes) in of_log() {
        let mut batch = 0;
        for (at, page) in bytes.chunks_exact(4096).enumerate() {
            batch = if is_head(&page) { number(page, 72) } else { batch };
            end.extend((batch > known).then_some((zone, at)));
        }
    }
    end
}

/// One damage, in pages of one kind. True if it may have taken the end of the log.
fn damage(rng: &mut SmallRng, zones: &mut [Vec<u8>], log: u32) -> (String, bool) {
    let mut pages: [Vec<(usize, usize)>; 4] = Default::default();
    let end = end_of_log(zones, log);
    for (zone, bytes) in zones.iter().enumerate() {
        for (at, page) in bytes.chunks_exact(4096).enumerate() {
            let is_head = page.starts_with(b"FRST");
            // Headers of chunks, metadata, contents, the log.
            let kind = match page[8] {
                _ if zone >= log as usize => 3,
                5 if is_head => 0,
                _ if is_head => 1,
                _ => 2,
            };
            pages[kind].push((zone, at));
        }
    }
    let of_kind = &pages[rng.random_range(0..4)];
    let (zone, page) = of_kind[rng.random_range(0..of_kind.len())];
    let place = page * 4096..(page + 1) * 4096;
    let mut hit = vec![(zone, page)];
    let what = match rng.random_range(0..5) {
        0 => {
            let most = if rng.random_bool(0.5) { 100 } else { 4096 };
            zones[zone][page * 4096 + rng.random_range(0..most)] ^= 1 << rng.random_range(0..8);
            "has a flipped bit"
        }
        1 => {
            zones[zone][place].fill_with(|| rng.random());
            "is garbage"
        }
        2 => {
            zones[zone][place].fill(0);
            "is zeroes"
        }
        3 => {
            hit = (page..zones[zone].len() / 4096).map(|page| (zone, page)).collect();
            zones[zone].truncate(page * 4096);
            "and those behind it are lost"
        }
        _ => {
            let other = of_kind[rng.random_range(0..of_kind.len())];
            let of = |(zone, page): (usize, usize)| (zone, page * 4096..(page + 1) * 4096);
            let one = zones[zone][place.clone()].to_vec();
            let two = zones[other.0][of(other).1].to_vec();
            zones[zone][place].copy_from_slice(&two);
            zones[other.0][of(other).1].copy_from_slice(&one);
            hit.push(other);
            "has changed places with another"
        }
    };
    (format!("page {page} of zone {zone} {what}"), hit.iter().any(|place| end.contains(place)))
}

/// The outcome of a damage.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Outcome {
    /// An error named it.
    Detected,
    /// Every row is right.
    Harmless,
    /// The end of the log is gone, and all rows are as they were after a commit before.
    AsCutBefore,
    /// Rows are older than acknowledged, and nothing tells.
    Silent,
}

/// Opens a damaged database and reads every row.
fn outcome(crashed: &Crashed, device: &Arc<dyn Device>, ends_log: bool) -> Outcome {
    let Ok(db) = Db::open(device, &options()) else { return Outcome::Detected };
    let Ok(table) = db.table("t") else { return Outcome::Silent };
    let look = db.begin_read().unwrap();
    let mut found = Rows::new();
    for row in 0..ROWS {
        match look.get(table, &row.to_be_bytes()) {
            Ok(value) => found.extend(value.map(|value| (row, value))),
            Err(_) => return Outcome::Detected,
        }
    }
    let (before, last) = crashed.states.split_at(crashed.states.len() - 2);
    match () {
        () if last.contains(&found) => Outcome::Harmless,
        () if ends_log && before.contains(&found) => Outcome::AsCutBefore,
        () => Outcome::Silent,
    }
}

#[test]
fn rows_of_a_database_that_crashed_and_is_damaged_are_right_or_named_as_lost() {
    let all = seeds::times(100);
    let mut outcomes = BTreeMap::new();
    for seed in 0..all.div_ceil(25) {
        let crashed = cut_short(seed);
        let infos = crashed.device.report(0, crashed.device.geometry().zones).unwrap();
        let sound = contents(&*crashed.device);
        let copy = |zones: &[Vec<u8>]| {
            let copy: Arc<dyn Device> = in_memory(&shape()).unwrap();
            for ((zone, info), bytes) in (0..).zip(&infos).zip(zones) {
                copy.append(zone, 0, bytes).unwrap();
                if info.state == ZoneState::Full && bytes.len() == sound[zone as usize].len() {
                    copy.finish(zone).unwrap();
                }
            }
            copy
        };
        assert_eq!(outcome(&crashed, &copy(&sound), false), Outcome::Harmless, "seed {seed}");
        for number in 0..25 {
            let rng = &mut SmallRng::seed_from_u64(seed << 32 | number);
            let mut zones = sound.clone();
            let (what, ends_log) = damage(rng, &mut zones, crashed.log);
            let outcome = outcome(&crashed, &copy(&zones), ends_log);
            if outcome == Outcome::Silent {
                println!("seed {seed}, {number}: {what}: rows are older, and nothing tells");
            }
            *outcomes.entry(outcome).or_insert(0) += 1;
        }
    }
    println!("{outcomes:?}");
    assert_eq!(outcomes.get(&Outcome::Silent), None);
    assert!(outcomes[&Outcome::Detected] > all / 4 && outcomes[&Outcome::Harmless] > all / 4);
}
