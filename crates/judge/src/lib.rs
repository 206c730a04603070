//! A second reader of the page store's format: from docs/recovery.md alone it says which pages a
//! store must have when it is opened. It shares no code with the store.
//!
//! It ignores what the store keeps in memory, and repairs nothing. A store that lost a zone is an
//! error: how much of it may be left depends on what the user accepts.

mod chunks;
mod error;
mod metadata;
mod page;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use frostline_zone::Device;
use zstd::bulk::Decompressor;

use chunks::{ChunkGroup, Kind, Late, PageRow, late_chunks};
pub use error::Undecided;
use metadata::{Metadata, Places};
use page::{PAGE, Place, bytes_of};

/// The pages that a store must have, as LBA and CRC-32C of the content.
pub type PageSums = BTreeMap<u32, u32>;

/// The state of a page that was written or trimmed after the checkpoint. Later states are greater:
/// time of the write, then writes before trims of the same time, then the number of the chunk. With
/// the place of an image comes the sum of the last record that was merged into it.
type Newest = (u64, bool, u64, Option<(Place, u32)>);

/// The deltas and tails that were written after the checkpoint, by LBA, kind and the record that
/// they are of: time, number of the chunk, place.
type Changes = HashMap<(u32, Kind, u32), Vec<(u64, u64, Place)>>;

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
    let mut old: BTreeMap<u32, Places> = BTreeMap::new();
    for leaf in &meta.leaves {
        old.extend(leaf.pages(&meta));
    }
    leave_whole_groups(&mut late, &old, durable);
    let mut newest: HashMap<u32, Newest> = HashMap::new();
    let mut changes = Changes::new();
    let mut offer = |lba: u32, state: Newest| {
        let known = newest.entry(lba).or_insert(state);
        *known = (*known).max(state);
    };
    for (seq, row) in late.iter().flat_map(|chunk| chunk.rows.iter().map(|row| (chunk.seq, row))) {
        let &PageRow { lba, kind, time, place, other } = row;
        match kind {
            Kind::Image => offer(lba, (time, false, seq, Some((place, other)))),
            _ => changes.entry((lba, kind, other)).or_default().push((time, seq, place)),
        }
    }
    for trim in &meta.trims {
        offer(trim.lba, (trim.time, true, trim.serial, None));
    }
    let mut pages = PageSums::new();
    let all: BTreeSet<u32> = old.keys().chain(newest.keys()).copied().collect();
    for page in all {
        let old = old.get(&page).copied().unwrap_or_default();
        let Some(places) = places(meta.time, page, old, newest.get(&page), &changes) else {
            continue;
        };
        let mut records = Vec::new();
        for (place, old) in places.into_iter().zip(old) {
            let Some(place) = place else { continue };
            let record = bytes_of(device, place)?;
            if old == Some(place) {
                check(&late, page, place, record.as_deref())?;
            }
            records.push(record);
        }
        let wrong = || Undecided::Damaged(format!("LBA {page}: its records are no page"));
        let sum = content(records).map(|page| crc32c::crc32c(&page));
        pages.insert(page, sum.ok_or_else(wrong)?);
    }
    Ok(pages)
}

/// The records that a page is made of, with a checkpoint of that time: its newest image, the newest
/// delta of that and the newest tail of that; none if there is no page. Records of others do not
/// count, nor do deltas that were written before the image.
fn places(
    checkpoint: u64,
    page: u32,
    [old_image, old_delta, old_tail]: Places,
    late_image: Option<&Newest>,
    changes: &Changes,
) -> Option<Places> {
    let image = late_image.map_or(old_image, |late| Some(late.3?.0))?;
    let newest = |kind: Kind, of: Place, since: u64| {
        let its = changes.get(&(page, kind, of.sum)).into_iter().flatten();
        let late =
            its.filter(|&&(time, ..)| time >= since).max_by_key(|&&(time, seq, _)| (time, seq));
        late.map(|&(.., place)| place)
    };
    // Cleaning may have copied the image of the checkpoint as it was, and not merged it with what
    // was of it.
    let last = old_tail.or(old_delta).map(|last| last.sum);
    let is_old = late_image.is_none_or(|&(time, _, _, found)| {
        time <= checkpoint
            && old_image.is_some_and(|old| old.sum == image.sum)
            && found.is_some_and(|(_, merged)| Some(merged) != last)
    });
    let since = late_image.map_or(0, |&(time, ..)| time + 1);
    let delta = newest(Kind::Delta, image, since).or(old_delta.filter(|_| is_old));
    let tail = delta.and_then(|delta| {
        let is_old = old_delta.is_some_and(|old| old.sum == delta.sum);
        newest(Kind::Tail, delta, 0).or(old_tail.filter(|_| is_old))
    });
    Some([Some(image), delta, tail])
}

