//! Events are sent to a state that has no device.

use frostline_log::Extent;
use frostline_placement::Hotness;
use frostline_zone::{Shape, in_memory};

use super::*;
use crate::format::image::Packer;
use crate::format::packing::PackedPage;
use crate::format::records::Record;
use crate::state::mapped_page::{MappedPage, RecordCopy, RecordLookup};
use crate::{Format, Open, PageWrite};

const PAGE: [u8; 4096] = [7; 4096];

/// The state of a small store that was just formatted, with leaf 0 of the map in memory.
fn state() -> State {
    let shape = Shape { bytes: 16 << 20, zone_bytes: Some(1 << 18), ..Shape::default() };
    let format = Format { scheme: "nosep".to_string(), gp: 0.3, unit: 4096, ..Format::default() };
    let layout = Arc::new(Layout::divide(&*in_memory(&shape).unwrap(), &format).unwrap());
    let mut state = State::new(crate::state::volume::build(&layout).unwrap(), layout.clone(), 1);
    layout.data.iter().for_each(|&zone| state.zones.add_empty(zone));
    state.withhold();
    let map = state.volume.map_mut();
    map.insert(0, None, 0, |_, _| {});
    state
}

fn page(state: &mut State, lba: impl Into<u64>) -> MappedPage<&mut State> {
    MappedPage::of(state, lba.into()).ok().expect("a leaf in memory")
}

fn write(state: &mut State, lba: u32) {
    let write = PageWrite { lba, page: &PAGE, hotness: None, changed: None };
    let packer = Packer::new(&Open::DEFAULT);
    let packed = PackedPage::of(&write, 0, state.layout.sizes, &packer);
    page(state, lba).write(packed).unwrap();
}

fn place(state: &mut State, lba: u32) -> frostline_log::Slot {
    page(state, lba).place().expect("a page that was written").0.slot
}

fn is_in_memory(state: &mut State, lba: impl Into<u64>) -> bool {
    let mut content = [0; 4096];
    let found = page(state, lba).find(&mut content).unwrap().expect("a page that was written");
    assert!(content == PAGE || !matches!(found, RecordLookup::Copied(_)));
    matches!(found, RecordLookup::Copied(_))
}

fn relocate(state: &mut State, from: Extent, record: Record) {
    let hotness = Hotness::default();
    let copy = RecordCopy { from, class: None, record, hotness, bytes: &PAGE };
    page(state, record.lba).relocate(&copy).unwrap();
}

/// All chunks reach the device.
fn write_all(state: &mut State) {
    state.seal_all();
    state.chunks.take_outgoing().into_iter().for_each(|chunk| state.chunk_written(chunk));
}

/// Writes pages until there is a victim, whose number it returns.
fn victim(state: &mut State) -> u32 {
    for lba in (0..64).cycle() {
        write(state, lba);
        write_all(state);
        if state.volume.log().cleaning_due() {
            break;
        }
    }
    state.begin_cleaning()[0]
}

/// Moves the valid pages of a victim elsewhere.
fn copy_pages_of(state: &mut State, zone: u32) {
    for lba in 0..64u32 {
        let from = page(state, lba).place().map(|(at, _)| at);
        if let Some(from) = from.filter(|from| from.slot.zone == zone) {
            let record = Record { lba: lba.into(), bytes: 4096, ..Record::default() };
            relocate(state, from, record);
        }
    }
    write_all(state);
}

#[test]
fn a_page_whose_leaf_is_not_in_memory_can_not_be_had() {
    let mut state = state();
    assert!(state.layout.leaves() > 1);
    assert!(MappedPage::of(&mut state, 1023).is_ok());
    assert!(MappedPage::of(&mut state, 1024).is_err());
}

