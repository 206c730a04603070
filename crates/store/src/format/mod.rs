//! The format on the device, byte by byte. docs/recovery.md draws it.

pub(crate) mod chunk_place;
pub mod compression;
pub(crate) mod delta;
pub(crate) mod head;
pub(crate) mod image;
pub(crate) mod layout;
pub(crate) mod leaf;
pub(crate) mod packing;
pub(crate) mod page_delta;
pub(crate) mod records;
pub(crate) mod shifts;
pub(crate) mod slots;
pub(crate) mod word_set;

use bytemuck::{Pod, Zeroable};

// Everything is written as it lies in memory.
const _: () = assert!(cfg!(target_endian = "little"), "the format is little-endian");

/// Bytes in a page.
pub(crate) const PAGE: usize = 4096;

/// Superblocks at the beginning of each metadata zone: copies of each other, so that a damaged page
/// does not lose the options.
pub(crate) const SUPERBLOCKS: u32 = 2;

/// Version of the format.
pub(crate) const VERSION: u32 = 1;

/// First bytes of every page that describes others.
pub(crate) const MAGIC: u32 = u32::from_le_bytes(*b"FRST");

/// A record of a chunk, in its header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Row {
    /// The page's LBA.
    pub lba: u32,
    /// CRC-32C of the record, with the zeroes that fill up its last unit.
    pub sum: u32,
    /// User writes of the store when this version was written, itself included.
    pub time: u64,
}

/// The form of a record, in the header of its chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Form {
    /// 0: the page, but for its longest run of zeroes; 1: the words of it that changed since an
    /// image; 2: those that changed since a record of kind 1.
    pub kind: u16,
    /// Bytes of the record.
    pub bytes: u16,
    /// Changed words: the CRC-32C of the record that they changed since. A page that cleaning
    /// merged of an image and changed words: the CRC-32C of their last record.
    pub other: u32,
}

/// [`Form::kind`] of a page.
pub(crate) const IMAGE: u16 = 0;
/// [`Form::kind`] of the words of a page that changed since an image.
pub(crate) const DELTA: u16 = 1;
/// [`Form::kind`] of those that changed since a delta.
pub(crate) const TAIL: u16 = 2;

/// A group of pages that counts as a whole or not at all, in the headers of all chunks that were
/// sealed before it was known to be durable: right behind the head. Its pages are those of the
/// `pages` user writes after `time`; no other writes came between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Group {
    /// Number of the first chunk that may hold pages of it. Once this chunk is durable, all are
    /// that do.
    pub from: u64,
    /// User writes of the store before its first page.
    pub time: u64,
    /// Pages; 0 if there is no group.
    pub pages: u32,
    /// Bytes of a unit of the store, group or not: a rebuild may have no superblock.
    pub unit: u32,
}

/// Facts in a chunk's header about other zones and logs, right behind the group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Witness {
    /// The engine's mark that was set last.
    pub mark: u64,
    /// Its number.
    pub slot: u32,
    /// The chunk before: zone of the device.
    pub zone: u32,
    /// The chunk before: page of its header.
    pub page: u32,
    /// The chunk before: number of its zone's opening (modulo 2^32); 0 if it is not told where that
    /// chunk lies.
    pub opening: u32,
}

/// Bytes of a chunk's header beside its head, its rows and their forms.
pub(crate) const BESIDE_ROWS: usize = size_of::<Group>() + size_of::<Witness>();

/// Something that recovery must know and that stands in no chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Note {
    /// 1: a zone was opened; 2: a page was trimmed; 3: chunks were given up.
    pub tag: u32,
    /// Opened: number of the zone in the volume. Trimmed: the LBA.
    pub target: u32,
    /// Opened: zone of the device.
    pub device_zone: u32,
    /// Opened: class.
    pub class: u32,
    /// Opened: number of the opening. Given up: number of a chunk.
    pub opening: u64,
    /// Opened or trimmed: user writes of the store at that moment. Given up: bit `i` is 1 if the
    /// chunk whose number is larger by `i` was given up.
    pub time: u64,
    /// Number of the note.
    pub serial: u64,
}

/// Numbers and times from this one on are of no store: so sums of some do not overflow.
pub(crate) const MOST: u64 = 1 << 60;

