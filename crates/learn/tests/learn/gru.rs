//! A trained network finds what no weights of single features can express.

use frostline_learn::*;
use frostline_random::SplitMix;

/// Pages that freeze if exactly one of their last two writes was sequential.
fn pages(samples: usize, seed: u64) -> Set {
    let mut chance = SplitMix::new(seed);
    let mut set = Set::new(7);
    for i in 0..samples {
        let [now, before] = [(); 2].map(|()| chance.below(2) as f32);
        let rest = [(); 2].map(|()| chance.unit() as f32);
        let row = [2.0, rest[0], 1.0, now, rest[1], 1.0, before];
        set.put(i, now != before, |put| row.into_iter().for_each(put));
    }
    set
}

fn accuracy(kind: ModelKind) -> f64 {
    let layout = FeatureLayout::new(RecordSource::Block, 2).unwrap();
    let (set, test) = (pages(2000, 1), pages(500, 2));
    let origin = Origin {
        trace: String::new(),
        samples: set.len(),
        frozen: set.frozen_samples(),
        sampling: Sampling::default(),
    };
    let model = train(kind, layout, &set, &Standard::of(&set), origin).unwrap();
    Quality::of(&model.scorer(), model.threshold(), &test).accuracy
}

#[test]
fn a_network_learns_what_no_weights_express() {
    assert!(accuracy(ModelKind::Logistic) < 0.6);
    assert!(accuracy(ModelKind::Gru) > 0.99);
}
