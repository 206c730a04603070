//! Replays write traces against placement schemes.
//!
//! [`TraceVolume`] is a trace's volume ready for replay. [`replay()`] runs one scheme over it.
//! [`sweep()`] runs every scheme with every victim policy over every volume on all cores;
//! [`report()`] makes a report of the results.
//!
//! ```
//! use frostline_placement::SchemeSpec;
//! use frostline_sim::{Combination, ReplayProgress, Settings, TraceVolume, replay};
//! use frostline_trace::{AccessPattern, Spec, Writes, generate, prepare};
//!
//! let kind = AccessPattern::Zipf { alpha: 1.0 };
//! let spec = Spec { kind, pages: 20_000, writes: 200_000, fill: true, seed: 1 };
//! let writes = Writes { lbas: generate(&spec)?.collect(), ..Writes::default() };
//! let volume = TraceVolume::new(prepare(None, writes, false)?);
//! let settings = Settings::default();
//! let zone_pages = settings.zone_pages(std::slice::from_ref(&volume))?;
//! let waf = |scheme| -> Result<f64, Box<dyn std::error::Error>> {
//!     let scheme = SchemeSpec::parse(scheme)?;
//!     let run = Combination { scheme, victim: "cost-benefit".to_string() };
//!     Ok(replay(&volume, &run, &settings, zone_pages, &ReplayProgress::default())?.counts.waf())
//! };
//! assert!(waf("sepbit")? < waf("nosep")?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`sample()`] takes samples of a trace, to train and evaluate models of frozen pages;
//! [`compare_models`], [`compare_histories`] and [`compare_features`] train and evaluate them.

mod between;
mod catalogue;
mod cpu_time;
mod error;
pub mod fast22;
mod ledger;
mod lifespans;
mod machine;
pub mod midas_fast24;
mod models;
mod plan;
mod replay;
mod report;
mod sample;
mod settings;
mod setup;
mod share;
mod stored;
mod sweep;
mod volume;
mod windows;

pub use catalogue::{Catalogue, ParamRow, PolicyRow, SchemeRow};
pub use error::SimError;
pub use ledger::{Cell, Ledger};
pub use lifespans::{INTERVALS, LifespansByClass};
pub use machine::Machine;
pub use models::{
    Evaluation, ZONE, compare_features, compare_histories, compare_models, evaluate_two_r,
};
pub use plan::{BASELINE, BOUND, Plan};
pub use replay::{Outcome, ReplayProgress, replay};
pub use report::report;
pub use sample::{SampleError, Samples, sample};
pub use settings::{Combination, Settings, Space, StoreShape, ZoneSize};
pub use share::{ShareError, share};
pub use sweep::{Outcomes, sweep, sweep_with};
pub use volume::TraceVolume;
pub use windows::Window;
