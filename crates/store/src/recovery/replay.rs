//! Of each page the newest state, and where that leaves the zones.

use std::collections::{BTreeMap, BTreeSet};

use frostline_log::Slot;
use frostline_zone::{ZoneInfo, ZoneState};

use super::late::{LateChunk, Life};
use super::log::Table;
use crate::format::{Note, OPENED, PAGE, TRIMMED, TableHead};
use crate::inner::Inner;
use crate::state::Written;
use crate::{Loss, StoreError};

/// What recovery found out about a page.
#[derive(Clone, Copy)]
struct Latest {
    time: u64,
    /// Of equal time, a relocation is the later one, and a trim after all.
    seq: u64,
    /// Index of the life and offset; none if the page was trimmed.
    to: Option<(usize, u32)>,
    sum: u32,
}

pub(super) struct Recovery<'a> {
    pub(super) inner: &'a Inner,
    pub(super) head: TableHead,
    pub(super) info: Vec<ZoneInfo>,
    pub(super) notes: Vec<Note>,
    pub(super) lives: Vec<Life>,
    latest: BTreeMap<u32, Latest>,
    pub(super) time: u64,
    pub(super) last_seq: u64,
    pub(super) found: Written,
    /// Synced pages that are missing.
    pub(super) missing: Vec<Loss>,
    /// Set if there is no table, and zones are read past damaged headers.
    pub(super) salvage: Option<Salvage>,
}

/// What is found out of zones that no table tells of.
#[derive(Default)]
pub(super) struct Salvage {
    /// Lives with damaged headers: none of their pages is trusted unread.
    pub(super) damaged: BTreeSet<usize>,
    /// The largest LBA, if it lies beyond the store.
    pub(super) beyond: Option<u32>,
}

impl<'a> Recovery<'a> {
    pub(super) fn new(
        inner: &'a Inner,
        table: Table,
        notes: Vec<Note>,
    ) -> Result<Self, StoreError> {
        let info = inner.device.report(0, inner.device.geometry().zones)?;
        let mut lives = Vec::new();
        let mut at = 0;
        for row in table.zones {
            let end = at + row.chunks as usize;
            lives.push(Life {
                device_zone: row.device_zone,
                opening: row.opening,
                class: row.class,
                opened_at: row.opened_at,
                zone: row.zone,
                firsts: table.chunks[at..end].to_vec(),
                pages: row.pages,
                used: row.used,
                valid: i64::from(row.used) - i64::from(row.garbage),
                ended: row.sealed != 0,
                behind: None,
                row: Some(row),
            });
            at = end;
        }
        let (time, last_seq) = (table.head.time, table.head.next_seq.saturating_sub(1));
        let found = Written::default();
        let (head, latest, missing) = (table.head, BTreeMap::new(), Vec::new());
        let salvage = None;
        Ok(Recovery {
            inner,
            head,
            info,
            notes,
            lives,
            latest,
            time,
            last_seq,
            found,
            missing,
            salvage,
        })
    }

    /// Finds out what the store is, in memory only. True if anything had happened since the
    /// checkpoint.
    pub(super) fn find_out(&mut self) -> Result<bool, StoreError> {
        self.add_opened();
        let chunks = self.late_chunks()?;
        let changed = !chunks.is_empty() || !self.notes.is_empty();
        self.replay(chunks)?;
        self.count_old()?;
        let mut lost = self.settle_lives();
        self.number_lives();
        self.point_pages()?;
        if !lost.is_empty() {
            self.lose_pages(&mut lost)?;
            self.missing.extend(lost.into_values());
        }
        Ok(changed)
    }

    /// Adds the zones that were opened since the checkpoint.
    fn add_opened(&mut self) {
        let data = &self.inner.layout.data;
        let opened: Vec<Note> = self.notes.iter().filter(|n| n.tag == OPENED).copied().collect();
        for note in opened.iter().filter(|n| data.contains(&n.device_zone)) {
            let Note { device_zone, target, opening, class, time, .. } = *note;
            self.lives.push(Life::opened(device_zone, target, opening, class, time as u32));
        }
    }

    /// Finds the newest state of every page that was written, copied or trimmed.
    fn replay(&mut self, chunks: Vec<LateChunk>) -> Result<(), StoreError> {
        let mut trims = Vec::new();
        for note in self.notes.iter().filter(|n| n.tag == TRIMMED) {
            trims.push((note.target, Latest { time: note.time, seq: u64::MAX, to: None, sum: 0 }));
        }
        for chunk in chunks {
            self.found.headers += 1;
            for (offset, row) in (chunk.head.first..).zip(chunk.rows) {
                self.time = self.time.max(row.time);
                match row.time > self.head.time {
                    true => self.found.user += 1,
                    false => self.found.relocations += 1,
                }
                let to = Some((chunk.life, offset));
                let seq = chunk.head.seq;
                self.take(row.lba, Latest { time: row.time, seq, to, sum: row.sum });
            }
        }
        for (lba, trim) in trims {
            self.time = self.time.max(trim.time);
            self.take(lba, trim);
        }
        self.latest.remove(&u32::MAX);
        Ok(())
    }

