//! Devices whose bytes were changed from outside: an error, or a database whose check tells of
//! it, or one that is sound. Never a panic, and an end in any case.
//!
//! `FROSTLINE_CRASH_SEED=n` runs one alone, `FROSTLINE_CRASHES=n` as many.

use std::sync::Arc;

use frostline_db::{Create, Db, DbError, Direction, Options};
use frostline_store::Cleaning;
use frostline_zone::{Device, Shape, ZoneState, in_memory};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

const LOG_ZONES: u32 = 5;

fn options() -> Options {
    Options { buffer_bytes: 0, background: false, cleaning: Cleaning::Inline, ..Options::default() }
}

fn shape() -> Shape {
    let zone_bytes = 40 * 4096;
    Shape { bytes: 30 * zone_bytes, zone_bytes: Some(zone_bytes), ..Shape::default() }
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

/// A copy of a device some of whose bytes are others. Of the zones from `first` on.
fn changed(
    rng: &mut SmallRng,
    device: &dyn Device,
    zones: std::ops::Range<u32>,
) -> Arc<dyn Device> {
    let copy: Arc<dyn Device> = in_memory(&shape()).unwrap();
    let infos = device.report(0, device.geometry().zones).unwrap();
    let mut contents: Vec<_> = (0..)
        .zip(&infos)
        .map(|(zone, info)| {
            let mut bytes = vec![0; info.write_pointer as usize];
            device.read(zone, 0, &mut bytes).unwrap();
            bytes
        })
        .collect();
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
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let seeds = match number("FROSTLINE_CRASH_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("FROSTLINE_CRASHES").unwrap_or(5000) / 10,
    };
    let mut ends = [0; 4];
    for seed in seeds {
        let result = std::panic::catch_unwind(|| {
            let mut rng = SmallRng::seed_from_u64(seed);
            let device = crashed(&mut rng);
            let all = device.geometry().zones;
            let log = all - LOG_ZONES;
            let zones = [0..all, 0..log, log..all][rng.random_range(0..3)].clone();
            let device = changed(&mut rng, &*device, zones);
            try_out(&mut rng, &device)
        });
        match result {
            Ok(end) => ends[end] += 1,
            Err(thrown) => {
                eprintln!("FROSTLINE_CRASH_SEED={seed} fails again");
                std::panic::resume_unwind(thrown);
            }
        }
    }
    let [refused, found, failed, sound] = ends;
    println!("{refused} not opened, {found} with findings, {failed} failed later, {sound} sound");
}
