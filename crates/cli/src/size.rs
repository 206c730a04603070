//! Sizes of pages and units of traces, as arguments.

use std::num::NonZeroU32;
use std::str::FromStr;

use frostline_zone::ParseSizeError;
pub(crate) use frostline_zone::Size;

/// Bytes in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageSize(pub u32);

impl FromStr for PageSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Size(bytes) = text.parse().map_err(|error: ParseSizeError| error.to_string())?;
        let fits = u32::try_from(bytes).ok().filter(|page| page.is_power_of_two() && *page >= 512);
        fits.map(PageSize).ok_or_else(|| "must be a power of two from 512 to 2GiB".to_string())
    }
}

/// Bytes in the unit of a trace's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnitSize(pub NonZeroU32);

impl FromStr for UnitSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Size(bytes) = text.parse().map_err(|error: ParseSizeError| error.to_string())?;
        let fits = u32::try_from(bytes).ok().and_then(NonZeroU32::new);
        fits.map(UnitSize).ok_or_else(|| "must be from 1 to below 4GiB".to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_powers_of_two_that_traces_can_be_split_into() {
        let page = |text: &str| text.parse::<PageSize>().ok().map(|page| page.0);
        assert_eq!(page("512"), Some(512));
        assert_eq!(page("2GiB"), Some(1 << 31));
        for wrong in ["0", "256", "4095", "4GiB", "4KB"] {
            assert_eq!(page(wrong), None, "{wrong}");
        }
    }
}
