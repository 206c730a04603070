//! Cleaning: the valid pages of a victim are copied, and its zone is reset once the copies are
//! durable. A page's place in the map is looked up when its header is read, and used again when its
//! copy is placed.

mod merging;
mod rewriting;
mod witness;

use std::ops::Range;
use std::sync::{Arc, Weak};
use std::vec;

use frostline_log::{Extent, scheme_lba};
use frostline_placement::{Hotness, Pages, Scheme};
use frostline_zone::AlignedBuf;

use crate::StoreError;
use crate::engine::buffer::Buffer;
use crate::engine::chunk_writer::ChunkWriter;
use crate::engine::core::{Core, Guard, lock};
use crate::engine::map_loader::MapLoader;
use crate::engine::other_copy::read_verified;
use crate::engine::reader::Reader;
use crate::error::of_zone;
use crate::format::PAGE;
use crate::format::chunk_place::ChunkPlace;
use crate::format::head::ChunkHead;
use crate::format::leaf::StoredState;
use crate::format::records::{Record, Span};
use crate::state::map_cache::Position;
use crate::state::mapped_page::RecordCopy;
use crate::state::zone_pool::DataZone;
use crate::sync::{Mutex, MutexGuard};

/// A page of a victim that was valid when it was looked at.
struct Valid {
    /// Its record, as the header of its chunk describes it.
    record: Record,
    hotness: Hotness,
    at: Extent,
    /// Where the map has it.
    position: Position,
    /// The state that the scheme keeps of it.
    state: StoredState,
    /// The class that the scheme gave it when it saw the whole victim, if it gave one.
    class: Option<u8>,
}

/// A zone that is being cleaned.
pub(crate) struct Victim {
    zone: u32,
    data: DataZone,
    /// The valid pages of its chunks that are to be copied; none of a chunk whose header is
    /// damaged.
    chunks: vec::IntoIter<Option<Vec<Valid>>>,
    /// Memory for what is read of it.
    bytes: AlignedBuf,
    /// True if all could be read so far.
    is_whole: bool,
}

/// Held by the thread that cleans.
pub(crate) struct Cleaning<'a>(#[expect(dead_code, reason = "dropped with it")] MutexGuard<'a, ()>);

/// Cleans zones.
pub(crate) struct Cleaner {
    core: Arc<Core>,
    loader: Arc<MapLoader>,
    reader: Arc<Reader>,
    chunks: Arc<ChunkWriter>,
    one: Mutex<()>,
    /// Buffers that may hold newer pages than the device. Locked after `one`, before the state.
    buffers: Mutex<Vec<Weak<dyn Buffer>>>,
}

impl Cleaner {
    /// The cleaner of a store.
    pub(crate) fn new(
        core: Arc<Core>,
        loader: Arc<MapLoader>,
        reader: Arc<Reader>,
        chunks: Arc<ChunkWriter>,
    ) -> Self {
        let (one, buffers) = (Mutex::new(()), Mutex::new(Vec::new()));
        Cleaner { core, loader, reader, chunks, one, buffers }
    }

