//! Filling the table.

use super::{YcsbOptions, key};
use crate::Engine;
use crate::error::Result;
use crate::filling::{self, Batches};
use crate::loading::{LoadProgress, Loading};

/// The order in which records are loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadOrder {
    /// In the order of their numbers, whose keys are scattered: each record goes to another place
    /// of the table. This is the default, as in YCSB ("hashed").
    #[default]
    Hashed,
    /// In the order of their keys: faster, and pages of a tree become full.
    Keys,
}

/// Records in a part, if they are loaded in the order of numbers.
const PART: u64 = 20_000;
/// The least number of parts, if records are loaded in the order of keys; below, the most records
/// in a part. For each part all numbers are searched for those whose keys belong to the part.
const KEY_PARTS: u64 = 16;
const KEY_PART: u64 = 4_000_000;

/// Loads the records.
pub(super) fn load<E: Engine>(
    engine: &E,
    table: E::Table,
    options: &YcsbOptions,
    loading: Loading,
    observer: &mut dyn FnMut(LoadProgress) -> bool,
) -> Result<LoadProgress, E> {
    let records = options.records;
    let parts = match options.load_order {
        LoadOrder::Hashed => records.div_ceil(PART),
        LoadOrder::Keys => records.div_ceil(KEY_PART).max(KEY_PARTS),
    };
    let contents = options.contents();
    let order = options.load_order;
    filling::in_parts(engine, &contents, loading, parts, observer, |part, batches| match order {
        LoadOrder::Hashed => {
            let numbers = part * PART..records.min((part + 1) * PART);
            put(batches, table, options, numbers.end - numbers.start, |at| key(numbers.start + at))
        }
        LoadOrder::Keys => {
            let keys = keys_of_part(part, parts, records);
            put(batches, table, options, keys.len() as u64, |at| keys[at as usize])
        }
    })
}

/// Puts `count` records with the keys that `key` gives.
fn put<E: Engine>(
    batches: &mut Batches<'_, E>,
    table: E::Table,
    options: &YcsbOptions,
    count: u64,
    key: impl Fn(u64) -> [u8; 8],
) -> Result<(), E> {
    // At most 256 KiB, and 1,000 records.
    let to_a_batch = ((256 << 10) / options.value_bytes.max(1) as u64).clamp(1, 1000);
    let mut value = vec![0; options.value_bytes];
    batches.each(0..count, to_a_batch, |batch, at| {
        batch.random.fill(&mut value);
        batch.put(table, &key(at), &value)
    })
}

/// The keys of one part in order: those in one of `parts` equal ranges.
fn keys_of_part(part: u64, parts: u64, records: u64) -> Vec<[u8; 8]> {
    assert!(part < parts, "one of the parts");
    let range_of =
        |key: &[u8; 8]| ((u128::from(u64::from_be_bytes(*key)) * u128::from(parts)) >> 64) as u64;
    let mut keys: Vec<[u8; 8]> =
        (0..records).map(key).filter(|key| range_of(key) == part).collect();
    keys.sort_unstable();
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_in_key_order_are_all_keys_in_order() {
        let parts = (0..16).flat_map(|part| keys_of_part(part, 16, 5000));
        let mut all: Vec<[u8; 8]> = (0..5000).map(key).collect();
        all.sort_unstable();
        assert!(parts.eq(all));
    }
}
