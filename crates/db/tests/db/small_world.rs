//! All of a small world: every history of a few steps on three keys, every state that a power cut
//! may leave at every moment, and every one that power cuts during the recovery may leave.
//!
//! The database is as small as it can be: zones of 18 pages, four of them for the log. Keys are
//! first put in the order of their numbers: histories that differ only by which key is which are
//! tried once. States of the device are known by their hashes, and each is recovered once.
//!
//! `FROSTLINE_TIMES=3` tries histories of one step more, and 30 of another.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::thread;

use frostline_db::{Create, Db, DbError, Direction, Options};
use frostline_store::{Cleaning, Format};
use frostline_testkit::seeds;
use frostline_testkit::worlds::{Recoveries, Unflushed, World};
use frostline_zone::Device;

/// A step of a history. Only waits and checkpoints promise anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Put(u8),
    /// Two keys in one transaction, and the third deleted.
    PutTwo,
    Delete(u8),
    /// Most of the keys that fill leaves.
    Empty,
    Wait,
    Checkpoint,
    /// The process is killed, and the next one opens the database.
    Kill,
}

const STEPS: [Step; 8] = [
    Step::Put(0),
    Step::Put(1),
    Step::Put(2),
    Step::PutTwo,
    Step::Delete(0),
    Step::Wait,
    Step::Checkpoint,
    Step::Kill,
];

/// Steps where leaves are full.
const STEPS_WHEN_FILLED: [Step; 5] =
    [Step::Put(0), Step::Empty, Step::Wait, Step::Checkpoint, Step::Kill];

/// Starts, as commits before the history, and whether leaves are full: new, and with a log that has
/// gone through all its zones.
const STARTS: [(u32, bool); 3] = [(0, false), (76, false), (76, true)];

/// Keys that fill leaves, six of them each.
const FILLING: Range<u8> = 3..17;

/// All records.
type Content = BTreeMap<Vec<u8>, Vec<u8>>;

fn open(world: &Arc<World>) -> Db {
    let device: Arc<dyn Device> = world.clone();
    let options = Options {
        buffer_bytes: 64 * 4096,
        log_buffer_bytes: 4096,
        background: false,
        cleaning: Cleaning::Inline,
        ..Options::default()
    };
    Db::open(&device, &options).unwrap()
}

fn content(db: &Db) -> Content {
    let look = db.begin_read().unwrap();
    let mut scan = look.scan_all(db.table("t").unwrap(), Direction::Forward);
    let mut content = Content::new();
    while let Some((key, value)) = scan.next().unwrap() {
        content.insert(key.to_vec(), value.to_vec());
    }
    content
}

fn open_and_read(world: &Arc<World>) -> Content {
    let db = open(world);
    let findings = db.check().unwrap().findings;
    assert!(findings.is_empty(), "{findings:#?}");
    content(&db)
}

/// The user, and what the database held after each commit.
#[derive(Clone)]
struct User {
    states: Vec<Content>,
    /// The first of these states that may be found after a power cut.
    promised: usize,
}

impl User {
    fn commit(&mut self, db: &Db, writes: &[(u8, Option<u32>)]) -> Result<(), DbError> {
        let table = db.table("t")?;
        let mut transaction = db.begin()?;
        let mut next = self.states.last().unwrap().clone();
        for (key, number) in writes {
            let key = vec![b'a' + key];
            match number {
                Some(number) => {
                    // Long enough to split the page after a while.
                    let value = number.to_le_bytes().repeat(150);
                    transaction.put(table, &key, &value)?;
                    next.insert(key, value);
                }
                None => {
                    transaction.delete(table, &key)?;
                    next.remove(&key);
                }
            }
        }
        self.states.push(next);
        transaction.commit_soon().map(drop)
    }

    /// Takes one step. True if all is durable then.
    fn step(&mut self, world: &Arc<World>, db: &mut Option<Db>, step: Step, number: u32) -> bool {
        let open_db = db.as_ref().unwrap();
        match step {
            Step::Put(key) => self.commit(open_db, &[(key, Some(number))]).unwrap(),
            Step::PutTwo => {
                let writes = [(0, Some(number)), (1, Some(number)), (2, None)];
                self.commit(open_db, &writes).unwrap();
            }
            Step::Delete(key) => self.commit(open_db, &[(key, None)]).unwrap(),
            Step::Empty => {
                let most = FILLING.start..FILLING.end - 2;
                self.commit(open_db, &most.map(|key| (key, None)).collect::<Vec<_>>()).unwrap();
            }
            Step::Wait => {
                let table = open_db.table("t").unwrap();
                let mut last = open_db.begin().unwrap();
                last.put(table, b"wait", &number.to_le_bytes()).unwrap();
                let mut next = self.states.last().unwrap().clone();
                next.insert(b"wait".to_vec(), number.to_le_bytes().to_vec());
                self.states.push(next);
                last.commit().unwrap();
            }
            Step::Checkpoint => open_db.checkpoint().unwrap(),
            Step::Kill => {
                drop(db.take());
                let opened = open(world);
                let found = content(&opened);
                let may = self.states.iter().rposition(|state| *state == found);
                let at = may.filter(|&at| at >= self.promised);
                self.states.truncate(at.expect("a commit is lost in a kill") + 1);
                *db = Some(opened);
            }
        }
        matches!(step, Step::Wait | Step::Checkpoint)
    }
}

