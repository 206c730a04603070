//! Results of replays and benches, read from files and written in other forms.
//!
//! [`read_results`] reads what `frostline` wrote as JSON. [`csv()`] and [`write_parquet`] make
//! tables with a row for each run, [`page()`] an HTML page with charts. A [`Matrix`] has the runs
//! by scheme and victim policy.
//!
//! ```
//! use frostline_report::{Matrix, csv, read_results};
//!
//! let file = std::env::temp_dir().join(format!("frostline-report-{}.ndjson", std::process::id()));
//! # let run = frostline_results::RunReport::of(&Default::default());
//! # let run = frostline_results::RunReport { scheme: "nosep".into(), victim: "greedy".into(), ..run };
//! # std::fs::write(&file, serde_json::to_string(&run)?)?;
//! let records = read_results(&file)?;
//! assert!(csv(&records)?.starts_with("scheme,victim,waf"));
//! let matrix = Matrix::of(records.iter().map(|record| &record.run));
//! assert_eq!((matrix.rows[0].scheme, &matrix.victims[..]), ("nosep", &["greedy"][..]));
//! # std::fs::remove_file(&file)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod columns;
mod error;
mod matrix;
#[cfg(feature = "page")]
mod page;
#[cfg(not(feature = "page"))]
#[path = "without_page.rs"]
mod page;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(not(feature = "parquet"))]
#[path = "without_parquet.rs"]
mod parquet;
mod reading;

pub use columns::csv;
pub use error::{Error, Result};
pub use matrix::{Matrix, MatrixCell, MatrixRow};
pub use page::page;
pub use parquet::{check_parquet, write_parquet};
pub use reading::read_results;
