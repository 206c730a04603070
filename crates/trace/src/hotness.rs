//! Hotness records as columns of a table.

use frostline_placement::{Activity, Hotness};

/// The columns of a hotness record, with the largest value of each.
pub(crate) const FIELDS: [(&str, u32); 12] = [
    ("origin", u32::MAX),
    ("lifespan", u32::MAX),
    ("valid_bytes", u16::MAX as u32),
    ("accesses", u16::MAX as u32),
    ("modifications", u16::MAX as u32),
    ("access_interval", u32::MAX),
    ("modification_interval", u32::MAX),
    ("last_valid_bytes", u16::MAX as u32),
    ("last_accesses", u16::MAX as u32),
    ("last_modifications", u16::MAX as u32),
    ("last_access_interval", u32::MAX),
    ("last_modification_interval", u32::MAX),
];

/// The columns of a `parquet` trace for a hotness record, with the record's values.
pub fn hotness_columns(record: &Hotness) -> [(&'static str, u32); FIELDS.len()] {
    let mut values = values(record).into_iter();
    FIELDS.map(|(name, _)| (name, values.next().unwrap_or_default()))
}

/// The values of a record, in the order of [`FIELDS`].
pub(crate) fn values(record: &Hotness) -> [u32; FIELDS.len()] {
    let Hotness { origin, lifespan, current, last } = *record;
    let activity = |a: Activity| {
        let counts = [a.valid_bytes, a.accesses, a.modifications].map(u32::from);
        [counts[0], counts[1], counts[2], a.access_interval, a.modification_interval]
    };
    let mut values = [origin, lifespan, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    values[2..7].copy_from_slice(&activity(current));
    values[7..].copy_from_slice(&activity(last));
    values
}
