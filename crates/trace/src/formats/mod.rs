//! One format, one file.

pub(crate) mod alibaba;
pub(crate) mod blkparse;
pub(crate) mod csv;
pub(crate) mod fio;
pub(crate) mod msr;
pub(crate) mod oracle_general;
pub(crate) mod parquet;
mod parquet_column;
mod parquet_file;
mod parquet_hotness;
pub(crate) mod tencent;
pub(crate) mod u32;