struct Explorer {
    steps: &'static [Step],
    recoveries: Recoveries<Content>,
    /// Power cuts during recovery.
    cuts: u32,
    histories: u64,
    resets: u64,
}

impl Explorer {
    fn judge(&mut self, world: &World, unflushed: &Unflushed, user: &User, history: &[Step]) {
        let mut judge = |found: &Content| {
            let known = user.states[user.promised..].contains(found);
            assert!(known, "{history:?}: {found:?} is not of {:?}", user.states);
        };
        self.recoveries.each(world, unflushed, self.cuts, &open_and_read, &mut judge);
    }

    /// Takes the steps, and tries all power cuts during the last one; with `end`, those after it as
    /// well. Those before were tried with shorter histories.
    fn run(&mut self, start: &(Arc<World>, User), history: &[Step], end: bool) {
        self.histories += 1;
        let world = start.0.with(start.0.medium());
        let (mut db, mut user) = (Some(open(&world)), start.1.clone());
        for (number, &step) in (0..).zip(history) {
            world.take_ended();
            let is_durable = user.step(&world, &mut db, step, 1000 + number as u32);
            if number + 1 == history.len() {
                for unflushed in world.take_ended() {
                    self.judge(&world, &unflushed, &user, history);
                }
            }
            if is_durable {
                user.promised = user.states.len() - 1;
            }
        }
        if end {
            self.judge(&world, &world.unflushed(), &user, history);
        }
        self.resets += world.resets();
    }

    /// All histories of up to `most` steps.
    fn explore(&mut self, start: &(Arc<World>, User), history: &mut Vec<Step>, most: usize) {
        if !history.is_empty() {
            self.run(start, history, history.len() == most);
        }
        if history.len() == most {
            return;
        }
        let next = history.iter().map(|step| match step {
            Step::Put(key) => key + 1,
            Step::PutTwo => 3,
            _ => 0,
        });
        let next = next.max().unwrap_or(0);
        for &step in self.steps {
            if !matches!(step, Step::Put(key) if key > next) {
                history.push(step);
                self.explore(start, history, most);
                history.pop();
            }
        }
    }
}

/// A database after so many commits, closed.
fn start((commits, is_filled): (u32, bool)) -> (Arc<World>, User) {
    let world = World::empty(20, 18);
    let device: Arc<dyn Device> = world.clone();
    let store = Format {
        scheme: "nosep".to_string(),
        logical_pages: Some(24),
        checkpoint_writes: Some(5),
        reserve: 2,
        spare: 1,
        ..Format::default()
    };
    Db::create(&device, &Create { store, log_bytes: Some(4 * 18 * 4096), instances: 1 }).unwrap();
    let mut db = Some(open(&world));
    db.as_ref().unwrap().create_table("t").unwrap();
    let mut user = User { states: vec![Content::new()], promised: 0 };
    if is_filled {
        let filling = FILLING.map(|key| (key, Some(0)));
        user.commit(db.as_ref().unwrap(), &filling.collect::<Vec<_>>()).unwrap();
    }
    for number in 0..commits {
        user.step(&world, &mut db, Step::Wait, number);
        if number % 10 == 9 {
            user.step(&world, &mut db, Step::Checkpoint, number);
        }
    }
    db.unwrap().close().unwrap();
    user.states.drain(..user.states.len() - 1);
    (world.with(world.medium()), user)
}

/// Explores histories of three steps, or more if that is asked for, from each start in a thread of
/// its own.
fn explore_all(holes: bool, cuts: u32) {
    let most = seeds::steps(3);
    let explored = thread::scope(|scope| {
        let threads = STARTS.map(|begin| {
            scope.spawn(move || {
                // Where leaves are full there are many more states, of which no recovery is cut.
                let cuts = if begin.1 { 0 } else { cuts };
                let recoveries = Recoveries::new(holes);
                let steps = if begin.1 { &STEPS_WHEN_FILLED[..] } else { &STEPS };
                let mut explorer = Explorer { steps, recoveries, cuts, histories: 0, resets: 0 };
                let most = most.saturating_sub(usize::from(begin.1));
                explorer.explore(&start(begin), &mut Vec::new(), most);
                explorer
            })
        });
        threads.map(|thread| thread.join().unwrap())
    });
    let sum = |count: fn(&Explorer) -> u64| explored.iter().map(count).sum::<u64>();
    let reset = sum(|e| e.resets);
    println!(
        "{} histories, {} power cuts, {} states of the device recovered; {reset} zones reset",
        sum(|e| e.histories),
        sum(|e| e.recoveries.crashes),
        sum(|e| e.recoveries.recovered),
    );
    assert!(reset > 0);
}

#[test]
fn every_power_cut_of_every_short_history_leaves_a_beginning_of_the_commits() {
    explore_all(false, 2);
}

#[test]
fn a_page_lost_before_others_of_its_zone_loses_no_commit() {
    explore_all(true, 0);
}
