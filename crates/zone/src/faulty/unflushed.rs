//! The changes of zones since the last flush, and the part of them that survives a crash.

use std::collections::BTreeMap;

use super::fault::Tail;
use crate::fault_rng::FaultRng;
use crate::{Device, DeviceError, ZoneState};

/// The unit that drives write atomically, in bytes: a block is torn between sectors.
const SECTOR: u64 = 512;

/// The changes of a zone since the last flush.
pub(super) struct Unflushed {
    /// The state, with its bytes, before a reset that may turn out not to have happened. If there
    /// were several resets, one of them is kept.
    earlier: Option<(Since, Vec<u8>)>,
    since: Since,
}

/// The changes of a zone since the last flush, and since its last reset.
#[derive(Clone, Copy)]
struct Since {
    /// Bytes that are durable.
    durable: u64,
    /// Bytes that are written.
    written: u64,
    /// True if the zone was finished, but not durably.
    finished: bool,
}

/// The state of a zone after a crash.
struct Survivor {
    zone: u32,
    bytes: Vec<u8>,
    finished: bool,
}

/// The record of a zone; a new record says that all `written` bytes are durable.
fn record(all: &mut BTreeMap<u32, Unflushed>, zone: u32, written: u64) -> &mut Unflushed {
    let since = Since { durable: written, written, finished: false };
    all.entry(zone).or_insert(Unflushed { earlier: None, since })
}

/// Records an append to the zone.
pub(super) fn appended(all: &mut BTreeMap<u32, Unflushed>, zone: u32, at: u64, bytes: u64) {
    let since = &mut record(all, zone, at).since;
    assert!(since.written <= at, "appends follow each other");
    since.written = at + bytes;
}

/// The bytes that were appended to zones before they were finished, by zone. What a finish leaves
/// behind them may be much, and is zeroes.
pub(super) type Finished = BTreeMap<u32, u64>;

/// Resets the zone.
pub(super) fn reset(
    all: &mut BTreeMap<u32, Unflushed>,
    finished: &mut Finished,
    device: &dyn Device,
    zone: u32,
    chance: &mut FaultRng,
) -> Result<(), DeviceError> {
    let info = device.zone(zone)?;
    if info.state == ZoneState::Empty {
        return device.reset(zone);
    }
    let since = all.get(&zone).map_or_else(
        || Since { durable: info.write_pointer, written: info.write_pointer, finished: false },
        |record| record.since,
    );
    let bytes = content(device, zone, since, finished)?;
    device.reset(zone)?;
    finished.remove(&zone);
    let record = record(all, zone, 0);
    if record.earlier.is_none() || chance.one_in(2) {
        record.earlier = Some((since, bytes));
    }
    record.since = Since { durable: 0, written: 0, finished: false };
    Ok(())
}

/// Finishes the zone.
pub(super) fn finish(
    all: &mut BTreeMap<u32, Unflushed>,
    finished: &mut Finished,
    device: &dyn Device,
    zone: u32,
) -> Result<(), DeviceError> {
    let info = device.zone(zone)?;
    device.finish(zone)?;
    if info.state != ZoneState::Full {
        finished.insert(zone, info.write_pointer);
        record(all, zone, info.write_pointer).since.finished = true;
    }
    Ok(())
}

/// Changes the device into its state after a crash.
pub(super) fn lose(
    device: &dyn Device,
    all: BTreeMap<u32, Unflushed>,
    ends: &mut Finished,
    tail: Tail,
    chance: &mut FaultRng,
) -> Result<(), DeviceError> {
    let block = u64::from(device.geometry().block_bytes);
    let mut survivors = Vec::with_capacity(all.len());
    for (zone, Unflushed { earlier, since }) in all {
        let reset_is_lost = earlier.is_some() && chance.one_in(2);
        let (since, bytes) = match earlier {
            Some(earlier) if reset_is_lost => earlier,
            _ => (since, content(device, zone, since, ends)?),
        };
        survivors.push(survive(zone, since, bytes, block, tail, chance));
    }
    keep_to_the_limit(device, &mut survivors)?;
    for survivor in &survivors {
        device.reset(survivor.zone)?;
    }
    for Survivor { zone, bytes, finished } in survivors {
        device.append(zone, 0, &bytes)?;
        ends.remove(&zone);
        if finished {
            device.finish(zone)?;
            ends.insert(zone, bytes.len() as u64);
        }
    }
    device.flush()
}

