//! Databases in real files through kills and power cuts: commits that were acknowledged are there,
//! of the others the first ones, each whole. A process is killed at any moment, another one opens
//! the database and commits, and then the power is cut.
//!
//! Runs are drawn from a seed, though the moment of a kill is not. `FROSTLINE_TIMES=n` asks for
//! n times as many databases.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;

use frostline_db::{Create, Db, DbError, Direction, Options, Table};
use frostline_store::{Cleaning, Format};
use frostline_testkit::power::{self, End, Machine, task, tell};
use frostline_zone::Shape;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

type Content = BTreeMap<Vec<u8>, Vec<u8>>;

/// Key of the number of the last commit.
const LAST: &[u8] = b"last";

/// The writes of the commit of a number, known to every process.
fn writes(number: u64) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let mut rng = SmallRng::seed_from_u64(number);
    let mut writes = vec![(LAST.to_vec(), Some(number.to_le_bytes().to_vec()))];
    for _ in 0..rng.random_range(1..8) {
        let key = format!("{:05}", rng.random_range(0..3000)).into_bytes();
        let bytes = [20, 300, 300, 9000][rng.random_range(0..4)];
        let value = rng.random_bool(0.8).then(|| vec![number as u8; rng.random_range(0..bytes)]);
        writes.push((key, value));
    }
    writes
}

fn apply(content: &mut Content, number: u64) {
    for (key, value) in writes(number) {
        match value {
            Some(value) => drop(content.insert(key, value)),
            None => drop(content.remove(&key)),
        }
    }
}

/// Opens the database, checks it, and commits until it is killed. The task: a seed, the number of
/// the last commit that was acknowledged, whether the database must be there, and the URI.
#[test]
fn as_a_process() {
    let Some(task) = task() else { return };
    let words: Vec<_> = task.splitn(4, ' ').collect();
    let mut rng = SmallRng::seed_from_u64(words[0].parse().unwrap());
    let shape = Shape { bytes: 64 << 18, zone_bytes: Some(256 << 10), ..Shape::default() };
    let device = power::device(words[3], &shape);
    let is_in_order = rng.random_bool(0.3);
    let options = Options {
        buffer_bytes: [64, 200][rng.random_range(0..2)] * 4096,
        background: !is_in_order,
        cleaning: if is_in_order { Cleaning::Inline } else { Cleaning::Background },
        // Some values have pages of their own.
        longest_logged_value: 6000,
        ..Options::default()
    };
    let db = Db::open(&device, &options).or_else(|error| {
        assert_eq!(words[2], "false", "{error}");
        let format = Create::default().store;
        let store = Format { checkpoint_writes: Some(200), force: true, ..format };
        let log_bytes = Some(8 << 18);
        Db::create(&device, &Create { store, log_bytes, instances: 1 })?;
        Db::open(&device, &options)
    });
    let db = db.unwrap();
    tell("made");
    let last = check(&db, words[1].parse().unwrap()).unwrap();
    tell(format_args!("found {last}"));
    for number in last + 1.. {
        if rng.random_bool(0.02) {
            db.checkpoint().unwrap();
        }
        commit(&db, number, rng.random_bool(0.5)).unwrap();
    }
}

fn table(db: &Db) -> Result<Table, DbError> {
    db.table("t").or_else(|_| db.create_table("t"))
}

/// Checks that the database holds the commits up to one that is not before `least`, the last that
/// was acknowledged; the number of that one.
fn check(db: &Db, least: u64) -> Result<u64, DbError> {
    let table = table(db)?;
    let look = db.begin_read()?;
    let last = look.get(table, LAST)?.map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
    let last = last.unwrap_or(0);
    assert!(last >= least, "commit {least} was acknowledged, {last} is the last");
    let mut expected = Content::new();
    (1..=last).for_each(|number| apply(&mut expected, number));
    let mut scan = look.scan_all(table, Direction::Forward);
    for (key, value) in &expected {
        assert_eq!(scan.next()?, Some((&key[..], &value[..])), "of commits up to {last}");
    }
    assert_eq!(scan.next()?, None);
    let findings = db.check()?.findings;
    assert!(findings.is_empty(), "{findings:#?}");
    Ok(last)
}

fn commit(db: &Db, number: u64, wait: bool) -> Result<(), DbError> {
    let table = table(db)?;
    let mut transaction = db.begin()?;
    for (key, value) in writes(number) {
        match value {
            Some(value) => transaction.put(table, &key, &value)?,
            None => transaction.delete(table, &key)?,
        }
    }
    let commit = transaction.commit_soon()?;
    tell(format_args!("committed {number}"));
    if wait {
        db.wait(commit)?;
        tell(format_args!("durable {number}"));
    }
    Ok(())
}

/// A database through several kills and power cuts; how many times it was cut, and how many commits
/// were acknowledged.
fn live(seed: u64) -> (u32, u32) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut machine = Machine::start();
    let (mut least, mut acknowledged, mut is_made) = (0, 0, false);
    let mut run = |machine: &Machine, rng: &mut SmallRng, end| {
        let uri = format!("file:{}/database", machine.disk().display());
        let task = format!("{} {least} {is_made} {uri}", rng.random::<u64>());
        let told = machine.run("as_a_process", &task, end);
        is_made |= told.iter().any(|line| line == "made");
        let durable = told.iter().filter_map(|line| line.strip_prefix("durable ")?.parse().ok());
        for number in durable {
            (least, acknowledged) = (number, acknowledged + 1);
        }
        assert!(!matches!(end, End::Told(_)) || told.len() > 1, "it was not opened");
        acknowledged
    };
    let cuts = rng.random_range(2..5);
    for _ in 0..cuts {
        for _ in 0..rng.random_range(1..4) {
            let end = End::draw(&mut rng, 300, 2000);
            run(&machine, &mut rng, end);
        }
        machine.cut_power(&mut rng);
    }
    (cuts, run(&machine, &mut rng, End::Told(20)))
}

#[test]
fn acknowledged_commits_survive_kills_and_power_cuts() {
    power::rounds(1, live);
}
