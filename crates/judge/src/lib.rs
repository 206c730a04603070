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

use chunks::{ChunkGroup, Late, PageRow, late_chunks};
use metadata::Metadata;
use page::{PAGE, Place, bytes_of, sum_of};

/// The pages that a store must have, as LBA and CRC-32C of the content.
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

/// The state of a page that was written or trimmed after the checkpoint. Later states are greater:
/// time of the write, then writes before trims of the same time, then the number of the chunk. With the
/// place of an image comes the sum of the delta that was merged into it.
type Newest = (u64, bool, u64, Option<(Place, u32)>);

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
    let mut old: BTreeMap<u32, [Option<Place>; 2]> = BTreeMap::new();
    for leaf in &meta.leaves {
        old.extend(leaf.pages(&meta));
    }
    leave_whole_groups(&mut late, &old, durable);
    let mut newest: HashMap<u32, Newest> = HashMap::new();
    let mut offer = |lba: u32, state: Newest| {
        let known = newest.entry(lba).or_insert(state);
        *known = (*known).max(state);
    };
    let (images, deltas): (Vec<_>, Vec<_>) = late
        .iter()
        .flat_map(|chunk| chunk.rows.iter().map(|row| (chunk.seq, row)))
        .partition(|(_, row)| row.base.is_none());
    for (seq, row) in images {
        offer(row.lba, (row.time, false, seq, Some((row.place, row.merged))));
    }
    for trim in &meta.trims {
        offer(trim.lba, (trim.time, true, trim.serial, None));
    }
    let mut pages = PageSums::new();
    let all: BTreeSet<u32> = old.keys().chain(newest.keys()).copied().collect();
    for page in all {
        let (late_image, [old_image, old_delta]) =
            (newest.get(&page), old.get(&page).copied().unwrap_or_default());
        let found = late_image.map_or(old_image, |late| Some(late.3?.0));
        let Some(image) = found else { continue };
        let old = [old_image, old_delta];
        let delta = newest_delta(&meta, page, image, late_image, old, &deltas);
        for place in
            [Some(image).filter(|_| late_image.is_none()), old_delta.filter(|_| delta == old_delta)]
        {
            place.map_or(Ok(()), |place| check(device, &late, page, place))?;
        }
        let wrong = || Undecided::Damaged(format!("LBA {page}: its records are no page"));
        let sum = match meta.in_units {
            true => content(device, image, delta)?.map(|page| crc32c::crc32c(&page)),
            false => Some(image.sum),
        };
        pages.insert(page, sum.ok_or_else(wrong)?);
    }
    Ok(pages)
}

/// The newest delta of a page's newest image. Deltas of other images, and those that were written before this
/// one, do not count.
fn newest_delta(
    meta: &Metadata,
    page: u32,
    image: Place,
    late_image: Option<&Newest>,
    [old_image, old_delta]: [Option<Place>; 2],
    deltas: &[(u64, &PageRow)],
) -> Option<Place> {
    let since = late_image.map_or(0, |&(time, ..)| time + 1);
    let its = |row: &&(u64, &PageRow)| {
        row.1.lba == page && row.1.base == Some(image.sum) && row.1.time >= since
    };
    let late = deltas.iter().filter(its).max_by_key(|(seq, row)| (row.time, *seq));
    // Cleaning may have copied the image of the checkpoint as it was, and not merged it with its delta.
    let is_live = |delta: &Place| {
        late_image.is_none_or(|&(time, _, _, found)| {
            time <= meta.time
                && old_image.is_some_and(|old| old.sum == image.sum)
                && found.is_some_and(|(_, merged)| merged != delta.sum)
        })
    };
    late.map(|(_, row)| row.place).or(old_delta.filter(is_live))
}

