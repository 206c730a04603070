//! What was written since the checkpoint, and how much of it can be trusted.

use frostline_zone::{AlignedBuf, ZoneState};

use super::replay::Recovery;
use crate::chunk::rows_of;
use crate::error::of_zone;
use crate::format::{Head, Kind, PAGE, Row, ZoneRow, head};
use crate::{Loss, StoreError};

/// A zone of the device that may hold pages: one of the table's, or one that was opened since.
pub(super) struct Life {
    pub(super) device_zone: u32,
    pub(super) opening: u64,
    pub(super) class: u32,
    pub(super) opened_at: u32,
    /// Of the table: its row.
    pub(super) row: Option<ZoneRow>,
    /// Number in the volume; of a zone opened since, once it is known which are taken.
    pub(super) zone: u32,
    pub(super) firsts: Vec<u32>,
    /// Pages of the device's zone, headers included.
    pub(super) pages: u32,
    pub(super) used: u32,
    pub(super) valid: i64,
    /// Nothing more can be appended.
    pub(super) ended: bool,
    /// The chunk behind one whose header can't be read.
    pub(super) behind: Option<u64>,
}

/// A chunk that was written after the checkpoint.
pub(super) struct LateChunk {
    pub(super) life: usize,
    pub(super) start: u32,
    pub(super) head: Head,
    pub(super) rows: Vec<Row>,
}

impl Recovery<'_> {
    /// The chunks written since the checkpoint, in every zone that could hold one.
    pub(super) fn late_chunks(&mut self) -> Result<Vec<LateChunk>, StoreError> {
        let mut chunks = Vec::new();
        for life in 0..self.lives.len() {
            if !self.lives[life].ended {
                self.scan_zone(life, &mut chunks)?;
            }
        }
        // What is not known to have been durable may be torn: a page counts if it is whole.
        let known = chunks.iter().map(|c| c.head.b).max().unwrap_or(0).max(self.last_seq);
        self.check_missing(&chunks, known)?;
        for chunk in chunks.iter_mut().filter(|c| c.head.seq > known) {
            self.verify(chunk)?;
        }
        let last = chunks.iter().map(|c| c.head.seq).max().unwrap_or(0);
        self.last_seq = self.last_seq.max(last);
        Ok(chunks)
    }

    /// Finds what was durable and is missing now: notes before those that chunks tell of, and
    /// headers before a chunk up to number `known`.
    fn check_missing(&self, chunks: &[LateChunk], known: u64) -> Result<(), StoreError> {
        let damaged = |zone, page, why: &str| StoreError::Damaged { zone, page, why: why.into() };
        let found = self.notes.last().map_or(self.head.next_serial, |note| note.serial + 1) as u32;
        let before = |c: &&LateChunk| (c.head.sum.wrapping_sub(found) as i32) > 0;
        if let Some(chunk) = chunks.iter().find(before) {
            let why = "notes of zones or trims that were durable before this chunk are missing";
            return Err(damaged(chunk.head.zone, chunk.head.page, why));
        }
        match self.lives.iter().find(|life| life.behind.is_some_and(|seq| seq <= known)) {
            None => Ok(()),
            Some(life) => {
                let why = "the header of a chunk is damaged, and what its pages are is not known";
                Err(damaged(life.device_zone, life.pages, why))
            }
        }
    }

    /// The number of the chunk behind one whose header can't be read, if there is one.
    fn chunk_behind(&self, life: &Life, written: u32) -> Result<Option<u64>, StoreError> {
        let mut bytes = AlignedBuf::zeroed(PAGE);
        let end = written.min(life.pages + 2 + self.inner.layout.fixed.chunk_pages);
        for page in life.pages + 1..end {
            let at = u64::from(page) * PAGE as u64;
            let read = of_zone(self.inner.device.read(life.device_zone, at, &mut bytes))?;
            let ours = |h: &Head| {
                let place = (self.inner.store, life.device_zone, page, life.opening);
                h.kind == Kind::Chunk as u32 && (h.store, h.zone, h.page, h.a) == place
            };
            if let Some(head) = read.ok().and_then(|()| head(&bytes)).filter(ours) {
                return Ok(Some(head.seq));
            }
        }
        Ok(None)
    }

    fn scan_zone(&mut self, index: usize, chunks: &mut Vec<LateChunk>) -> Result<(), StoreError> {
        let fixed = self.inner.layout.fixed;
        let life = &mut self.lives[index];
        let info = self.info[life.device_zone as usize];
        let written = (info.write_pointer / PAGE as u64) as u32;
        let mut page = AlignedBuf::zeroed(PAGE);
        if info.state == ZoneState::Offline {
            life.ended = true;
            return Ok(());
        }
        while life.pages < written {
            let at = u64::from(life.pages) * PAGE as u64;
            let read = of_zone(self.inner.device.read(life.device_zone, at, &mut page))?;
            if let Err(error) = &read {
                let what = format!("can't be read: {error}");
                self.missing.push(Loss::new(life.device_zone, what));
            }
            let ours = |h: &Head| {
                h.kind == Kind::Chunk as u32
                    && (h.store, h.zone, h.page) == (self.inner.store, life.device_zone, life.pages)
                    && (h.a, h.first) == (life.opening, life.used)
                    && (1..=fixed.chunk_pages).contains(&h.count)
                    && h.count <= fixed.zone_pages - life.used
            };
            let Some(head) = read.ok().and_then(|()| head(&page)).filter(ours) else { break };
            let (mut rows, _) = rows_of(&head, &page, fixed.hotness == 1);
            rows.truncate((written - life.pages - 1) as usize);
            rows.retain(|row| u64::from(row.lba) < fixed.logical_pages);
            chunks.push(LateChunk { life: index, start: life.pages, head, rows });
            life.firsts.push(head.first);
            life.pages += 1 + head.count;
            life.used += head.count;
        }
        let behind = self.chunk_behind(&self.lives[index], written)?;
        let life = &mut self.lives[index];
        life.behind = behind;
        let even = info.write_pointer == u64::from(life.pages) * PAGE as u64;
        let room = fixed.device_pages.saturating_sub(life.pages) >= 2;
        let more = info.state.is_writable() && even && room && life.used < fixed.zone_pages;
        life.ended = !more;
        Ok(())
    }

    /// Leaves only those rows of a chunk whose pages are whole.
    fn verify(&mut self, chunk: &mut LateChunk) -> Result<(), StoreError> {
        let zone = self.lives[chunk.life].device_zone;
        let mut bytes = AlignedBuf::zeroed(chunk.rows.len() * PAGE);
        let at = u64::from(chunk.start + 1) * PAGE as u64;
        match of_zone(self.inner.device.read(zone, at, &mut bytes))? {
            Err(error) => {
                chunk.rows.clear();
                self.missing.push(Loss::new(zone, format!("can't be read: {error}")));
            }
            Ok(()) => {
                for (row, page) in chunk.rows.iter_mut().zip(bytes.chunks_exact(PAGE)) {
                    if crc32c::crc32c(page) != row.sum {
                        row.lba = u32::MAX;
                    }
                }
            }
        }
        Ok(())
    }
}
