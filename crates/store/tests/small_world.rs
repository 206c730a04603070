//! All of a small world: every history of a few steps on the smallest store there is, every state
//! that a power cut may leave at every moment, and every one that power cuts during the recovery
//! may leave, and during the recovery from that.
//!
//! A store is the smallest that the format allows: zones of 16 pages and two headers, eleven of
//! them, five for metadata; 32 pages, two zones of them. Three of these pages are used. They are
//! first written in the order of their numbers: histories that differ only by which page is which
//! are tried once. States of the device are known by their hashes, and each is recovered once.
//!
//! Histories have three steps, also where the power is cut again during recovery, and one step where it is cut twice:
//! `FROSTLINE_SMALL_WORLD=n` tries all with n steps.

#[path = "../../zone/tests/worlds/mod.rs"]
mod worlds;

use std::sync::Arc;
use std::thread;

use frostline_store::{Cleaning, Compression, Format, Open, Store};
use worlds::{Recoveries, Unflushed, World};

const ZONES: u64 = 11;
const ZONE: u64 = 18;
const PAGES: u32 = 32;
/// Contents are so regular that compressed images would be shorter than any delta.
const OPEN: Open =
    Open { cleaning: Cleaning::Inline, compression: Compression::None, ..Open::DEFAULT };

/// Pages that histories use.
const USED: u32 = 3;

/// Starts, as writes between checkpoints and writes before the history: new, and used so long that the
/// next steps clean, write checkpoints and reset metadata zones.
const STARTS: [(u64, u32); 4] = [(30, 0), (4, 141), (30, 200), (3, 93)];

/// A step of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Write(u32),
    Trim(u32),
    Sync,
    Checkpoint,
    /// The process is killed, and the next one opens the store.
    Kill,
}

const STEPS: [Step; 7] = [
    Step::Write(0),
    Step::Write(1),
    Step::Write(2),
    Step::Trim(0),
    Step::Sync,
    Step::Checkpoint,
    Step::Kill,
];

/// The version of each page.
type Found = Vec<Option<u32>>;

fn content(lba: u32, version: u32) -> Vec<u8> {
    (u64::from(lba) << 32 | u64::from(version)).to_le_bytes().repeat(512)
}

fn read_all(store: &Store) -> Found {
    let mut page = vec![0; 4096];
    let mut read = |lba: u32| {
        let found = store.read(lba, &mut page).unwrap();
        found.then(|| {
            let version = u32::from_le_bytes(page[..4].try_into().unwrap());
            assert_eq!(page, content(lba, version), "LBA {lba} is a mixture");
            version
        })
    };
    (0..PAGES).map(&mut read).collect()
}

/// A device to begin histories with, and what is on it.
struct Start {
    world: Arc<World>,
    found: Found,
}

fn format(checkpoint_writes: u64) -> Format {
    Format {
        scheme: "nosep".to_string(),
        logical_pages: Some(PAGES.into()),
        checkpoint_writes: Some(checkpoint_writes),
        reserve: 2,
        spare: 1,
        ..Format::default()
    }
}

/// A store with all pages but those that histories use, which has overwritten them `writes` times
/// and was closed.
fn start(checkpoint_writes: u64, writes: u32) -> Start {
    let world = World::empty(ZONES, ZONE);
    Store::format(world.clone(), &format(checkpoint_writes)).unwrap();
    let store = Store::open(world.clone(), OPEN).unwrap();
    let mut found = vec![None; PAGES as usize];
    for write in 0..writes {
        let lba = USED + write * 7 % (PAGES - USED);
        store.write(lba, &content(lba, write)).unwrap();
        found[lba as usize] = Some(write);
        if write % 8 == 7 {
            store.sync().unwrap();
        }
    }
    store.close().unwrap();
    Start { world: world.with(world.medium()), found }
}

/// All pages of a store that is opened after a power cut. A second reader of the format, which shares
/// no code with the store, must find the same.
fn open_and_read(world: &Arc<World>) -> Found {
    let judged = frostline_judge::pages(&**world).unwrap();
    let mut store = Store::open(world.clone(), OPEN).unwrap();
    let found = read_all(&store);
    for (lba, version) in (0..).zip(&found) {
        let sum = version.map(|version| crc32c::crc32c(&content(lba, version)));
        assert_eq!(judged.get(&lba).copied(), sum, "LBA {lba}, judged and read");
    }
    let findings = store.check().unwrap().findings;
    assert!(findings.is_empty(), "{findings:#?}");
    found
}

/// All that was found out.
struct Explorer {
    recoveries: Recoveries<Found>,
    /// Power cuts during recovery.
    cuts: u32,
    histories: u64,
    resets: u64,
    cleanings: u64,
}