fn content(
    device: &dyn Device,
    zone: u32,
    since: Since,
    finished: &Finished,
) -> Result<Vec<u8>, DeviceError> {
    let appended = finished.get(&zone).map_or(since.written, |&end| end.min(since.written));
    let mut bytes = vec![0; appended as usize];
    device.read(zone, 0, &mut bytes)?;
    Ok(bytes)
}

/// Cuts the bytes of a zone that did not survive. That nothing is lost, everything or a part has
/// fixed probabilities, so that each case is common.
fn survive(
    zone: u32,
    since: Since,
    mut bytes: Vec<u8>,
    block: u64,
    tail: Tail,
    chance: &mut FaultRng,
) -> Survivor {
    assert!(since.durable <= since.written, "what is durable was written");
    let blocks = (since.written - since.durable) / block;
    let kept = match chance.up_to(3) {
        0 => 0,
        1 => blocks,
        _ => chance.up_to(blocks),
    };
    let mut end = since.durable + kept * block;
    let mut finished = since.finished && kept == blocks && chance.one_in(2);
    if tail != Tail::Whole && kept < blocks && block > SECTOR && chance.one_in(3) {
        let sectors = 1 + chance.up_to(block / SECTOR - 2);
        garble(&mut bytes[(end + sectors * SECTOR) as usize..(end + block) as usize], chance);
        end += block;
    }
    if tail == Tail::Holes && kept > 1 && chance.one_in(2) {
        let hole = (since.durable + chance.up_to(kept - 2) * block) as usize;
        garble(&mut bytes[hole..hole + block as usize], chance);
    }
    if matches!(tail, Tail::Garbage | Tail::Holes) && end < since.written && chance.one_in(3) {
        let most = (since.written - end) / block;
        finished = since.finished && chance.one_in(2);
        let stayed = if finished { most } else { 1 + chance.up_to(most - 1) };
        let range = end as usize..(end + stayed * block) as usize;
        end = range.end as u64;
        garble(&mut bytes[range], chance);
    }
    assert!(end <= since.written, "a crash leaves no more than was written");
    // The rest of a zone that was finished.
    finished |= (bytes.len() as u64) < end;
    bytes.truncate(end as usize);
    Survivor { zone, bytes, finished }
}

/// Fills bytes that were never written: with zeroes, or with anything.
fn garble(bytes: &mut [u8], chance: &mut FaultRng) {
    if chance.one_in(2) { bytes.fill(0) } else { chance.fill(bytes) }
}

/// Lets resets and finishes happen after all where losing them would exceed the limit: a zone whose
/// reset or finish is lost is active again, and no drive starts with more active zones than it
/// allows.
fn keep_to_the_limit(
    device: &dyn Device,
    survivors: &mut Vec<Survivor>,
) -> Result<(), DeviceError> {
    let Some(limit) = device.geometry().max_active else {
        return Ok(());
    };
    let zones = device.report(0, device.geometry().zones)?;
    let mut active = zones.iter().filter(|info| info.state.is_active()).count();
    survivors.retain(|survivor| {
        let info = zones[survivor.zone as usize];
        let (was_active, written) = (info.state.is_active(), survivor.bytes.len() as u64);
        if written > 0 && !was_active && active >= limit as usize {
            return false;
        }
        let is_active = !survivor.finished && written > 0 && written < info.capacity;
        active = active + usize::from(is_active) - usize::from(was_active);
        true
    });
    Ok(())
}
