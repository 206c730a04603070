//! Errors of a store, each in one line.

use frostline_log::LogError;
use frostline_placement::BuildError;
use frostline_zone::DeviceError;

use crate::loss::Loss;

/// An error of a store: something was refused, failed or was found damaged.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The device failed.
    #[error("device: {0}")]
    Device(std::sync::Arc<DeviceError>),
    /// The scheme or the victim policy can't be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The store was formatted with a scheme that is not in the registry it is opened with
    /// ([`Open::schemes`](crate::Open::schemes)).
    #[error(
        "the store is placed by \"{scheme}\", a scheme that this program does not have (it has: {known})"
    )]
    UnknownScheme {
        /// The scheme.
        scheme: String,
        /// The names that the registry has.
        known: String,
    },
    /// The volume refused: an LBA beyond it, no room.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A group has more pages than fit into the room at hand.
    #[error("{pages} pages can't be written at once: there is room for {most}")]
    GroupTooLarge {
        /// Pages of the group.
        pages: u64,
        /// The most that there is room for.
        most: u64,
    },
    /// The device holds no store.
    #[error("no store: none of the device's zones begins with a superblock")]
    NotAStore,
    /// The device is not empty, and formatting was not forced.
    #[error("the device is not empty: zone {zone} {}", if *offline { "is offline, and what it holds is not known" } else { "holds data" })]
    NotEmpty {
        /// The first zone that is not.
        zone: u32,
        /// It is offline, so that it is not known what it holds.
        offline: bool,
    },
    /// Something without which the store can't be opened was not found, and a zone that may hold it
    /// can't be read.
    #[error("no {what} was found, and zone {zone} can't be read: {cause}")]
    Unreadable {
        /// The thing that was looked for.
        what: &'static str,
        /// Zone of the device.
        zone: u32,
        /// The reason.
        cause: std::sync::Arc<DeviceError>,
    },
    /// The device holds pages of a store, but every superblock is damaged or gone.
    #[error("damaged: zone {zone} holds pages of a store, but no superblock is left")]
    NoSuperblock {
        /// The first zone with such pages.
        zone: u32,
    },
    /// Synced pages are missing, and opening the store for writing would make that permanent. See
    /// [`Open::accept_loss`](crate::Open::accept_loss).
    #[error("synced pages are missing: {}", crate::loss::list(.0))]
    Missing(Vec<Loss>),
    /// The store was written by a newer program.
    #[error("a store of format {found}: this program knows formats up to {known}")]
    Newer {
        /// Version of the store.
        found: u32,
        /// The newest version known.
        known: u32,
    },
    /// The device has too few zones, or too small ones.
    #[error("device too small: {why}")]
    TooSmall {
        /// The kind of zones, and how many are needed.
        why: String,
    },
    /// Options that no store can have.
    #[error("{what}: {why}")]
    Options {
        /// The option.
        what: &'static str,
        /// The reason.
        why: String,
    },
    /// The store contradicts itself, or a part without which it can't be opened is damaged.
    #[error("damaged: zone {zone}, page {page}: {why}")]
    Damaged {
        /// Zone of the device.
        zone: u32,
        /// Page in it.
        page: u32,
        /// The contradiction.
        why: String,
    },
    /// A page's content is damaged.
    #[error("LBA {lba} is damaged: zone {zone}, page {page} is not what was written there")]
    Checksum {
        /// The page.
        lba: u32,
        /// Zone of the device.
        zone: u32,
        /// Page in it.
        page: u32,
    },
    /// A page's content was lost when the store was opened: its last copy was damaged.
    #[error("LBA {lba} is lost: the record of its last copy was damaged")]
    Lost {
        /// The page.
        lba: u32,
    },
    /// A page is compressed with zstd, and this program is built without the feature `zstd`.
    #[error("LBA {lba} is compressed with zstd, which this program is built without")]
    BuiltWithoutZstd {
        /// The page.
        lba: u32,
    },
    /// A content that is not one page.
    #[error("{bytes} bytes: a page has 4096")]
    PageSize {
        /// Its length.
        bytes: usize,
    },
    /// Too few zones of the device are left for the store's own records.
    #[error("no metadata zone of the device is left to write to")]
    NoMetadataZone,
    /// A thread of the store could not be started.
    #[error("a thread of the store could not be started: {0}")]
    Thread(std::sync::Arc<std::io::Error>),
    /// A thread of the store panicked.
    #[error("a thread of the store panicked: it can no longer be used")]
    Panicked,
    /// An earlier error left the store unable to write; it can still be read.
    #[error("the store can no longer be written: {0}")]
    Failed(Box<StoreError>),
}

impl StoreError {
    /// True if there is no room for what was to be written: in the store, or where its device lies.
    pub fn is_full(&self) -> bool {
        match self {
            StoreError::Log(LogError::Full { .. }) | StoreError::GroupTooLarge { .. } => true,
            StoreError::Device(error) => error.is_full(),
            StoreError::Failed(error) => error.is_full(),
            _ => false,
        }
    }
}

/// The outcome of an operation on a zone. An error that is not the zone's own ends more than that
/// operation.
pub(crate) fn of_zone<T>(
    result: Result<T, DeviceError>,
) -> Result<Result<T, DeviceError>, StoreError> {
    match result {
        Err(error) if !error.is_of_zone() => Err(error.into()),
        result => Ok(result),
    }
}

impl From<DeviceError> for StoreError {
    fn from(error: DeviceError) -> Self {
        StoreError::Device(std::sync::Arc::new(error))
    }
}
