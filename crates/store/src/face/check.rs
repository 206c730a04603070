//! The structure of a store, checked: map, zones and headers against each other.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use frostline_log::{Extent, ZoneImage};
use frostline_zone::{AlignedBuf, ZoneState};

use crate::Store;
use crate::StoreError;
use crate::engine::Engine;
use crate::face::finding::Finding;
use crate::format::PAGE;
use crate::format::chunk_place::ChunkPlace;
use crate::format::head::{ChunkHead, Head};
use crate::format::records::Record;
use crate::state::room::ChangeUnits;
use crate::state::zone_pool::DataZone;

/// The result of [`Store::check`].
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct CheckReport {
    /// Everything that is wrong; empty if the store is sound.
    pub findings: Vec<Finding>,
    /// Leaves of the map that were read.
    pub leaves: u64,
    /// Zones that hold pages.
    pub zones: u64,
    /// Headers that were read in them.
    pub chunks: u64,
    /// Valid pages, by the map.
    pub pages: u64,
}

impl Store {
    /// Checks the structure: that every leaf of the map is what was written, that every page lies
    /// where a header says so and no two in one slot, and that zones count what the map holds.
    /// Contents are [`Store::scrub`]'s to read. Cleaning waits meanwhile. Leaves are read one by
    /// one. Memory is one bit for each slot of the zones that hold pages, and the place of each
    /// chunk with a sum of 8 bytes; of zones with more than 8 billion slots some are checked after
    /// the others, and the leaves read once more for these.
    ///
    /// # Errors
    /// A device or a store that no longer works at all. Damage is no error, but a [`Finding`].
    pub fn check(&mut self) -> Result<CheckReport, StoreError> {
        // Cleaning is over before what it wrote is made durable: it may run in the background.
        let _cleaning = self.engine.cleaner.lock()?;
        self.engine.chunks.sync()?;
        let mut check = Check::new(&self.engine)?;
        check.report.findings.extend(self.missing().iter().map(Finding::of_loss));
        for (pass, zones) in passes(&check.images, MOST_BITS).into_iter().enumerate() {
            check.begin(zones)?;
            let mut next = 0;
            while let Some(leaf) = self.engine.loader.next_leaf(next)? {
                check.check_leaf(leaf, pass == 0)?;
                next = leaf + 1;
            }
            (0..check.live.len()).try_for_each(|zone| check.check_zone(zone))?;
        }
        check.check_totals()?;
        Ok(check.report)
    }
}

/// Slots of the zones that are checked in one pass, at most: with a bit for each, 1 GiB.
const MOST_BITS: u64 = 1 << 33;

/// The zones of each pass, of which there is one at least.
fn passes(images: &[ZoneImage], most: u64) -> Vec<Vec<ZoneImage>> {
    let (mut passes, mut bits) = (vec![Vec::new()], 0);
    for image in images {
        let used = u64::from(image.used);
        match passes.last_mut() {
            Some(last) if last.is_empty() || bits + used <= most => last.push(*image),
            _ => {
                passes.push(vec![*image]);
                bits = 0;
            }
        }
        bits += used;
    }
    passes
}

/// A zone that holds pages.
struct Live {
    zone: DataZone,
    image: ZoneImage,
    /// Pages of the device's zone that were written.
    end: u32,
    /// Slots that the map has in it.
    valid: u32,
    /// A bit for each of its slots: 1 if the map names it.
    mapped: Vec<u64>,
    /// Of each chunk the sum of what the map has there: see [`mix`].
    sums: Vec<u64>,
}

impl Live {
    /// The words and bits of the slots of a record, as far as the zone has them.
    fn bits(&self, place: Extent) -> impl Iterator<Item = (usize, u64)> + use<> {
        let first = place.slot.offset as usize;
        let last = (first + place.units as usize).min(64 * self.mapped.len());
        (first..last).map(|at| (at / 64, 1 << (at % 64)))
    }

    /// True if the map has a record in one of these slots.
    fn is_mapped(&self, place: Extent) -> bool {
        self.bits(place).any(|(word, bit)| self.mapped[word] & bit != 0)
    }
}

/// A number that stands for a record and its place. The sums of those that a chunk's header names
/// and of those that the map has there are equal: so the map need not be asked about each.
fn mix(lba: u64, place: Extent, sum: u32) -> u64 {
    let mut hasher = DefaultHasher::new();
    (lba, place, sum).hash(&mut hasher);
    hasher.finish()
}

