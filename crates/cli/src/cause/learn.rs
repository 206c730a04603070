//! Errors of models.

use frostline_learn::LearnError;

use crate::failure::Failure;

impl From<LearnError> for Failure {
    fn from(error: LearnError) -> Self {
        let why = error.to_string();
        match error {
            LearnError::NotBuilt { feature, .. } => Failure::usage("train", &why)
                .hint(format!("cargo build --release --features {feature}")),
            LearnError::Training { .. } => Failure::job("train", &why),
            LearnError::OneClass { .. } => {
                Failure::job("model", &why).hint("a longer trace, a smaller --horizon")
            }
            _ => Failure::usage("model", &why),
        }
    }
}
