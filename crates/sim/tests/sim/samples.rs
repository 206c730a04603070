//! Samples agree with the trace, and a recogniser in a scheme sees the same features that its model
//! was trained on.

use frostline_learn::*;
use frostline_placement::{Activity, Candidates, Hotness, Past, Recogniser, Requests};
use frostline_random::SplitMix;
use frostline_sim::{SampleError, sample};
use frostline_trace::{Bits, Trim, Writes};
use proptest::prelude::*;

fn everything() -> Sampling {
    Sampling { split: SampleSplit::All, horizon: 0.0, age: 0, most: usize::MAX, seed: 1 }
}

fn block(history: usize) -> FeatureLayout {
    FeatureLayout::new(RecordSource::Block, history).unwrap()
}

fn writes(lbas: &[u32]) -> Writes {
    Writes { lbas: lbas.to_vec(), ..Writes::default() }
}

#[test]
fn a_page_that_is_not_written_again_is_frozen_from_its_last_write_on() {
    let data = sample(writes(&[3, 5, 3, 3, 9, 5]), block(1), &everything()).unwrap();
    assert_eq!(data.test.frozen(), [false, false, false, true, true, true]);
    assert!(data.train.is_empty());
    assert_eq!(data.pages, 3);
}

#[test]
fn a_trim_ends_a_page_and_what_is_known_of_it() {
    let trims = vec![Trim { at: 2, first: 0, last: 4 }];
    let data = sample(Writes { trims, ..writes(&[3, 7, 3]) }, block(2), &everything()).unwrap();
    assert_eq!(data.test.frozen(), [false, true, true]);
    assert_eq!(data.test.row(2)[0], 1.0, "one write is known");
}

#[test]
fn pages_are_looked_at_at_doubling_ages_while_they_are_valid() {
    let how = Sampling { age: 2, ..everything() };
    let lbas = [1, 2, 1, 3, 4, 5, 6, 7, 8, 9];
    let data = sample(writes(&lbas), block(1), &how).unwrap();
    // Page 1 lives for 2 writes and is never sampled; its second version is sampled at ages 2 and
    // 4, page 2 at 2, 4 and 8, later pages as long as the trace lasts.
    let ages = |age: f32| data.test.rows().chunks(4).filter(|row| row[1] == age).count();
    let log = |age| frostline_placement::log2_1p(age);
    assert_eq!([2, 4, 8].map(|age| ages(log(age))), [7, 5, 1]);
    assert!(data.test.frozen().iter().all(|&frozen| frozen));
}

#[test]
fn nothing_shortly_before_the_end_counts() {
    let how = Sampling { horizon: 0.25, ..everything() };
    let data = sample(writes(&[1, 2, 3, 4, 5, 6, 7, 8]), block(1), &how).unwrap();
    assert_eq!(data.test.len(), 6);
}

#[test]
fn split_by_time_training_is_not_told_what_comes_later() {
    let how = Sampling { split: SampleSplit::Time, ..everything() };
    // Three quarters of the trace are six writes; page 2 is written again after them.
    let data = sample(writes(&[1, 2, 3, 1, 4, 5, 2, 9]), block(1), &how).unwrap();
    assert_eq!(data.train.frozen(), [false, true, true, true, true, true]);
    assert_eq!(data.test.frozen(), [true, true]);
    let late = Sampling { horizon: 0.25, ..how };
    let data = sample(writes(&[1, 2, 3, 1, 4, 5, 2, 9]), block(1), &late).unwrap();
    assert_eq!((data.train.len(), data.test.len()), (4, 0));
}

#[test]
fn a_random_split_is_about_three_to_one_and_room_is_bounded() {
    let mut chance = SplitMix::new(4);
    let lbas: Vec<u32> = (0..40_000).map(|_| chance.below(1000)).collect();
    let how = Sampling { split: SampleSplit::Random, ..everything() };
    let data = sample(writes(&lbas), block(1), &how).unwrap();
    assert_eq!(data.train.len() + data.test.len(), 40_000);
    assert!((29_500..30_500).contains(&data.train.len()), "{}", data.train.len());
    let few = Sampling { most: 900, ..how };
    let data = sample(writes(&lbas), block(1), &few).unwrap();
    assert_eq!((data.train.len(), data.test.len()), (900, 300));
    assert_eq!(data.train, sample(writes(&lbas), block(1), &few).unwrap().train);
    assert!(data.train.frozen_samples() < 100, "samples are not the last ones only");
}

