//! Slots: words of a page that say where its records lie, in the order of their keys.
//!
//! A page with records that are searched has such an array. Nearly all of it follows from the
//! records: the first bits of each key, and lengths that most records share. An image has the rest
//! alone, a bit for each thing that follows from the slot before:
//!
//! | for each slot | bits | left out if |
//! |---|--:|---|
//! | the key's length | 1, and 10 | it is that of the slot before |
//! | the value's length | 1, and 11 | the same |
//! | the offset | 1, and 12 | the record lies just before that of the slot before |
//!
//! So a slot takes 3 to 36 bits in place of 64. Bits fill bytes from the lowest on, and numbers
//! begin with their lowest bit.

use std::ops::Range;

use crate::format::PAGE;
use crate::format::word_set::WORD;

/// Bits of an offset, and of the lengths of key and value.
const OFFSET: u32 = 12;
const KEY: u32 = 10;
const VALUE: u32 = 11;

/// Bits below a key's first ones.
const BELOW: u32 = OFFSET + KEY + VALUE;

/// Where pages have slots: words of 8 bytes in the order of keys, one for each record.
///
/// From its lowest bit on, a slot has 12 bits of the record's offset in the page, 10 of the key's
/// length, 11 of the value's or of what stands for one elsewhere, and the first 31 bits of the key,
/// with zeroes behind a shorter one. A record begins with its key.
///
/// Nothing else is expected of a page: one with other contents is written as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotArray {
    /// Offset of the first slot in the page.
    pub at: u16,
    /// Offset of the number of slots, in two bytes, the lower one first.
    pub count_at: u16,
}

/// The slots of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slots {
    /// Offset of the first one.
    at: u16,
    count: u16,
}

impl SlotArray {
    /// The slots of a page, if it can have them.
    pub(crate) fn of(self, page: &[u8]) -> Option<Slots> {
        let count_at = usize::from(self.count_at);
        let count = page.get(count_at..)?.first_chunk()?;
        let slots = Slots { at: self.at, count: u16::from_le_bytes(*count) };
        (slots.count > 0 && slots.end() <= PAGE).then_some(slots)
    }
}

/// What a slot says beside the first bits of its key.
#[derive(Clone, Copy, Default)]
struct Slot {
    offset: u64,
    key: u64,
    value: u64,
}

impl Slot {
    fn of_word(word: u64) -> Slot {
        let field = |from: u32, bits: u32| word >> from & ((1 << bits) - 1);
        Slot {
            offset: field(0, OFFSET),
            key: field(OFFSET, KEY),
            value: field(OFFSET + KEY, VALUE),
        }
    }

    /// The word of the slot in this page.
    #[inline]
    fn word(self, page: &[u8]) -> u64 {
        let below = self.offset | self.key << OFFSET | self.value << (OFFSET + KEY);
        first_bits(page, self.offset as usize, self.key as usize) << BELOW | below
    }

    /// The bytes that it repeats the first bits of.
    fn first_bytes(self) -> Range<usize> {
        let first = self.offset as usize;
        first..first + self.key.min(4) as usize
    }

    /// The offset of a record that lies just before this one's.
    fn before(self, key: u64, value: u64) -> u64 {
        self.offset.wrapping_sub(key + value) % PAGE as u64
    }
}

/// The first 31 bits of the key at this offset that has so many bytes.
#[inline]
fn first_bits(page: &[u8], at: usize, len: usize) -> u64 {
    let mut first = [0; 4];
    match page.get(at..).and_then(<[u8]>::first_chunk) {
        Some(four) => first = *four,
        None => {
            let key = page.get(at..).unwrap_or_default();
            first[..key.len()].copy_from_slice(key);
        }
    }
    let bits = u32::from_be_bytes(first);
    let behind = 32u32.saturating_sub(8 * len as u32);
    u64::from(bits.checked_shr(behind).map_or(0, |bits| bits << behind) >> 1)
}

impl Slots {
    /// Bytes that say where they are.
    pub(crate) const HEAD: usize = 4;

    /// The offset behind the last slot.
    fn end(self) -> usize {
        usize::from(self.at) + usize::from(self.count) * WORD
    }

