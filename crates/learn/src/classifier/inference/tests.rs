use frostline_random::SplitMix;

use super::*;
use crate::classifier::digits::Features;
use crate::classifier::tracks::{LENGTH, Track, TrackedWrite};
use crate::classifier::training::{Labels, Training};

fn rounded(network: &ClassifierNetwork, instructions: Instructions) -> Quantised {
    let mut quantised = Quantised::new(instructions);
    quantised.round(network);
    quantised
}

fn digits(chance: &mut SplitMix) -> Digits {
    std::array::from_fn(|_| if chance.below(2) == 0 { 0 } else { chance.below(16) as u8 })
}

#[test]
fn all_instructions_give_the_same_bits() {
    for seed in 0..20 {
        let mut chance = SplitMix::new(seed);
        let mut network = ClassifierNetwork::random(&mut chance);
        // Small weights, and large ones that open or shut the gates fully.
        let wide = [1.0, 4.0, 30.0][seed as usize % 3];
        network.values.iter_mut().for_each(|value| *value *= wide);
        let models: Vec<_> = Instructions::available()
            .into_iter()
            .map(|instructions| rounded(&network, instructions))
            .collect();
        let mut states = vec![NEW; models.len()];
        for write in 0..200 {
            let digits = digits(&mut chance);
            let answers: Vec<_> =
                models.iter().zip(&mut states).map(|(m, s)| (m.step(&digits, s), *s)).collect();
            for (model, answer) in models.iter().zip(&answers) {
                let instructions = model.instructions;
                assert_eq!(*answer, answers[0], "{instructions:?}, seed {seed}, write {write}");
            }
        }
    }
}

#[test]
fn rounding_a_network_moves_its_states_by_little() {
    let mut chance = SplitMix::new(5);
    let network = ClassifierNetwork::random(&mut chance);
    let model = rounded(&network, Instructions::fastest());
    let (mut hidden, mut state) = (NEW, [0.0; UNITS]);
    let mut same = 0;
    for _ in 0..1000 {
        let digits = digits(&mut chance);
        let long = model.step(&digits, &mut hidden);
        let step = network.step(&digits, &state);
        state = step.after;
        same += usize::from(long == (step.long > 0.5));
        for (rounded, exact) in unpacked(&hidden).iter().zip(state) {
            assert!((rounded - exact).abs() < 0.06, "{rounded}, not {exact}");
        }
    }
    assert!(same >= 980, "{same} of 1000 answers");
}

/// A page is short-living if one of its last two requests was large. The network learns this in
/// floating point.
#[test]
fn integers_lose_at_most_a_hundredth_of_the_accuracy() {
    let mut chance = SplitMix::new(11);
    let mut training = Training::new(chance.clone());
    let mut tracks = Vec::new();
    let write = |chance: &mut SplitMix, before: &mut bool| {
        let large = chance.below(3) == 0;
        let features =
            Features { pages: if large { 64 } else { 1 }, lifespan: 500, ..Features::default() };
        let lifespan = if large != *before { 10 } else { 90 };
        *before = large;
        TrackedWrite { digits: features.digits(), now: 0, lifespan }
    };
    for _ in 0..40 {
        tracks.clear();
        for lba in 0..256 {
            let mut before = false;
            let writes: Vec<_> = (0..LENGTH).map(|_| write(&mut chance, &mut before)).collect();
            tracks.push(Track::of(lba, NEW, &writes));
        }
        training.tracks.clone_from(&tracks);
        training.begin(Labels { threshold: 50, end: 1000 });
        while training.goes_on() {
            training.work();
        }
    }
    let model = rounded(&training.network, Instructions::fastest());
    let (mut right, mut right_exact) = (0, 0);
    for _ in 0..500 {
        let (mut before, mut hidden, mut state) = (false, NEW, [0.0; UNITS]);
        for _ in 0..20 {
            let write = write(&mut chance, &mut before);
            let is_long = write.lifespan > 50;
            let step = training.network.step(&write.digits, &state);
            state = step.after;
            right_exact += usize::from((step.long > 0.5) == is_long);
            right += usize::from(model.step(&write.digits, &mut hidden) == is_long);
        }
    }
    assert!(right_exact > 9_500, "{right_exact} of 10,000 were learned");
    assert!(right_exact <= right + 100, "{right} of 10,000, and {right_exact} in floating point");
}
