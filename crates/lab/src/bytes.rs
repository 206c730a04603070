//! Sizes as text.

/// Bytes in the largest binary unit that leaves a whole number: `16 MiB`, `1536 B`.
pub fn binary(bytes: u64) -> String {
    let units = [("TiB", 1u64 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let unit = units.iter().find(|(_, factor)| bytes >= *factor && bytes.is_multiple_of(*factor));
    unit.map_or(format!("{bytes} B"), |(name, factor)| format!("{} {name}", bytes / factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shown_in_the_largest_unit_that_divides_them() {
        assert_eq!(binary(16 << 20), "16 MiB");
        assert_eq!(binary(1536), "1536 B");
        assert_eq!(binary(3 << 40), "3 TiB");
    }
}
