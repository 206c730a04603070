//! Models are compared on the same samples, and differ in what the comparison is about.

use frostline_learn::{FeatureLayout, LearnError, ModelKind, RecordSource, Sampling};
use frostline_placement::{Activity, Hotness};
use frostline_random::SplitMix;
use frostline_sim::{
    Evaluation, Samples, Settings, Space, TraceVolume, compare_features, compare_histories,
    compare_models, evaluate_two_r, sample,
};
use frostline_trace::{Writes, prepare};

/// Writes of pages: the higher half is written seldom and at random, the others all the time.
fn writes() -> Writes {
    let mut chance = SplitMix::new(2);
    let mut lbas = Vec::new();
    for _ in 0..2000 {
        let hot = chance.below(50);
        lbas.extend([hot, hot, 50 + chance.below(500)]);
    }
    let record = |&lba: &u32| {
        let activity = |valid_bytes| Activity { valid_bytes, ..Activity::default() };
        let (current, last) = (activity(lba as u16), activity(7));
        Hotness { lifespan: lba, current, last, ..Hotness::default() }
    };
    let hotness = Some(lbas.iter().map(record).collect());
    Writes { lbas, hotness, ..Writes::default() }
}

fn samples(records: RecordSource, history: usize) -> Samples {
    let how = Sampling { horizon: 0.0, ..Sampling::default() };
    sample(writes(), FeatureLayout::new(records, history).unwrap(), &how).unwrap()
}

#[test]
fn narrowed_samples_are_those_of_a_shorter_history() {
    for records in [RecordSource::Block, RecordSource::Engine] {
        let long = samples(records, 4);
        for history in 1..=4 {
            let (narrowed, short) = (long.narrowed(history).unwrap(), samples(records, history));
            assert_eq!((narrowed.train, narrowed.test), (short.train, short.test));
            assert_eq!((narrowed.layout, narrowed.pages), (short.layout, short.pages));
        }
        let refused = samples(records, 2).narrowed(3).unwrap_err();
        assert!(matches!(refused, LearnError::History(3)));
    }
}

#[test]
fn histories_grow_by_one_write() {
    let evaluated =
        compare_histories(&samples(RecordSource::Block, 3), ModelKind::Logistic).unwrap();
    let histories: Vec<_> = evaluated.iter().map(|evaluated| evaluated.history).collect();
    assert_eq!(histories, [1, 2, 3]);
    let two = compare_features(&samples(RecordSource::Block, 2), ModelKind::Logistic).unwrap();
    assert_eq!(evaluated[1].quality.roc_area, two[3].quality.roc_area, "all features");
}

fn added(evaluated: &[Evaluation]) -> Vec<&str> {
    for (before, after) in evaluated.iter().zip(&evaluated[1..]) {
        assert_eq!(before.fields, after.fields[..before.fields.len()]);
    }
    evaluated.iter().map(|evaluated| evaluated.fields.last().unwrap().as_str()).collect()
}

#[test]
fn features_of_engines_are_added_in_the_papers_order() {
    let samples = samples(RecordSource::Engine, 2);
    let evaluated = compare_features(&samples, ModelKind::Logistic).unwrap();
    let papers = [
        "valid-bytes",
        "write-time",
        "access-interval",
        "modification-interval",
        "accesses",
        "modifications",
    ];
    assert_eq!(added(&evaluated), papers);
    let all = compare_histories(&samples, ModelKind::Logistic).unwrap();
    let [one, two, six, all] = [&evaluated[0], &evaluated[1], &evaluated[5], &all[1]]
        .map(|evaluated| evaluated.quality.roc_area);
    assert!(one != two && six == all, "{one} {two} {six} {all}");
}

#[test]
fn features_of_a_block_layer_are_added_as_they_correlate() {
    let evaluated =
        compare_features(&samples(RecordSource::Block, 2), ModelKind::Logistic).unwrap();
    // The time between two writes of a page says most; the requests are all alike and say nothing.
    assert_eq!(added(&evaluated), ["write-time", "writes", "request-pages", "sequential"]);
}

#[test]
fn rules_are_compared_with_models() {
    let rules = |history, age| -> Vec<_> {
        let how = Sampling { horizon: 0.0, age, ..Sampling::default() };
        let layout = FeatureLayout::new(RecordSource::Block, history).unwrap();
        let evaluated = compare_models(&sample(writes(), layout, &how).unwrap()).unwrap();
        let rules = evaluated.iter().filter(|evaluated| evaluated.train_seconds.is_none());
        rules.map(|evaluated| evaluated.model).collect()
    };
    assert_eq!(rules(1, 100), ["2r"], "the filter wants two writes");
    assert_eq!(rules(2, 0), ["one-bit"], "nothing is cleaned yet");
}

#[test]
fn two_rs_rule_takes_for_frozen_what_is_relocated() {
    // A zone is filled, and pages in it are written again until its garbage exceeds the threshold
    // at the seventh such write. Nine pages are then copied; one of them is overwritten by the
    // eighth.
    let lbas = (0..16).chain(0..8).collect();
    let volume =
        TraceVolume::new(prepare(None, Writes { lbas, ..Writes::default() }, false).unwrap());
    let evaluate = |warmup| {
        let settings = Settings { space: Space::Gp(0.3), warmup, ..Settings::default() };
        evaluate_two_r(&volume, &settings, 16).unwrap().quality
    };
    let quality = evaluate(0);
    assert_eq!((quality.samples, quality.base_rate), (24, 16.0 / 24.0));
    assert_eq!((quality.recall, quality.false_positive_rate), (0.5, 1.0 / 8.0));
    assert_eq!((evaluate(8).samples, evaluate(8).recall), (16, 0.5));
}