struct Check<'a> {
    engine: &'a Engine,
    /// All zones that hold pages.
    images: Vec<ZoneImage>,
    /// True for the number in the volume of each of these.
    holds: Vec<bool>,
    /// Those of this pass, by number in the volume.
    live: Vec<Option<Live>>,
    /// Leaves that can't be read.
    unknown: BTreeSet<u32>,
    /// Deltas and tails that the map names.
    deltas: u64,
    /// Units of deltas and tails, by the map.
    changes: ChangeUnits,
    report: CheckReport,
}

impl<'a> Check<'a> {
    fn new(engine: &'a Engine) -> Result<Self, StoreError> {
        let state = engine.core.state()?;
        let (images, mut holds) = (state.log().images(), vec![false; state.zones().len()]);
        drop(state);
        images.iter().for_each(|image| holds[image.zone as usize] = true);
        let (unknown, report) = (BTreeSet::new(), CheckReport::default());
        let changes = ChangeUnits::default();
        let live = Vec::new();
        Ok(Check { engine, images, holds, live, unknown, deltas: 0, changes, report })
    }

    /// Begins a pass over these zones.
    fn begin(&mut self, zones: Vec<ZoneImage>) -> Result<(), StoreError> {
        let state = self.engine.core.state()?;
        self.live = (0..state.zones().len()).map(|_| None).collect();
        for image in zones {
            let zone = state.zones().get(image.zone).clone();
            let end = zone.end.get().copied().unwrap_or(zone.pages);
            let mapped = vec![0; image.used.div_ceil(64) as usize];
            let sums = vec![0; zone.chunks.len()];
            let number = image.zone as usize;
            self.live[number] = Some(Live { zone, image, end, valid: 0, mapped, sums });
        }
        Ok(())
    }

    fn check_leaf(&mut self, leaf: u32, is_first: bool) -> Result<(), StoreError> {
        self.report.leaves += u64::from(is_first);
        match self.records_of_leaf(leaf) {
            Ok(records) => {
                if is_first {
                    self.count_changes(&records);
                }
                records.into_iter().for_each(|record| self.check_place(record, is_first));
            }
            Err(_) if !is_first => {}
            Err(error) => {
                self.unknown.insert(leaf);
                self.report.findings.push(Finding::of_leaf(
                    self.engine.core.layout.leaf,
                    leaf,
                    error,
                )?);
            }
        }
        Ok(())
    }

    /// Counts the units of the deltas and tails of these records.
    fn count_changes(&mut self, records: &[(u64, Extent, u32)]) {
        let layout = &self.engine.core.layout;
        let mut pages: BTreeMap<u32, [u32; 3]> = BTreeMap::new();
        for (lba, place, _) in records.iter().filter(|(_, place, _)| place.slot.zone != 0) {
            let kind = layout.sizes.kind(*lba) as usize;
            pages.entry(layout.sizes.page_of(*lba)).or_default()[kind] = place.units;
        }
        for units in pages.into_values() {
            self.changes.update(ChangeUnits::default(), layout.change_units(units));
        }
    }

    /// The records whose places a leaf has. Of one in memory, what lies on the device is read as
    /// well.
    fn records_of_leaf(&self, leaf: u32) -> Result<Vec<(u64, Extent, u32)>, StoreError> {
        loop {
            let state = self.engine.core.state()?;
            let at = state.map().at(leaf);
            if !state.map().has(leaf) || at.page == 0 {
                break;
            }
            drop(state);
            let read = self.engine.loader.read_leaf(leaf, at);
            // A checkpoint may have written it elsewhere meanwhile.
            match self.engine.core.state()?.map().at(leaf) == at {
                true => break read.map(drop)?,
                false => continue,
            }
        }
        self.engine.loader.records_of_leaf(leaf)
    }

    fn check_place(&mut self, (lba, place, sum): (u64, Extent, u32), is_first: bool) {
        let taken = match is_first {
            true => self.refuse_place(lba, place),
            false => Ok(()),
        };
        if let Err(finding) = taken.and_then(|()| self.take_place(lba, place, sum)) {
            self.report.findings.push(finding);
        }
    }

