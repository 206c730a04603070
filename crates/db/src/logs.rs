//! The logs behind a store, read before it is opened: they tell what was durable of it.
//!
//! Recovery of the store gives up what a crash may have torn. What a log says was durable no crash
//! has torn: if it is missing, the store is not opened.

use std::sync::Arc;

use frostline_store::{Durable, Store};
use frostline_zone::{Device, Span};

use crate::DbError;
use crate::layout::{MOST_INSTANCES, number_of_log};
use crate::record::STORE;
use crate::wal::{FoundLog, logs_on};

/// The chunks and notes of a store of so many zones that were durable, as the logs behind it say.
/// The places of the logs are in a page of the store, which is not open yet, so they are looked
/// for.
pub(crate) fn durable_of_store(device: &Arc<dyn Device>, zones: u32) -> Result<Durable, DbError> {
    let (store, geometry) = (Store::number_on(&**device)?, device.geometry());
    let all = logs_on(&**device, zones)?;
    let of_store = (0..MOST_INSTANCES).filter_map(|instance| {
        let number = number_of_log(store, instance);
        all.get(&number).map(|&first| (number, first))
    });
    let mut durable = Durable::default();
    for (number, first) in of_store {
        let end = all.values().copied().filter(|&other| other > first).min();
        let count = end.unwrap_or(geometry.zones) - first;
        let (open, active) = (geometry.max_open, geometry.max_active);
        let log = Span::new(device.clone(), first, count, open, active)?;
        FoundLog::find(Arc::new(log), number)?.replay(&mut |position, kind, record: &[u8]| {
            if kind == STORE {
                let malformed = || DbError::Record { position, what: "is not about the store" };
                let (chunks, notes) = record.split_first_chunk().ok_or_else(malformed)?;
                let notes = notes.try_into().map_err(|_| malformed())?;
                durable.chunks = durable.chunks.max(u64::from_le_bytes(*chunks));
                durable.notes = durable.notes.max(u64::from_le_bytes(notes));
            }
            Ok::<(), DbError>(())
        })?;
    }
    Ok(durable)
}
