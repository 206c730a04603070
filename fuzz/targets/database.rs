//! The database against an ordered map, over a device that is killed, loses its power, and fails.

#![no_main]

use std::collections::BTreeMap;
use std::sync::Arc;

use arbitrary::Arbitrary;
use frostline_db::{Create, Db, DbError, Direction, Options, Table};
use frostline_store::Cleaning;
use frostline_zone::{Device, Fault, Faulty, Shape, in_memory};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
enum Step {
    Put {
        key: u8,
        long: bool,
        value: u8,
        len: u16,
    },
    Delete {
        key: u8,
    },
    Commit {
        waits: bool,
    },
    Get {
        key: u8,
    },
    Scan {
        from: u8,
        backward: bool,
    },
    Checkpoint,
    /// The process ends without a word.
    Kill,
    /// The power is cut, now or in the middle of an operation soon.
    Cut {
        after: u8,
    },
    /// An operation of the device fails soon.
    Fail {
        after: u8,
    },
}

type Record = (Vec<u8>, Vec<u8>);
type Records = BTreeMap<Vec<u8>, Vec<u8>>;

/// All states that the database had, commit by commit, and the last that must survive.
struct Model {
    states: Vec<Records>,
    durable: usize,
}

fn key(number: u8) -> Vec<u8> {
    // Of different lengths, with common beginnings.
    [&b"key"[..], &vec![number / 8; usize::from(number % 8) * 40], &[number]].concat()
}

fn options() -> Options {
    Options {
        buffer_bytes: 64 << 12,
        background: false,
        cleaning: Cleaning::Inline,
        log_buffer_bytes: 1 << 16,
        ..Options::default()
    }
}

fn records(
    db: &Db,
    table: Table,
    direction: Direction,
    from: Option<&[u8]>,
) -> Result<Vec<Record>, DbError> {
    let look = db.begin_read()?;
    let mut scan = match from {
        Some(bound) => look.scan(table, bound, direction),
        None => look.scan_all(table, direction),
    };
    let mut found = Vec::new();
    while let Some((key, value)) = scan.next()? {
        found.push((key.to_vec(), value.to_vec()));
    }
    Ok(found)
}

impl Model {
    /// Takes the state that the database was recovered to for its only one.
    fn recovered(&mut self, db: &Db, table: Table) {
        let found: Records =
            records(db, table, Direction::Forward, None).expect("readable").into_iter().collect();
        let later = &self.states[self.durable..];
        assert!(later.contains(&found), "a durable commit is lost, or a commit is there in part");
        self.states = vec![found];
        self.durable = 0;
    }

    fn last(&self) -> &Records {
        self.states.last().expect("there is always one")
    }
}

/// The way in which a life of the database ended.
#[derive(PartialEq)]
enum End {
    /// The process died: what it wrote is there, flushed or not.
    Killed,
    /// The power was cut, or an operation failed.
    Lost,
}

/// Runs steps until something fails or the process dies.
fn live(
    db: &Db,
    table: Table,
    model: &mut Model,
    device: &Faulty,
    steps: &mut std::slice::Iter<'_, Step>,
) -> Result<End, DbError> {
    let mut open = db.begin()?;
    let mut own = model.last().clone();
    for step in steps {
        match *step {
            Step::Put { key: number, long, value, len } => {
                let len = if long { usize::from(len) } else { usize::from(len % 200) };
                let (key, value) = (key(number), vec![value; len]);
                open.put(table, &key, &value)?;
                own.insert(key, value);
            }
            Step::Delete { key: number } => {
                open.delete(table, &key(number))?;
                own.remove(&key(number));
            }
            Step::Get { key: number } => {
                assert_eq!(open.get(table, &key(number))?.as_ref(), own.get(&key(number)));
            }
            Step::Commit { waits } => {
                // If it fails, only recovery shows whether it is there.
                model.states.push(own.clone());
                match open.commit_soon() {
                    Err(DbError::Full { .. } | DbError::TooLarge { .. }) => {
                        model.states.pop();
                        own.clone_from(model.last());
                    }
                    committed => {
                        let commit = committed?;
                        if waits {
                            db.wait(commit)?;
                            model.durable = model.states.len() - 1;
                        }
                    }
                }
                open = db.begin()?;
            }
            Step::Scan { from, backward } => {
                let (from, last) = (key(from), model.last());
                let (direction, expected): (_, Vec<_>) = match backward {
                    false => (
                        Direction::Forward,
                        last.range(from.clone()..).map(|(k, v)| (k.clone(), v.clone())).collect(),
                    ),
                    true => (
                        Direction::Backward,
                        last.range(..=from.clone())
                            .rev()
                            .map(|(k, v)| (k.clone(), v.clone()))
                            .collect(),
                    ),
                };
                assert_eq!(records(db, table, direction, Some(&from))?, expected);
            }
            Step::Checkpoint => {
                db.checkpoint()?;
                model.durable = model.states.len() - 1;
            }
            Step::Kill => return Ok(End::Killed),
            Step::Cut { after: 0 } => {
                device.crash();
                return Ok(End::Lost);
            }
            Step::Cut { after } => {
                device.schedule(device.operations() + u64::from(after), Fault::PowerCut)
            }
            Step::Fail { after } => {
                device.schedule(device.operations() + 1 + u64::from(after), Fault::Error)
            }
        }
    }
    Ok(End::Killed)
}

fuzz_target!(|input: (u64, Vec<Step>)| {
    let (seed, steps) = input;
    let shape = Shape { bytes: 24 << 20, zone_bytes: Some(1 << 18), ..Shape::default() };
    let memory = in_memory(&shape).expect("a device");
    Db::create(&memory, &Create::default()).expect("created");
    let mut device = Arc::new(Faulty::new(memory, seed));
    let mut model = Model { states: vec![Records::new()], durable: 0 };
    let mut steps = steps.iter();
    let mut openings = 0;
    while openings == 0 || !steps.as_slice().is_empty() {
        let shared: Arc<dyn Device> = device.clone();
        let db = match Db::open(&shared, &options()) {
            Ok(db) => db,
            // The fault met recovery: without it, it works.
            Err(_) => {
                drop(shared);
                device = Arc::new(device.restart().expect("restarted"));
                continue;
            }
        };
        let table = match db.table("t") {
            Err(DbError::NoTable { .. }) => db.create_table("t"),
            found => found,
        };
        let mut end = End::Lost;
        if let Ok(table) = table {
            if openings > 0 {
                model.recovered(&db, table);
            }
            end = live(&db, table, &mut model, &device, &mut steps).unwrap_or(End::Lost);
        }
        openings += 1;
        drop(db);
        if end == End::Lost {
            drop(shared);
            device = Arc::new(device.restart().expect("restarted"));
        }
    }
});
