//! A recogniser in a scheme goes by what it has, and asks for no more than there is.

use frostline_learn::*;
use frostline_placement::{Candidates, Past, Recogniser};

fn engine(history: usize) -> Layout {
    Layout::new(Records::Engine, history).unwrap()
}

#[test]
fn without_engine_records_no_page_is_taken_for_frozen() {
    let mut recogniser = PageRecogniser::new(engine(1), 0.0, EveryPage).unwrap();
    let mut frozen = [true; 20];
    let pasts = [Past::default(); 20];
    recogniser.recognise(&Candidates { now: 9, pasts: &pasts, hotness: None }, &mut frozen);
    assert_eq!(frozen, [false; 20]);
}

#[test]
fn a_model_of_more_records_than_are_kept_with_a_page_is_refused() {
    let refused = PageRecogniser::new(engine(3), 0.0, EveryPage).unwrap_err();
    assert!(matches!(refused, LearnError::TooFarBack(3)));
}
