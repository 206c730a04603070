//! The model file: a written file is read back, and any other bytes are refused.

use std::sync::LazyLock;

use frostline_learn::*;
use frostline_random::SplitMix;
use proptest::prelude::*;
use serde_json::{Value, json};

fn model(kind: ModelKind) -> Model {
    let layout = FeatureLayout::new(RecordSource::Block, 2).unwrap();
    let mut chance = SplitMix::new(3);
    let mut set = Set::new(layout.width());
    for i in 0..200 {
        let x = chance.unit() as f32;
        let rest = [1.0, chance.unit() as f32, 3.0, 0.5 - x, 0.0, 1.0];
        set.put(i, x > 0.4, |put| [x].into_iter().chain(rest).for_each(put));
    }
    let origin = Origin {
        trace: "a \"trace\".u32".to_string(),
        samples: 200,
        frozen: set.frozen_samples(),
        sampling: Sampling::default(),
    };
    train(kind, layout, &set, &Standard::of(&set), origin).unwrap().with_threshold(0.25)
}

static FILE: LazyLock<String> = LazyLock::new(|| model(ModelKind::Sgd).write());

#[test]
fn what_is_written_is_read() {
    for &kind in ModelKind::TRAINABLE {
        let model = model(kind);
        let read = Model::read(model.write().as_bytes()).unwrap();
        assert_eq!(read, model);
        assert_eq!(read.scorer(), model.scorer());
    }
}

#[test]
fn equal_arguments_give_equal_bytes() {
    for &kind in ModelKind::TRAINABLE {
        assert_eq!(model(kind).write(), model(kind).write(), "{kind:?}");
    }
}

/// The file of a network with arbitrary weights.
static NETWORK: LazyLock<Value> = LazyLock::new(|| {
    let mut file: Value = serde_json::from_str(&FILE).unwrap();
    file["model"] = "gru".into();
    for feature in file["features"].as_array_mut().unwrap() {
        feature.as_object_mut().unwrap().remove("weight");
    }
    let mut chance = SplitMix::new(6);
    let mut numbers = |n| (0..n).map(|_| chance.unit() - 0.5).collect::<Vec<f64>>();
    file["network"] = json!({
        "input_weights": numbers(96 * 4), "input_biases": numbers(96),
        "state_weights": numbers(96 * 32), "state_biases": numbers(96),
        "output_weights": numbers(32),
    });
    file
});

#[test]
fn a_network_is_read_and_works_in_any_build() {
    let model = Model::read(NETWORK.to_string().as_bytes()).unwrap();
    assert_eq!(Model::read(model.write().as_bytes()).unwrap(), model);
    let mut scores = [0.0; 2];
    let rows = [[0.5, 9.0, 1.0, 0.0, 3.0, 1.0, 0.0], [0.0; 7]].concat();
    model.scorer().score(Tiles::new(7, &tiled(&rows, 7)), &mut scores);
    assert!(scores.iter().all(|score| score.is_finite()) && scores[0] != scores[1], "{scores:?}");
}

#[test]
fn hostile_networks_are_refused() {
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut file = NETWORK.clone();
        change(&mut file);
        Model::read(file.to_string().as_bytes()).unwrap_err().to_string()
    };
    for part in ["input_weights", "input_biases", "state_weights", "state_biases", "output_weights"]
    {
        let numbers = |file: &mut Value| file["network"][part].as_array_mut().unwrap().clone();
        let missing = refused(&|file| file["network"][part] = numbers(file)[1..].into());
        let huge = refused(&|file| file["network"][part][3] = 1e9.into());
        let none = refused(&|file| file["network"][part] = json!([]));
        assert!([missing, huge, none].iter().all(|why| why.contains("out of range")), "{part}");
    }
    for (name, to) in [("weight", 1.0), ("mean", 1e9), ("deviation", 1e-10)] {
        let why = refused(&|file| file["features"][0][name] = to.into());
        assert!(why.contains("out of range"), "{name}: {why}");
    }
    assert!(refused(&|file| file["model"] = "svm".into()).contains("out of range"));
    assert!(refused(&|file| file["network"] = Value::Null).contains("out of range"));
    assert!(refused(&|file| file["network"]["units"] = 32.into()).contains("unknown field"));
}

