//! The steps of a recovery, in order.

use std::collections::{BTreeMap, BTreeSet};

use frostline_zone::ZoneInfo;

use super::log::Table;
use super::newest::Latest;
use super::zone_epoch::ZoneEpoch;
use crate::engine::Engine;
use crate::format::chunk_place::ChunkPlace;
use crate::format::records::RecordKind;
use crate::format::{Note, TableHead, UnitCounts};
use crate::state::room::ChangeUnits;
use crate::state::written::Written;
use crate::{Durable, Loss, StoreError};

/// The state of a recovery.
pub(super) struct Recovery<'a> {
    pub(super) engine: &'a Engine,
    pub(super) head: TableHead,
    pub(super) info: Vec<ZoneInfo>,
    pub(super) notes: Vec<Note>,
    /// The chunks and notes that were durable, as notes and the engine tell.
    pub(super) durable: Durable,
    /// Pages of which a copy was found that a crash tore, or of a group that it cut short.
    pub(super) dropped: Vec<u64>,
    pub(super) epochs: Vec<ZoneEpoch>,
    /// Of pages that changed since the checkpoint the newest records that did, by page and kind.
    pub(super) latest: Vec<(u32, RecordKind, Latest)>,
    /// Valid records: pages, deltas and tails.
    pub(super) valid: i64,
    /// Of these, deltas and tails.
    pub(super) deltas: i64,
    /// Units of deltas and tails.
    pub(super) changes: ChangeUnits,
    /// Written before the checkpoint.
    pub(super) before: Written,
    pub(super) time: u64,
    pub(super) last_seq: u64,
    /// The engines' marks, as the table and headers have them.
    pub(super) marks: BTreeMap<u32, u64>,
    pub(super) found: Written,
    /// Synced pages that are missing.
    pub(super) missing: Vec<Loss>,
    /// Set if there is no table, and zones are read past damaged headers.
    pub(super) salvage: Option<Salvage>,
}

/// Findings about zones that are in no table.
#[derive(Default)]
pub(super) struct Salvage {
    /// Epochs with damaged headers: none of their pages is trusted unread.
    pub(super) damaged: BTreeSet<usize>,
    /// The largest LBA, if it lies beyond the store.
    pub(super) beyond: Option<u32>,
    /// Chunks up to this number, of which no late chunk and no note may tell, were durable, or
    /// recovery found what a crash left of them.
    pub(super) known: u64,
    /// Zones of the device, and up to which number chunks in them are not needed.
    pub(super) unneeded: BTreeMap<u32, u64>,
    /// Places whose headers can't be read.
    pub(super) gaps: Vec<Gap>,
    /// Zones of those that held nothing that is known to have been durable.
    pub(super) torn: BTreeSet<u32>,
}

/// Pages of a zone whose headers can't be read.
pub(super) struct Gap {
    /// The loss, if a chunk that was durable lay there.
    pub(super) loss: Loss,
    /// Chunks that lay there and are needed have numbers above this one.
    pub(super) after: u64,
}

impl<'a> Recovery<'a> {
    pub(super) fn new(
        engine: &'a Engine,
        table: Table,
        notes: Vec<Note>,
        durable: Durable,
    ) -> Result<Self, StoreError> {
        let info = engine.core.device.report(0, engine.core.device.geometry().zones)?;
        let sizes = engine.core.layout.sizes;
        let before = table.written(sizes);
        let marks = table.marks.iter().map(|mark| (mark.slot, mark.value)).collect();
        let mut epochs = Vec::new();
        let mut at = 0;
        for row in table.zones {
            let end = at + row.chunks as usize;
            epochs.push(ZoneEpoch {
                device_zone: row.device_zone,
                opening: row.opening,
                class: row.class,
                opened_at: row.opened_at,
                zone: row.zone,
                chunks: ChunkPlace::decode(&table.chunks[at..end]),
                late: Vec::new(),
                pages: row.pages,
                used: row.used / sizes.page_units(),
                padding: row.padding(),
                valid: i64::from(row.used) - i64::from(row.garbage) - i64::from(row.padding()),
                ended: row.is_sealed(),
                behind: None,
                row: Some(row),
            });
            at = end;
        }
        let (time, last_seq) = (table.head.time, table.head.next_seq.saturating_sub(1));
        let (found, valid) = (Written::default(), table.head.valid as i64);
        let deltas = table.head.units.deltas as i64;
        let UnitCounts { changes, excess, .. } = table.head.units;
        let changes = ChangeUnits { all: changes as i64, excess: excess as i64 };
        let (head, latest, missing) = (table.head, Vec::new(), Vec::new());
        let salvage = None;
        Ok(Recovery {
            engine,
            head,
            info,
            notes,
            durable,
            dropped: Vec::new(),
            epochs,
            latest,
            valid,
            deltas,
            changes,
            before,
            time,
            last_seq,
            marks,
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
        let (zones, late, notes) = (self.epochs.len(), chunks.len(), self.notes.len());
        tracing::debug!(zones, late, notes, last_seq = self.last_seq, "late chunks found");
        let changed = !chunks.is_empty() || !self.notes.is_empty();
        self.replay(chunks)?;
        let mut lost = self.drop_dead_epochs();
        self.number_epochs();
        self.point_pages()?;
        if !lost.is_empty() {
            self.lose_pages(&mut lost)?;
            self.missing.extend(lost.into_values());
        }
        let records = self.latest.len();
        tracing::debug!(records, missing = self.missing.len(), time = self.time, "map recovered");
        for Loss { zone, what, pages, .. } in &self.missing {
            tracing::warn!(zone, pages, "synced pages are missing: the zone {what}");
        }
        Ok(changed)
    }
}
