//! Sizes as `4096`, `16MiB`, `1GB`.

use std::num::{IntErrorKind, NonZeroU32};
use std::str::FromStr;

/// Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

const UNITS: &[(&str, u64)] = &[
    ("", 1),
    ("B", 1),
    ("K", 1 << 10),
    ("KIB", 1 << 10),
    ("KB", 1_000),
    ("M", 1 << 20),
    ("MIB", 1 << 20),
    ("MB", 1_000_000),
    ("G", 1 << 30),
    ("GIB", 1 << 30),
    ("GB", 1_000_000_000),
    ("T", 1 << 40),
    ("TIB", 1 << 40),
    ("TB", 1_000_000_000_000),
];

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("\"{text}\" is not a size such as 4096, 16MiB or 1GB");
        let too_large = || format!("\"{text}\" is too large");
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let number = match number.parse::<u64>() {
            Err(e) if *e.kind() == IntErrorKind::PosOverflow => return Err(too_large()),
            number => number.map_err(|_| wrong())?,
        };
        let unit = unit.trim().to_uppercase();
        let factor = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?.1;
        number.checked_mul(factor).map(Size).ok_or_else(too_large)
    }
}

/// Bytes in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSize(pub u32);

impl FromStr for PageSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Size(bytes) = text.parse()?;
        let fits = u32::try_from(bytes).ok().filter(|page| page.is_power_of_two() && *page >= 512);
        fits.map(PageSize).ok_or_else(|| "must be a power of two from 512 to 2GiB".to_string())
    }
}

/// Bytes that numbers in a trace count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitSize(pub NonZeroU32);

impl FromStr for UnitSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Size(bytes) = text.parse()?;
        let fits = u32::try_from(bytes).ok().and_then(NonZeroU32::new);
        fits.map(UnitSize).ok_or_else(|| "must be from 1 to below 4GiB".to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_decimal_and_binary_units() {
        let bytes = |text: &str| text.parse::<Size>().map(|s| s.0);
        assert_eq!(bytes("4096"), Ok(4096));
        assert_eq!(bytes("16MiB"), Ok(16 << 20));
        assert_eq!(bytes("16mib"), Ok(16 << 20));
        assert_eq!(bytes("1GB"), Ok(1_000_000_000));
        assert_eq!(bytes("4K"), Ok(4096));
        for wrong in ["", "MiB", "1.5GB", "-1", "4 furlongs", "99999999999TB"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
        for large in ["99999999999TB", "99999999999999999999"] {
            assert_eq!(bytes(large), Err(format!("\"{large}\" is too large")));
        }
    }

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
