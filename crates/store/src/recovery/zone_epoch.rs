//! Epochs of zones, each from an opening to the next reset, as recovery finds them.

use crate::format::chunk_place::ChunkPlace;
use crate::format::head::ChunkHead;
use crate::format::records::Record;
use crate::format::{Group, Witness, ZoneRow};
use crate::state::zone_pool::DataZone;

/// A zone of the device that may hold pages: one of the table's, or one that was opened since.
pub(super) struct ZoneEpoch {
    pub(super) device_zone: u32,
    pub(super) opening: u64,
    pub(super) class: u32,
    pub(super) opened_at: u32,
    /// Of the table: its row.
    pub(super) row: Option<ZoneRow>,
    /// Number in the volume; of a zone opened since, once it is known which are taken.
    pub(super) zone: u32,
    pub(super) chunks: Vec<ChunkPlace>,
    /// The numbers of its late chunks.
    pub(super) late: Vec<u64>,
    /// Pages of the device's zone, headers included.
    pub(super) pages: u32,
    /// Pages of the volume's zone.
    pub(super) used: u32,
    /// Slots of it that pad chunks.
    pub(super) padding: u32,
    /// Slots of it that are valid.
    pub(super) valid: i64,
    /// Nothing more can be appended.
    pub(super) ended: bool,
    /// The chunk behind one whose header can't be read.
    pub(super) behind: Option<u64>,
}

impl ZoneEpoch {
    /// A zone that is in no table.
    pub(super) fn opened(
        device_zone: u32,
        zone: u32,
        opening: u64,
        class: u32,
        opened_at: u32,
    ) -> ZoneEpoch {
        ZoneEpoch {
            device_zone,
            opening,
            class,
            opened_at,
            row: None,
            zone,
            chunks: Vec::new(),
            late: Vec::new(),
            pages: 0,
            used: 0,
            padding: 0,
            valid: 0,
            ended: false,
            behind: None,
        }
    }

    /// The zone as the store goes on with it.
    pub(super) fn data_zone(&self) -> DataZone {
        DataZone {
            device_zone: self.device_zone,
            opening: self.opening,
            chunks: self.chunks.clone(),
            late: self.late.clone(),
            pages: self.pages,
            written: self.pages,
            ..DataZone::default()
        }
    }
}

/// A chunk that was written after the checkpoint.
pub(super) struct PostCheckpointChunk {
    pub(super) epoch: usize,
    pub(super) start: u32,
    pub(super) head: ChunkHead,
    /// The group that was not known to be durable when the chunk was sealed.
    pub(super) group: Option<Group>,
    /// True if the zone ends before it does.
    pub(super) is_cut: bool,
    /// The witness in its header.
    pub(super) witness: Witness,
    /// Of a page that does not count the LBA is `u32::MAX`.
    pub(super) records: Vec<Record>,
}
