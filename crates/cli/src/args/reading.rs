//! Arguments that say how a trace is read.

use clap::Args;
use frostline_trace::Format;

use crate::size::{PageSize, Size, UnitSize};

/// Options to read a trace.
#[derive(Debug, Args)]
pub struct Reading {
    /// Format of the trace: u32, alibaba, tencent, msr, fio, blkparse, oracle-general or parquet
    /// [default: found by content]
    #[arg(long, value_name = "F")]
    pub format: Option<Format>,
    /// Only this volume of the trace
    #[arg(long, value_name = "ID")]
    pub volume: Option<String>,
    /// Bytes in a page, a power of two from 512 up
    #[arg(long, value_name = "SIZE", default_value = "4KiB", allow_negative_numbers = true)]
    pub page: PageSize,
    /// Of oracle-general: bytes that its object numbers count, as 512 if they are of sectors
    /// [default: a page]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub unit: Option<UnitSize>,
}

/// Options to read a trace into memory.
#[derive(Debug, Args)]
pub struct Loading {
    #[command(flatten)]
    pub reading: Reading,
    /// Refuse a trace that takes more memory than this [default: three quarters of what is available]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub max_memory: Option<Size>,
}