    /// Locks cleaning: one thread cleans.
    pub(crate) fn lock(&self) -> Result<Cleaning<'_>, StoreError> {
        lock(&self.one).map(Cleaning)
    }

    /// Chooses the victims of a cleaning; none if there are none.
    pub(crate) fn choose(&self, _: &Cleaning<'_>) -> Result<Vec<u32>, StoreError> {
        self.end_stale_zones()?;
        Ok(self.core.state()?.begin_cleaning())
    }

    /// Ends zones that hardly fill, so that they can be victims. No other thread cleans or resets
    /// them meanwhile.
    fn end_stale_zones(&self) -> Result<(), StoreError> {
        let mut state = self.core.state()?;
        let ended = state.end_stale();
        self.chunks.write_out(state)?;
        ended.into_iter().try_for_each(|zone| self.finish(zone))
    }

    /// Ends the zone that is this one of the device, if it still holds pages, so that it can be
    /// cleaned. Returns its number.
    pub(crate) fn end_zone(
        &self,
        _: &Cleaning<'_>,
        device_zone: u32,
    ) -> Result<Option<u32>, StoreError> {
        let mut state = self.core.state()?;
        let images = state.log().images();
        let zone_of = |zone| state.zones().get(zone).device_zone;
        let found = images.iter().find(|image| zone_of(image.zone) == device_zone);
        let Some(zone) = found.map(|image| image.zone) else { return Ok(None) };
        state.end_zone(zone);
        self.chunks.write_out(state)?;
        self.finish(zone)?;
        Ok(Some(zone))
    }

    /// Finishes a zone that was ended, once it is written.
    fn finish(&self, zone: u32) -> Result<(), StoreError> {
        let device_zone = self.written_zone(zone)?.zones().get(zone).device_zone;
        self.chunks.finish(device_zone)
    }

    /// Waits until all chunks of a zone that is full or was ended are written.
    fn written_zone(&self, zone: u32) -> Result<Guard<'_>, StoreError> {
        let mut state = self.core.state()?;
        while !state.chunks().is_zone_written(zone) {
            state = self.core.wait(state)?;
        }
        Ok(state)
    }

    /// Begins to clean a zone: finds its valid pages, writes newer versions of them where a buffer
    /// has them, and asks the scheme about the others.
    pub(crate) fn open(&self, _: &Cleaning<'_>, zone: u32) -> Result<Victim, StoreError> {
        let state = self.written_zone(zone)?;
        let data = state.zones().get(zone).clone();
        let batched = state.log().scheme().wants().batches;
        drop(state);
        // For all pages that are read of this victim, one chunk after the other.
        let mut bytes = AlignedBuf::zeroed(PAGE);
        let mut chunks = Vec::with_capacity(data.chunks.len());
        // What an append failed with lies elsewhere.
        let end = data.end.get().copied().unwrap_or(u32::MAX);
        for &chunk in data.chunks.iter().take_while(|chunk| chunk.start < end) {
            chunks.push(self.valid_pages(zone, &data, chunk, &mut bytes[..PAGE])?);
        }
        self.rewrite(zone, &mut chunks)?;
        if batched {
            self.place_batch(zone, &mut chunks)?;
        }
        Ok(Victim { zone, data, chunks: chunks.into_iter(), bytes, is_whole: true })
    }

    /// Copies the valid pages of the next chunk; false if there is none.
    pub(crate) fn copy_next(&self, victim: &mut Victim) -> Result<bool, StoreError> {
        let Some(valid) = victim.chunks.next() else { return Ok(false) };
        victim.is_whole &= match valid {
            Some(valid) => self.copy(&victim.data, &valid, &mut victim.bytes)?,
            None => false,
        };
        Ok(true)
    }

    /// Ends the cleaning of a zone: it will be reset, unless a page could not be read.
    pub(crate) fn release(&self, victim: Victim) -> Result<(), StoreError> {
        let Victim { zone, data, is_whole, .. } = victim;
        tracing::debug!(zone = data.device_zone, whole = is_whole, "cleaned");
        if !is_whole {
            self.core.state()?.zone_unreadable(zone);
            return Ok(());
        }
        while self.core.state()?.zones().must_reset() {
            self.reset_pending()?;
        }
        self.core.state()?.zone_cleaned(zone);
        Ok(())
    }

    /// Asks the scheme about all valid pages of a victim at once.
    fn place_batch(&self, zone: u32, chunks: &mut [Option<Vec<Valid>>]) -> Result<(), StoreError> {
        let known = self.core.layout.has_hotness();
        let mut valid: Vec<_> = chunks.iter_mut().flatten().flatten().collect();
        let lbas: Vec<_> = valid.iter().map(|v| scheme_lba(v.record.lba)).collect();
        let states: Vec<_> = valid.iter().map(|v| v.state).collect();
        let hotness: Vec<_> = valid.iter().filter(|_| known).map(|v| v.hotness).collect();
        let hotness = known.then_some(&hotness[..]);
        let pages = Pages { lbas: &lbas, states: &states, hotness, last: &[] };
        let classes = self.core.state()?.place_batch(zone, &pages);
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
            let found = ChunkHead::at(page, self.core.store, zone_of_device, start);
            found.is_some_and(|(head, _)| ours(&head))
        };
        if of_zone(read_verified(&*self.core.device, zone_of_device, at, page, &sound))?.is_err() {
            return Ok(None);
        }
        let found = ChunkHead::at(page, self.core.store, zone_of_device, start);
        let Some((head, body)) = found.filter(|(head, _)| ours(head)) else { return Ok(None) };
        let sizes = self.core.layout.sizes;
        let Some((records, hotness)) = head.records(body, sizes, self.core.layout.has_hotness())
        else {
            return Ok(None);
        };
        let mut state = self.core.state()?;
        let mut valid = Vec::new();
        for (index, (at, &record)) in sizes.extents(zone, first, &records).enumerate() {
            if record.lba >= sizes.lbas(self.core.layout.fixed.logical_pages) {
                return Ok(None);
            }
            let page = self.loader.mapped(state, record.lba)?;
            if page.is_at(at) {
                let hotness = hotness.as_ref().map(|all| all[index]).unwrap_or_default();
                let (position, state) = (page.position(), page.page_state());
                valid.push(Valid { record, hotness, at, position, state, class: None });
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
        valid: &[Valid],
        bytes: &mut AlignedBuf,
    ) -> Result<bool, StoreError> {
        let places = self.read_valid(victim, valid, bytes)?;
        let mut is_whole = true;
        let mut state = self.core.state()?;
        for (valid, place) in valid.iter().zip(places) {
            let &Valid { record, hotness, at: from, position, class, .. } = valid;
            let page = self.loader.mapped_again(state, record.lba, position)?;
            state = match place {
                Some(place) => {
                    let bytes = &bytes[place];
                    self.place(page, &RecordCopy { from, class, record, hotness, bytes })?
                }
                None => {
                    // It may have become garbage since its header was read.
                    is_whole &= !page.is_at(from);
                    page.into_state()
                }
            };
        }
        self.chunks.write_out(state)?;
        Ok(is_whole)
    }

    /// Reads records of a chunk into `bytes`, neighbours together. Returns where each is there,
    /// none for one that is damaged.
    fn read_valid(
        &self,
        victim: &DataZone,
        valid: &[Valid],
        bytes: &mut AlignedBuf,
    ) -> Result<Vec<Option<Range<usize>>>, StoreError> {
        let sizes = self.core.layout.sizes;
        let spans: Vec<Span> = valid.iter().map(|v| victim.span_of(v.at, sizes)).collect();
        let runs: Vec<&[Span]> = spans.chunk_by(|a, b| a.end() >= b.page).collect();
        let pages_of = |run: &[Span]| run.last().map_or(0, Span::end) - run[0].page;
        let pages: u32 = runs.iter().map(|run| pages_of(run)).sum();
        if bytes.len() < pages as usize * PAGE {
            *bytes = AlignedBuf::zeroed(pages as usize * PAGE);
        }
        let read = |page: u32, into: &mut [u8]| {
            of_zone(self.core.device.read(victim.device_zone, u64::from(page) * PAGE as u64, into))
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
                        || self.reader.repair_record(zone, *span, sum, record)?);
                places.push(sound.then_some(place));
            }
            begin = end;
        }
        assert_eq!(places.len(), valid.len(), "each record has a place, or can't be read");
        Ok(places)
    }

    /// Resets the zones that wait for it, once the copies of their pages are durable.
    pub(crate) fn reset_pending(&self) -> Result<(), StoreError> {
        let waiting = self.core.state()?.zones().pending_reset().len();
        self.chunks.sync_for_resets()?;
        for _ in 0..waiting {
            let mut state = self.core.state()?;
            // Readers do not tell when they are done: they are, in a moment.
            while state.zones().next_reset().is_some_and(|(_, is_read)| is_read) {
                state = self.core.pause(state)?;
            }
            let Some((device_zone, _)) = state.zones().next_reset() else { break };
            assert!(!state.holds_pages(device_zone), "a zone with pages is reset");
            drop(state);
            let reset = of_zone(self.core.device.reset(device_zone))?;
            let mut state = self.core.state()?;
            match reset {
                Ok(()) => state.zone_reset(device_zone),
                Err(_) => state.zone_lost(device_zone),
            }
        }
        self.core.changed();
        Ok(())
    }
}
