//! Cleaning: the valid pages of a victim are copied, and its zone is reset once the copies are
//! durable.

use std::ops::Range;

use frostline_log::{Extent, scheme_lba};
use frostline_placement::{Hotness, Pages, Scheme};
use frostline_zone::AlignedBuf;

use crate::StoreError;
use crate::engine::inner::{Guard, Inner};
use crate::engine::merging::Merging;
use crate::engine::other_copy::read_sound;
use crate::error::of_zone;
use crate::format::PAGE;
use crate::format::chunk_place::ChunkPlace;
use crate::format::head::ChunkHead;
use crate::format::leaf::StoredState;
use crate::format::records::{Record, Span};
use crate::state::mapped_page::RecordCopy;
use crate::state::zone_pool::DataZone;

/// A page of a victim that was valid when it was looked at.
pub struct Valid {
    /// Its record, as the header of its chunk describes it.
    pub record: Record,
    hotness: Hotness,
    at: Extent,
    /// The state that the scheme keeps of it.
    state: StoredState,
    /// The class that the scheme gave it when it saw the whole victim, if it gave one.
    class: Option<u8>,
}

impl Inner {
    /// Cleans once: the victims of one choice. False if there are none.
    pub fn clean(&self) -> Result<bool, StoreError> {
        let _one = self.lock_cleaner()?;
        self.end_stale_zones().inspect_err(|error| self.end_writing(error.clone()))?;
        let mut state = self.state()?;
        let victims = state.begin_cleaning();
        drop(state);
        for &zone in &victims {
            self.clean_zone(zone).inspect_err(|error| self.end_writing(error.clone()))?;
        }
        self.changed.notify_all();
        Ok(!victims.is_empty())
    }

    /// Ends zones that hardly fill, so that they can be victims. No other thread cleans or resets
    /// them meanwhile.
    fn end_stale_zones(&self) -> Result<(), StoreError> {
        let mut state = self.state()?;
        let ended = state.end_stale();
        let outgoing = state.chunks.take_outgoing();
        drop(state);
        self.write_out(outgoing)?;
        for zone in ended {
            let device_zone = self.written_zone(zone)?.zones.get(zone).device_zone;
            self.finish(device_zone)?;
        }
        Ok(())
    }