/// Drops the pages of each group that was not durable and of which a page is missing, or the image that a
/// delta is of.
fn leave_whole_groups(late: &mut [Late], old: &BTreeMap<u32, [Option<Place>; 2]>, durable: u64) {
    let groups = late.iter().filter_map(|chunk| chunk.group);
    let unsure: Vec<ChunkGroup> = groups.filter(|group| group.from > durable).collect();
    for group in unsure {
        let images = late.iter().flat_map(|chunk| &chunk.rows).filter(|row| row.base.is_none());
        let late_images = images.map(|row| (row.lba, row.place.sum));
        let old_images = old.iter().filter_map(|(&lba, [image, _])| Some((lba, (*image)?.sum)));
        let images: BTreeSet<(u32, u32)> = late_images.chain(old_images).collect();
        let rows = late.iter().flat_map(|chunk| &chunk.rows).filter(|row| group.has(row));
        let rows = rows.filter(|row| row.base.is_none_or(|base| images.contains(&(row.lba, base))));
        let times: BTreeSet<u64> = rows.map(|row| row.time).collect();
        if times.len() < group.pages as usize {
            late.iter_mut().for_each(|chunk| chunk.rows.retain(|row| !group.has(row)));
        }
    }
}

/// Checks that a record in the map is where the map says.
fn check(device: &dyn Device, late: &[Late], lba: u32, place: Place) -> Result<(), Undecided> {
    let wrong = |what: &str| Undecided::Damaged(format!("LBA {lba}, {place:?}: {what}"));
    let opening = place.opening.ok_or_else(|| wrong("no zone of the checkpoint"))?;
    if late.iter().any(|c| c.zone == place.zone && c.opening != opening) {
        return Err(wrong("its zone holds later pages"));
    }
    match sum_of(device, place.zone, place.at, place.bytes)? == Some(place.sum) {
        true => Ok(()),
        false => Err(wrong("its content is not there")),
    }
}

/// A page of a store in units, of its image and its delta; none if they are not what the format says.
fn content(
    device: &dyn Device,
    image: Place,
    delta: Option<Place>,
) -> Result<Option<Vec<u8>>, Undecided> {
    let bytes = |place: Place| bytes_of(device, place.zone, place.at, place.bytes);
    let Some(mut page) = bytes(image)?.and_then(whole) else { return Ok(None) };
    let Some(delta) = delta else { return Ok(Some(page)) };
    let applied = bytes(delta)?.and_then(|delta| apply(&mut page, &delta));
    Ok(applied.map(|()| page))
}

/// A page of its image: two bytes say where zeroes were left out, two how many. If the first two have their
/// highest bit set, two more say how many bytes of LZ4 follow, or of zstd if the next bit is set as well; else the
/// page's bytes do.
fn whole(image: Vec<u8>) -> Option<Vec<u8>> {
    if image.len() == PAGE {
        return Some(image);
    }
    let field = |at: usize| usize::from(u16::from_le_bytes([image[at], image[at + 1]]));
    let (at, zeroes, len) = (field(0) & 0x3fff, field(2), PAGE.checked_sub(field(2))?);
    let short = || image.get(6..6 + field(4));
    let bytes = match field(0) >> 14 {
        0 => image.get(4..4 + len)?.to_vec(),
        2 => lz4_flex::block::decompress(short()?, len).ok()?,
        3 => {
            let frame = [&[0x28, 0xb5, 0x2f, 0xfd, 0, 0x10], short()?].concat();
            zstd::bulk::decompress(&frame, len).ok()?
        }
        _ => return None,
    };
    let (before, behind) = bytes.split_at_checked(at)?;
    Some([before, &vec![0; zeroes], behind].concat())
}

/// Puts the words of a delta into a page: behind four bytes of its time and one that counts the runs, each
/// run has two bytes, words to pass over and words to set, and then come those words.
fn apply(page: &mut [u8], delta: &[u8]) -> Option<()> {
    let runs = usize::from(*delta.get(4)?);
    let (mut words, mut at) = (delta.get(5 + 2 * runs..)?, 0);
    for run in delta[5..5 + 2 * runs].chunks(2) {
        at += 8 * usize::from(run[0]);
        let (set, rest) = words.split_at_checked(8 * usize::from(run[1]))?;
        page.get_mut(at..at + set.len())?.copy_from_slice(set);
        at += set.len();
        words = rest;
    }
    Some(())
}