#[cfg(not(feature = "gru"))]
#[test]
fn a_build_that_cannot_train_networks_says_what_it_lacks() {
    let mut set = Set::new(4);
    (0..2).for_each(|i| set.put(i, i > 0, |put| [1.0; 4].into_iter().for_each(put)));
    let layout = FeatureLayout::new(RecordSource::Block, 1).unwrap();
    let sampling = Sampling::default();
    let origin = Origin { trace: String::new(), samples: 2, frozen: 1, sampling };
    let refused = train(ModelKind::Gru, layout, &set, &Standard::of(&set), origin).unwrap_err();
    assert!(matches!(refused, LearnError::NotBuilt { feature: "gru", .. }));
}

/// Changes one thing in the file, and checks that it is refused for this reason.
fn refused(from: &str, to: &str, why: &str) {
    let text = &*FILE;
    assert!(text.contains(from), "{from} is not in {text}");
    let error = Model::read(text.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
    assert!(error.contains(why), "{from} -> {to}: {error}");
}

#[test]
fn hostile_files_are_refused() {
    refused("\"frostline_model\": 1", "\"frostline_model\": 2", "of version 2");
    refused("\"frostline_model\": 1", "\"frostline_model\": 4294967296", "not a model");
    refused("\"frostline_model\": 1,", "", "frostline_model");
    refused("\"history\": 2", "\"history\": 3", "its features must be writes write-time");
    refused("\"history\": 2", "\"history\": 0", "a history of 0 writes");
    refused("\"history\": 2", "\"history\": -1", "not a model");
    refused("\"records\": \"block\"", "\"records\": \"engine\"", "its features must be");
    refused("\"model\": \"sgd\"", "\"model\": \"oracle\"", "oracle");
    refused("\"model\": \"sgd\"", "\"more\": 1, \"model\": \"sgd\"", "unknown field");
    refused("\"threshold\": 0.25", "\"threshold\": NaN", "not a model");
    refused("\"threshold\": 0.25", "\"threshold\": 1e38", "out of range");
    refused("\"threshold\": 0.25", "\"threshold\": 1e400", "not a model");
    refused("\"threshold\": 0.25", "\"threshold\": null", "not a model");
    refused("\"deviation\": 0.", "\"deviation\": -0.", "out of range");
    refused("\"name\": \"sequential\"", "\"name\": \"colour\"", "its features must be");
    let huge = " ".repeat(LARGEST_FILE + 1);
    assert!(Model::read(huge.as_bytes()).unwrap_err().to_string().contains("longer than"));
    let deep = "[".repeat(LARGEST_FILE);
    assert!(Model::read(deep.as_bytes()).is_err());
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Model::read(&bytes);
    }

    #[test]
    fn a_damaged_file_is_refused_or_gives_scores_that_are_numbers(
        at in any::<prop::sample::Index>(),
        length in 0usize..4,
        to in prop::collection::vec(prop::sample::select(b"0123456789eE.-+,:\"{}[] ".to_vec()), 0..5),
    ) {
        let mut bytes = FILE.clone().into_bytes();
        let at = at.index(bytes.len());
        let end = (at + length).min(bytes.len());
        bytes.splice(at..end, to);
        if let Ok(model) = Model::read(&bytes) {
            let width = model.layout().width();
            let tiles = tiled(&vec![65_535.0; width], width);
            let mut score = [0.0];
            model.scorer().score(Tiles::new(width, &tiles), &mut score);
            prop_assert!(score[0].is_finite());
        }
    }
}
