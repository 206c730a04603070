//! Errors of the log.

/// An error of a volume: it can't be made, or can't accept a write.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The scheme has more classes than zones may be open.
    #[error("the scheme has {classes} classes, but only {limit} zones may be open")]
    TooManyClasses {
        /// Classes of the scheme.
        classes: usize,
        /// The limit.
        limit: usize,
    },
    /// The number of pages in a zone is out of range.
    #[error("zones of {pages} pages: must be from 16 to {max}", max = 1u32 << 30)]
    ZoneSize {
        /// Pages that were asked for.
        pages: u32,
    },
    /// The number of units of a record or a page is out of range.
    #[error("{units} units: must be from 1 to {most}")]
    Units {
        /// Units that were asked for.
        units: u32,
        /// The largest number of units.
        most: u32,
    },
    /// The scheme counts the pages of zones, or fills some, so it places whole pages only.
    #[error("the scheme counts the pages of zones: it places whole pages only")]
    WholePages,
    /// Pages of the volume are records, which are not written in runs.
    #[error("pages of several units, or chunks of a device: these are records, not pages in runs")]
    InRecords,
    /// The garbage proportion is not between 0 and 1.
    #[error("a garbage proportion of {gp}: must be above 0 and below 1")]
    GarbageProportion {
        /// The threshold that was asked for.
        gp: f64,
    },
    /// The fixed capacity leaves no room to clean.
    #[error(
        "{physical} zones are too few for {logical} zones of pages: cleaning needs {spare} spare"
    )]
    TooSmall {
        /// Zones of the volume.
        physical: u64,
        /// Zones that the pages fill.
        logical: u64,
        /// Zones that must be spare.
        spare: u64,
    },
    /// There are more slots than 32 bits can number.
    #[error("{zones} zones of {zone_units} units: more than 32 bits can number")]
    TooLarge {
        /// Zones.
        zones: u64,
        /// Units in a zone: its pages, where every page takes one slot.
        zone_units: u32,
    },
    /// The system has not enough memory.
    #[error("no memory for {bytes} bytes")]
    NoMemory {
        /// Bytes that were needed.
        bytes: usize,
    },
    /// The LBA is beyond the volume.
    #[error("LBA {lba} is beyond the volume's last, {last}")]
    BadLba {
        /// The LBA.
        lba: u64,
        /// The last LBA of the volume.
        last: u64,
    },
    /// The volume holds all its logical pages, or has no slot left.
    #[error("the volume is full: {valid} valid pages in {slots} slots")]
    Full {
        /// Valid pages.
        valid: u64,
        /// Slots.
        slots: u64,
    },
    /// The recorded state of a volume contradicts itself.
    #[error("the recorded volume contradicts itself: {why}")]
    Image {
        /// The contradiction.
        why: String,
    },
}
