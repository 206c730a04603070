//! Errors of replays.

use frostline_log::LogError;
use frostline_placement::BuildError;
use frostline_sim::{SimError, Space};

use crate::failure::Failure;
use crate::near::hint;

/// A hint for a scheme or victim policy that can't be built: probably another name was meant.
pub(super) fn scheme_hint(error: &BuildError) -> String {
    let all = "frostline schemes lists all schemes and victim policies with their parameters";
    match error {
        BuildError::UnknownName { name: word, known, .. }
        | BuildError::UnknownKey { key: word, known, .. } => hint(word, known.split(' '), all),
        BuildError::BadValue { key: "recogniser", value, .. } if value == "model" => {
            "--model FILE, which frostline train makes".to_string()
        }
        BuildError::BadValue { value, why, .. } => {
            hint(value, why.strip_prefix("must be one of ").unwrap_or_default().split(' '), all)
        }
        _ => all.to_string(),
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        let why = match &error {
            BuildError::UnknownKey { name, key, known } if known.is_empty() => {
                format!("{name} has no parameter \"{key}\", as it has none")
            }
            _ => error.to_string(),
        };
        Failure::usage("sim", &why).hint(scheme_hint(&error))
    }
}

impl From<SimError> for Failure {
    fn from(error: SimError) -> Self {
        let why = error.to_string();
        match error {
            SimError::Build(error) => error.into(),
            SimError::Log { error: LogError::TooManyClasses { classes, .. }, .. } => {
                Failure::usage("sim", &why).hint(format!(
                    "--max-open {classes}, or fewer classes where the scheme has that parameter"
                ))
            }
            SimError::Log { error: LogError::Full { .. }, .. } => {
                Failure::job("sim", &why).hint("a larger --op or smaller zones give it room")
            }
            SimError::Log { error: LogError::TooSmall { logical, spare, .. }, .. } => {
                let zones = logical + spare;
                Failure::usage("sim", &why)
                    .hint(format!("--zones {zones} would do, or larger zones"))
            }
            SimError::Log { error: LogError::WholePages, .. } => Failure::usage("sim", &why)
                .hint("without --in-units it runs; --scheme A,B names the schemes that are to run"),
            SimError::Log { error: LogError::NoMemory { .. }, .. } => Failure::job("sim", &why),
            SimError::OverProvisioning { least, .. } if Space::OP.contains(&least) => {
                Failure::usage("sim", &why).hint(format!("--op {least} would do, or smaller zones"))
            }
            SimError::OverProvisioning { .. } => Failure::usage("sim", &why).hint("smaller zones"),
            _ => Failure::usage("sim", &why),
        }
    }
}