    /// Refuses a place that no record of the store can have.
    fn refuse_place(&self, lba: u64, place: Extent) -> Result<(), Finding> {
        let layout = &self.engine.core.layout;
        let page = layout.sizes.page_of(lba);
        let wrong =
            |what: &str| Finding { lba: Some(page), what: what.into(), ..Finding::default() };
        if lba >= layout.sizes.lbas(layout.fixed.logical_pages) {
            return Err(wrong("the map holds it, though the store does not reach so far"));
        }
        if place.slot.zone == 0 {
            return Err(wrong("its content was lost when the store was opened after damage"));
        }
        match self.holds.get(place.slot.zone as usize) {
            Some(true) => Ok(()),
            _ => Err(wrong("the map has it in a zone that holds nothing")),
        }
    }

    /// Notes that the map names the slots of a record, if its zone is one of this pass.
    fn take_place(&mut self, lba: u64, place: Extent, sum: u32) -> Result<(), Finding> {
        let layout = &self.engine.core.layout;
        let Some(Some(live)) = self.live.get_mut(place.slot.zone as usize) else { return Ok(()) };
        let page = layout.sizes.page_of(lba);
        let span = live.zone.span_of(place, layout.sizes);
        let wrong = |what| Finding::at(live.zone.device_zone, span.page, Some(page), what);
        let beyond = place.slot.offset + place.units > layout.zone_units();
        if beyond || place.units == 0 || span.end() > live.end {
            return Err(wrong("the map has it where nothing was written"));
        }
        if live.is_mapped(place) {
            return Err(wrong("the map has another LBA in the same slot"));
        }
        for (word, bit) in live.bits(place) {
            live.mapped[word] |= bit;
        }
        live.valid += place.units;
        let first = place.slot.offset / layout.sizes.page_units();
        let chunk = live.zone.chunks.partition_point(|chunk| chunk.first <= first);
        if let Some(of_chunk) = chunk.checked_sub(1).and_then(|chunk| live.sums.get_mut(chunk)) {
            *of_chunk = of_chunk.wrapping_add(mix(lba, place, sum));
        }
        match layout.sizes.is_delta(lba) {
            true => self.deltas += 1,
            false => self.report.pages += 1,
        }
        Ok(())
    }

    fn check_zone(&mut self, number: usize) -> Result<(), StoreError> {
        let Some(live) = self.live[number].take() else { return Ok(()) };
        self.report.zones += 1;
        let zone = live.zone.device_zone;
        let info = self.engine.core.device.zone(zone)?;
        let written = info.write_pointer / PAGE as u64;
        let wrong = |page, what: String| Finding::at(zone, page, None, what);
        if info.state == ZoneState::Offline {
            self.report.findings.push(wrong(0, "it is offline, and its pages are lost".into()));
            return Ok(());
        }
        if written < u64::from(live.end) {
            let what = format!("written up to {written}, of {} pages", live.end);
            self.report.findings.push(wrong(live.end, what));
        }
        for chunk in 0..live.zone.chunks.len() {
            if live.zone.chunks[chunk].start < live.end {
                self.check_chunk(&live, chunk)?;
            }
        }
        let counted = live.image.valid();
        if counted != live.valid && self.unknown.is_empty() {
            let what = format!("{counted} valid slots are counted, the map has {}", live.valid);
            self.report.findings.push(wrong(0, what));
        }
        Ok(())
    }

    /// Checks a chunk's header, and that it names the pages that the map has there.
    fn check_chunk(&mut self, live: &Live, chunk: usize) -> Result<(), StoreError> {
        self.report.chunks += 1;
        let (zone, number) = (live.zone.device_zone, live.image.zone);
        let (first, sizes) = (live.zone.chunks[chunk].first, self.engine.core.layout.sizes);
        let records = match self.records(live, chunk) {
            Ok(records) => records,
            Err(error) => {
                self.report.findings.push(Finding::of(error)?);
                return Ok(());
            }
        };
        let is_mapped = |(place, record): &(Extent, &Record)| {
            let (leaf, _) = self.engine.core.layout.leaf.place_in_leaf(sizes.page_of(record.lba));
            place.slot.offset + place.units <= self.engine.core.layout.zone_units()
                && live.is_mapped(*place)
                && !self.unknown.contains(&leaf)
        };
        let records: Vec<_> = sizes.extents(number, first, &records).filter(is_mapped).collect();
        let sums = records.iter().map(|(place, record)| mix(record.lba, *place, record.sum));
        if sums.fold(0u64, u64::wrapping_add) == live.sums[chunk] {
            return Ok(());
        }
        let before = self.report.findings.len();
        for (place, record) in records {
            let there = record.lba < sizes.lbas(self.engine.core.layout.fixed.logical_pages)
                && self.is_at(record, place)?;
            if !there {
                let page = live.zone.span_of(place, sizes).page;
                let what = "its header names this LBA, the map another, or another sum";
                self.report.findings.push(Finding::at(
                    zone,
                    page,
                    Some(sizes.page_of(record.lba)),
                    what,
                ));
            }
        }
        if self.report.findings.len() == before {
            let what = "the map has records in this chunk that its header does not name";
            let page = live.zone.chunks[chunk].start;
            self.report.findings.push(Finding::at(zone, page, None, what));
        }
        self.engine.upkeep.shrink_map()
    }

