//! All of a small world: every history of a few steps on the smallest store there is, every state
//! that a power cut may leave at every moment, and every one that power cuts during the recovery
//! may leave, and during the recovery from that.
//!
//! A store is the smallest that the format allows: zones of 16 pages and two headers, eleven of
//! them, five for metadata; two zones of pages. Three of these pages are used. They are
//! first written in the order of their numbers: histories that differ only by which page is which
//! are tried once. States of the device are known by their hashes, and each is recovered once.
//! In a store with deltas a page that is written three times has a delta and a tail.
//!
//! Histories have three steps, also where the power is cut again during recovery, and one step
//! where it is cut twice; from stores that have the most states they have one or two steps less.
//! `FROSTLINE_TIMES=3` tries one step more, which takes about ten times as long, and 30 another.

use std::sync::Arc;
use std::thread;

use crate::versioned::{Contents, Writer};
use frostline_store::{Cleaning, Compression, Format, Open, Store};
use frostline_testkit::seeds;
use frostline_testkit::worlds::{Recoveries, Unflushed, World};

const ZONES: u64 = 12;
const ZONE: u64 = 18;
/// Contents are so regular that compressed images would be shorter than any delta.
const OPEN: Open =
    Open { cleaning: Cleaning::Inline, compression: Compression::None, ..Open::DEFAULT };

/// Pages that histories use.
const USED: u32 = 3;

/// A store before its histories, and how long these are.
struct Past {
    /// The unit of the store.
    unit: u32,
    checkpoint_writes: u64,
    writes: u64,
    /// The pages of histories have an image and a delta.
    changed: bool,
    /// Steps by which histories are shorter.
    fewer: usize,
}

/// New stores, and some used so long that the next steps clean, write checkpoints and reset
/// metadata zones. In units the first step of all makes the last two clean, and the last one merge.
const PASTS: [Past; 8] = [
    Past { unit: 4096, checkpoint_writes: 30, writes: 0, changed: false, fewer: 0 },
    Past { unit: 4096, checkpoint_writes: 4, writes: 141, changed: false, fewer: 0 },
    Past { unit: 4096, checkpoint_writes: 30, writes: 200, changed: false, fewer: 0 },
    Past { unit: 4096, checkpoint_writes: 3, writes: 93, changed: false, fewer: 1 },
    Past { unit: 64, checkpoint_writes: 30, writes: 0, changed: false, fewer: 0 },
    Past { unit: 64, checkpoint_writes: 4, writes: 40, changed: true, fewer: 1 },
    Past { unit: 64, checkpoint_writes: 3, writes: 365, changed: true, fewer: 2 },
    Past { unit: 64, checkpoint_writes: 30, writes: 111, changed: false, fewer: 1 },
];

/// The pages of a store: two zones of them.
fn pages(unit: u32) -> u32 {
    if unit < 4096 { 20 } else { 32 }
}

/// The first version of histories, in which a new page is written as an image, a delta and a tail.
const FIRST: u64 = 950;

/// Versions before, the image and the delta of a page that is then written as a tail, a delta and a
/// tail.
const BEFORE: [u64; 2] = [810, 901];

fn contents(unit: u32) -> Contents {
    Contents { has_deltas: unit < 4096, near: 50, far: 200 }
}

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
type Found = Vec<Option<u64>>;

fn read_all(store: &Store, writer: &mut Writer) -> Found {
    let pages = store.pages() as u32;
    (0..pages).map(|lba| writer.read(store, lba).unwrap()).collect()
}

/// A device to begin histories with, and what is on it.
struct Start {
    world: Arc<World>,
    found: Found,
    writer: Writer,
}

fn format(unit: u32, checkpoint_writes: u64) -> Format {
    Format {
        scheme: "nosep".to_string(),
        unit,
        logical_pages: Some(pages(unit).into()),
        checkpoint_writes: Some(checkpoint_writes),
        reserve: 2,
        spare: 1,
        ..Format::default()
    }
}

/// A store with all pages but those that histories use, which has overwritten them and was closed.
fn start(past: &Past) -> Start {
    let &Past { unit, checkpoint_writes, writes, .. } = past;
    let world = World::empty(ZONES, ZONE);
    Store::format(world.clone(), &format(unit, checkpoint_writes)).unwrap();
    let store = Store::open(world.clone(), OPEN).unwrap();
    let mut writer = Writer::new(contents(unit));
    let mut found = vec![None; pages(unit) as usize];
    let used = 0..if past.changed { USED } else { 0 };
    let [image, delta] = BEFORE;
    used.clone().for_each(|lba| writer.write(&store, lba, image).unwrap());
    for write in 0..writes {
        let lba = USED + write as u32 * 7 % (pages(unit) - USED);
        writer.write(&store, lba, write).unwrap();
        found[lba as usize] = Some(write);
        if write % 8 == 7 {
            store.sync().unwrap();
        }
    }
    for lba in used {
        writer.write(&store, lba, delta).unwrap();
        found[lba as usize] = Some(delta);
    }
    store.close().unwrap();
    Start { world: world.with(world.medium()), found, writer }
}

