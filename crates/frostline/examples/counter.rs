//! A counter that threads add to at once, in two ways: updates that run again when another was faster, and
//! transactions that the program begins and tries again itself.
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
    let tries = thread::scope(|scope| {
        let work = || (0..20).try_fold(0, |tries, _| Ok(tries + add_by_hand(&db, counters, 1)?));
        let by_hand = [(); 2].map(|()| scope.spawn(work));
        (0..20).try_for_each(|_| add(&db, counters, 1).map(drop))?;
        by_hand.into_iter().try_fold(0, |all, thread| match thread.join() {
            Ok(tries) => Ok::<_, Error>(all + tries?),
            Err(_) => Ok(all),
        })
    })?;
    println!("40 additions took {tries} tries");
    println!("{:?} visits", counters.get(&db.read()?, &"visits")?);
    db.close()
}