impl Explorer {
    /// Takes the steps, and tries all power cuts during the last one; with `end`, those after it as
    /// well. Those before were tried with shorter histories.
    fn run(&mut self, start: &Start, history: &[Step], end: bool) {
        self.histories += 1;
        let world = start.world.with(start.world.medium());
        let mut store = Some(Store::open(world.clone(), OPEN).unwrap());
        let mut now = start.found.clone();
        let mut later: Vec<Vec<_>> = now.iter().map(|version| vec![*version]).collect();
        for (number, &step) in (1000..).zip(history) {
            world.take_ended();
            let is_synced = self.step(&world, &mut store, step, number, &mut now, &mut later);
            if number - 999 == history.len() as u32 {
                for unflushed in world.take_ended() {
                    self.judge(&world, &unflushed, &later, history);
                }
            }
            if is_synced {
                later = now.iter().map(|version| vec![*version]).collect();
            }
        }
        if end {
            self.judge(&world, &world.unflushed(), &later, history);
        }
        self.resets += world.resets();
        let stats = store.unwrap().stats().unwrap();
        self.cleanings += stats.counts.zones_reclaimed;
    }

    /// Takes one step. True if all is durable then.
    fn step(
        &mut self,
        world: &Arc<World>,
        store: &mut Option<Store>,
        step: Step,
        number: u32,
        now: &mut Found,
        later: &mut [Vec<Option<u32>>],
    ) -> bool {
        let open = store.as_ref().unwrap();
        match step {
            Step::Write(lba) => {
                later[lba as usize].push(Some(number));
                now[lba as usize] = Some(number);
                open.write(lba, &content(lba, number)).unwrap();
            }
            Step::Trim(lba) => {
                later[lba as usize].push(None);
                now[lba as usize] = None;
                open.trim(lba).unwrap();
            }
            Step::Sync => open.sync().unwrap(),
            Step::Checkpoint => open.checkpoint().unwrap(),
            Step::Kill => {
                drop(store.take());
                *store = Some(Store::open(world.clone(), OPEN).unwrap());
                *now = read_all(store.as_ref().unwrap());
                for (version, may) in now.iter().zip(later) {
                    assert!(may.contains(version), "{version:?} after a kill, not of {may:?}");
                }
            }
        }
        matches!(step, Step::Sync | Step::Checkpoint)
    }

    /// After every power cut each page is one of what it may be.
    fn judge(
        &mut self,
        world: &World,
        unflushed: &Unflushed,
        later: &[Vec<Option<u32>>],
        history: &[Step],
    ) {
        let mut judge = |found: &Found| {
            for (lba, (version, may)) in found.iter().zip(later).enumerate() {
                assert!(
                    may.contains(version),
                    "{history:?}: LBA {lba} is {version:?}, not {may:?}"
                );
            }
        };
        self.recoveries.each(world, unflushed, self.cuts, &open_and_read, &mut judge);
    }

    /// All histories of up to `most` steps.
    fn explore(&mut self, start: &Start, history: &mut Vec<Step>, most: usize) {
        if !history.is_empty() {
            self.run(start, history, history.len() == most);
        }
        if history.len() == most {
            return;
        }
        let next = history.iter().filter_map(|step| match step {
            Step::Write(lba) => Some(lba + 1),
            _ => None,
        });
        let next = next.max().unwrap_or(0);
        for step in STEPS {
            if !matches!(step, Step::Write(lba) if lba > next) {
                history.push(step);
                self.explore(start, history, most);
                history.pop();
            }
        }
    }
}

/// Explores histories of `usual` steps, or of as many as are asked for, from each start in a thread of
/// its own. Returns the zones that were cleaned and reset.
fn explore_all(holes: bool, cuts: u32, usual: usize) -> (u64, u64) {
    let most = std::env::var("FROSTLINE_SMALL_WORLD").ok().and_then(|n| n.parse().ok());
    let explored = thread::scope(|scope| {
        let threads = STARTS.map(|(checkpoint_writes, writes)| {
            scope.spawn(move || {
                let recoveries = Recoveries::new(holes);
                let mut explorer =
                    Explorer { recoveries, cuts, histories: 0, resets: 0, cleanings: 0 };
                let start = start(checkpoint_writes, writes);
                explorer.explore(&start, &mut Vec::new(), most.unwrap_or(usual));
                explorer
            })
        });
        threads.map(|thread| thread.join().unwrap())
    });
    let sum = |count: fn(&Explorer) -> u64| explored.iter().map(count).sum::<u64>();
    let (cleaned, reset) = (sum(|e| e.cleanings), sum(|e| e.resets));
    println!(
        "{} histories, {} power cuts, {} states of the device recovered; \
         {cleaned} zones cleaned, {reset} reset",
        sum(|e| e.histories),
        sum(|e| e.recoveries.crashes),
        sum(|e| e.recoveries.recovered),
    );
    (cleaned, reset)
}

#[test]
fn every_power_cut_of_every_short_history_leaves_what_was_synced() {
    explore_all(false, 1, 3);
}

#[test]
fn power_cuts_in_a_row_during_recovery_leave_what_was_synced() {
    explore_all(false, 2, 1);
}

#[test]
fn a_page_lost_before_others_of_its_zone_loses_nothing_that_was_synced() {
    let (cleaned, reset) = explore_all(true, 0, 3);
    assert!(cleaned > 0 && reset > 0);
}
