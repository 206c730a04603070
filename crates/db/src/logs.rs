//! The logs behind a store, read before it is opened: they tell what was durable of it.
//!
//! Recovery of the store gives up what a crash may have torn. What a log says was durable no crash
//! has torn: if it is missing, the store is not opened.

use std::collections::BTreeMap;
use std::sync::Arc;

use frostline_store::{Durable, Store};
use frostline_zone::{Device, Span};

use crate::DbError;
use crate::layout::{MOST_INSTANCES, number_of_log};
use crate::record::STORE;
use crate::wal::{FoundLog, logs_on};

/// The logs behind a store of so many zones, by their numbers, and the chunks and notes of the
/// store that were durable as they say. The places of the logs are in a page of the store, which is
/// not open yet, so they are looked for.
pub(crate) fn logs_behind(
    device: &Arc<dyn Device>,
    zones: u32,
) -> Result<(BTreeMap<u64, FoundLog>, Durable), DbError> {
    let (store, geometry) = (Store::number_on(&**device)?, device.geometry());
    let all = logs_on(&**device, zones)?;
    let of_store = (0..MOST_INSTANCES).filter_map(|instance| {
        let number = number_of_log(store, instance);
        all.get(&number).map(|&first| (number, first))
    });
    let (mut logs, mut durable) = (BTreeMap::new(), Durable::default());
    for (number, first) in of_store {
        let end = all.values().copied().filter(|&other| other > first).min();
        let count = end.unwrap_or(geometry.zones) - first;
        let (open, active) = (geometry.max_open, geometry.max_active);
        let log = Span::new(device.clone(), first, count, open, active)?;
        let log = FoundLog::find(Arc::new(log), number)?;
        let last = log.last(STORE, |position, kind, record| match kind {
            STORE => parse_store(position, record).map(Some),
            _ => Ok(None),
        })?;
        let last = last.unwrap_or_default();
        durable.chunks = durable.chunks.max(last.chunks);
        durable.notes = durable.notes.max(last.notes);
        logs.insert(number, log);
    }
    Ok((logs, durable))
}

/// Reads a log record that tells which chunks and notes of the store were durable.
fn parse_store(position: u64, record: &[u8]) -> Result<Durable, DbError> {
    let malformed = || DbError::Record { position, what: "is not about the store" };
    let (chunks, notes) = record.split_first_chunk().ok_or_else(malformed)?;
    let notes = notes.try_into().map_err(|_| malformed())?;
    Ok(Durable { chunks: u64::from_le_bytes(*chunks), notes: u64::from_le_bytes(notes) })
}
