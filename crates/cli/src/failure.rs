//! How a command fails: one line with what and why, a hint if one helps, an exit status.

use std::process::ExitCode;

use frostline_placement::BuildError;
use frostline_sim::SimError;
use frostline_trace::TraceError;

/// Why a command failed.
#[derive(Debug)]
pub struct Failure {
    line: String,
    hint: Option<String>,
    status: u8,
}

impl Failure {
    /// The job failed.
    pub fn job(what: &str, why: &str) -> Self {
        Failure { line: format!("{what}: {why}"), hint: None, status: 1 }
    }

    /// Wrong usage, or input that can't be read.
    pub fn usage(what: &str, why: &str) -> Self {
        Failure { line: format!("{what}: {why}"), hint: None, status: 2 }
    }

    /// Adds a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Prints the failure, and gives its exit status.
    pub fn report(self) -> ExitCode {
        eprintln!("frostline: {}", self.line);
        if let Some(hint) = self.hint {
            eprintln!("hint: {hint}");
        }
        ExitCode::from(self.status)
    }
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        let status = if matches!(error, TraceError::Unwritable { .. }) { 1 } else { 2 };
        Failure { line: error.to_string(), hint: error.hint(), status }
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        let hint = Some("frostline schemes lists all schemes and their parameters".to_string());
        Failure { line: format!("sim: {error}"), hint, status: 2 }
    }
}

impl From<SimError> for Failure {
    fn from(error: SimError) -> Self {
        match error {
            SimError::Build(error) => error.into(),
            SimError::Log { .. } => Failure::job("sim", &error.to_string()),
            _ => Failure::usage("sim", &error.to_string()),
        }
    }
}
