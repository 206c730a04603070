//! Sizes such as `4096`, `16MiB`, `1.5GB`.

use std::fmt;
use std::num::IntErrorKind;
use std::str::FromStr;

/// A size in bytes, parsed from text such as `4096`, `16MiB`, `1.5GB`. Its text is in the largest
/// binary unit that leaves a whole number: `16 MiB`, `1536 B`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

/// The text is not a [`Size`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseSizeError {
    /// The text is not a number with a unit, or no whole number of bytes.
    #[error("\"{0}\" is not a size such as 4096, 16MiB or 1GB")]
    Wrong(String),
    /// The size does not fit into 64 bits.
    #[error("\"{0}\" is too large")]
    TooLarge(String),
}

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
    type Err = ParseSizeError;

    fn from_str(text: &str) -> Result<Self, ParseSizeError> {
        let wrong = || ParseSizeError::Wrong(text.to_string());
        let too_large = || ParseSizeError::TooLarge(text.to_string());
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let (whole, fraction) = match number.split_once('.') {
            Some((_, "")) => return Err(wrong()),
            parts => parts.unwrap_or((number, "")),
        };
        let digits = match format!("{whole}{fraction}").parse::<u64>() {
            Err(e) if *e.kind() == IntErrorKind::PosOverflow => return Err(too_large()),
            digits => digits.map_err(|_| wrong())?,
        };
        let unit = unit.trim().to_uppercase();
        let factor = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?.1;
        let parts = 10u128.checked_pow(fraction.len() as u32).ok_or_else(wrong)?;
        let bytes = u128::from(digits) * u128::from(factor);
        match bytes.is_multiple_of(parts) {
            true => u64::try_from(bytes / parts).map(Size).map_err(|_| too_large()),
            false => Err(wrong()),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("TiB", 1u64 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        let divides = |factor: u64| self.0 >= factor && self.0.is_multiple_of(factor);
        let unit = units.into_iter().find(|&(_, factor)| divides(factor));
        let (name, factor) = unit.unwrap_or(("B", 1));
        write!(f, "{} {name}", self.0 / factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_shown_in_the_largest_unit_that_divides_them() {
        for (bytes, shown) in
            [(16 << 20, "16 MiB"), (1536, "1536 B"), (3 << 40, "3 TiB"), (0, "0 B")]
        {
            assert_eq!(Size(bytes).to_string(), shown);
            assert_eq!(shown.parse(), Ok(Size(bytes)));
        }
    }

    #[test]
    fn sizes_have_decimal_and_binary_units() {
        let bytes = |text: &str| text.parse::<Size>().map(|s| s.0);
        assert_eq!(bytes("4096"), Ok(4096));
        assert_eq!(bytes("16MiB"), Ok(16 << 20));
        assert_eq!(bytes("16mib"), Ok(16 << 20));
        assert_eq!(bytes("1GB"), Ok(1_000_000_000));
        assert_eq!(bytes("4K"), Ok(4096));
        for wrong in ["", "MiB", "1.GB", "-1", "4 furlongs", "99999999999TB"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
        for large in ["99999999999TB", "99999999999999999999"] {
            assert_eq!(bytes(large), Err(ParseSizeError::TooLarge(large.to_string())));
        }
    }

    #[test]
    fn a_fraction_of_a_unit_is_a_whole_number_of_bytes() {
        let bytes = |text: &str| text.parse::<Size>().map(|s| s.0);
        for (text, size) in [("1.5GiB", 1536 << 20), ("0.5K", 512), ("2.50 GB", 2_500_000_000)] {
            assert_eq!(bytes(text), Ok(size));
        }
        for wrong in ["1.5", "0.0001K", "1.5.5GiB", "1.5 furlongs", "-1.5GiB", "1,5GiB", ".", "1."]
        {
            assert_eq!(bytes(wrong), Err(ParseSizeError::Wrong(wrong.to_string())));
        }
    }
}
