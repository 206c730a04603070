//! A recogniser in a scheme works with the records there are, and needs no others.

use frostline_learn::*;
use frostline_placement::{Candidates, Past, Recogniser};

fn engine(history: usize) -> FeatureLayout {
    FeatureLayout::new(RecordSource::Engine, history).unwrap()
}

#[test]
fn without_engine_records_no_page_seems_frozen() {
    let mut recogniser = PageRecogniser::new(engine(1), 0.0, EveryPage).unwrap();
    let mut scores = [9.0; 20];
    let (lbas, pasts) = ([0; 20], [Past::default(); 20]);
    let pages = Candidates { now: 9, valid: 20, lbas: &lbas, pasts: &pasts, hotness: None };
    recogniser.score(&pages, &mut scores);
    assert_eq!(scores, [f32::NEG_INFINITY; 20]);
}

#[test]
fn a_model_of_more_records_than_are_kept_with_a_page_is_refused() {
    let refused = PageRecogniser::new(engine(3), 0.0, EveryPage).unwrap_err();
    assert!(matches!(refused, LearnError::TooFarBack(3)));
}