    /// The page with what its slots say beyond its records, and zeroes behind that. None if some
    /// say anything else, or it would not be less.
    pub(crate) fn fold(self, page: &[u8]) -> Option<Vec<u8>> {
        let (at, end) = (usize::from(self.at), self.end());
        let (mut bits, mut last) = (BitWriter::of(self.count.into()), Slot::default());
        for &word in page[at..end].as_chunks().0 {
            let word = u64::from_le_bytes(word);
            let slot = Slot::of_word(word);
            let first = slot.first_bytes();
            let lies_in_slots = first.start < end && first.end > at;
            if lies_in_slots || slot.word(page) != word {
                return None;
            }
            bits.push(slot, last);
            last = slot;
        }
        let bits = bits.bytes();
        if bits.len() >= end - at {
            return None;
        }
        let mut folded = page.to_vec();
        folded[at..at + bits.len()].copy_from_slice(bits);
        folded[at + bits.len()..end].fill(0);
        Some(folded)
    }

    /// Makes of a page that was [folded](Self::fold) what it was. False if it was not.
    pub(crate) fn unfold(self, page: &mut [u8]) -> bool {
        let (at, end) = (usize::from(self.at), self.end());
        let Some(bits) = page.get(at..end) else { return false };
        let (mut bits, mut last) = (BitReader::of(bits), Slot::default());
        for at in (at..end).step_by(WORD) {
            let Some(slot) = bits.slot_behind(last) else { return false };
            let word = slot.word(page);
            page[at..at + WORD].copy_from_slice(&word.to_le_bytes());
            last = slot;
        }
        true
    }

    /// As an image has them.
    pub(crate) fn to_bytes(self) -> [u8; Self::HEAD] {
        let [a, b] = self.at.to_le_bytes();
        let [c, d] = self.count.to_le_bytes();
        [a, b, c, d]
    }

    /// Those of an image.
    pub(crate) fn of_bytes([a, b, c, d]: [u8; Self::HEAD]) -> Slots {
        Slots { at: u16::from_le_bytes([a, b]), count: u16::from_le_bytes([c, d]) }
    }
}

/// Folded slots, as they are written.
struct BitWriter {
    /// As many as the slots have, and a word more.
    bytes: Vec<u8>,
    /// The bits of them.
    len: usize,
}

impl BitWriter {
    fn of(slots: usize) -> Self {
        BitWriter { bytes: vec![0; (slots + 1) * WORD], len: 0 }
    }

    /// Appends what does not follow from the slot before. It is shorter than the slot.
    fn push(&mut self, slot: Slot, last: Slot) {
        let (mut bits, mut len) = (0, 0);
        let before = last.before(slot.key, slot.value);
        for (known, number, of) in [
            (last.key, slot.key, KEY),
            (last.value, slot.value, VALUE),
            (before, slot.offset, OFFSET),
        ] {
            let is_known = known == number;
            bits |= if is_known { 1 } else { number << 1 } << len;
            len += if is_known { 1 } else { 1 + of };
        }
        let at = self.len / 8;
        if let Some(word) = self.bytes[at..].first_chunk_mut() {
            *word = (u64::from_le_bytes(*word) | bits << (self.len % 8)).to_le_bytes();
        }
        self.len += len as usize;
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len.div_ceil(8)]
    }
}

/// Folded slots, as they are read.
struct BitReader {
    /// The bits, and a word more.
    bytes: Vec<u8>,
    /// Bits that were read.
    read: usize,
    /// All bits.
    len: usize,
}

impl BitReader {
    fn of(bits: &[u8]) -> Self {
        BitReader { bytes: [bits, &[0; WORD]].concat(), read: 0, len: 8 * bits.len() }
    }

