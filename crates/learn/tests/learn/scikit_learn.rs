//! Training agrees with scikit-learn on the same data. Its figures are in scikit_learn.json, which
//! scikit_learn.py beside it wrote.

use frostline_learn::*;
use frostline_random::SplitMix;
use serde_json::Value;

const SAMPLES: usize = 4000;
const TO_TRAIN: usize = 3000;

/// The data of scikit_learn.py, with the same numbers.
fn data() -> (Set, Set) {
    let mut chance = SplitMix::new(5);
    let (mut train, mut test) = (Set::new(4), Set::new(4));
    for i in 0..SAMPLES {
        let [a, b, c, noise] = [(); 4].map(|()| chance.unit());
        let row = [a, 100.0 * b + 20.0 * a, c * c - b, 3.0];
        let label = 2.0 * a - b + 0.5 * c + 1.5 * noise > 1.6;
        let (set, at) = if i < TO_TRAIN { (&mut train, i) } else { (&mut test, i - TO_TRAIN) };
        set.put(at, label, |put| row.into_iter().for_each(|x| put(x as f32)));
    }
    (train, test)
}

/// Compares weights and bias within `near`, and shares within half a percent.
fn agrees(kind: ModelKind, near: f64) {
    let figures: Value = serde_json::from_str(include_str!("scikit_learn.json")).unwrap();
    let (set, test) = data();
    let frozen = set.frozen_samples() + test.frozen_samples();
    assert_eq!(figures["frozen"], frozen, "the data differ");
    let expected = &figures["models"][kind.name()];
    // Any layout of the same width will do: the features' names don't matter.
    let layout = FeatureLayout::new(RecordSource::Block, 1).unwrap();
    let origin = Origin { trace: String::new(), samples: 0, frozen, sampling: Sampling::default() };
    let model = train(kind, layout, &set, &Standard::of(&set), origin).unwrap();
    for (i, feature) in model.features().iter().enumerate() {
        let (found, expected) =
            (feature.weight.map_or(f64::NAN, f64::from), &expected["weights"][i]);
        let apart = (found - expected.as_f64().unwrap()).abs();
        assert!(apart < near, "{kind:?}, weight {i}: {found}, not {expected}");
    }
    let bias = f64::from(model.bias());
    let apart = (bias - expected["bias"].as_f64().unwrap()).abs();
    assert!(apart < near, "{kind:?}, bias: {bias}, not {}", expected["bias"]);
    let quality = Quality::of(&model.scorer(), model.threshold(), &test);
    for (found, name) in [(quality.accuracy, "accuracy"), (quality.roc_area, "roc_area")] {
        let expected = expected[name].as_f64().unwrap();
        assert!((found - expected).abs() < 0.005, "{kind:?}, {name}: {found}, not {expected}");
    }
}

#[test]
fn batch_logistic_regression_agrees_with_scikit_learn() {
    agrees(ModelKind::Logistic, 0.0005);
}

#[test]
fn stochastic_gradient_descent_agrees_with_scikit_learn() {
    agrees(ModelKind::Sgd, 0.03);
}

#[test]
fn the_support_vector_machine_agrees_with_scikit_learn() {
    agrees(ModelKind::Svm, 0.03);
}

#[test]
fn one_kind_of_page_alone_teaches_nothing() {
    let mut set = Set::new(4);
    set.put(0, true, |put| [1.0; 4].into_iter().for_each(put));
    let layout = FeatureLayout::new(RecordSource::Block, 1).unwrap();
    let origin =
        Origin { trace: String::new(), samples: 1, frozen: 1, sampling: Sampling::default() };
    for &kind in ModelKind::TRAINABLE {
        let refused = train(kind, layout, &set, &Standard::of(&set), origin.clone());
        assert!(matches!(refused, Err(LearnError::OneClass { samples: 1, frozen: 1 })));
    }
}
