//! Recognisers by name, for schemes; and the classifier and the forecaster that schemes need.

use frostline_placement::{Classifier, ClassifierSetup, Forecaster, Recogniser, Setup};

use crate::{
    EveryPage, FeatureLayout, Instructions, LearnError, LifespanForecaster, Model, OneBit, Online,
    PageClassifier, PageRecogniser, RecordSource,
};

/// The values that `by=` of a scheme takes.
const KNOWN: &str = "online model one-bit every";

/// Makes PHFTL's classifier of pages, with the fastest available instructions: see
/// [`Setup::classifier`].
pub fn classifier(setup: &ClassifierSetup) -> Box<dyn Classifier> {
    Box::new(PageClassifier::new(setup, Instructions::fastest()))
}

/// Makes DOGI's forecaster of lifespans from a seed: see [`Setup::forecaster`].
pub fn forecaster(seed: u64) -> Box<dyn Forecaster> {
    Box::new(LifespanForecaster::new(seed))
}

/// Makes the recogniser called `by`: see [`Setup::recogniser`]. `recogniser=model` uses `model`.
///
/// # Errors
/// The name is unknown, or the model is missing, or it needs records that the writes do not have.
pub fn recogniser(
    by: &str,
    setup: &Setup<'_>,
    model: Option<&Model>,
) -> Result<Box<dyn Recogniser>, String> {
    let make = || -> Result<Box<dyn Recogniser>, LearnError> {
        let two_writes = FeatureLayout::new(RecordSource::Block, 2)?;
        Ok(match by {
            "online" => {
                let records =
                    if setup.has_hotness { RecordSource::Engine } else { RecordSource::Block };
                Box::new(Online::new(records, setup.seed)?)
            }
            "model" => {
                let model = model.ok_or(LearnError::NoModel)?.recogniser()?;
                if model.wants_hotness() && !setup.has_hotness {
                    return Err(LearnError::NotTold);
                }
                Box::new(model)
            }
            "one-bit" => {
                let rule = OneBit::new(two_writes, setup.space)?;
                Box::new(PageRecogniser::new(two_writes, 0.0, rule)?)
            }
            "every" => Box::new(PageRecogniser::new(two_writes, 0.0, EveryPage)?),
            _ => return Err(LearnError::UnknownRecogniser { name: by.to_string(), known: KNOWN }),
        })
    };
    make().map_err(|error| error.to_string())
}
