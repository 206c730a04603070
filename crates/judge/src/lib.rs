//! A second reader of the page store's format: from docs/recovery.md alone it says which pages a
//! store must have when it is opened. It shares no code with the store.
//!
//! It ignores what the store keeps in memory, and repairs nothing. A store that lost a zone is an
//! error: how much of it may be left depends on what the user accepts.

mod chunks;
mod metadata;
mod page;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use frostline_zone::{Device, DeviceError};

use chunks::{ChunkGroup, Late, late_chunks};
use metadata::{CheckpointZone, Metadata};
use page::{PAGE, sum_of};

/// The pages that a store must have, as LBA and CRC-32C of the record: of the content, and in a store in
/// units of so much of it as was written, with zeroes up to the end of a unit.
pub type PageSums = BTreeMap<u32, u32>;

/// The reason why the judge can't say which pages a store must have.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Undecided {
    /// The device can't be read.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A structure that must be there is missing or damaged.
    #[error("{0}")]
    Damaged(String),
}

/// The state of an LBA that was written or trimmed after the checkpoint. Later states are greater:
/// time of the write, then writes before trims of the same time, then the number of the chunk.
type Newest = (u64, bool, u64, Option<u32>);

/// The pages that the store on this device must have when it is opened.
///
/// # Errors
/// The device can't be read; there is no store; a structure that its guarantees rest on is damaged.
pub fn pages(device: &dyn Device) -> Result<PageSums, Undecided> {
    let meta = Metadata::read(device)?;
    let mut late = late_chunks(device, &meta)?;
    let durable = late.iter().map(|chunk| chunk.durable).max().unwrap_or(0).max(meta.durable);
    for chunk in late.iter_mut().filter(|chunk| chunk.seq > durable) {
        chunk.leave_whole_pages(device)?;
    }
    leave_whole_groups(&mut late, durable);
    let mut newest: HashMap<u32, Newest> = HashMap::new();
    let mut offer = |lba: u32, state: Newest| {
        let known = newest.entry(lba).or_insert(state);
        *known = (*known).max(state);
    };
    for chunk in &late {
        for row in &chunk.rows {
            offer(row.lba, (row.time, false, chunk.seq, Some(row.sum)));
        }
    }
    for trim in &meta.trims {
        offer(trim.lba, (trim.time, true, trim.serial, None));
    }
    let mut pages = PageSums::new();
    for leaf in &meta.leaves {
        for at in 0..1024 {
            let lba = leaf.number * 1024 + at;
            let slot = leaf.slot(at);
            if slot != 0 && !newest.contains_key(&lba) {
                let units = if meta.in_units { leaf.units(at) } else { 1 };
                check(device, &meta, &late, lba, (slot, units), leaf.sum(at))?;
                pages.insert(lba, leaf.sum(at));
            }
        }
    }
    pages.extend(newest.into_iter().filter_map(|(lba, state)| Some((lba, state.3?))));
    Ok(pages)
}

/// Drops the pages of each group that was not durable and of which a page is missing.
fn leave_whole_groups(late: &mut [Late], durable: u64) {
    let groups = late.iter().filter_map(|chunk| chunk.group);
    let unsure: Vec<ChunkGroup> = groups.filter(|group| group.from > durable).collect();
    for group in unsure {
        let rows = late.iter().flat_map(|chunk| &chunk.rows).filter(|row| group.has(row));
        let times: BTreeSet<u64> = rows.map(|row| row.time).collect();
        if times.len() < group.pages as usize {
            late.iter_mut().for_each(|chunk| chunk.rows.retain(|row| !group.has(row)));
        }
    }
}

/// Checks that a page in the map is where the map says.
fn check(
    device: &dyn Device,
    meta: &Metadata,
    late: &[Late],
    lba: u32,
    (slot, units): (u32, u32),
    sum: u32,
) -> Result<(), Undecided> {
    let wrong = |what: &str| Undecided::Damaged(format!("LBA {lba}, slot {slot}: {what}"));
    let zone = meta.zones.get(&(slot >> meta.offset_bits));
    let zone: &CheckpointZone = zone.ok_or_else(|| wrong("no zone of the checkpoint"))?;
    if late.iter().any(|c| c.zone == zone.device_zone && c.opening != zone.opening) {
        return Err(wrong("its zone holds later pages"));
    }
    let offset = slot & ((1 << meta.offset_bits) - 1);
    let first_byte = u64::from(offset) * u64::from(meta.unit);
    let page = (first_byte / PAGE as u64) as u32;
    let headers = zone.firsts.iter().filter(|&&first| first <= page).count() as u64;
    let at = first_byte + headers * PAGE as u64;
    match sum_of(device, zone.device_zone, at, units * meta.unit)? == Some(sum) {
        true => Ok(()),
        false => Err(wrong("its content is not there")),
    }
}
