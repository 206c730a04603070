//! Papers' evaluations, redone.
//!
//! [`PAPERS`] are evaluations at a scale that fits a laptop; each gives tables with the published
//! figures beside ours. A [`Study`] trains models of frozen pages on a trace and evaluates them.
//! [`watched_sweep`] sweeps the simulator under the eyes of a
//! [`Monitor`](frostline_benches::Monitor), and [`Cells`] keep the runs of a sweep that have
//! finished in a file.
//!
//! ```
//! use frostline_papers::{PAPERS, Reproduction, Session};
//!
//! let sepbit = PAPERS.iter().find(|paper| paper.name == "sepbit").expect("a known paper");
//! let only = vec!["top-shares".to_string()];
//! let how = Reproduction { scale: 0.01, seed: 1, timing: false, traces: Vec::new(), only };
//! let report = sepbit.run(&Session::new(&how, &()))?;
//! assert_eq!(report.tables[0].name, "top-shares");
//! # Ok::<(), frostline_papers::Error>(())
//! ```

mod error;
mod reproduce;
mod study;
mod sweep;

pub use error::{Error, Result};
pub use reproduce::{
    Cell, Input, InputWorkload, PAPERS, Paper, PaperReport, ReportTable, Reproduction, Session,
};
pub use study::{Compared, Comparison, Flaw, ModelFeature, ModelReport, Study, Training};
pub use sweep::{
    CellSource, Cells, ParseShardError, Shard, identify, ledgered_sweep, watched_sweep,
};
