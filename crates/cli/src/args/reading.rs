//! Arguments for reading a trace.

use clap::Args;
use frostline_trace::Format;

use crate::size::{PageSize, Size, UnitSize};

/// Options for reading a trace.
#[derive(Debug, Args)]
pub(crate) struct Reading {
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
    /// For oracle-general: bytes in the unit of its object numbers, such as 512 for sectors
    /// [default: a page]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub unit: Option<UnitSize>,
}

/// Options for reading a trace into memory.
#[derive(Debug, Args)]
pub(crate) struct Loading {
    #[command(flatten)]
    pub reading: Reading,
    /// Refuse a trace that takes more memory than this [default: three quarters of the available
    /// memory]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub max_memory: Option<Size>,
}