    /// Waits until all chunks of a zone that is full or was ended are written.
    pub fn written_zone(&self, zone: u32) -> Result<Guard<'_>, StoreError> {
        let mut state = self.state()?;
        while !state.chunks.is_zone_written(zone) {
            state = self.wait(state)?;
        }
        Ok(state)
    }

    pub fn clean_zone(&self, zone: u32) -> Result<(), StoreError> {
        let state = self.written_zone(zone)?;
        let victim = state.zones.get(zone).clone();
        let batched = state.volume.scheme().is_batched();
        drop(state);
        // For all pages that are read of this victim, one chunk after the other.
        let mut bytes = AlignedBuf::zeroed(PAGE);
        let mut chunks = Vec::with_capacity(victim.chunks.len());
        for &chunk in &victim.chunks {
            chunks.push(self.valid_pages(zone, &victim, chunk, &mut bytes[..PAGE])?);
        }
        self.rewrite(zone, &mut chunks)?;
        if batched {
            self.place_batch(zone, &mut chunks)?;
        }
        let mut whole = true;
        for valid in chunks {
            match valid {
                Some(valid) => whole &= self.copy(&victim, valid, &mut bytes)?,
                None => whole = false,
            }
        }
        tracing::debug!(zone = victim.device_zone, whole, "cleaned");
        if !whole {
            self.state()?.zone_unreadable(zone);
            return Ok(());
        }
        while self.state()?.zones.must_reset() {
            self.reset_pending()?;
        }
        self.state()?.zone_cleaned(zone);
        Ok(())
    }

    /// Asks the scheme about all valid pages of a victim at once.
    fn place_batch(&self, zone: u32, chunks: &mut [Option<Vec<Valid>>]) -> Result<(), StoreError> {
        let known = self.layout.has_hotness();
        let mut valid: Vec<_> = chunks.iter_mut().flatten().flatten().collect();
        let lbas: Vec<_> = valid.iter().map(|v| scheme_lba(v.record.lba)).collect();
        let states: Vec<_> = valid.iter().map(|v| v.state).collect();
        let hotness: Vec<_> = valid.iter().filter(|_| known).map(|v| v.hotness).collect();
        let hotness = known.then_some(&hotness[..]);
        let pages = Pages { lbas: &lbas, states: &states, hotness, last: &[] };
        let classes = self.state()?.volume.place_batch(zone, &pages);
        valid.iter_mut().zip(classes).for_each(|(valid, class)| valid.class = class);
        Ok(())
    }

    /// The valid pages of a chunk, from its header alone. None if the header is damaged.
    fn valid_pages(
        &self,
        zone: u32,
        victim: &DataZone,
        ChunkPlace { first, start, .. }: ChunkPlace,
        page: &mut [u8],
    ) -> Result<Option<Vec<Valid>>, StoreError> {
        let (zone_of_device, at) = (victim.device_zone, u64::from(start) * PAGE as u64);
        let ours = |head: &ChunkHead| (head.opening, head.first) == (victim.opening, first);
        let sound = |page: &[u8]| {
            let found = ChunkHead::at(page, self.store, zone_of_device, start);
            found.is_some_and(|(head, _)| ours(&head))
        };
        if of_zone(read_sound(&*self.device, zone_of_device, at, page, &sound))?.is_err() {
            return Ok(None);
        }
        let found = ChunkHead::at(page, self.store, zone_of_device, start);
        let Some((head, body)) = found.filter(|(head, _)| ours(head)) else { return Ok(None) };
        let sizes = self.layout.sizes;
        let Some((records, hotness)) = head.records(body, sizes, self.layout.has_hotness()) else {
            return Ok(None);
        };
        let mut state = self.state()?;
        let mut valid = Vec::new();
        for (index, (at, &record)) in sizes.extents(zone, first, &records).enumerate() {
            if record.lba >= sizes.lbas(self.layout.fixed.logical_pages) {
                return Ok(None);
            }
            let page = self.mapped(state, record.lba)?;
            if page.is_at(at) {
                let hotness = hotness.as_ref().map(|all| all[index]).unwrap_or_default();
                let page_state = page.page_state();
                valid.push(Valid { record, hotness, at, state: page_state, class: None });
            }
            state = page.into_state();
        }
        Ok(Some(valid))
    }

    /// Copies the pages that are still valid; false if one can't be read. `bytes` takes what is
    /// read, and grows if need be.
    fn copy(
        &self,
        victim: &DataZone,
        valid: Vec<Valid>,
        bytes: &mut AlignedBuf,
    ) -> Result<bool, StoreError> {
        let mut state = self.state()?;
        let mut current = Vec::with_capacity(valid.len());
        for page in valid {
            let mapped = self.mapped(state, page.record.lba)?;
            if mapped.is_at(page.at) {
                current.push(page);
            }
            state = mapped.into_state();
        }
        drop(state);
        let places = self.read_valid(victim, &current, bytes)?;
        let mut state = self.state()?;
        for (valid, place) in current.iter().zip(&places) {
            let Some(place) = place else { continue };
            let &Valid { record, hotness, at: from, class, .. } = valid;
            let copy = RecordCopy { from, class, record, hotness, bytes: &bytes[place.clone()] };
            state = match self.merge(state, &copy)? {
                Merging::Done(state) => state,
                Merging::None(state) => {
                    let mut mapped = self.mapped(state, record.lba)?;
                    mapped.relocate(&copy)?;
                    mapped.into_state()
                }
            };
        }
        let outgoing = state.chunks.take_outgoing();
        drop(state);
        self.write_out(outgoing)?;
        self.shrink_map()?;
        Ok(places.iter().all(Option::is_some))
    }

    /// Reads records of a chunk into `bytes`, neighbours together. Returns where each is there, none for
    /// one that is damaged.
    fn read_valid(
        &self,
        victim: &DataZone,
        valid: &[Valid],
        bytes: &mut AlignedBuf,
    ) -> Result<Vec<Option<Range<usize>>>, StoreError> {
        let sizes = self.layout.sizes;
        let spans: Vec<Span> = valid.iter().map(|v| victim.span_of(v.at, sizes)).collect();
        let runs: Vec<&[Span]> = spans.chunk_by(|a, b| a.end() >= b.page).collect();
        let pages_of = |run: &[Span]| run.last().map_or(0, Span::end) - run[0].page;
        let pages: u32 = runs.iter().map(|run| pages_of(run)).sum();
        if bytes.len() < pages as usize * PAGE {
            *bytes = AlignedBuf::zeroed(pages as usize * PAGE);
        }
        let read = |page: u32, into: &mut [u8]| {
            of_zone(self.device.read(victim.device_zone, u64::from(page) * PAGE as u64, into))
        };
        let (mut places, mut begin) = (Vec::with_capacity(valid.len()), 0);
        for run in runs {
            let end = begin + pages_of(run) as usize * PAGE;
            let together = read(run[0].page, &mut bytes[begin..end])?;
            for span in run {
                let first = begin + (span.page - run[0].page) as usize * PAGE;
                // One bad page need not cost its neighbours.
                let alone = match &together {
                    Ok(()) => Ok(()),
                    Err(_) => read(span.page, &mut bytes[first..first + span.pages() * PAGE])?,
                };
                let place = first + span.skip..first + span.skip + span.bytes;
                let (sum, zone) = (valid[places.len()].record.sum, victim.device_zone);
                let record = &mut bytes[place.clone()];
                let sound = alone.is_ok()
                    && (crc32c::crc32c(record) == sum
                        || self.repair_record(zone, *span, sum, record)?);
                places.push(sound.then_some(place));
            }
            begin = end;
        }
        Ok(places)
    }

    /// Resets the zones that wait for it, once the copies of their pages are durable.
    pub fn reset_pending(&self) -> Result<(), StoreError> {
        let waiting = self.state()?.zones.pending_reset().len();
        self.sync_for_resets()?;
        for _ in 0..waiting {
            let mut state = self.state()?;
            // Readers do not tell when they are done: they are, in a moment.
            while state.zones.next_reset().is_some_and(|(_, is_read)| is_read) {
                state = self.pause(state)?;
            }
            let Some((device_zone, _)) = state.zones.next_reset() else { break };
            drop(state);
            let reset = of_zone(self.device.reset(device_zone))?;
            let mut state = self.state()?;
            match reset {
                Ok(()) => state.zone_reset(device_zone),
                Err(_) => state.zone_lost(device_zone),
            }
        }
        self.changed.notify_all();
        Ok(())
    }
}
