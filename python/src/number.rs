//! Sizes as Python writes them: a number of bytes, or a text such as `4MiB`.

use frostline::zone::Size;
use pyo3::prelude::*;

use crate::error::{Failure, Result};

/// Bytes.
#[derive(FromPyObject)]
pub enum Bytes {
    /// So many.
    Number(u64),
    /// A number with a unit.
    Text(String),
}

impl Bytes {
    /// The number of bytes.
    pub fn get(&self) -> Result<u64> {
        match self {
            Bytes::Number(bytes) => Ok(*bytes),
            Bytes::Text(text) => Ok(text.parse::<Size>()?.0),
        }
    }

    /// The number of bytes in a page.
    pub fn page(&self) -> Result<u32> {
        let bytes = self.get()?;
        let fits = u32::try_from(bytes).ok().filter(|page| page.is_power_of_two() && *page >= 512);
        let why = || {
            Failure::new(format!(
                "a page of {bytes} bytes: must be a power of two from 512 to 2GiB"
            ))
        };
        fits.ok_or_else(why)
    }
}

/// The bytes of a size.
#[pyfunction]
pub fn size(text: Bytes) -> Result<u64> {
    text.get()
}
