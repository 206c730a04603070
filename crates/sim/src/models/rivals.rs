//! Models, and rules that need no training (figures 18 and 19 of the paper).

use frostline_learn::{EveryPage, LearnError, ModelKind, OneBit, Quality, Scorer};

use super::{Evaluation, evaluate_kind, inference_seconds, rule};
use crate::Samples;

/// Trains all kinds of models with all features, then evaluates the rules: the one-bit filter, if
/// the samples have the write before the newest; and 2R's rule, if samples were taken of pages that
/// had been valid for some time, as cleaning meets them: it takes all of those for frozen. For
/// pages that are just being written, [`evaluate_two_r`](crate::evaluate_two_r) evaluates 2R's
/// rule.
///
/// # Errors
/// Those of [`train`](frostline_learn::train).
pub fn compare_models(samples: &Samples) -> Result<Vec<Evaluation>, LearnError> {
    let fields = samples.fields();
    let trained = ModelKind::TRAINABLE.iter().map(|&kind| evaluate_kind(samples, kind, &fields));
    trained.chain(rules(samples).into_iter().map(Ok)).collect()
}

fn rules(samples: &Samples) -> Vec<Evaluation> {
    let test = &samples.test;
    let evaluate = |model, fields: &[&str], bytes, scorer: &dyn Scorer| {
        let quality = Quality::of(scorer, 0.0, test);
        rule(model, fields, bytes, quality, inference_seconds(scorer, test))
    };
    let one_bit = OneBit::new(samples.layout, samples.pages).ok();
    let one_bit = one_bit.map(|scorer| evaluate("one-bit", &["write-time"], 0.125, &scorer));
    let two_r = (samples.sampling.age > 0).then(|| evaluate("2r", &[], 0.0, &EveryPage));
    one_bit.into_iter().chain(two_r).collect()
}
