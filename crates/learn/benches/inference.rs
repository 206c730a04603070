//! Recognising the frozen pages of a zone of 256 MiB (65,536 pages, all valid), and classifying
//! user writes one by one.
//!
//! `cargo bench -p frostline-learn --bench inference`
//!
//! Recognition is measured twice: inference alone, over features in memory; and as a scheme calls
//! it, with the gathering of features from records. The throughput is in pages.

use std::hint::black_box;

use frostline_learn::{
    FeatureLayout, Instructions, LANES, Linear, PageClassifier, PageRecogniser, RecordSource,
    Scorer, Tiles,
};
use frostline_placement::{
    Activity, Candidates, Classified, Classifier, ClassifierSetup, Hotness, Past, Recogniser,
    Requests, UserWrite,
};
use frostline_random::SplitMix;
use frostline_testkit::timing::measure;

const PAGES: usize = 65_536;

fn linear(layout: FeatureLayout, chance: &mut SplitMix) -> Linear {
    let weights = (0..layout.width()).map(|_| chance.unit() as f32 - 0.5);
    Linear { weights: weights.collect(), bias: 0.1 }
}

/// Two writes of each page.
fn pasts(chance: &mut SplitMix) -> Vec<Past> {
    let mut requests = Requests::default();
    let mut written = |first| {
        let mut past = Past::default();
        for now in [first, first + chance.below(1 << 20)] {
            requests.begin(chance.below(1 << 24), 1 + chance.below(8));
            past.write(now, &requests);
        }
        past
    };
    (0..PAGES as u32).map(&mut written).collect()
}

fn hotness(chance: &mut SplitMix) -> Vec<Hotness> {
    let record = |chance: &mut SplitMix| {
        let activity = |chance: &mut SplitMix| Activity {
            valid_bytes: chance.below(4096) as u16,
            accesses: chance.below(500) as u16,
            modifications: chance.below(100) as u16,
            reserved: 0,
            access_interval: chance.below(100_000),
            modification_interval: chance.below(100_000),
        };
        let (current, last) = (activity(chance), activity(chance));
        Hotness { origin: 1, lifespan: chance.below(1 << 22), current, last }
    };
    (0..PAGES).map(|_| record(chance)).collect()
}

fn inference() {
    let mut chance = SplitMix::new(1);
    let (pasts, hotness) = (pasts(&mut chance), hotness(&mut chance));
    let lbas: Vec<u32> = (0..PAGES as u32).collect();
    for (name, records) in [("engine", RecordSource::Engine), ("block", RecordSource::Block)] {
        let layout = FeatureLayout::new(records, 2).expect("a known history");
        let linear = linear(layout, &mut chance);
        let values = 0..PAGES.next_multiple_of(LANES) * layout.width();
        let values: Vec<f32> = values.map(|_| chance.unit() as f32).collect();
        let mut scores = vec![0.0; PAGES];
        measure(&format!("{name} records, inference alone"), PAGES as u64, || {
            linear.score(Tiles::new(layout.width(), black_box(&values)), &mut scores);
        });
        let mut recogniser = PageRecogniser::new(layout, 0.0, linear).expect("two records");
        let mut scores = vec![0.0; PAGES];
        let pages = Candidates {
            now: 1 << 23,
            valid: 1 << 20,
            lbas: &lbas,
            pasts: &pasts,
            hotness: Some(&hotness),
        };
        let name = format!("{name} records, features gathered and inference");
        measure(&name, PAGES as u64, || recogniser.score(black_box(&pages), &mut scores));
    }
}

/// A user write of one of 65,536 pages, classified by PHFTL's classifier: its network's step and
/// all around it.
fn classification() {
    const WINDOW: u32 = 1 << 17;
    for instructions in Instructions::available() {
        let (space, full_history) = (PAGES as u32, true);
        let setup =
            ClassifierSetup { space, window: WINDOW, full_history, adaptive: true, seed: 1 };
        let mut classifier = PageClassifier::new(&setup, instructions);
        let mut pages = vec![Classified::default(); PAGES];
        let mut chance = SplitMix::new(2);
        let mut now = 0;
        let mut write = || {
            now += 1;
            // Half of the writes go to a sixteenth of the pages.
            let hot = 4 * chance.below(2);
            let lba = chance.below(space >> hot);
            let first = pages[lba as usize] == Classified::default();
            let write = UserWrite { first, zone: 1, ..UserWrite::first(lba, now) };
            classifier.is_short_living(&write, &mut pages[lba as usize])
        };
        // Past the training in the third window.
        for _ in 0..WINDOW * 11 / 4 {
            write();
        }
        measure(&format!("a user write, {instructions:?}"), 1, || {
            black_box(write());
        });
    }
}

fn main() {
    inference();
    classification();
}
