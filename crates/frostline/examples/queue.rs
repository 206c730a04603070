//! A queue that several threads put jobs into and take jobs from; no job is lost or done twice.
//!
//! `cargo run -p frostline --example queue [DIRECTORY]`

use std::thread;

use frostline::{Db, Options, Result, Typed};

/// Jobs by number: the least is next.
type Jobs = Typed<u64, String>;

fn put(db: &Db, jobs: Jobs, job: &str) -> Result<u64> {
    db.update(|tx| {
        let number = jobs.last(tx)?.map_or(1, |(last, _)| last + 1);
        jobs.put(tx, &number, &job.to_string())?;
        Ok(number)
    })
}

/// Takes the next job. Of two threads that want the same one, the second runs again and gets the
/// next.
fn take(db: &Db, jobs: Jobs) -> Result<Option<(u64, String)>> {
    db.update(|tx| jobs.pop_first(tx))
}

fn main() -> Result<()> {
    let directory = std::env::args().nth(1);
    let db = Options::new().bound(1 << 30).open(directory.as_deref().unwrap_or("queue.frost"))?;
    let jobs: Jobs = db.typed("jobs")?;
    for job in ["wash", "dry", "fold", "iron", "mend", "sew"] {
        put(&db, jobs, job)?;
    }
    let done = thread::scope(|scope| {
        let work = || {
            let mut done = Vec::new();
            while let Some((number, job)) = take(&db, jobs)? {
                done.push(format!("{number}: {job}"));
            }
            Ok(done)
        };
        let workers = [(); 3].map(|()| scope.spawn(work));
        let results = workers.map(|worker| worker.join().unwrap_or_else(|_| Ok(Vec::new())));
        results.into_iter().collect::<Result<Vec<_>>>()
    })?;
    for (worker, jobs) in done.iter().enumerate() {
        println!("worker {worker} did {jobs:?}");
    }
    println!("{} jobs are done", done.iter().flatten().count());
    db.close()
}
