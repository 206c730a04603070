//! Errors of the log.

/// An error of a volume: it can't be made, or can't take a write.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The scheme wants more classes than zones may be open.
    #[error("the scheme has {classes} classes, but only {limit} zones may be open")]
    TooManyClasses {
        /// Classes of the scheme.
        classes: usize,
        /// The limit.
        limit: usize,
    },
    /// Zones have at least 16 pages.
    #[error("zones of {pages} pages: must be from 16 to {max}", max = 1u32 << 30)]
    ZoneSize {
        /// Pages that were asked for.
        pages: u32,
    },
    /// A record, or a page, of no unit or of too many.
    #[error("{units} units: must be from 1 to {most}")]
    Units {
        /// Units that were asked for.
        units: u32,
        /// The most there may be.
        most: u32,
    },
    /// The scheme counts the pages of zones, or fills some.
    #[error("the scheme counts the pages of zones: it places whole pages only")]
    WholePages,
    /// A threshold that can't be kept.
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
        /// Zones there are.
        physical: u64,
        /// Zones that the pages fill.
        logical: u64,
        /// Zones that must be left over.
        spare: u64,
    },
    /// More slots than 32 bits can number.
    #[error("{zones} zones of {zone_pages} pages: more slots than 32 bits can number")]
    TooLarge {
        /// Zones.
        zones: u64,
        /// Pages in a zone.
        zone_pages: u32,
    },
    /// Memory is short.
    #[error("no memory for {bytes} bytes")]
    NoMemory {
        /// Bytes that were needed.
        bytes: usize,
    },
    /// An LBA beyond the volume.
    #[error("LBA {lba} is beyond the volume's last, {last}")]
    BadLba {
        /// The LBA.
        lba: u32,
        /// The last there is.
        last: u32,
    },
    /// The volume holds as many pages as it may, or has no slot left.
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
        /// In what.
        why: String,
    },
}
