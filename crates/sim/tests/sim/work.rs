//! The cost of a replay, counted instead of timed: the inner loop begins rarely, and a page write
//! allocates nothing. The speed depends on both, and noise can't disturb counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::LazyLock;

// The simulator has the log of every scheme compiled: linked with it, they are not compiled again.
use frostline_sim as _;

use frostline_log::{Options, PageReplay, Replay as _, Writes};
use frostline_placement::registry::SCHEMES;
use frostline_placement::{Foresight, Scheme, Setup, victims};
use frostline_placement::{SchemeSpec, Visitor};
use frostline_testkit::side_by_side;
use frostline_trace::{AccessPattern, Spec, generate};

/// Counts the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[allow(unsafe_code)]
// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends may allocate after its locals are gone.
        let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the memory came from `System`, by `alloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const PAGES: u32 = 1 << 16;
const ZONE_PAGES: u32 = 512;
const WRITES: usize = 1 << 20;

fn zipf() -> Vec<u32> {
    let kind = AccessPattern::Zipf { alpha: 1.0 };
    let spec = Spec { kind, pages: PAGES, writes: WRITES as u64, fill: true, seed: 5 };
    generate(&spec).unwrap().collect()
}

/// Mean length of a run, and allocations, in the second half of a trace.
struct Work {
    mean_run: f64,
    allocations: u64,
}

struct Measure<'a>(&'a [u32]);

impl Visitor for Measure<'_> {
    type Output = Work;

    fn visit<S: Scheme>(self, scheme: S) -> Work {
        let policy = victims::build("cost-benefit", 1).unwrap();
        let options = Options::elastic(ZONE_PAGES, PAGES, 0.15);
        let mut replay = PageReplay::new(options, scheme, policy).unwrap();
        let writes = Writes::new(self.0);
        let half = self.0.len() / 2;
        replay.write(&writes, 0..half).unwrap();
        replay.log_mut().reset_counts();
        let before = ALLOCATIONS.get();
        replay.write(&writes, half..self.0.len()).unwrap();
        let allocations = ALLOCATIONS.get() - before;
        let counts = replay.log_mut().counts();
        Work { mean_run: counts.user_writes as f64 / counts.runs as f64, allocations }
    }
}

/// The work of every scheme, measured once for all tests.
fn each_scheme() -> &'static [(&'static str, Work)] {
    static MEASURED: LazyLock<Vec<(&str, Work)>> = LazyLock::new(measured);
    &MEASURED
}

fn measured() -> Vec<(&'static str, Work)> {
    let trace = zipf();
    let known = SCHEMES.iter().filter(|entry| entry.foresight == Foresight::None);
    side_by_side::each(known, |entry| {
        let spec = SchemeSpec::parse(entry.info.name).unwrap();
        let make = |by: &str, setup: &Setup<'_>| frostline_learn::recogniser(by, setup, None);
        let setup = Setup {
            recogniser: Some(&make),
            classifier: Some(&frostline_learn::classifier),
            forecaster: Some(&frostline_learn::forecaster),
            ..Setup::new(ZONE_PAGES, PAGES)
        };
        (entry.info.name, spec.build(&setup, Measure(&trace)).unwrap())
    })
}

#[test]
fn a_run_is_long_enough_that_its_beginning_costs_nothing() {
    for (name, work) in each_scheme() {
        // About this often a zone of 512 pages is filled or cleaned.
        assert!(work.mean_run > 50.0, "{name}: runs of {:.1} writes", work.mean_run);
    }
}

#[test]
fn once_the_volume_has_its_size_no_scheme_allocates() {
    for (name, work) in each_scheme() {
        // Zones may still be added from time to time, and a scheme that learns may grow vectors;
        // there are half a million writes.
        let entry = SCHEMES.iter().find(|entry| entry.info.name == *name).unwrap();
        let learns = entry.info.params.iter().any(|param| param.key == "recogniser");
        let most = if learns { 2500 } else { 64 };
        assert!(work.allocations < most, "{name}: {} allocations", work.allocations);
    }
}
