//! The fields of a run that become JSON.
//!
//! The simulator, benches of stores and of databases write the same [`RunReport`]. A [`SimReport`]
//! has the runs of a sweep, a [`RunRecord`] one run with all that led to it. docs/results.md
//! describes each field.
//!
//! Names of fields are a contract: fields are added, never renamed.
//!
//! ```
//! use frostline_log::Counts;
//! use frostline_results::RunReport;
//!
//! let counts = Counts { user_writes: 100, relocations: 25, ..Counts::default() };
//! let run = RunReport { scheme: "nosep".to_string(), ..RunReport::of(&counts) };
//! let json = serde_json::to_value(&run)?;
//! assert_eq!((&json["waf"], &json["far"]), (&1.25.into(), &0.0.into()));
//! # Ok::<(), serde_json::Error>(())
//! ```

mod record;
mod run;
mod setup;
mod sweep;
mod trace;

pub use record::RunRecord;
pub use run::{ClassReport, Quartiles, RunReport, WindowReport};
pub use setup::{InputFile, ReplaySetup};
pub use sweep::{ALL_VOLUMES, SimReport};
pub use trace::TraceReport;

/// True for numbers that are left out.
fn is_zero(number: &u64) -> bool {
    *number == 0
}