    fn take(&mut self, lba: u32, found: Latest) {
        let latest = self.latest.entry(lba).or_insert(found);
        if (found.time, found.seq) > (latest.time, latest.seq) {
            *latest = found;
        }
    }

    /// Counts the pages of the table's zones that have a newer state as garbage there.
    fn count_old(&mut self) -> Result<(), StoreError> {
        let by_zone: BTreeMap<u32, usize> = self
            .lives
            .iter()
            .enumerate()
            .filter(|(_, life)| life.row.is_some())
            .map(|(index, life)| (life.zone, index))
            .collect();
        let pages: Vec<u32> = self.latest.keys().copied().collect();
        for lba in pages {
            if u64::from(lba) >= self.inner.layout.fixed.logical_pages {
                self.latest.remove(&lba);
                if let Some(salvage) = &mut self.salvage {
                    salvage.beyond = salvage.beyond.max(Some(lba));
                }
                continue;
            }
            let state = self.inner.with_leaf(self.inner.state()?, lba)?;
            let old = state.placer.find(lba).map(|(slot, _)| slot.zone);
            drop(state);
            if let Some(&index) = old.and_then(|zone| by_zone.get(&zone)) {
                self.lives[index].valid -= 1;
            }
            self.inner.drop_clean_leaves()?;
        }
        for (index, _) in self.latest.values().filter_map(|latest| latest.to) {
            self.lives[index].valid += 1;
        }
        Ok(())
    }

    /// Drops lives that hold nothing any more. Returns zones of the table whose pages are gone.
    fn settle_lives(&mut self) -> BTreeMap<u32, Loss> {
        let mut lost = BTreeMap::new();
        let holders: BTreeMap<u32, u64> = self
            .lives
            .iter()
            .filter(|life| !life.firsts.is_empty())
            .map(|life| (life.device_zone, life.opening))
            .collect();
        for life in &mut self.lives {
            let info = self.info[life.device_zone as usize];
            let written = info.write_pointer / PAGE as u64;
            // Of what came later a crash may have torn the end.
            let durable = life.row.map_or(0, |row| u64::from(row.pages));
            // A later opening that left chunks has the zone now.
            let newer = holders.get(&life.device_zone).is_some_and(|&o| o > life.opening);
            let gone = match info.state {
                ZoneState::Offline => "is offline".to_string(),
                _ if written < durable => format!("ends at page {written} of {durable}"),
                _ if newer => "was written anew".to_string(),
                _ => continue,
            };
            if life.valid > 0 && life.row.is_some() {
                lost.insert(life.zone, Loss::new(life.device_zone, gone));
            } else if info.state == ZoneState::Offline && life.row.is_none_or(|r| r.sealed == 0) {
                let what = format!("{gone}, and may hold what came after the last checkpoint");
                self.missing.push(Loss::new(life.device_zone, what));
            }
            life.valid = life.valid.min(0);
        }
        lost
    }

    /// Gives zones opened since the checkpoint a number that no other life has.
    fn number_lives(&mut self) {
        let live = |life: &&Life| life.valid > 0;
        let mut taken = vec![false; self.inner.layout.data.len() + 1];
        taken[0] = true;
        let of_table = |life: &&Life| life.row.is_some();
        self.lives.iter().filter(live).filter(of_table).for_each(|l| taken[l.zone as usize] = true);
        for life in self.lives.iter_mut().filter(|l| l.valid > 0 && l.row.is_none()) {
            let own = taken.get(life.zone as usize).is_some_and(|taken| !taken);
            let free = taken.iter().position(|taken| !taken).unwrap_or(0) as u32;
            life.zone = if own { life.zone } else { free };
            taken[life.zone as usize] = true;
        }
    }

    /// Points the map to the newest copies.
    fn point_pages(&mut self) -> Result<(), StoreError> {
        for (&lba, latest) in &self.latest {
            let mut state = self.inner.with_leaf(self.inner.state()?, lba)?;
            let to = latest
                .to
                .map(|(index, offset)| (Slot { zone: self.lives[index].zone, offset }, latest.sum));
            state.placer.point(lba, to);
            drop(state);
            self.inner.drop_clean_leaves()?;
        }
        Ok(())
    }

    /// Marks the pages that lay in zones which are gone, and which no newer copy was found of.
    fn lose_pages(&mut self, zones: &mut BTreeMap<u32, Loss>) -> Result<(), StoreError> {
        for leaf in 0..self.inner.layout.leaves() {
            let first = leaf * crate::leaves::LEAF as u32;
            let mut state = self.inner.with_leaf(self.inner.state()?, first)?;
            for (lba, slot) in state.placer.slots(leaf) {
                if let Some(loss) = zones.get_mut(&slot.zone)
                    && !self.latest.contains_key(&lba)
                {
                    loss.add(lba);
                    state.placer.lose(lba);
                }
            }
            drop(state);
            self.inner.drop_clean_leaves()?;
        }
        Ok(())
    }
}
