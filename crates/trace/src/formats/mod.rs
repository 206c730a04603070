//! One format, one file.

pub(crate) mod alibaba;
pub(crate) mod csv;
pub(crate) mod u32;
