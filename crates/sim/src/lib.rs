//! Replays write traces against placement schemes.
//!
//! [`Volume`] is a trace's volume ready for replay; [`replay()`] runs one scheme over it;
//! [`sweep()`] runs every scheme with every victim policy over every volume on all cores, and
//! [`Report`] is what comes of it.
//!
//! [`sample()`] makes samples of a trace, to train models of frozen pages on and to judge them by;
//! [`compare_models`], [`compare_histories`] and [`compare_features`] do that.

mod cpu_time;
mod error;
mod machine;
mod models;
mod plan;
mod replay;
mod report;
mod sample;
mod settings;
mod sweep;
mod volume;

pub use error::SimError;
pub use models::{Judged, ZONE, compare_features, compare_histories, compare_models, judge_two_r};
pub use plan::{BASELINE, BOUND, Plan};
pub use replay::{Outcome, Progress, Window, replay};
pub use report::{ClassReport, Quartiles, Report, RunReport, TraceReport, WindowReport};
pub use sample::{SampleError, Samples, sample};
pub use settings::{Combination, Settings, Space, ZoneSize};
pub use sweep::{Outcomes, sweep};
pub use volume::Volume;