#[test]
fn engine_records_are_asked_for_only_where_there_are_some() {
    let layout = FeatureLayout::new(RecordSource::Engine, 2).unwrap();
    let refused = sample(writes(&[1]), layout, &everything()).unwrap_err();
    assert!(matches!(refused, SampleError::NoHotness));
}

fn record(i: u32) -> Hotness {
    let activity = |x: u32| Activity {
        valid_bytes: (x * 31 % 4096) as u16,
        accesses: x as u16,
        modifications: (x / 2) as u16,
        reserved: 0,
        access_interval: x * 3,
        modification_interval: x * 5,
    };
    Hotness { origin: 0, lifespan: i + 7, current: activity(i + 1), last: activity(i + 2) }
}

/// Scores by the sum of the features, which differs if any of them differs.
fn sum(layout: FeatureLayout) -> Linear {
    let weights = (0..layout.width()).map(|i| 1.0 + i as f32 / 64.0).collect();
    Linear { weights, bias: 0.0 }
}

/// Does what a scheme does: keeps a [`Past`] for each page, and scores at the end.
fn asked_by_a_scheme(
    lbas: &[u32],
    starts: &[bool],
    hotness: &[Hotness],
    layout: FeatureLayout,
    threshold: f32,
) -> Vec<bool> {
    let mut pasts = [Past::default(); 16];
    let mut told = [Hotness::default(); 16];
    let mut requests = Requests::default();
    for (i, &lba) in lbas.iter().enumerate() {
        if starts[i] {
            let pages = 1 + starts[i + 1..].iter().take_while(|start| !**start).count();
            requests.begin(lba, pages as u32);
        }
        pasts[lba as usize].write(i as u32 + 1, &requests);
        told[lba as usize] = hotness[i];
    }
    let mut scores = vec![0.0; 16];
    let mut recogniser = PageRecogniser::new(layout, threshold, sum(layout)).unwrap();
    let now = lbas.len() as u32;
    let lbas: Vec<u32> = (0..16).collect();
    let hotness = Some(&told[..]);
    recogniser
        .score(&Candidates { now, valid: 16, lbas: &lbas, pasts: &pasts, hotness }, &mut scores);
    scores.into_iter().map(|score| score > 0.0).collect()
}

proptest! {
    #[test]
    fn a_scheme_sees_what_the_model_was_trained_on(
        lbas in prop::collection::vec(0u32..16, 1..200),
        chance in 0u64..1000,
        engine: bool,
    ) {
        let mut chance = SplitMix::new(chance);
        let starts: Vec<bool> = lbas.iter().enumerate()
            .map(|(i, _)| i == 0 || chance.below(3) > 0).collect();
        let hotness: Vec<_> = (0..lbas.len() as u32).map(record).collect();
        let layout = match engine {
            true => FeatureLayout::new(RecordSource::Engine, 2).unwrap(),
            false => block(4),
        };
        let mut bits = Bits::new();
        starts.iter().for_each(|&start| bits.push(start));
        let trace = Writes {
            lbas: lbas.clone(),
            starts: Some(bits),
            hotness: Some(hotness.clone()),
            ..Writes::default()
        };
        // The last write of all, at the moment it happens.
        let data = sample(trace, layout, &everything()).unwrap();
        let last = data.test.len() - 1;
        let tiles = tiled(data.test.row(last), layout.width());
        let mut score = [0.0];
        sum(layout).score(Tiles::new(layout.width(), &tiles), &mut score);
        let lba = lbas[last] as usize;
        let above = asked_by_a_scheme(&lbas, &starts, &hotness, layout, score[0]);
        let below = asked_by_a_scheme(&lbas, &starts, &hotness, layout, score[0] - 0.01);
        prop_assert!(!above[lba] && below[lba]);
    }
}

#[test]
fn longer_histories_of_engine_records_follow_the_pages_writes() {
    let layout = |history| FeatureLayout::new(RecordSource::Engine, history).unwrap();
    let rows = |history| {
        let hotness = Some((0..6).map(record).collect());
        let trace = Writes { hotness, ..writes(&[4, 8, 4, 4, 8, 4]) };
        sample(trace, layout(history), &everything()).unwrap().test.row(5).to_vec()
    };
    let (two, four) = (rows(2), rows(4));
    assert_eq!(four[..12], two);
    // The write before was write 3, and the one before that write 2: the features are their
    // lifespans, and their records of the write before each.
    let log = frostline_placement::log2_1p;
    assert_eq!([four[12], four[18]], [log(3 + 7), log(2 + 7)]);
    assert_eq!([four[16], four[22]], [log(3 + 2), log(2 + 2)]);
}
