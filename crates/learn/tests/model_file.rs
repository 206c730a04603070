//! The model file: what is written is read, and nothing else is believed.

use std::sync::LazyLock;

use frostline_learn::*;
use frostline_placement::rng::Rng;
use proptest::prelude::*;

fn model(kind: Kind) -> Model {
    let layout = Layout::new(Records::Block, 2).unwrap();
    let mut chance = Rng::new(3);
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

static FILE: LazyLock<String> = LazyLock::new(|| model(Kind::Sgd).write());

#[test]
fn what_is_written_is_read() {
    for kind in Kind::ALL {
        let model = model(kind);
        let read = Model::read(model.write().as_bytes()).unwrap();
        assert_eq!(read, model);
        assert_eq!(read.linear(), model.linear());
    }
}

#[test]
fn equal_arguments_give_equal_bytes() {
    assert_eq!(model(Kind::Sgd).write(), model(Kind::Sgd).write());
}

/// The file with one thing changed is refused for this reason.
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
            model.linear().score(Tiles::new(width, &tiles), &mut score);
            prop_assert!(score[0].is_finite());
        }
    }
}
