//! Groups that a crash cut short: none of their pages counts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::run::Recovery;
use super::zone_epoch::PostCheckpointChunk;
use crate::StoreError;
use crate::format::Group;
use crate::format::records::{NO_LBA, Record, RecordKind};

impl Group {
    /// The times of its pages.
    fn times(&self) -> RangeInclusive<u64> {
        self.time.saturating_add(1)..=self.time.saturating_add(self.pages.into())
    }
}

impl Recovery<'_> {
    /// Drops the pages of groups that are not whole. All chunks up to number `known` were durable,
    /// and a group whose first chunk is among them was so as well: it is whole, even if pages of it
    /// were superseded since and their zones reset. Of the others every page must be found, and
    /// with a delta or a tail the records that it is of.
    pub(super) fn drop_cut_groups(
        &mut self,
        chunks: &mut [PostCheckpointChunk],
        known: u64,
    ) -> Result<(), StoreError> {
        let named = chunks.iter().filter_map(|chunk| chunk.group);
        let unsure: BTreeSet<Group> = named.filter(|group| group.from > known).collect();
        for group in unsure {
            let times = group.times();
            let counts = |row: &&Record| row.lba != NO_LBA;
            let rows = || chunks.iter().flat_map(|chunk| &chunk.records).filter(counts);
            let there: BTreeMap<(u64, u32), Record> =
                rows().map(|row| ((row.lba, row.sum), *row)).collect();
            // Cleaning may have copied a page, and both copies are there.
            let mut found = BTreeSet::new();
            for row in rows().filter(|row| times.contains(&row.time)) {
                if self.is_of_record(*row, &there)? {
                    found.insert(row.time);
                }
            }
            if found.len() == group.pages as usize {
                continue;
            }
            let (pages, found) = (group.pages, found.len());
            tracing::debug!(pages, found, from = group.from, "a group was cut short");
            let rows = chunks.iter_mut().flat_map(|chunk| &mut chunk.records);
            let rows = rows.filter(|row| row.lba != NO_LBA && times.contains(&row.time));
            self.dropped.extend(rows.map(|row| std::mem::replace(&mut row.lba, NO_LBA)));
        }
        Ok(())
    }

    /// True if the records are there that this one is of, down to the image: among these, or in the
    /// checkpoint.
    fn is_of_record(
        &self,
        mut row: Record,
        there: &BTreeMap<(u64, u32), Record>,
    ) -> Result<bool, StoreError> {
        let sizes = self.engine.core.layout.sizes;
        let page = sizes.page_of(row.lba);
        loop {
            let (parent, lba) = match sizes.kind(row.lba) {
                RecordKind::Image => return Ok(true),
                RecordKind::Delta => (RecordKind::Image, Some(page.into())),
                RecordKind::Tail => (RecordKind::Delta, sizes.delta_of(page)),
            };
            match lba.and_then(|lba| there.get(&(lba, row.other))) {
                Some(found) => row = *found,
                None => return Ok(self.sum_before(page, parent)? == Some(row.other)),
            }
        }
    }

    /// The sum of a page's record in the checkpoint.
    fn sum_before(&self, page: u32, kind: RecordKind) -> Result<Option<u32>, StoreError> {
        if self.engine.core.layout.check_lba(page).is_err() {
            return Ok(None);
        }
        let mapped = self.engine.loader.mapped(self.engine.core.state()?, page)?;
        let sum = mapped.place_of(kind).map(|(_, sum)| sum);
        drop(mapped);
        self.engine.loader.drop_clean_leaves()?;
        Ok(sum)
    }
}