    /// The slot behind another one; none if its bits end early.
    #[inline]
    fn slot_behind(&mut self, last: Slot) -> Option<Slot> {
        let word = u64::from_le_bytes(*self.bytes[self.read / 8..].first_chunk()?);
        let (mut bits, mut len) = (word >> (self.read % 8), 0);
        let mut take = |known: u64, of: u32| {
            let is_known = bits & 1 == 1;
            let number = if is_known { known } else { bits >> 1 & ((1 << of) - 1) };
            let taken = if is_known { 1 } else { 1 + of };
            (bits, len) = (bits >> taken, len + taken);
            number
        };
        let (key, value) = (take(last.key, KEY), take(last.value, VALUE));
        let offset = take(last.before(key, value), OFFSET);
        self.read += len as usize;
        (self.read <= self.len).then_some(Slot { offset, key, value })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ARRAY: SlotArray = SlotArray { at: 64, count_at: 38 };

    /// A page with these records in this order, put into it from its end on in another order.
    fn page_of(records: &[(Vec<u8>, usize)], order: &[usize]) -> Vec<u8> {
        let (mut page, mut heap) = (vec![0; PAGE], PAGE - 3);
        page[heap..].fill(b'f');
        page[38..40].copy_from_slice(&(records.len() as u16).to_le_bytes());
        for &index in order {
            let (key, value) = &records[index];
            heap -= key.len() + value;
            page[heap..][..key.len()].copy_from_slice(key);
            page[heap + key.len()..][..*value].fill(index as u8);
            let [key, value] = [key.len(), *value].map(|len| len as u64);
            let word = Slot { offset: heap as u64, key, value }.word(&page);
            page[64 + index * WORD..][..WORD].copy_from_slice(&word.to_le_bytes());
        }
        page
    }

    /// Bytes that the slots of a page have in its image.
    fn folded_bytes(page: &[u8]) -> usize {
        let slots = ARRAY.of(page).unwrap();
        let folded = slots.fold(page).unwrap();
        let zeroes = folded[..slots.end()].iter().rev().take_while(|&&byte| byte == 0).count();
        slots.end() - usize::from(slots.at) - zeroes
    }

    #[test]
    fn slots_of_records_of_one_length_take_two_bytes_each_and_in_order_half_of_one() {
        let records: Vec<_> = (0..50u32).map(|n| (n.to_be_bytes().to_vec(), 44)).collect();
        let in_order: Vec<_> = (0..50).collect();
        let elsewhere: Vec<_> = (0..50).map(|n| n * 7 % 50).collect();
        assert!((15..25).contains(&folded_bytes(&page_of(&records, &in_order))));
        assert!((85..100).contains(&folded_bytes(&page_of(&records, &elsewhere))));
    }

    #[test]
    fn a_slot_that_does_not_say_what_its_record_does_stays_as_it_is() {
        let records: Vec<_> = (0..50u32).map(|n| (n.to_be_bytes().to_vec(), 44)).collect();
        let order: Vec<_> = (0..50).collect();
        let page = page_of(&records, &order);
        let mut wrong_head = page.clone();
        wrong_head[64 + 7] ^= 1;
        let mut among_slots = page.clone();
        let word = Slot { offset: 70, key: 0, value: 9 }.word(&page);
        among_slots[64..72].copy_from_slice(&word.to_le_bytes());
        for other in [wrong_head, among_slots] {
            assert_eq!(ARRAY.of(&other).unwrap().fold(&other), None);
        }
        // The key lies where the slots begin, which are at the page's beginning here.
        let slots = Slots { at: 0, count: 8 };
        let mut first = vec![0; PAGE];
        first[..4].copy_from_slice(&(4u32 << OFFSET).to_le_bytes());
        let word = Slot { offset: 0, key: 4, value: 0 }.word(&first);
        (0..8).for_each(|n| first[n * WORD..][..WORD].copy_from_slice(&word.to_le_bytes()));
        assert_eq!(slots.fold(&first), None);
        let mut too_many = page;
        too_many[38..40].copy_from_slice(&505u16.to_le_bytes());
        assert_eq!(ARRAY.of(&too_many), None);
    }

    proptest! {
        #[test]
        fn a_page_that_was_folded_is_unfolded_to_what_it_was(
            records in prop::collection::vec(
                (prop::collection::vec(any::<u8>(), 0..12), 0..40usize), 1..70),
            equal in 0..70usize,
            places in prop::collection::vec(any::<u16>(), 70),
        ) {
            let mut records = records;
            let first = records[0].clone();
            records.iter_mut().take(equal).for_each(|record| *record = first.clone());
            let mut order: Vec<_> = (0..records.len()).collect();
            order.sort_by_key(|&index| places[index]);
            let page = page_of(&records, &order);
            let slots = ARRAY.of(&page).unwrap();
            prop_assert_eq!(Slots::of_bytes(slots.to_bytes()), slots);
            let mut folded = slots.fold(&page).unwrap();
            prop_assert!(slots.unfold(&mut folded));
            prop_assert_eq!(folded, page);
        }

        #[test]
        fn any_bytes_are_unfolded_or_refused(
            bytes in prop::collection::vec(any::<u8>(), PAGE), at: u16, count: u16,
        ) {
            let mut page = bytes;
            Slots { at, count }.unfold(&mut page);
            prop_assert_eq!(page.len(), PAGE);
        }
    }
}
