//! A counter that threads add to at once, in two ways: updates that run again when another was
//! faster, and transactions that the program begins and tries again itself.
//!
//! `cargo run -p frostline --example counter [DIRECTORY]`

use std::thread;

use frostline::{Db, Error, Options, Result, Typed};

type Counters = Typed<String, u64>;

fn add(db: &Db, counters: Counters, more: u64) -> Result<u64> {
    db.update(|tx| {
        let sum = counters.get(tx, &"visits")?.unwrap_or(0) + more;
        counters.put(tx, &"visits", &sum)?;
        Ok(sum)
    })
}

/// As `add`, but counts the tries.
fn add_by_hand(db: &Db, counters: Counters, more: u64) -> Result<u64> {
    for tries in 1.. {
        let mut tx = db.begin()?;
        let sum = counters.get(&tx, &"visits")?.unwrap_or(0) + more;
        counters.put(&mut tx, &"visits", &sum)?;
        match tx.commit() {
            Ok(()) => return Ok(tries),
            Err(Error::Conflict) => thread::yield_now(),
            Err(error) => return Err(error),
        }
    }
    Err(Error::Conflict)
}

fn main() -> Result<()> {
    let directory = std::env::args().nth(1);
    let db = Options::new().bound(1 << 30).open(directory.as_deref().unwrap_or("counter.frost"))?;
    let counters: Counters = db.typed("counters")?;
    let work = || -> Result<u64> {
        let mut tries = 0;
        for _ in 0..20 {
            tries += add_by_hand(&db, counters, 1)?;
        }
        Ok(tries)
    };
    let tries = thread::scope(|scope| {
        let by_hand = [(); 2].map(|()| scope.spawn(work));
        for _ in 0..20 {
            add(&db, counters, 1)?;
        }
        // A thread that panicked has told so already.
        let tries = by_hand.into_iter().map(|thread| thread.join().unwrap_or(Ok(0)));
        tries.sum::<Result<u64>>()
    })?;
    println!("40 additions took {tries} tries");
    println!("{:?} visits", counters.get(&db.read()?, &"visits")?);
    db.close()
}
