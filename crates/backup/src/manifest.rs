//! What a backup consists of.

use frostline_zone::{Geometry, Shape};
use serde::{Deserialize, Serialize};

use crate::place::{LIST, PARTS};

/// The version of the format of a backup.
pub(crate) const VERSION: u32 = 2;

/// The digits of the name of a zone's opening.
pub(crate) const OPENING_DIGITS: usize = 32;
const _: () = assert!(OPENING_DIGITS.is_multiple_of(2) && OPENING_DIGITS <= 64);

/// The first bytes of an object of this name, which prove that a backup wrote it; `None` if the
/// name is none that backups give.
pub(crate) fn first_bytes(name: &str) -> Option<String> {
    if name == LIST {
        return Some("{\"frostline_backup\":".to_string());
    }
    let mut fields = name.strip_prefix(PARTS)?.split('-');
    let mut next = || fields.next();
    let (zone, opening) = (next()?.parse().ok()?, next()?.to_string());
    let part = ZonePart { from: next()?.parse().ok()?, to: next()?.parse().ok()?, sum: 0 };
    let copy = ZoneCopy { zone, opening, full: false, end: 0, parts: Vec::new() };
    (copy.has_valid_opening() && copy.name(&part) == name).then(|| copy.first_bytes(&part))
}

/// The bytes at the end of a copy that prove that the zone went on from there.
pub(crate) const END: u64 = 4096;

/// A backup: the device's shape, and the zones that are not empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub frostline_backup: u32,
    /// The number of the store; none of a device that has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<u64>,
    pub zones: u32,
    pub zone_bytes: u64,
    pub zone_capacity: u64,
    pub max_open: Option<u32>,
    pub max_active: Option<u32>,
    pub copies: Vec<ZoneCopy>,
}

/// The content of a zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ZoneCopy {
    pub zone: u32,
    /// What tells this opening of the zone from all others.
    pub opening: String,
    /// Nothing more can be appended.
    pub full: bool,
    /// CRC-32C of the last [`END`] bytes.
    pub end: u32,
    /// One behind the other, from the first byte.
    pub parts: Vec<ZonePart>,
}

/// Bytes of a zone, in an object of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ZonePart {
    pub from: u64,
    pub to: u64,
    /// CRC-32C.
    pub sum: u32,
}

impl Manifest {
    pub(crate) fn new(store: Option<u64>, geometry: &Geometry, copies: Vec<ZoneCopy>) -> Self {
        Manifest {
            frostline_backup: VERSION,
            store,
            zones: geometry.zones,
            zone_bytes: geometry.zone_bytes,
            zone_capacity: geometry.zone_capacity,
            max_open: geometry.max_open,
            max_active: geometry.max_active,
            copies,
        }
    }

    /// The names of all parts.
    pub(crate) fn objects(&self) -> impl Iterator<Item = String> {
        self.copies.iter().flat_map(|copy| copy.parts.iter().map(|part| copy.name(part)))
    }

    /// The shape of a device like the one that was copied.
    pub(crate) fn shape(&self) -> Shape {
        Shape {
            bytes: u64::from(self.zones).saturating_mul(self.zone_capacity),
            zone_bytes: Some(self.zone_bytes),
            zone_capacity: Some(self.zone_capacity),
            max_open: self.max_open,
            max_active: self.max_active,
            parity: None,
        }
    }
}

impl ZoneCopy {
    /// Bytes that are copied.
    pub(crate) fn bytes(&self) -> u64 {
        self.parts.last().map_or(0, |part| part.to)
    }

    /// True if the opening has a name as backups give it.
    pub(crate) fn has_valid_opening(&self) -> bool {
        let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        self.opening.len() == OPENING_DIGITS && self.opening.bytes().all(is_digit)
    }

    /// The line before the bytes of the zone in a part's object.
    pub(crate) fn first_bytes(&self, part: &ZonePart) -> String {
        format!("frostline backup {}\n", self.name(part))
    }

    /// The name of a part's object.
    pub(crate) fn name(&self, part: &ZonePart) -> String {
        format!("{PARTS}{:06}-{}-{}-{}", self.zone, self.opening, part.from, part.to)
    }
}

impl ZonePart {
    /// Its length.
    pub(crate) fn bytes(&self) -> u64 {
        self.to.saturating_sub(self.from)
    }
}