/// [`Note::tag`] of an opened zone.
pub(crate) const OPENED: u32 = 1;
/// [`Note::tag`] of a trimmed page.
pub(crate) const TRIMMED: u32 = 2;
/// [`Note::tag`] of chunks that are not needed any more, and may be missing.
pub(crate) const GIVEN_UP: u32 = 3;

impl Note {
    /// True if a store may have written it.
    pub(crate) fn is_possible(&self) -> bool {
        let time = if self.tag == GIVEN_UP { 0 } else { self.time };
        self.serial.max(self.opening).max(time) < MOST
    }

    /// The numbers of the chunks that it gives up.
    pub(crate) fn given_up(&self) -> impl Iterator<Item = u64> + use<> {
        let Note { tag, opening: first, time: bits, .. } = *self;
        let is_set = move |bit: &u64| tag == GIVEN_UP && bits >> bit & 1 == 1;
        (0..64).filter(is_set).map(move |bit| first.saturating_add(bit))
    }
}

/// The place of a leaf of the map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeafAt {
    /// Page in the metadata zones, counted through all of them; 0 if the leaf is not there.
    pub page: u32,
    /// Its pages.
    pub pages: u16,
    /// 1 more than the pages of the store that it has: those that were written and not trimmed. 0
    /// if they were not counted.
    pub counted: u16,
    /// CRC-32C of its pages.
    pub sum: u32,
    /// User writes of the store when it was written.
    pub time: u64,
}

impl LeafAt {
    /// The pages of the store that the leaf has, if they were counted.
    pub(crate) fn count(self) -> Option<u32> {
        self.counted.checked_sub(1).map(u32::from)
    }
}

/// The place of a leaf of the map in the table of a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct PlacedLeaf {
    /// Its number.
    pub leaf: u32,
    /// See [`LeafAt::page`].
    pub page: u32,
    /// See [`LeafAt::pages`].
    pub pages: u16,
    /// See [`LeafAt::counted`].
    pub counted: u16,
    /// See [`LeafAt::sum`].
    pub sum: u32,
    /// See [`LeafAt::time`].
    pub time: u64,
}

impl PlacedLeaf {
    /// The row of a leaf in that place.
    pub(crate) fn of((leaf, LeafAt { page, pages, counted, sum, time }): (u32, LeafAt)) -> Self {
        PlacedLeaf { leaf, page, pages, counted, sum, time }
    }

    /// The leaf, and its place.
    pub(crate) fn place(self) -> (u32, LeafAt) {
        let PlacedLeaf { leaf, page, pages, counted, sum, time } = self;
        (leaf, LeafAt { page, pages, counted, sum, time })
    }
}

/// Begins the table of a checkpoint. Behind it: the places of the leaves that there are
/// ([`PlacedLeaf`]), the zones that hold pages ([`ZoneRow`]), for each of them the offset of each
/// chunk's first page (`u32`), what the scheme has learned, and the engines' marks ([`Mark`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct TableHead {
    /// User writes of the store.
    pub time: u64,
    /// Valid pages, and their valid deltas and tails.
    pub valid: u64,
    /// Number of the first chunk that the checkpoint does not cover.
    pub next_seq: u64,
    /// Number of the first opening that it does not cover.
    pub next_opening: u64,
    /// Number of the first note that it does not cover.
    pub next_serial: u64,
    /// Record of the metadata log from which on later notes may lie.
    pub notes_from: u64,
    /// Pages written since the store was formatted: by the user, by cleaning, headers, metadata.
    pub written: [u64; 4],
    /// Leaves of the map that there are.
    pub leaves: u32,
    /// Zones that hold pages.
    pub zones: u32,
    /// Chunks in these zones.
    pub chunks: u32,
    /// Bytes that the scheme has learned.
    pub learned: u32,
    /// Units written, and valid deltas.
    pub units: UnitCounts,
}