    /// True if the map has a record of this sum there.
    fn is_at(&self, record: &Record, place: Extent) -> Result<bool, StoreError> {
        let page = self.engine.loader.mapped(self.engine.core.state()?, record.lba)?;
        Ok(page.place() == Some((place, record.sum)))
    }

    /// The records that a chunk's header names.
    fn records(&self, live: &Live, chunk: usize) -> Result<Vec<Record>, StoreError> {
        let zone = &live.zone;
        let ChunkPlace { first, start, .. } = zone.chunks[chunk];
        let next = zone.chunks.get(chunk + 1).map_or(zone.pages, |next| next.start);
        let mut page = AlignedBuf::zeroed(PAGE);
        self.engine.core.device.read(
            zone.device_zone,
            u64::from(start) * PAGE as u64,
            &mut page,
        )?;
        let damaged = |why: &str| StoreError::Damaged {
            zone: zone.device_zone,
            page: start,
            why: format!("the header of {} pages {why}", next - start - 1),
        };
        if Head::of(&page).is_none() {
            return Err(damaged("is not what was written there"));
        }
        let found = ChunkHead::at(&page, self.engine.core.store, zone.device_zone, start);
        // A crash may have cut the last chunk of a zone that was rebuilt.
        let is_last = next == zone.pages;
        let fits = |pages| pages == next - start - 1 || is_last && pages > next - start - 1;
        let ours = |head: &ChunkHead| {
            (head.opening, head.first) == (zone.opening, first) && fits(head.pages)
        };
        let found = found.filter(|(head, _)| ours(head));
        let sizes = self.engine.core.layout.sizes;
        let records = found.and_then(|(head, body)| head.records(body, sizes, false));
        match records {
            Some((records, _)) => Ok(records),
            None => Err(damaged("is another's, or an older one")),
        }
    }

    fn check_totals(&mut self) -> Result<(), StoreError> {
        let state = self.engine.core.state()?;
        let counted = [
            ("valid pages", state.valid_pages()),
            ("valid deltas", state.valid_deltas()),
            ("units of deltas and tails", state.changes().all as u64),
            ("units of pages beyond whole ones", state.changes().excess as u64),
        ];
        let empty: Vec<_> = state.zones().empty().collect();
        drop(state);
        for zone in empty {
            if self.engine.core.device.zone(zone)?.state != ZoneState::Empty {
                let what = "it is to be written next, but is not empty";
                self.report.findings.push(Finding::at(zone, 0, None, what));
            }
        }
        let ChangeUnits { all, excess } = self.changes;
        let found = [self.report.pages, self.deltas, all as u64, excess as u64];
        for ((kind, valid), found) in counted.into_iter().zip(found) {
            if valid != found && self.unknown.is_empty() {
                let what = format!("{valid} {kind} are counted, the map has {found}");
                self.report.findings.push(Finding { what, ..Finding::default() });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_zone_is_in_one_pass_and_no_pass_of_several_zones_has_more_slots_than_said() {
        let image = |(zone, used)| ZoneImage {
            zone,
            class: 0,
            opened_at: 0,
            sealed_at: None,
            used,
            garbage: 0,
            padding: 0,
            pages: 0,
        };
        let images: Vec<ZoneImage> = (1..).zip([5, 5, 10, 1, 30, 3, 3, 3, 3]).map(image).collect();
        let passes = passes(&images, 10);
        let used = |pass: &Vec<ZoneImage>| pass.iter().map(|image| image.used).sum::<u32>();
        assert_eq!(passes.iter().map(used).collect::<Vec<_>>(), [10, 10, 1, 30, 9, 3]);
        assert_eq!(passes.concat(), images);
        assert_eq!(super::passes(&[], 10), [vec![]]);
    }
}
