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

impl Life {
    /// A zone that no table tells of.
    pub(super) fn opened(
        device_zone: u32,
        zone: u32,
        opening: u64,
        class: u32,
        opened_at: u32,
    ) -> Life {
        Life {
            device_zone,
            opening,
            class,
            opened_at,
            row: None,
            zone,
            firsts: Vec::new(),
            pages: 0,
            used: 0,
            valid: 0,
            ended: false,
            behind: None,
        }
    }
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
        if self.salvage.is_none() {
            self.check_missing(&chunks, known)?;
        }
        let damaged = self.salvage.as_ref().map(|s| s.damaged.clone()).unwrap_or_default();
        let unsure = |c: &&mut LateChunk| c.head.seq > known || damaged.contains(&c.life);
        for chunk in chunks.iter_mut().filter(unsure) {
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

    /// The first chunk behind one whose header can't be read, if there is one: its page and head.
    /// Usually it is near; headers of a zone that is to be salvaged may be damaged one after
    /// another.
    fn chunk_behind(&self, life: &Life, written: u32) -> Result<Option<(u32, Head)>, StoreError> {
        let mut bytes = AlignedBuf::zeroed(PAGE);
        let near = life.pages + 2 + self.inner.layout.fixed.chunk_pages;
        let end = if self.salvage.is_some() { written } else { written.min(near) };
        for page in life.pages + 1..end {
            let at = u64::from(page) * PAGE as u64;
            let read = of_zone(self.inner.device.read(life.device_zone, at, &mut bytes))?;
            let ours = |h: &Head| {
                let place = (self.inner.store, life.device_zone, page, life.opening);
                h.kind == Kind::Chunk as u32 && (h.store, h.zone, h.page, h.a) == place
            };
            if let Some(head) = read.ok().and_then(|()| head(&bytes)).filter(ours) {
                return Ok(Some((page, head)));
            }
        }
        Ok(None)
    }

    fn scan_zone(&mut self, index: usize, chunks: &mut Vec<LateChunk>) -> Result<(), StoreError> {
        let fixed = self.inner.layout.fixed;
        let info = self.info[self.lives[index].device_zone as usize];
        let written = (info.write_pointer / PAGE as u64) as u32;
        if info.state == ZoneState::Offline {
            self.lives[index].ended = true;
            return Ok(());
        }
        loop {
            self.scan_chunks(index, written, chunks)?;
            let behind = self.chunk_behind(&self.lives[index], written)?;
            match behind {
                Some((page, head)) if self.pass_over(index, page, &head) => {}
                _ => {
                    self.lives[index].behind = behind.map(|(_, head)| head.seq);
                    break;
                }
            }
        }
        let life = &mut self.lives[index];
        let even = info.write_pointer == u64::from(life.pages) * PAGE as u64;
        let room = fixed.device_pages.saturating_sub(life.pages) >= 2;
        let more = info.state.is_writable() && even && room && life.used < fixed.zone_pages;
        life.ended = !more;
        Ok(())
    }

    /// Takes the chunks of a zone, up to the first one whose header can't be read.
    fn scan_chunks(
        &mut self,
        index: usize,
        written: u32,
        chunks: &mut Vec<LateChunk>,
    ) -> Result<(), StoreError> {
        let fixed = self.inner.layout.fixed;
        let life = &mut self.lives[index];
        let mut page = AlignedBuf::zeroed(PAGE);
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
            chunks.push(LateChunk { life: index, start: life.pages, head, rows });
            life.firsts.push(head.first);
            life.pages += 1 + head.count;
            life.used += head.count;
        }
        Ok(())
    }

    /// Goes on behind damaged headers of a zone that is to be salvaged. Behind them the place of a
    /// chunk tells how many there are: its page is the number of its first page and of the headers
    /// before it.
    fn pass_over(&mut self, index: usize, page: u32, next: &Head) -> bool {
        let (life, Some(salvage)) = (&mut self.lives[index], &mut self.salvage) else {
            return false;
        };
        let headers = page.saturating_sub(next.first) as usize;
        let fixed = &self.inner.layout.fixed;
        let later = next.first >= life.used && headers > life.firsts.len();
        if !later || next.first >= fixed.zone_pages {
            return false;
        }
        let unknown = next.first - life.used;
        let what = format!("has a damaged header in page {}, of {unknown} pages", life.pages);
        self.missing.push(Loss::new(life.device_zone, what));
        life.firsts.resize(headers, life.used);
        (life.pages, life.used) = (page, next.first);
        salvage.damaged.insert(index);
        true
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
