//! The whole benchmark on the memory engine.

mod planted;
mod population;
mod running;

use super::{Scale, Tpcc, TpccOptions};
use crate::condition::Condition;
use crate::driver::{self, Report, Until};
use crate::loading::Loading;
use crate::memory::MemoryEngine;

/// Large enough that every transaction finds something to do, small enough to be quick.
const SMALL: Scale = Scale { warehouses: 2, items: 500, customers: 60 };

fn loaded(engine: &MemoryEngine, scale: Scale, steady: bool) -> Tpcc<usize> {
    let tpcc = Tpcc::open(engine, TpccOptions { scale, steady }).unwrap();
    let loading = Loading { threads: 2, seed: 7 };
    assert!(tpcc.load(engine, loading, &mut |_| true).unwrap().is_complete());
    tpcc
}

fn run(engine: &MemoryEngine, tpcc: &Tpcc<usize>, threads: usize, transactions: u64) -> Report {
    let until = Until::Transactions(transactions);
    let options = driver::RunOptions { threads, until, ..driver::RunOptions::default() };
    driver::run(engine, tpcc, options, |_| true).unwrap()
}

/// The names of the conditions that do not hold.
fn violated(engine: &MemoryEngine, tpcc: &Tpcc<usize>) -> Vec<Condition> {
    let conditions = tpcc.check(engine).unwrap();
    assert_eq!(conditions.len(), 15);
    conditions.into_iter().filter(|condition| !condition.ok).collect()
}

fn assert_consistent(engine: &MemoryEngine, tpcc: &Tpcc<usize>) {
    assert_eq!(violated(engine, tpcc), []);
}
