//! Groups that a crash cut short: none of their pages counts.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::zone_epoch::LateChunk;
use crate::format::Group;

impl Group {
    /// The times of its pages.
    fn times(&self) -> RangeInclusive<u64> {
        self.time.saturating_add(1)..=self.time.saturating_add(self.pages.into())
    }
}

/// Drops the pages of groups that are not whole. All chunks up to number `known` were durable, and a
/// group whose first chunk is among them was so as well: it is whole, even if pages of it were superseded
/// since and their zones reset. Of the others every page must be found. Returns the pages that were
/// dropped.
pub(super) fn drop_cut_groups(chunks: &mut [LateChunk], known: u64) -> Vec<u32> {
    let mut dropped = Vec::new();
    let named = chunks.iter().filter_map(|chunk| chunk.group);
    let mut unsure: BTreeMap<Group, Vec<u64>> =
        named.filter(|group| group.from > known).map(|group| (group, Vec::new())).collect();
    for row in chunks.iter().flat_map(|chunk| &chunk.records).filter(|row| row.lba != u32::MAX) {
        let of_it = unsure.iter_mut().filter(|(group, _)| group.times().contains(&row.time));
        of_it.for_each(|(_, found)| found.push(row.time));
    }
    for (group, mut found) in unsure {
        // Cleaning may have copied a page, and both copies are there.
        found.sort_unstable();
        found.dedup();
        if found.len() == group.pages as usize {
            continue;
        }
        let (pages, found) = (group.pages, found.len());
        tracing::debug!(pages, found, from = group.from, "a group was cut short");
        let rows = chunks.iter_mut().flat_map(|chunk| &mut chunk.records);
        let rows = rows.filter(|row| row.lba != u32::MAX && group.times().contains(&row.time));
        dropped.extend(rows.map(|row| std::mem::replace(&mut row.lba, u32::MAX)));
    }
    dropped
}