/// All pages of a store that is opened after a power cut. A second reader of the format, which
/// shares no code with the store, must find the same.
fn open_and_read(world: &Arc<World>) -> Found {
    let judged = frostline_judge::pages(&**world).unwrap();
    let mut store = Store::open(world.clone(), OPEN).unwrap();
    let contents = contents(store.unit());
    let found = read_all(&store, &mut Writer::new(contents));
    for (lba, version) in (0..).zip(&found) {
        let sum = version.map(|version| crc32c::crc32c(&contents.of(lba, version)));
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
    tails: u64,
}

impl Explorer {
    /// Takes the steps, and tries all power cuts during the last one; with `end`, those after it as
    /// well. Those before were tried with shorter histories.
    fn run(&mut self, start: &Start, history: &[Step], end: bool) {
        self.histories += 1;
        let world = start.world.with(start.world.medium());
        let mut life = Life {
            store: Some(Store::open(world.clone(), OPEN).unwrap()),
            writer: start.writer.clone(),
            later: start.found.iter().map(|version| vec![*version]).collect(),
            now: start.found.clone(),
        };
        for (number, &step) in (FIRST..).zip(history) {
            world.take_ended();
            let is_synced = life.step(&world, step, number);
            if number - FIRST + 1 == history.len() as u64 {
                for unflushed in world.take_ended() {
                    self.judge(&world, &unflushed, &life.later, history);
                }
            }
            if is_synced {
                life.later = life.now.iter().map(|version| vec![*version]).collect();
            }
        }
        if end {
            self.judge(&world, &world.unflushed(), &life.later, history);
        }
        self.resets += world.resets();
        let stats = life.store.unwrap().stats().unwrap();
        self.cleanings += stats.counts.zones_reclaimed;
        self.tails += stats.deltas.tails;
    }

    /// After every power cut each page is one of what it may be.
    fn judge(
        &mut self,
        world: &World,
        unflushed: &Unflushed,
        later: &[Vec<Option<u64>>],
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

/// A store during a history.
struct Life {
    store: Option<Store>,
    writer: Writer,
    now: Found,
    /// All that each page may be after a power cut.
    later: Vec<Vec<Option<u64>>>,
}

impl Life {
    /// Takes one step. True if all is durable then.
    fn step(&mut self, world: &Arc<World>, step: Step, number: u64) -> bool {
        let Life { store, writer, now, later } = self;
        let open = store.as_ref().unwrap();
        match step {
            Step::Write(lba) => {
                later[lba as usize].push(Some(number));
                now[lba as usize] = Some(number);
                writer.write(open, lba, number).unwrap();
            }
            Step::Trim(lba) => {
                later[lba as usize].push(None);
                now[lba as usize] = None;
                writer.forget(lba);
                open.trim(lba).unwrap();
            }
            Step::Sync => open.sync().unwrap(),
            Step::Checkpoint => open.checkpoint().unwrap(),
            Step::Kill => {
                drop(store.take());
                let open = store.insert(Store::open(world.clone(), OPEN).unwrap());
                *now = read_all(open, writer);
                for (version, may) in now.iter().zip(later) {
                    assert!(may.contains(version), "{version:?} after a kill, not of {may:?}");
                }
            }
        }
        matches!(step, Step::Sync | Step::Checkpoint)
    }
}

/// Explores histories of `usual` steps, or of more if that is asked for, from each start in a thread
/// of its own. Zones must have been cleaned and reset, and tails written, if that `is_asked`.
fn explore_all(holes: bool, cuts: u32, usual: usize, is_asked: bool) {
    let most = seeds::steps(usual);
    let explored = thread::scope(|scope| {
        let threads = PASTS.each_ref().map(|past| {
            scope.spawn(move || {
                let recoveries = Recoveries::new(holes);
                let mut explorer =
                    Explorer { recoveries, cuts, histories: 0, resets: 0, cleanings: 0, tails: 0 };
                let most = most.saturating_sub(past.fewer);
                explorer.explore(&start(past), &mut Vec::new(), most);
                (past.unit, explorer)
            })
        });
        threads.map(|thread| thread.join().unwrap())
    });
    for unit in [4096, 64] {
        let sum = |count: fn(&Explorer) -> u64| {
            explored.iter().filter(|(of, _)| *of == unit).map(|(_, e)| count(e)).sum::<u64>()
        };
        let (cleaned, reset, tails) = (sum(|e| e.cleanings), sum(|e| e.resets), sum(|e| e.tails));
        println!(
            "unit {unit}: {} histories, {} power cuts, {} states of the device recovered; \
             {cleaned} zones cleaned, {reset} reset, {tails} tails",
            sum(|e| e.histories),
            sum(|e| e.recoveries.crashes),
            sum(|e| e.recoveries.recovered),
        );
        assert!(!is_asked || cleaned > 0 && reset > 0 && (tails > 0) == (unit < 4096));
    }
}

#[test]
fn every_power_cut_of_every_short_history_leaves_what_was_synced() {
    explore_all(false, 1, 3, false);
}

#[test]
fn power_cuts_in_a_row_during_recovery_leave_what_was_synced() {
    explore_all(false, 2, 1, false);
}

#[test]
fn a_page_lost_before_others_of_its_zone_loses_nothing_that_was_synced() {
    explore_all(true, 0, 3, true);
}
