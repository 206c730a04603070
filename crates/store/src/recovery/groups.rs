//! Groups that a crash cut short: none of their pages counts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::run::Recovery;
use super::zone_epoch::LateChunk;
use crate::StoreError;
use crate::format::Group;

impl Group {
    /// The times of its pages.
    fn times(&self) -> RangeInclusive<u64> {
        self.time.saturating_add(1)..=self.time.saturating_add(self.pages.into())
    }
}

impl Recovery<'_> {
    /// Drops the pages of groups that are not whole. All chunks up to number `known` were durable, and a
    /// group whose first chunk is among them was so as well: it is whole, even if pages of it were
    /// superseded since and their zones reset. Of the others every page must be found, and with a delta
    /// the image that it is of.
    pub(super) fn drop_cut_groups(
        &mut self,
        chunks: &mut [LateChunk],
        known: u64,
    ) -> Result<(), StoreError> {
        let named = chunks.iter().filter_map(|chunk| chunk.group);
        let unsure: BTreeSet<Group> = named.filter(|group| group.from > known).collect();
        for group in unsure {
            let times = group.times();
            let rows = || chunks.iter().flat_map(|chunk| &chunk.records);
            // Cleaning may have copied a page, and both copies are there.
            let mut found = BTreeMap::new();
            for row in rows().filter(|row| row.lba != u32::MAX && times.contains(&row.time)) {
                found.insert(row.time, row);
            }
            let sizes = self.inner.layout.sizes;
            let (mut whole, deltas) = (found.len() == group.pages as usize, found.values());
            for delta in deltas.filter(|row| sizes.is_delta(row.lba)) {
                let page = sizes.page_of(delta.lba);
                let is_base = |(lba, sum): (u32, u32)| lba == page && sum == delta.base;
                let late = rows().any(|row| is_base((row.lba, row.sum)));
                whole &= late || self.sum_before(page)?.is_some_and(|sum| is_base((page, sum)));
            }
            if whole {
                continue;
            }
            let (pages, found) = (group.pages, found.len());
            tracing::debug!(pages, found, from = group.from, "a group was cut short");
            let rows = chunks.iter_mut().flat_map(|chunk| &mut chunk.records);
            let rows = rows.filter(|row| row.lba != u32::MAX && times.contains(&row.time));
            self.dropped.extend(rows.map(|row| std::mem::replace(&mut row.lba, u32::MAX)));
        }
        Ok(())
    }

    /// The sum of a page's image in the checkpoint.
    fn sum_before(&self, page: u32) -> Result<Option<u32>, StoreError> {
        if self.inner.layout.check_lba(page).is_err() {
            return Ok(None);
        }
        let mapped = self.inner.mapped(self.inner.state()?, page)?;
        let sum = mapped.image_place().map(|(_, sum)| sum);
        drop(mapped);
        self.inner.drop_clean_leaves()?;
        Ok(sum)
    }
}
