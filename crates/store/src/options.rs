//! Options of formatting and opening a store.

use frostline_placement::registry::Registry;

use crate::SlotArray;

/// The options that a store is formatted with. They are recorded on the device, but for `schemes`
/// and `force`.
#[derive(Clone, Debug)]
pub struct Format {
    /// Scheme, as on the command line: `sepbit`, `dac:classes=4`.
    pub scheme: String,
    /// The schemes that names stand for.
    pub schemes: Registry,
    /// Victim policy, as on the command line; unless given the scheme's: the one of its paper, or
    /// the best measured.
    pub victim: Option<String>,
    /// Pages the store can hold; as many as the garbage proportion allows, unless given.
    pub logical_pages: Option<u64>,
    /// The store has LBAs for twice as many pages as it could hold if all were whole. A write that
    /// does not fit is refused as the store is [full](crate::StoreError::is_full). An engine that
    /// can't do without a write asks [`Store::promise`](crate::Store::promise) before. A store that
    /// is not thin takes every page whole at any time.
    pub thin: bool,
    /// Garbage proportion above which it is cleaned.
    pub gp: f64,
    /// Free zones below which it is cleaned.
    pub reserve: u32,
    /// Zones kept back for those that were cleaned and wait to be reset: the more, the rarer
    /// cleaning waits for the device to make its copies durable.
    pub spare: u32,
    /// User writes between two checkpoints; unless given as many as the store has pages.
    pub checkpoint_writes: Option<u64>,
    /// Bytes of a unit: a page is written without its longest run of zeroes, or only the words of
    /// it that
    /// [changed](crate::PageWrite::changed), and takes as many units as that needs. It divides
    /// 4,096 into 255 units at most. Units of 4,096 bytes are whole pages: nothing shorter would
    /// save one.
    pub unit: u32,
    /// Pages may come with hotness records, which make headers larger.
    pub hotness: bool,
    /// Seed of the random numbers of the scheme and the victim policy.
    pub seed: u64,
    /// Format a device that holds data.
    pub force: bool,
}

impl Default for Format {
    fn default() -> Self {
        Format {
            scheme: "survival".to_string(),
            schemes: Registry::published(),
            victim: None,
            logical_pages: None,
            thin: false,
            gp: 0.15,
            reserve: 3,
            spare: 2,
            checkpoint_writes: None,
            unit: 64,
            hotness: false,
            seed: 1,
            force: false,
        }
    }
}

/// The thread that cleans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cleaning {
    /// A thread of the store's own; writers are slowed as free zones run out.
    #[default]
    Background,
    /// The writer that made cleaning due: everything happens in the order of a single thread's
    /// calls, as in the simulator.
    Inline,
}

/// How images are compressed, where that saves [units](Format::unit). Every store reads all of
/// them, those of zstd with the feature `zstd` only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
pub enum Compression {
    /// They are not.
    None,
    /// With LZ4.
    #[default]
    Lz4,
    #[cfg(feature = "zstd")]
    /// With zstd: images of TPC-C are shorter by a quarter, and take six times as long to be
    /// decompressed.
    Zstd,
}

/// The options that a store is opened with.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    /// The thread that cleans.
    pub cleaning: Cleaning,
    /// Bytes that the leaves of the map may take in memory; at least one leaf stays.
    pub map_bytes: usize,
    /// Space over data that the store may take, above 1: it is cleaned when it takes more, whatever
    /// the [garbage proportion](Format::gp) that it was formatted with. Space is what is written in
    /// zones for pages; data are the images of all pages ([`Space`](crate::Space)). Less space
    /// means more copies. A target is met as far as 5 % of garbage allow, and as cleaning copies no
    /// more than four bytes for each that is written.
    pub space: Option<f64>,
    /// How images are compressed, where that makes them shorter. Where contents do not compress
    /// only some are tried.
    pub compression: Compression,
    /// Where pages have slots, if they have: images leave out what follows from their records.
    pub slots: Option<SlotArray>,
    /// Go on without synced pages that are missing, because their zone is offline or cut: they
    /// are lost for good, and reading them is an error. Otherwise such a store is not opened, and
    /// nothing on the device changes.
    pub accept_loss: bool,
    /// The schemes that names stand for: the store's must be one of them.
    pub schemes: Registry,
    /// The chunks and notes that were durable, as the store's owner knows from elsewhere
    /// ([`Store::durable`](crate::Store::durable)). A store that has less has lost synced pages.
    pub durable: Durable,
}

impl Open {
    /// The default, where a constant is needed.
    pub const DEFAULT: Open = Open {
        cleaning: Cleaning::Background,
        map_bytes: usize::MAX,
        space: None,
        compression: Compression::Lz4,
        slots: None,
        accept_loss: false,
        schemes: Registry::published(),
        durable: Durable { chunks: 0, notes: 0 },
    };
}

impl Default for Open {
    fn default() -> Self {
        Open::DEFAULT
    }
}

/// How much of what a store wrote is durable. It only grows, over crashes as well: a store that has
/// less than it once had has lost what it promised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Durable {
    /// All chunks up to this number.
    pub chunks: u64,
    /// All notes before this number.
    pub notes: u64,
}
