//! With writes in runs, between trims, the log does the same as the reference model: the same
//! counts, and every page in the same slot.

use frostline_log::{Counts, Replay};
use frostline_placement::{Foresight, Scheme};
use proptest::prelude::*;

use crate::cases::{Case, Check, cases, delta_cases, record_cases};
use crate::reference::{Model, PageWrite};
use crate::stub::Stub;

/// A trace of whole pages is written in pieces of this many, which must make no difference.
struct SameAsModel {
    piece: usize,
}

/// The same for records.
struct RecordsAsModel {
    piece: usize,
}

impl Check for SameAsModel {
    fn check<S: Scheme>(self, case: &Case, scheme: &dyn Fn() -> S) -> Result<(), TestCaseError> {
        same_as_model(case, scheme, case.of_pages(scheme()), self.piece)
    }
}

impl Check for RecordsAsModel {
    fn check<S: Scheme>(self, case: &Case, scheme: &dyn Fn() -> S) -> Result<(), TestCaseError> {
        match case.of_records(scheme()) {
            Some(log) => same_as_model(case, scheme, log, self.piece),
            None => Ok(()),
        }
    }
}

fn same_as_model<S: Scheme>(
    case: &Case,
    scheme: &dyn Fn() -> S,
    mut log: impl Replay<Scheme = S>,
    piece: usize,
) -> Result<(), TestCaseError> {
    let writes = case.writes();
    let mut model = Model::new(case.options, scheme(), case.policy());
    let all = case.trace.words.len();
    for from in (0..all).step_by(piece) {
        let to = (from + piece).min(all);
        let outcome = (from..to).try_for_each(|i| {
            case.trace.trims_before(i).for_each(|lba| model.trim(lba));
            if !model.has_room() {
                return Err(model.full());
            }
            let begins = S::PER_REQUEST && case.trace.begins(i);
            model.write(PageWrite {
                word: writes.words[i],
                units: writes.units(i, case.options.page_units),
                kind: u32::from(writes.is_delta(i)) + u32::from(writes.is_tail(i)),
                lifespan: case.trace.lifespans[i],
                following: case.trace.following(i),
                request: begins.then(|| case.trace.request_pages(i)),
                merged: case.merged(i),
            })
        });
        prop_assert_eq!(case.trace.replay(&mut log, &writes, from..to), outcome.clone());
        same(&mut log, &model, case.options.space)?;
        if outcome.is_err() {
            break;
        }
    }
    Ok(())
}

fn same(replay: &mut impl Replay, model: &Model, space: u32) -> Result<(), TestCaseError> {
    prop_assert_eq!(replay.log().now(), model.now);
    // The number of runs is the log's own affair.
    let counts = Counts { runs: 0, ..replay.log_mut().counts().clone() };
    prop_assert_eq!(&counts, &model.counts);
    for lba in 0..space {
        let place = replay.slot_of(lba).map(|slot| (slot.zone, slot.offset as usize));
        prop_assert_eq!(place, model.place_of(lba), "LBA {}", lba);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_log_writes_and_cleans_as_the_model_does(
        case in cases(Foresight::Lifespans),
        piece in prop_oneof![1..4usize, 4..2000usize],
    ) {
        case.check_typed(SameAsModel { piece })?;
    }

    #[test]
    fn records_of_any_length_are_written_and_cleaned_as_the_model_does(
        case in record_cases(Foresight::Lifespans),
        piece in prop_oneof![1..4usize, 4..2000usize],
    ) {
        case.check(RecordsAsModel { piece })?;
    }

    #[test]
    fn deltas_and_tails_are_written_merged_and_cleaned_as_the_model_does(
        case in delta_cases(Foresight::Lifespans, 0..=100u32),
        piece in prop_oneof![1..4usize, 4..2000usize],
    ) {
        case.check(RecordsAsModel { piece })?;
    }

    #[test]
    fn batches_of_deltas_and_tails_are_offered_as_the_model_offers_them(
        case in delta_cases(Foresight::None, 0..=100u32),
        classes in 1..20usize,
    ) {
        RecordsAsModel { piece: 9 }.check(&case, &|| Stub::new(classes))?;
    }

    #[test]
    fn batches_of_records_are_offered_as_the_model_offers_them(
        case in record_cases(Foresight::None),
        classes in 1..20usize,
    ) {
        RecordsAsModel { piece: 9 }.check(&case, &|| Stub::new(classes))?;
    }

    #[test]
    fn batches_are_offered_as_the_model_offers_them(
        case in cases(Foresight::None),
        classes in 1..20usize,
    ) {
        SameAsModel { piece: 9 }.check(&case, &|| Stub::new(classes))?;
    }
}