/// Drops the pages of each group that was not durable and of which a page is missing, or a record
/// that a delta or a tail is of.
fn leave_whole_groups(late: &mut [Late], old: &BTreeMap<u32, Places>, durable: u64) {
    let groups = late.iter().filter_map(|chunk| chunk.group);
    let unsure: Vec<ChunkGroup> = groups.filter(|group| group.from > durable).collect();
    for group in unsure {
        let of_kind = |kind: Kind| {
            let rows = late.iter().flat_map(|chunk| &chunk.rows);
            rows.filter(move |row| row.kind == kind)
        };
        let sums_before = |kind: Kind| {
            let sum = move |places: &Places| places[kind as usize].map(|place| place.sum);
            old.iter().filter_map(move |(&lba, places)| Some((lba, sum(places)?)))
        };
        // Whole down to the image, by LBA and sum.
        let mut whole: BTreeSet<(u32, u32)> = BTreeSet::new();
        let mut times: BTreeSet<u64> = BTreeSet::new();
        for kind in [Kind::Image, Kind::Delta, Kind::Tail] {
            let counts =
                |row: &&PageRow| kind == Kind::Image || whole.contains(&(row.lba, row.other));
            let rows: Vec<&PageRow> = of_kind(kind).filter(counts).collect();
            times.extend(rows.iter().filter(|row| group.has(row)).map(|row| row.time));
            let late = rows.iter().map(|row| (row.lba, row.place.sum));
            whole = sums_before(kind).chain(late).collect();
        }
        if times.len() < group.pages as usize {
            late.iter_mut().for_each(|chunk| chunk.rows.retain(|row| !group.has(row)));
        }
    }
}

/// Checks that a record in the map is where the map says.
fn check(late: &[Late], lba: u32, place: Place, found: Option<&[u8]>) -> Result<(), Undecided> {
    let wrong = |what: &str| Undecided::Damaged(format!("LBA {lba}, {place:?}: {what}"));
    let opening = place.opening.ok_or_else(|| wrong("no zone of the checkpoint"))?;
    if late.iter().any(|c| c.zone == place.zone && c.opening != opening) {
        return Err(wrong("its zone holds later pages"));
    }
    match found.map(crc32c::crc32c) == Some(place.sum) {
        true => Ok(()),
        false => Err(wrong("its content is not there")),
    }
}

/// A page, of its image, its delta and its tail; none if one is not on the device, or they are not
/// what the format says.
fn content(records: Vec<Option<Vec<u8>>>) -> Option<Vec<u8>> {
    let mut page = None;
    for record in records {
        let record = record?;
        page = Some(match page {
            None => whole(record)?,
            Some(page) => apply(page, &record)?,
        });
    }
    page
}

