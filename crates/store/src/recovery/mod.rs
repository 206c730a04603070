//! Formatting, and opening after whatever happened.
//!
//! The last complete checkpoint tells what the store was at one moment. Chunks that were written
//! later are found in the zones that were open then, and in those that notes say were opened
//! since. Of each page the newest copy counts. docs/recovery.md argues why that is enough.

mod late;
mod log;
mod rebuild;
mod replay;
mod restore;

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use frostline_placement::Scheme;
use frostline_zone::{Device, ZoneState};

use crate::inner::Inner;
use crate::layout::Layout;
use crate::meta::MetaLog;
use crate::placer::Placer;
use crate::state::State;
use crate::{Format, Loss, Open, StoreError};
use log::{find_superblock, read_log};
pub use rebuild::{Rebuilt, rebuild};
use replay::Recovery;

/// Makes an empty store.
pub fn format(device: Arc<dyn Device>, format: &Format) -> Result<(), StoreError> {
    let layout = Arc::new(Layout::divide(&*device, format)?);
    // Nothing is written before everything is known to be possible.
    let placer = build(&layout)?;
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
    let mut state = State::new(placer, layout.clone(), store);
    state.empty = layout.data.iter().copied().collect();
    let empty = (0..layout.meta.len()).collect();
    let meta = MetaLog::new(device.clone(), layout, store, 1, None, VecDeque::new(), empty);
    Inner::new(device, state, meta, &Open::default()).checkpoint()
}

fn build(layout: &Layout) -> Result<Placer, StoreError> {
    let told = layout.fixed.hotness == 1;
    let options = layout.options();
    Ok(Placer::build(&layout.scheme, &layout.victim, layout.fixed.seed, options, told)?)
}

/// The zones that the store on a device was formatted with.
pub fn zones_on(device: &dyn Device) -> Result<u32, StoreError> {
    find_superblock(device).map(|(_, fixed, _)| fixed.device_zones)
}

/// Opens a store, unless synced pages are missing and that is not accepted. Returns what is.
pub fn open(device: Arc<dyn Device>, open: &Open) -> Result<(Inner, Vec<Loss>), StoreError> {
    let (store, fixed, meta) = find_superblock(&*device)?;
    let layout = Arc::new(Layout::recorded(&*device, fixed, meta, open.schemes)?);
    let log = read_log(&*device, &layout, store)?;
    let mut state = State::new(build(&layout)?, layout.clone(), store);
    let written = log.table.head.written[3];
    let mut meta =
        MetaLog::new(device.clone(), layout, store, log.seq, log.current, log.used, log.empty);
    meta.written = written;
    state.root = log.table.root.clone();
    state.time = log.table.head.time;
    state.placer.scheme_mut().recall(&log.table.learned);
    let inner = Inner::new(device, state, meta, open);
    let mut recovery = Recovery::new(&inner, log.table, log.notes)?;
    if let Some(zone) = log.hidden {
        let what = "is offline, and the last records of metadata may be there";
        recovery.missing.push(Loss::new(zone, what));
    }
    let changed = recovery.find_out()?;
    let missing = std::mem::take(&mut recovery.missing);
    if !missing.is_empty() && !open.accept_loss {
        return Err(StoreError::Missing(missing));
    }
    // Up to here nothing was written.
    inner.meta()?.reset_idle(&log.idle)?;
    let ended = recovery.restore()?;
    if changed || ended || !log.clean || !missing.is_empty() {
        inner.checkpoint()?;
    }
    Ok((inner, missing))
}
