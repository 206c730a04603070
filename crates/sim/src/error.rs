//! Errors of a replay.

use frostline_log::LogError;
use frostline_placement::BuildError;

use crate::ShareError;

/// An error of a replay: it can't start or can't go on.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// The scheme or the victim policy can't be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The volume can't be made, or took no more writes.
    #[error("{scheme}: {error}")]
    Log {
        /// The scheme.
        scheme: String,
        /// The error of the log.
        error: LogError,
    },
    /// The page size is not a power of two from 512 up.
    #[error("a page of {bytes} bytes: must be a power of two from 512 up")]
    PageSize {
        /// Bytes in a page.
        bytes: u32,
    },
    /// A zone has fewer than 16 pages, or more than slots can be numbered.
    #[error("a zone of {zone} bytes: must have from 16 to {max} pages, not {pages}", max = 1 << 30)]
    ZonePages {
        /// Bytes in a zone.
        zone: u64,
        /// Pages in a zone.
        pages: u64,
    },
    /// The garbage proportion or the over-provisioning is none that a volume can have.
    #[error("{name} {value}: {error}{}", error.meant().map(|meant| format!(", did you mean {meant}?")).unwrap_or_default())]
    Share {
        /// Its name: `gp` or `op`.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The bounds, and the share that was meant.
        error: ShareError,
    },
    /// The fixed capacity leaves no room to clean.
    #[error(
        "{scheme}: over-provisioning by {op} makes {physical} zones: {logical} for the pages and \
         {spare} to clean are needed"
    )]
    OverProvisioning {
        /// The scheme.
        scheme: String,
        /// The over-provisioning that was asked for.
        op: f64,
        /// Zones of the volume.
        physical: u64,
        /// Zones that the pages fill.
        logical: u64,
        /// Zones that must be spare.
        spare: u64,
        /// The least over-provisioning that suffices.
        least: f64,
    },
    /// A zone is not a whole number of pages.
    #[error("a zone of {zone} bytes is not a whole number of pages of {page} bytes")]
    ZoneSize {
        /// Bytes in a zone.
        zone: u64,
        /// Bytes in a page.
        page: u32,
    },
    /// A unit does not divide a page, or is too small a part of it.
    #[error("a unit of {unit} bytes: must divide a page of {page} bytes into 255 units at most")]
    Unit {
        /// Bytes in a unit.
        unit: u32,
        /// Bytes in a page.
        page: u32,
    },
    /// The zones of the store to be imitated have another size, or its pages another number of
    /// units.
    #[error(
        "a zone of {zone} pages of {units} units: the store's zones have {store} of {store_units}"
    )]
    StoreShape {
        /// Pages in a zone.
        zone: u32,
        /// Units in a page.
        units: u32,
        /// Pages of the user that a zone of the store can hold.
        store: u32,
        /// Units in a page of the store.
        store_units: u32,
    },
    /// Units or a store are asked for under semantics that do not have them.
    #[error("only whole pages of no store are part of the semantics sepbit-fast22")]
    UnitInSemantics,
    /// The run was stopped before its end, see
    /// [`ReplayProgress::stop`](crate::ReplayProgress::stop).
    #[error("the run was stopped")]
    Stopped,
    /// A fixed capacity is asked for under semantics that do not have it.
    #[error("only a garbage proportion is part of the semantics sepbit-fast22")]
    SpaceInSemantics,
    /// A fixed capacity is missing under semantics that need it.
    #[error("only an over-provisioning is part of the semantics midas-fast24")]
    NeedsOp,
    /// The scheme brings its own cleaning, which the semantics do not have.
    #[error("{scheme} is not part of the semantics sepbit-fast22")]
    NotInSemantics {
        /// The scheme.
        scheme: String,
    },
}
