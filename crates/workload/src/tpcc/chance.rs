//! The random numbers and strings of the standard (clauses 2.1.6, 4.3.2 and 4.3.3).

use super::scale::{CustomerId, ItemId, Scale, WarehouseId};
use crate::random::Random;

/// The constant C of clause 2.1.6 for last names while loading.
pub(super) const C_LAST_LOAD: u32 = 86;
/// The same constant for runs: clause 2.1.6.1 requires a distance of 65 to 119, but neither 96 nor
/// 112.
pub(super) const C_LAST_RUN: u32 = 173;
/// The constant for customers' numbers.
const C_CUSTOMER: u32 = 610;
/// The constant for items.
const C_ITEM: u32 = 5167;

/// NURand (clause 2.1.6): a non-uniform number from `low` to `high`, some being likelier.
pub(super) fn nurand(random: &mut Random, a: u32, c: u32, low: u32, high: u32) -> u32 {
    debug_assert!(low <= high && (a + 1).is_power_of_two(), "the numbers of clause 2.1.6");
    let both = random.between(0, a) | random.between(low, high);
    (both + c) % (high - low + 1) + low
}

/// A random customer of a district.
pub(super) fn customer(random: &mut Random, scale: &Scale) -> CustomerId {
    nurand(random, 1023, C_CUSTOMER, 1, u32::from(scale.customers)) as CustomerId
}

/// A random item.
pub(super) fn item(random: &mut Random, scale: &Scale) -> ItemId {
    nurand(random, 8191, C_ITEM, 1, scale.items)
}

/// Another warehouse, if there is one.
pub(super) fn other_warehouse(
    random: &mut Random,
    scale: &Scale,
    home: WarehouseId,
) -> WarehouseId {
    if scale.warehouses == 1 {
        return home;
    }
    assert!((1..=scale.warehouses).contains(&home), "home is one of the warehouses");
    let other = random.between(1, scale.warehouses - 1);
    if other < home { other } else { other + 1 }
}

/// The number of a random last name; `c` is one of the two constants above.
pub(super) fn last_name(random: &mut Random, scale: &Scale, c: u32) -> u32 {
    nurand(random, 255, c, 0, scale.last_names() - 1)
}

const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// Spells the last name with a number below 1,000: a syllable for each of the three digits.
pub(super) fn spell_last_name(number: u32, name: &mut Vec<u8>) {
    assert!(number < 1000, "a name has three syllables");
    name.clear();
    for digit in [number / 100 % 10, number / 10 % 10, number % 10] {
        name.extend_from_slice(SYLLABLES[digit as usize].as_bytes());
    }
}

/// Appends an a-string: from `low` to `high` letters and digits.
pub(super) fn letters(random: &mut Random, low: u32, high: u32, text: &mut Vec<u8>) {
    const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let length = random.between(low, high) as usize;
    draw(random, length, LETTERS, text);
}

/// Appends an n-string: from `low` to `high` digits.
pub(super) fn digits(random: &mut Random, low: u32, high: u32, text: &mut Vec<u8>) {
    let length = random.between(low, high) as usize;
    draw(random, length, b"0123456789", text);
}

/// Appends a zip code: four digits and "11111" (clause 4.3.2.7).
pub(super) fn zip(random: &mut Random, text: &mut Vec<u8>) {
    digits(random, 4, 4, text);
    text.extend_from_slice(b"11111");
}

/// The mark of some items and stocks.
pub(super) const ORIGINAL: &[u8; 8] = b"ORIGINAL";

/// Appends 26 to 50 letters and digits; one text in ten contains [`ORIGINAL`] at a random place.
pub(super) fn data(random: &mut Random, text: &mut Vec<u8>) {
    let start = text.len();
    letters(random, 26, 50, text);
    if random.percent(10) {
        let room = text.len() - start - ORIGINAL.len();
        let at = start + random.below(room as u64 + 1) as usize;
        text[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
    }
}

/// True if a text contains [`ORIGINAL`].
pub(super) fn is_original(text: &[u8]) -> bool {
    text.windows(ORIGINAL.len()).any(|part| part == ORIGINAL)
}

/// Appends `length` characters, ten from each random number. The high half of its product with the
/// number of characters chooses a character; the low half is the random number for the next.
fn draw(random: &mut Random, length: usize, characters: &[u8], text: &mut Vec<u8>) {
    let mut left = 0;
    for at in 0..length {
        if at % 10 == 0 {
            left = random.bits();
        }
        let product = u128::from(left) * characters.len() as u128;
        text.push(characters[(product >> 64) as usize]);
        left = product as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nurand_stays_within_its_range_and_reaches_most_of_it() {
        let mut random = Random::stream(1, 0);
        for (a, c, low, high) in [(255, C_LAST_RUN, 0, 999), (1023, C_CUSTOMER, 1, 3000)] {
            let mut seen = vec![0u32; high as usize + 1];
            for _ in 0..200_000 {
                seen[nurand(&mut random, a, c, low, high) as usize] += 1;
            }
            assert!(seen[..low as usize].iter().all(|count| *count == 0));
            let reached = seen.iter().filter(|count| **count > 0).count();
            assert!(reached * 10 > seen.len() * 9, "{reached}");
        }
        let items = Scale::standard(1);
        assert!((0..100_000).all(|_| (1..=100_000).contains(&item(&mut random, &items))));
    }

    #[test]
    fn nurand_favours_some() {
        let mut random = Random::stream(2, 0);
        let scale = Scale::standard(1);
        let mut seen = vec![0u32; 3001];
        (0..300_000).for_each(|_| seen[usize::from(customer(&mut random, &scale))] += 1);
        seen.sort_unstable();
        let top: u32 = seen.iter().rev().take(300).sum();
        // If all customers were equally likely, a tenth of them would have 10 %.
        assert!(top > 100_000, "{top}");
    }

    #[test]
    fn the_constants_are_as_far_apart_as_the_standard_wants() {
        let delta = C_LAST_RUN.abs_diff(C_LAST_LOAD);
        assert!((65..=119).contains(&delta) && delta != 96 && delta != 112);
        assert!([C_LAST_LOAD, C_LAST_RUN].iter().all(|c| *c <= 255));
        assert!([(C_CUSTOMER, 1023), (C_ITEM, 8191)].iter().all(|(c, a)| c <= a));
    }

    #[test]
    fn last_names_are_spelled_by_digits() {
        let mut name = Vec::new();
        spell_last_name(371, &mut name);
        assert_eq!(name, b"PRICALLYOUGHT");
        spell_last_name(40, &mut name);
        assert_eq!(name, b"BARPRESBAR");
    }

    #[test]
    fn strings_have_their_lengths_and_characters() {
        let mut random = Random::stream(3, 0);
        let (mut text, mut original) = (Vec::new(), 0);
        for _ in 0..10_000 {
            text.clear();
            data(&mut random, &mut text);
            assert!((26..=50).contains(&text.len()));
            assert!(text.iter().all(u8::is_ascii_alphanumeric));
            original += u32::from(is_original(&text));
        }
        assert!((850..1150).contains(&original), "{original}");
        text.clear();
        zip(&mut random, &mut text);
        assert!(text.len() == 9 && text.iter().all(u8::is_ascii_digit) && text.ends_with(b"11111"));
    }
}
