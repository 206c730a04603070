//! Replays write traces against placement schemes.
//!
//! [`Volume`] is a trace's volume ready for replay; [`replay()`] runs one scheme over it;
//! [`sweep()`] runs every scheme with every victim policy over every volume on all cores, and
//! [`Report`] is what comes of it.
//!
//! [`sample()`] makes samples of a trace, to train models of frozen pages on and to judge them by.

mod error;
mod machine;
mod plan;
mod replay;
mod report;
mod sample;
mod settings;
mod sweep;
mod volume;

pub use error::SimError;
pub use plan::{BASELINE, BOUND, Plan};
pub use replay::{Outcome, Progress, Window, replay};
pub use report::{ClassReport, Quartiles, Report, RunReport, TraceReport, WindowReport};
pub use sample::{SampleError, Samples, sample};
pub use settings::{Combination, Settings, Space, ZoneSize};
pub use sweep::{Outcomes, sweep};
pub use volume::Volume;
