//! Formatting, and the order of reads and writes when a store is opened.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use frostline_zone::{Device, ZoneState};

use super::log::{find_superblock, read_log};
use super::run::Recovery;
use crate::engine::Engine;
use crate::engine::meta::MetaLog;
use crate::format::layout::Layout;
use crate::state::space_target::SpaceTarget;
use crate::state::{State, volume};
use crate::{Durable, Format, Loss, Open, StoreError};

/// Makes an empty store.
pub(crate) fn format(device: Arc<dyn Device>, format: &Format) -> Result<(), StoreError> {
    let layout = Arc::new(Layout::divide(&*device, format)?);
    // Nothing is written before everything is known to be possible.
    let volume = volume::build(&layout)?;
    let zones = device.report(0, device.geometry().zones)?;
    for (zone, info) in (0u32..).zip(&zones) {
        let offline = info.state == ZoneState::Offline;
        if (offline || info.write_pointer > 0) && !format.force {
            return Err(StoreError::NotEmpty { zone, offline });
        }
    }
    for (zone, info) in (0u32..).zip(&zones) {
        if info.write_pointer > 0 && (info.state.is_writable() || info.state == ZoneState::Full) {
            device.reset(zone)?;
        }
    }
    let store = RandomState::new().hash_one(0u8) | 1;
    let mut state = State::new(volume, layout.clone(), store);
    layout.data.iter().for_each(|&zone| state.add_empty_zone(zone));
    let empty = (0..layout.meta.len()).collect();
    let meta = MetaLog::new(device.clone(), layout, store, 1, None, VecDeque::new(), empty);
    Engine::new(device, state, meta, &Open::default()).checkpoint(false)
}

/// The zones that the store on a device was formatted with.
pub(crate) fn zones_on(device: &dyn Device) -> Result<u32, StoreError> {
    find_superblock(device).map(|(_, (fixed, ..))| fixed.device_zones)
}

/// The number of the store on a device.
pub(crate) fn number_on(device: &dyn Device) -> Result<u64, StoreError> {
    find_superblock(device).map(|(store, _)| store)
}

/// A store that was opened.
pub(crate) struct Opened {
    /// The store.
    pub engine: Engine,
    /// Synced pages that are missing.
    pub missing: Vec<Loss>,
    /// Pages of which a later copy was found that does not count, see [`Engine::rewrite_dropped`].
    pub dropped: Vec<u64>,
}

/// Opens a store, unless synced pages are missing and that is not accepted.
pub(crate) fn open(device: Arc<dyn Device>, open: &Open) -> Result<Opened, StoreError> {
    let target = open.space.map(SpaceTarget::new).transpose()?;
    let (store, options) = find_superblock(&*device)?;
    let layout = Arc::new(Layout::recorded(&*device, options, open.schemes)?);
    let log = read_log(&*device, &layout, store)?;
    let (zones, notes) = (log.table.zones.len(), log.notes.len());
    tracing::debug!(store, zones, notes, clean = log.clean, "metadata log read");
    let mut state = State::new(volume::build(&layout)?, layout.clone(), store);
    let meta =
        MetaLog::new(device.clone(), layout, store, log.seq, log.current, log.used, log.empty)
            .with_written(log.table.head.written[3]);
    state.recall(log.table.head.time, &log.table.root, &log.table.learned);
    let engine = Engine::new(device, state, meta, open);
    let chunks = log.durable.max(open.durable.chunks);
    let durable = Durable { chunks, notes: open.durable.notes };
    let mut recovery = Recovery::new(&engine, log.table, log.notes, durable)?;
    if let Some(zone) = log.hidden {
        let what = "is offline, and the last records of metadata may be there";
        recovery.missing.push(Loss::new(zone, what));
    }
    let changed = recovery.find_out()?;
    let missing = std::mem::take(&mut recovery.missing);
    let dropped = std::mem::take(&mut recovery.dropped);
    if !missing.is_empty() && !open.accept_loss {
        return Err(StoreError::Missing(missing));
    }
    // Up to here nothing was written.
    engine.metadata.log()?.reset_idle(&log.idle)?;
    let (live, ended) = recovery.restore()?;
    if changed || ended || !log.clean || !missing.is_empty() {
        engine.checkpoint(false)?;
    } else {
        // The checkpoint may be that of a process that was killed, and known to no medium yet.
        // Chunks that are written from now on say that all before them are durable.
        engine.core.device.flush()?;
    }
    recovery.empty_others(&live)?;
    if let Some(target) = target {
        engine.core.state()?.aim_at(target)?;
    }
    Ok(Opened { engine, missing, dropped })
}
