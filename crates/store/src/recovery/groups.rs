//! Groups that a crash cut short: none of their pages counts.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::run::Recovery;
use super::zone_epoch::LateChunk;
use crate::StoreError;
use crate::format::Group;
use crate::records::Record;

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
        let sizes = self.inner.layout.sizes;
        for group in unsure {
            let times = group.times();
            let counts = |row: &&Record| row.lba != u32::MAX;
            let rows = || chunks.iter().flat_map(|chunk| &chunk.records).filter(counts);
            let images: BTreeSet<(u32, u32)> = rows().map(|row| (row.lba, row.sum)).collect();
            // Cleaning may have copied a page, and both copies are there.
            let mut found = BTreeSet::new();
            for row in rows().filter(|row| times.contains(&row.time)) {
                let page = sizes.page_of(row.lba);
                if !sizes.is_delta(row.lba)
                    || images.contains(&(page, row.other))
                    || self.sum_before(page)? == Some(row.other)
                {
                    found.insert(row.time);
                }
            }
            if found.len() == group.pages as usize {
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