/// Units written since the store was formatted, and valid deltas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct UnitCounts {
    /// Units of records that the user wrote.
    pub user: u64,
    /// Units of records that cleaning copied.
    pub relocated: u64,
    /// Units of headers of chunks.
    pub headers: u64,
    /// Units left behind the last records of chunks.
    pub padding: u64,
    /// Valid deltas and tails: they are among the valid records that [`TableHead::valid`] counts.
    pub deltas: u64,
    /// Units of valid deltas and tails.
    pub changes: u64,
    /// Units that pages take with their deltas and tails beyond those of whole ones.
    pub excess: u64,
}

/// A zone that holds pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct ZoneRow {
    /// Number in the volume.
    pub zone: u32,
    /// Zone of the device.
    pub device_zone: u32,
    /// Class.
    pub class: u32,
    /// Volume time of its first append.
    pub opened_at: u32,
    /// Volume time of its last append; if it was sealed for its garbage, the same as `opened_at`.
    pub sealed_at: u32,
    /// Twice the units among `used` that pad chunks, and 1 more if it is sealed.
    pub padding_and_sealed: u32,
    /// Units that were used, or can't be any more.
    pub used: u32,
    /// Of these, garbage.
    pub garbage: u32,
    /// Number of its opening.
    pub opening: u64,
    /// Pages of the device's zone that were used, headers included.
    pub pages: u32,
    /// Chunks.
    pub chunks: u32,
}

impl ZoneRow {
    /// True if it is sealed.
    pub(crate) fn is_sealed(&self) -> bool {
        self.padding_and_sealed & 1 == 1
    }

    /// Units that pad chunks.
    pub(crate) fn padding(&self) -> u32 {
        self.padding_and_sealed / 2
    }
}

/// A number that an engine keeps with the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Mark {
    /// Its value.
    pub value: u64,
    /// Its number.
    pub slot: u32,
    /// 0.
    pub unused: u32,
}

/// Marks that a store keeps at most.
pub(crate) const MOST_MARKS: u32 = 256;

/// Metadata zones whose numbers follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct ZoneRun {
    /// The first one.
    pub first: u32,
    /// Their number.
    pub zones: u32,
}

impl ZoneRun {
    /// The runs of these zones, in their order.
    pub(crate) fn of(zones: &[u32]) -> Vec<ZoneRun> {
        let runs = zones.chunk_by(|a, b| a.checked_add(1) == Some(*b));
        runs.map(|run| ZoneRun { first: run[0], zones: run.len() as u32 }).collect()
    }

    /// The zones of a run.
    pub(crate) fn zones(self) -> std::ops::Range<u32> {
        self.first..self.first.saturating_add(self.zones)
    }
}

/// The options that a store was formatted with, behind the head of a superblock. Behind it: the
/// metadata zones ([`ZoneRun`]).
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Super {
    /// Pages that the store can hold.
    pub logical_pages: u64,
    /// Pages that it can hold if all are whole.
    pub whole_pages: u64,
    /// Garbage proportion above which it is cleaned.
    pub gp: f64,
    /// Seed of the scheme and the victim policy.
    pub seed: u64,
    /// User writes between two checkpoints.
    pub checkpoint_writes: u64,
    /// Pages that a zone of the device can hold.
    pub device_pages: u32,
    /// Pages of the user that a zone can hold.
    pub zone_pages: u32,
    /// Bytes of a unit.
    pub unit: u32,
    /// Zones of the device.
    pub device_zones: u32,
    /// Free zones below which the store is cleaned.
    pub reserve: u32,
    /// Zones that are kept back for those that wait to be reset.
    pub spare: u32,
    /// 1 if headers have room for hotness records.
    pub hotness: u32,
    /// Metadata zones.
    pub meta_zones: u32,
    /// Bytes of a place in a leaf of the map.
    pub place: u16,
    /// Bytes of a row in a leaf of the map.
    pub row: u16,
    /// Pages of a leaf of the map.
    pub leaf: u32,
    /// Scheme, as on the command line, filled up with zeroes.
    pub scheme: [u8; 128],
    /// Victim policy, as on the command line, filled up with zeroes.
    pub victim: [u8; 128],
}

/// Rows of `T` that fit into `bytes`, from the start.
pub(crate) fn rows<T: Pod>(bytes: &[u8], count: usize) -> Vec<T> {
    let size = size_of::<T>();
    bytes.chunks_exact(size).take(count).map(bytemuck::pod_read_unaligned).collect()
}
