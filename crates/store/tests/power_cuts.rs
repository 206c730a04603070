//! Stores in real files, one that grows, one as a plain block device, and one for each zone,
//! through kills and power cuts: what was synced is there, the rest is old or new but whole. A
//! process is killed at any moment, another one opens the store and syncs, and then the power is
//! cut.
//!
//! Runs are drawn from a seed, though the moment of a kill is not. `FROSTLINE_TIMES=n` asks for
//! n times as many stores.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use frostline_store::{ChangedWords, Cleaning, Format, Open, PageRead, Store};
use frostline_testkit::power::{self, End, Machine, task, tell};
use frostline_zone::Shape;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// A content that says which page and version it is, all over.
fn content(lba: u32, version: u64) -> Vec<u8> {
    let word = (u64::from(lba) << 40 ^ version).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut page: Vec<u8> = (0..512u64).flat_map(|i| word.wrapping_add(i).to_le_bytes()).collect();
    page[..4].copy_from_slice(&lba.to_le_bytes());
    page[4..12].copy_from_slice(&version.to_le_bytes());
    page
}

fn version(lba: u32, page: &[u8]) -> u64 {
    let version = u64::from_le_bytes(page[4..12].try_into().unwrap());
    assert!(page == content(lba, version), "LBA {lba} is a mixture");
    version
}

/// Opens the store, tells what it holds, and uses it until it is killed. The task: a seed, the next
/// version, whether the store must be there, and the URI.
#[test]
fn as_a_process() {
    let Some(task) = task() else { return };
    let words: Vec<_> = task.splitn(4, ' ').collect();
    let mut rng = SmallRng::seed_from_u64(words[0].parse().unwrap());
    let mut next: u64 = words[1].parse().unwrap();
    let shape = Shape { bytes: 48 << 17, zone_bytes: Some(128 << 10), ..Shape::default() };
    let device = power::device(words[3], &shape);
    let cleaning = [Cleaning::Inline, Cleaning::Background][rng.random_range(0..2)];
    let open = Open { cleaning, ..Open::default() };
    let store = Store::open(device.clone(), open).or_else(|error| {
        assert_eq!(words[2], "false", "{error}");
        let checkpoint_writes = Some(200);
        let format = Format { checkpoint_writes, unit: 4096, force: true, ..Format::default() };
        Store::format(device.clone(), &format)?;
        Store::open(device.clone(), open)
    });
    let store = store.unwrap();
    tell("made");
    let mut page = vec![0; 4096];
    for lba in 0..store.pages() as u32 {
        if store.read(lba, &mut page).unwrap() {
            tell(format_args!("is {lba} {}", version(lba, &page)));
        }
    }
    tell("opened");
    let seed = rng.random();
    thread::scope(|scope| {
        scope.spawn(|| read_on(&store, seed));
        loop {
            act(&store, &mut rng, &mut next);
        }
    })
}

/// Reads pages side by side on and on, so that requests are under way when the process is killed.
/// The device must be there for the next process all the same.
fn read_on(store: &Store, seed: u64) {
    /// Ends the process if what is read is wrong, so that its parent sees that.
    struct AbortOnPanic;
    impl Drop for AbortOnPanic {
        fn drop(&mut self) {
            std::process::abort();
        }
    }
    let _abort = AbortOnPanic;
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut pages = vec![vec![0; 4096]; 32];
    loop {
        let lbas: Vec<_> =
            pages.iter().map(|_| rng.random_range(0..store.pages() as u32)).collect();
        let mut reads = Vec::new();
        for (&lba, page) in lbas.iter().zip(&mut pages) {
            reads.push(PageRead { lba, kept: None, page, changed: ChangedWords::NONE });
        }
        let found = store.read_pages(&mut reads);
        for ((found, &lba), page) in found.into_iter().zip(&lbas).zip(&pages) {
            if found.unwrap() {
                version(lba, page);
            }
        }
        // The writer has the processor for most of the time.
        thread::sleep(Duration::from_millis(5));
    }
}