/// A page of its image: two bytes say where zeroes were left out, two how many. If the first two
/// have their highest bit set, two more say how many bytes of LZ4 follow, or of zstd if the next
/// bit is set as well; else the page's bytes do. If the third bit is set the page's slots are
/// folded, and four bytes at the end say where they are.
fn whole(image: Vec<u8>) -> Option<Vec<u8>> {
    if image.len() == PAGE {
        return Some(image);
    }
    let field = |at: usize| usize::from(u16::from_le_bytes([image[at], image[at + 1]]));
    let (at, zeroes) = (field(0) & 0x1fff, field(2));
    let is_folded = field(0) & 0x2000 != 0;
    let len = PAGE.checked_sub(zeroes)? + if is_folded { 4 } else { 0 };
    let short = || image.get(6..6 + field(4));
    let bytes = match field(0) >> 14 {
        0 => image.get(4..4 + len)?.to_vec(),
        2 => lz4_flex::block::decompress(short()?, len).ok()?,
        3 => {
            let frame = [&[0x28, 0xb5, 0x2f, 0xfd, 0, 0x10], short()?].concat();
            decompress_zstd(&frame, len)?
        }
        _ => return None,
    };
    let (bytes, slots) = bytes.split_at_checked(PAGE - zeroes)?;
    let (before, behind) = bytes.split_at_checked(at)?;
    let page = [before, &vec![0; zeroes], behind].concat();
    if is_folded { unfolded(page, slots) } else { Some(page) }
}

/// A page whose folded slots begin at the first of two numbers. The second is their count.
fn unfolded(mut page: Vec<u8>, slots: &[u8]) -> Option<Vec<u8>> {
    let number = |at: usize| usize::from(u16::from_le_bytes([slots[at], slots[at + 1]]));
    let (begin, count) = (number(0), number(2));
    let folded = page.get(begin..begin + 8 * count)?.to_vec();
    let mut bit = 0;
    let mut take = |bits: usize| -> Option<usize> {
        let number = (0..bits).map(|n| {
            let at = bit + n;
            Some(usize::from(folded.get(at / 8)? >> (at % 8) & 1) << n)
        });
        let number = number.sum::<Option<usize>>();
        bit += bits;
        number
    };
    let (mut key, mut value, mut offset) = (0, 0, 0);
    for slot in 0..count {
        let mut known = |known: usize, bits: usize| match take(1)? {
            1 => Some(known),
            _ => take(bits),
        };
        key = known(key, 10)?;
        value = known(value, 11)?;
        offset = known((offset + 2 * PAGE - key - value) % PAGE, 12)?;
        let head = (0..4).map(|n| if n < key { page.get(offset + n).copied() } else { None });
        let head = head.fold(0, |head, byte| head << 8 | u64::from(byte.unwrap_or(0)));
        let word = head >> 1 << 33 | (value << 22 | key << 12 | offset) as u64;
        page[begin + 8 * slot..][..8].copy_from_slice(&word.to_le_bytes());
    }
    Some(page)
}

/// Decompresses a frame of zstd of at most `len` bytes. Each thread makes one context: that takes
/// longer than to decompress a page.
fn decompress_zstd(frame: &[u8], len: usize) -> Option<Vec<u8>> {
    thread_local! {
        static CONTEXT: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
    }
    CONTEXT.with_borrow_mut(|context| {
        let context = match context {
            Some(context) => context,
            None => context.insert(Decompressor::new().ok()?),
        };
        context.decompress(frame, len).ok()
    })
}

/// Makes the changes of a delta or a tail in a page: behind four bytes of its time and one that
/// counts the runs, each run has two bytes, words to pass over and words to set, and then come
/// those words. If the count has its highest bit set, words are moved first.
fn apply(page: Vec<u8>, delta: &[u8]) -> Option<Vec<u8>> {
    let (&count, rest) = delta.get(4..)?.split_first()?;
    let (mut page, rest) = match count >> 7 {
        0 => (page, rest),
        _ => shift(page, rest)?,
    };
    let runs = 2 * usize::from(count & 0x7f);
    let (mut words, mut at) = (rest.get(runs..)?, 0);
    for run in rest[..runs].chunks(2) {
        at += 8 * usize::from(run[0]);
        let (set, behind) = words.split_at_checked(8 * usize::from(run[1]))?;
        page.get_mut(at..at + set.len())?.copy_from_slice(set);
        at += set.len();
        words = behind;
    }
    Some(page)
}

