//! How a command fails: one line with what and why, a hint if one helps, an exit status.

use std::process::ExitCode;

use frostline_learn::LearnError;
use frostline_log::LogError;
use frostline_placement::BuildError;
use frostline_sim::SimError;
use frostline_trace::TraceError;

use crate::sim::MOST_OP;

/// Why a command failed.
#[derive(Debug)]
pub struct Failure {
    line: String,
    hint: Option<String>,
    status: u8,
    /// What the job found out nevertheless.
    data: String,
}

impl Failure {
    /// The job failed.
    pub fn job(what: &str, why: &str) -> Self {
        Failure { line: format!("{what}: {why}"), hint: None, status: 1, data: String::new() }
    }

    /// Wrong usage, or input that can't be read.
    pub fn usage(what: &str, why: &str) -> Self {
        Failure { line: format!("{what}: {why}"), hint: None, status: 2, data: String::new() }
    }

    /// A signal ended the job early.
    pub fn interrupted(what: &str, why: &str, signal: i32) -> Self {
        Failure { status: 128 + signal as u8, ..Failure::job(what, &format!("interrupted: {why}")) }
    }

    /// Adds a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds data that belong on standard output, although the job failed.
    pub fn with_data(mut self, data: String) -> Self {
        self.data = data;
        self
    }

    /// Prints the failure, and gives its exit status.
    pub fn report(self) -> ExitCode {
        // That standard output takes no more is less than what is to be reported.
        let _ = crate::print(&self.data);
        say(&self.line, self.hint.as_deref());
        ExitCode::from(self.status)
    }
}

/// Fails with what was found to be damaged, or succeeds with what was looked at.
pub fn verdict(what: &str, text: String, damaged: usize) -> Result<String, Failure> {
    match damaged {
        0 => Ok(text),
        1 => Err(Failure::job(what, "1 thing is damaged").with_data(text)),
        many => Err(Failure::job(what, &format!("{many} things are damaged")).with_data(text)),
    }
}

/// Prints a line, and a hint if there is one, on standard error. If that is closed, nobody is
/// there to be told.
pub fn say(line: &str, hint: Option<&str>) {
    use std::io::Write;
    let mut err = std::io::stderr().lock();
    let line: String = line.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    let _ = writeln!(err, "frostline: {line}");
    if let Some(hint) = hint {
        let _ = writeln!(err, "hint: {hint}");
    }
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        let status = if matches!(error, TraceError::Unwritable { .. }) { 1 } else { 2 };
        Failure { line: error.to_string(), hint: error.hint(), status, data: String::new() }
    }
}

impl From<LearnError> for Failure {
    fn from(error: LearnError) -> Self {
        match error {
            LearnError::NotBuilt { feature, .. } => Failure::usage("train", &error.to_string())
                .hint(format!("cargo build --release --features {feature}")),
            LearnError::Training { .. } => Failure::job("train", &error.to_string()),
            LearnError::OneClass { .. } => Failure::job("model", &error.to_string())
                .hint("a longer trace, a smaller --horizon"),
            _ => Failure::usage("model", &error.to_string()),
        }
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        let hint = "frostline schemes lists all schemes and victim policies with their parameters";
        let why = match &error {
            BuildError::UnknownKey { name, key, known } if known.is_empty() => {
                format!("{name} has no parameter \"{key}\", as it has none")
            }
            _ => error.to_string(),
        };
        Failure::usage("sim", &why).hint(hint)
    }
}

impl From<SimError> for Failure {
    fn from(error: SimError) -> Self {
        let line = error.to_string();
        match error {
            SimError::Build(error) => error.into(),
            SimError::Log { error: LogError::TooManyClasses { classes, .. }, .. } => {
                Failure::usage("sim", &line).hint(format!(
                    "--max-open {classes}, or fewer classes where the scheme has that parameter"
                ))
            }
            SimError::Log { error: LogError::Full { .. }, .. } => {
                Failure::job("sim", &line).hint("a larger --op or smaller zones give it room")
            }
            SimError::Log { error: LogError::NoMemory { .. }, .. } => Failure::job("sim", &line),
            SimError::OverProvisioning { least, .. } if least <= MOST_OP => {
                Failure::usage("sim", &line)
                    .hint(format!("--op {least} would do, or smaller zones"))
            }
            SimError::OverProvisioning { .. } => Failure::usage("sim", &line).hint("smaller zones"),
            _ => Failure::usage("sim", &line),
        }
    }
}
