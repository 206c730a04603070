//! Trace files are read, written, generated and prepared as documented, and bad ones are refused.

#[cfg(feature = "parquet")]
mod errors;
#[cfg(feature = "parquet")]
mod foreign;
#[cfg(feature = "parquet")]
mod formats;
#[cfg(feature = "parquet")]
mod fuzz;
mod generate;
#[cfg(feature = "parquet")]
mod hotness;
#[cfg(feature = "parquet")]
mod load;
mod prepare;
#[cfg(feature = "parquet")]
mod reads;
#[cfg(feature = "parquet")]
mod scratch;
#[cfg(feature = "parquet")]
mod write;