#[test]
fn a_page_is_read_from_memory_until_its_chunk_is_written() {
    let mut state = state();
    write(&mut state, 3);
    assert!(is_in_memory(&mut state, 3u32));
    let last = state.seal_all();
    assert!(is_in_memory(&mut state, 3u32) && !state.chunks.is_written(last));
    let chunks = state.chunks.take_outgoing();
    assert_eq!(chunks.len(), 1);
    chunks.into_iter().for_each(|chunk| state.chunk_written(chunk));
    assert!(!is_in_memory(&mut state, 3u32) && state.chunks.is_written(last));
}

#[test]
fn the_pages_of_a_zone_that_failed_go_to_another_one() {
    let mut state = state();
    (0..4).for_each(|lba| write(&mut state, lba));
    state.seal_all();
    let chunk = state.chunks.take_outgoing().pop().unwrap();
    let failed = chunk.zone;
    assert!(state.zone_failed(failed));
    assert!(!state.zone_failed(failed), "it is known");
    assert!(state.checkpoints.is_due(u64::MAX));
    copy_pages_of_chunk(&mut state, &chunk);
    state.chunk_moved(chunk);
    assert!((0..4).all(|lba| place(&mut state, lba).zone != failed));
    write(&mut state, 5);
    assert_ne!(place(&mut state, 5).zone, failed);
    assert!(state.chunks.is_zone_written(failed));
}

fn copy_pages_of_chunk(state: &mut State, chunk: &Chunk) {
    for (from, record) in chunk.extents() {
        relocate(state, from, *record);
        assert!(is_in_memory(state, record.lba));
    }
}

#[test]
fn a_victim_is_empty_again_once_it_was_reset() {
    let mut state = state();
    let zone = victim(&mut state);
    let device_zone = state.zones.get(zone).device_zone;
    let pin = state.zones.get(zone).pin.clone();
    copy_pages_of(&mut state, zone);
    state.zone_cleaned(zone);
    assert_eq!(state.zones.next_reset(), Some((device_zone, true)));
    drop(pin);
    assert_eq!(state.zones.next_reset(), Some((device_zone, false)));
    assert!(state.zones.empty().all(|empty| empty != device_zone));
    state.zone_reset(device_zone);
    assert_eq!(state.zones.next_reset(), None);
    assert_eq!(state.zones.empty().last(), Some(device_zone));
    assert!(!state.checkpoints.is_due(u64::MAX));
}

#[test]
fn a_zone_that_can_not_be_reset_costs_the_volume_one() {
    let mut state = state();
    let zone = victim(&mut state);
    let device_zone = state.zones.get(zone).device_zone;
    copy_pages_of(&mut state, zone);
    state.zone_cleaned(zone);
    let free = state.volume.log().free_zones();
    state.zone_lost(device_zone);
    assert_eq!(state.volume.log().free_zones(), free - 1);
    assert_eq!(state.zones.next_reset(), None);
    assert!(state.zones.empty().all(|empty| empty != device_zone));
    assert!(state.checkpoints.is_due(u64::MAX));
    state.checkpoints.begun();
    assert!(!state.checkpoints.is_due(u64::MAX));
}

#[test]
fn a_checkpoint_is_due_after_as_many_pages_as_asked_for() {
    let mut state = state();
    for lba in 0..3 {
        assert!(!state.checkpoints.is_due(3));
        write(&mut state, lba);
    }
    assert!(state.checkpoints.is_due(3));
    state.checkpoints.begun();
    assert!(!state.checkpoints.is_due(3));
}

#[test]
fn cleaning_that_found_no_victim_is_tried_again_after_a_write_or_a_trim() {
    let mut state = state();
    assert!(!state.nothing_to_clean());
    let find_nothing = |state: &mut State| {
        assert!(state.begin_cleaning().is_empty() && state.nothing_to_clean());
    };
    find_nothing(&mut state);
    assert!(!page(&mut state, 1u32).trim().unwrap());
    assert!(state.nothing_to_clean(), "a page that was never written leaves no garbage");
    write(&mut state, 1);
    assert!(!state.nothing_to_clean());
    find_nothing(&mut state);
    assert!(page(&mut state, 1u32).trim().unwrap());
    assert!(!state.nothing_to_clean());
}
