//! Cleaning: the valid pages of a victim are copied, and its zone is reset once the copies are
//! durable.

use frostline_log::Slot;
use frostline_placement::{Hotness, Pages, Scheme};
use frostline_zone::AlignedBuf;

use crate::StoreError;
use crate::error::of_zone;
use crate::format::{PAGE, Row};
use crate::head::ChunkHead;
use crate::inner::{Guard, Inner};
use crate::map_cache::StoredState;
use crate::zone_pool::DataZone;

/// A page of a victim that was valid when it was looked at.
pub struct Valid {
    /// Its row in the header of its chunk.
    pub row: Row,
    hotness: Hotness,
    slot: Slot,
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
    fn written_zone(&self, zone: u32) -> Result<Guard<'_>, StoreError> {
        let mut state = self.state()?;
        while !state.chunks.is_zone_written(zone) {
            state = self.wait(state)?;
        }
        Ok(state)
    }

    fn clean_zone(&self, zone: u32) -> Result<(), StoreError> {
        let state = self.written_zone(zone)?;
        let victim = state.zones.get(zone).clone();
        let batched = state.volume.scheme().is_batched();
        drop(state);
        // For all pages that are read of this victim, one chunk after the other.
        let mut bytes = AlignedBuf::zeroed(PAGE);
        let mut chunks = Vec::with_capacity(victim.firsts.len());
        for chunk in 0..victim.firsts.len() {
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
        let lbas: Vec<_> = valid.iter().map(|v| v.row.lba).collect();
        let states: Vec<_> = valid.iter().map(|v| v.state).collect();
        let hotness: Vec<_> = valid.iter().filter(|_| known).map(|v| v.hotness).collect();
        let hotness = known.then_some(&hotness[..]);
        let pages = Pages { lbas: &lbas, states: &states, hotness };
        let classes = self.state()?.volume.place_batch(zone, &pages);
        valid.iter_mut().zip(classes).for_each(|(valid, class)| valid.class = class);
        Ok(())
    }

    /// The valid pages of a chunk, from its header alone. None if the header is damaged.
    fn valid_pages(
        &self,
        zone: u32,
        victim: &DataZone,
        chunk: usize,
        page: &mut [u8],
    ) -> Result<Option<Vec<Valid>>, StoreError> {
        let (first, start) = (victim.firsts[chunk], victim.start_of(chunk));
        let at = u64::from(start) * PAGE as u64;
        if of_zone(self.device.read(victim.device_zone, at, page))?.is_err() {
            return Ok(None);
        }
        let found = ChunkHead::at(page, self.store, victim.device_zone, start);
        let ours =
            |(head, _): &(ChunkHead, _)| (head.opening, head.first) == (victim.opening, first);
        let Some((head, body)) = found.filter(ours) else { return Ok(None) };
        let (rows, hotness) = head.rows(body, self.layout.has_hotness());
        let mut state = self.state()?;
        let mut valid = Vec::new();
        for (index, row) in rows.into_iter().enumerate() {
            if row.lba >= self.layout.fixed.logical_pages as u32 {
                return Ok(None);
            }
            let page = self.mapped(state, row.lba)?;
            let slot = Slot { zone, offset: first + index as u32 };
            if page.is_at(slot) {
                let hotness = hotness.as_ref().map(|all| all[index]).unwrap_or_default();
                let page_state = page.page_state();
                valid.push(Valid { row, hotness, slot, state: page_state, class: None });
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
            let mapped = self.mapped(state, page.row.lba)?;
            if mapped.is_at(page.slot) {
                current.push(page);
            }
            state = mapped.into_state();
        }
        drop(state);
        if bytes.len() < current.len() * PAGE {
            *bytes = AlignedBuf::zeroed(current.len() * PAGE);
        }
        let is_read = self.read_valid(victim, &current, bytes)?;
        let mut state = self.state()?;
        let pages = current.iter().zip(bytes.chunks_exact(PAGE)).zip(&is_read);
        for ((valid, page), _) in pages.filter(|(_, is_read)| **is_read) {
            let &Valid { row, hotness, slot, class, .. } = valid;
            let mut mapped = self.mapped(state, row.lba)?;
            mapped.relocate(slot, class, (row, hotness, page))?;
            state = mapped.into_state();
        }
        let outgoing = state.chunks.take_outgoing();
        drop(state);
        self.write_out(outgoing)?;
        self.shrink_map()?;
        Ok(is_read.into_iter().all(|is_read| is_read))
    }

    /// Reads pages of a victim one behind the other into `bytes`, neighbours together. False for
    /// each that is damaged.
    fn read_valid(
        &self,
        victim: &DataZone,
        valid: &[Valid],
        bytes: &mut [u8],
    ) -> Result<Vec<bool>, StoreError> {
        let adjacent = |a: &Valid, b: &Valid| a.slot.offset + 1 == b.slot.offset;
        let mut is_read = Vec::with_capacity(valid.len());
        for run in valid.chunk_by(adjacent) {
            let at = u64::from(victim.page_of(run[0].slot.offset)) * PAGE as u64;
            let bytes = &mut bytes[is_read.len() * PAGE..][..run.len() * PAGE];
            let read = of_zone(self.device.read(victim.device_zone, at, bytes))?;
            for (v, page) in run.iter().zip(bytes.chunks_exact_mut(PAGE)) {
                is_read.push(match &read {
                    Ok(()) => crc32c::crc32c(page) == v.row.sum,
                    // One bad page need not cost its neighbours.
                    Err(_) => {
                        let at = u64::from(victim.page_of(v.slot.offset)) * PAGE as u64;
                        let one = of_zone(self.device.read(victim.device_zone, at, page))?;
                        one.is_ok() && crc32c::crc32c(page) == v.row.sum
                    }
                });
            }
        }
        Ok(is_read)
    }

    /// Resets the zones that wait for it, once the copies of their pages are durable.
    fn reset_pending(&self) -> Result<(), StoreError> {
        let waiting = self.state()?.zones.pending_reset().len();
        self.sync()?;
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