/// Inserts and removes words as a delta says, but for as many of the first as the page has; returns
/// what is behind them in the delta. They are counted in two bytes of the page. A word is inserted
/// or removed before those up to an end, which moves with it; what lies behind that stays.
fn shift(page: Vec<u8>, delta: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let field =
        |at: usize| Some(usize::from(u16::from_le_bytes([*delta.get(at)?, *delta.get(at + 1)?])));
    let (shifts, at) = (usize::from(*delta.first()?), field(1)?);
    let number = u16::from_le_bytes([*page.get(at)?, *page.get(at + 1)?]);
    let mut has = number.wrapping_sub(field(3)? as u16);
    let mut end = field(5)?;
    let mut words: Vec<_> = page.chunks(8).collect();
    for n in 0..shifts {
        let shift = field(7 + 2 * n)?;
        let (at, removes) = (shift & 0x1ff, shift >> 9 & 1 == 1);
        for _ in 0..(shift >> 10) + 1 {
            let is_new = has == 0;
            has = has.saturating_sub(1);
            if at > end
                || end > words.len()
                || removes && at == end
                || !removes && end == words.len()
            {
                return None;
            }
            match removes {
                true => end -= 1,
                false => end += 1,
            }
            if is_new && removes {
                let removed = words.remove(at);
                words.insert(end, removed);
            } else if is_new {
                let behind = words.remove(end - 1);
                words.insert(at, behind);
            }
        }
    }
    let is_of_it = has == 0 && delta.len() >= 7 + 2 * shifts;
    is_of_it.then(|| (words.concat(), &delta[7 + 2 * shifts..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECKPOINT: u64 = 100;

    fn record(sum: u32) -> Place {
        Place { zone: 1, opening: None, at: 0, bytes: 64, sum }
    }

    /// The sums of the records of page 7, of which the checkpoint has some, when later ones are
    /// found: deltas and tails with the sums of what they are of, their times and sums.
    fn found(
        old: [Option<u32>; 3],
        late_image: Option<(u64, u32, u32)>,
        late: &[(Kind, u32, u64, u32)],
    ) -> Option<[Option<u32>; 3]> {
        let late_image =
            late_image.map(|(time, sum, merged)| (time, false, 1, Some((record(sum), merged))));
        let mut changes = Changes::new();
        for &(kind, of, time, sum) in late {
            changes.entry((7, kind, of)).or_default().push((time, 1, record(sum)));
        }
        let old = old.map(|sum| sum.map(record));
        let places = places(CHECKPOINT, 7, old, late_image.as_ref(), &changes)?;
        Some(places.map(|place| place.map(|place| place.sum)))
    }

    const ALL: [Option<u32>; 3] = [Some(10), Some(20), Some(30)];

    #[test]
    fn a_tail_counts_only_with_its_delta() {
        use Kind::{Delta, Tail};
        assert_eq!(found(ALL, None, &[(Tail, 20, 101, 31)]), Some([Some(10), Some(20), Some(31)]));
        assert_eq!(found(ALL, None, &[(Tail, 21, 101, 31)]), Some(ALL));
        assert_eq!(found(ALL, None, &[(Delta, 10, 101, 21)]), Some([Some(10), Some(21), None]));
        let both = [(Delta, 10, 101, 21), (Tail, 21, 102, 31), (Tail, 20, 103, 32)];
        assert_eq!(found(ALL, None, &both), Some([Some(10), Some(21), Some(31)]));
        assert_eq!(found([None; 3], None, &both), None);
    }

    #[test]
    fn copies_keep_their_delta_and_tail_and_merged_images_do_not() {
        let none = Some([Some(10), None, None]);
        assert_eq!(found(ALL, Some((90, 10, 0)), &[(Kind::Delta, 10, 95, 20)]), Some(ALL));
        assert_eq!(found(ALL, Some((90, 10, 0)), &[]), Some(ALL));
        assert_eq!(found(ALL, Some((98, 10, 30)), &[(Kind::Delta, 10, 95, 20)]), none);
        assert_eq!(found(ALL, Some((101, 10, 0)), &[(Kind::Tail, 20, 99, 30)]), none);
    }
}
