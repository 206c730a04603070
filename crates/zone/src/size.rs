//! Sizes such as `4096`, `16MiB`, `1GB`.

use std::fmt;
use std::num::IntErrorKind;
use std::str::FromStr;

/// A size in bytes, parsed from text such as `4096`, `16MiB`, `1GB`. Its text is in the largest
/// binary unit that leaves a whole number: `16 MiB`, `1536 B`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

/// The text is not a [`Size`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseSizeError {
    /// The text is not a number with a unit.
    #[error("\"{0}\" is not a size such as 4096, 16MiB or 1GB")]
    Wrong(String),
    /// The number is a fraction.
    #[error("\"{text}\" is a fraction, write {whole}")]
    Fraction {
        /// The text.
        text: String,
        /// The same size with a whole number.
        whole: String,
    },
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
        let wrong = || match whole(text) {
            Some(whole) => ParseSizeError::Fraction { text: text.to_string(), whole },
            None => ParseSizeError::Wrong(text.to_string()),
        };
        let too_large = || ParseSizeError::TooLarge(text.to_string());
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

/// A fraction of a unit as a whole number of a smaller one: `1536MiB` for `1.5GiB`. `None` if the
/// text is anything else, or no whole number of bytes.
fn whole(text: &str) -> Option<String> {
    let (number, rest) = text.split_once('.')?;
    let (fraction, unit) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
    let Size(bytes) = format!("{number}{fraction}{unit}").parse().ok()?;
    let parts = 10u64.checked_pow(fraction.len() as u32)?;
    let size = bytes.is_multiple_of(parts).then(|| Size(bytes / parts))?;
    Some(size.to_string().replace(' ', ""))
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
        for wrong in ["", "MiB", "1.5GB", "-1", "4 furlongs", "99999999999TB"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
        for large in ["99999999999TB", "99999999999999999999"] {
            assert_eq!(bytes(large), Err(ParseSizeError::TooLarge(large.to_string())));
        }
    }

    #[test]
    fn a_fraction_is_refused_with_the_whole_number_that_says_the_same() {
        let why = |text: &str| text.parse::<Size>().map_err(|why| why.to_string());
        for (text, whole) in [("1.5GiB", "1536MiB"), ("0.5K", "512B"), ("2.50 GB", "2500000000B")] {
            assert_eq!(why(text), Err(format!("\"{text}\" is a fraction, write {whole}")));
        }
        for wrong in ["1.5", "0.0001K", "1.5.5GiB", "1.5 furlongs", "-1.5GiB", "1,5GiB"] {
            assert_eq!(why(wrong), Err(ParseSizeError::Wrong(wrong.to_string()).to_string()));
        }
    }
}
