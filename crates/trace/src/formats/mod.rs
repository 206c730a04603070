//! One format, one file.

pub(crate) mod alibaba;
pub(crate) mod blkparse;
pub(crate) mod csv;
pub(crate) mod fio;
pub(crate) mod msr;
pub(crate) mod oracle_general;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
#[cfg(not(feature = "parquet"))]
#[path = "without_parquet.rs"]
pub(crate) mod parquet;
pub(crate) mod tencent;
pub(crate) mod told;
pub(crate) mod u32;