fn act(store: &Store, rng: &mut SmallRng, next: &mut u64) {
    let pages = store.pages() as u32;
    let mut lba = || {
        let most = if rng.random_bool(0.7) { pages / 5 } else { pages };
        rng.random_range(0..most)
    };
    match lba() % 100 {
        0..80 => {
            let writes: Vec<_> = (0..1 + lba() % 8)
                .map(|_| {
                    let lba = lba();
                    *next += 1;
                    tell(format_args!("write {lba} {next}"));
                    (lba, content(lba, *next))
                })
                .collect();
            let write = |(lba, page): &(u32, Vec<u8>)| store.write(*lba, page);
            writes.iter().try_for_each(write).unwrap();
        }
        80..88 => {
            let lba = lba();
            tell(format_args!("trim {lba}"));
            store.trim(lba).unwrap();
        }
        88..98 => {
            store.sync().unwrap();
            tell("synced");
        }
        _ => store.checkpoint().unwrap(),
    }
}

/// The versions that a page may have, the last as it is now.
type History = Vec<Option<u64>>;

#[derive(Default)]
struct World {
    pages: BTreeMap<u32, History>,
    /// The findings of the process that reports.
    found: BTreeMap<u32, u64>,
    next: u64,
    is_made: bool,
    synced: u32,
}

impl World {
    fn hear(&mut self, line: &str) {
        let mut words = line.split(' ');
        let what = words.next().unwrap();
        let mut number = || words.next().unwrap().parse::<u64>().unwrap();
        match what {
            // It was opened, which begins with a flush or with a checkpoint.
            "made" => (self.is_made, self.found) = (true, BTreeMap::new()),
            "is" => drop(self.found.insert(number() as u32, number())),
            "opened" => self.compare(),
            "write" => {
                let lba = number() as u32;
                self.next = number();
                self.push(lba, Some(self.next));
            }
            "trim" => self.push(number() as u32, None),
            _ => {
                self.synced += 1;
                for history in self.pages.values_mut() {
                    history.drain(..history.len() - 1);
                }
            }
        }
    }

    fn push(&mut self, lba: u32, version: Option<u64>) {
        self.pages.entry(lba).or_insert_with(|| vec![None]).push(version);
    }

    /// Each page is one of what it may be, and is that now.
    fn compare(&mut self) {
        assert!(self.found.keys().all(|lba| self.pages.contains_key(lba)));
        for (lba, history) in &mut self.pages {
            let found = self.found.get(lba).copied();
            assert!(history.contains(&found), "LBA {lba} is {found:?}, not of {history:?}");
            history.push(found);
        }
    }
}

/// A store through several kills and power cuts; how many times it was cut, and synced.
fn live(seed: u64) -> (u32, u32) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut machine = Machine::start();
    let mut world = World::default();
    let kind = ["file", "block", "dir"][(seed % 3) as usize];
    let cuts = rng.random_range(1..4);
    for _ in 0..cuts {
        for _ in 0..rng.random_range(1..3) {
            let uri = format!("{kind}:{}/store", machine.disk().display());
            let task = format!("{} {} {} {uri}", rng.random::<u64>(), world.next, world.is_made);
            let end = End::draw(&mut rng, 300, 6000);
            machine.run("as_a_process", &task, end).iter().for_each(|line| world.hear(line));
        }
        machine.cut_power(&mut rng);
    }
    let uri = format!("{kind}:{}/store", machine.disk().display());
    let task = format!("{} {} {} {uri}", rng.random::<u64>(), world.next, world.is_made);
    let told = machine.run("as_a_process", &task, End::Told(2000));
    told.iter().for_each(|line| world.hear(line));
    assert!(told.iter().any(|line| line == "opened"));
    (cuts, world.synced)
}

#[test]
fn what_was_synced_survives_kills_and_power_cuts() {
    power::rounds(2, live);
}
