//! A batch on the device: the bytes of one append to a zone.
//!
//! A batch is a head, then its payload, then zeroes up to a whole block. The payload is a part of
//! the log's stream, as it is or compressed. Heads and payloads have sums of their own: a head
//! whose payload is torn still has the number of the opening of the log that wrote it.

use super::error::WalError;
use super::lsn::Lsn;
use crate::number::{MOST_BYTES, number_bytes, take_number};

/// Unit of everything the log writes, in bytes.
pub(super) const BLOCK: u64 = 4096;

/// Bytes of a head.
pub(super) const HEAD: usize = 104;

/// Bytes of the stream that a block holds at least: batches are whole blocks, each with one head,
/// and are compressed only where that takes fewer.
pub(super) const BODY: usize = BLOCK as usize - HEAD;

/// Blocks of a batch at most.
pub(super) const MOST_BLOCKS: u64 = 256;

/// Version of the format.
pub(super) const VERSION: u32 = 1;

/// In place of a number that does not exist.
pub(super) const NONE: u32 = u32::MAX;

/// Bytes before a record's payload at most: its kind, and its length as a number.
pub(super) const RECORD: usize = 1 + MOST_BYTES;

const MAGIC: u32 = u32::from_le_bytes(*b"FRWL");

/// Numbers above this are of no log: so sums of two do not overflow.
const MOST: u64 = u64::MAX / 4;

/// How a batch holds its part of the stream, as its head says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Packing {
    /// As it is.
    #[default]
    Plain,
    /// A block of LZ4.
    Lz4,
    /// A frame of zstd without its start.
    Zstd,
}

impl Packing {
    /// The packing with this number in a head, if there is one.
    pub(super) fn of(number: u32) -> Option<Packing> {
        [Packing::Plain, Packing::Lz4, Packing::Zstd].into_iter().find(|p| *p as u32 == number)
    }
}

/// The bit of records of a kind, and of some others: a head has 24.
pub(super) fn kind_bit(kind: u8) -> u32 {
    1 << (kind % 24)
}

/// Begins a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    /// [`VERSION`].
    pub version: u32,
    /// CRC-32C of the payload.
    pub sum: u32,
    /// Zone, and block in it, where the batch was meant to lie.
    pub zone: u32,
    /// See `zone`.
    pub block: u32,
    /// The zone that is written after this one, or [`NONE`] if that was not known.
    pub next_zone: u32,
    /// Bytes of the stream.
    pub bytes: u32,
    /// Offset in them at which the first record begins, or [`NONE`]. 0 for an empty batch: a
    /// record could begin there.
    pub first: u32,
    /// Offset in them at which the last record that ends in them ends, or [`NONE`].
    pub last: u32,
    /// How the payload has them.
    pub packing: Packing,
    /// The [bits](kind_bit) of the records of which it has a part; 0 if that is not known.
    pub kinds: u32,
    /// Bytes of the payload.
    pub stored: u32,
    /// Number of the log, drawn when it is formatted.
    pub log: u64,
    /// The opening of the log (epoch) that wrote the batch.
    pub epoch: u64,
    /// Number of the first batch of that opening.
    pub epoch_first: u64,
    /// Number of the batch in the log.
    pub number: u64,
    /// Position of its bytes in the stream.
    pub offset: u64,
    /// Records that end here or before are not needed.
    pub keep_from: u64,
    /// All batches of the log up to this number were durable when this one was written.
    pub durable: u64,
}

impl Head {
    /// Writes the head, with its sum, into the first bytes of `into`.
    pub(super) fn encode(&self, into: &mut [u8]) {
        let Head { version, sum, zone, block, next_zone, bytes, first, last, .. } = *self;
        let Head { packing, kinds, stored, .. } = *self;
        let place = [MAGIC, 0, version, sum, zone, block, next_zone];
        let content = [bytes, first, last, packing as u32 | kinds << 8, stored];
        let Head { log, epoch, epoch_first, number, offset, keep_from, durable, .. } = *self;
        let long = [log, epoch, epoch_first, number, offset, keep_from, durable];
        let bytes = place.iter().chain(&content).flat_map(|word| word.to_le_bytes());
        let bytes = bytes.chain(long.iter().flat_map(|word| word.to_le_bytes()));
        into.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        let sum = crc32c::crc32c(&into[8..HEAD]);
        into[4..8].copy_from_slice(&sum.to_le_bytes());
    }

    /// The head that a block begins with, if it is one.
    pub(super) fn decode(block: &[u8]) -> Option<Head> {
        let bytes = block.get(..HEAD)?;
        let u32_at = |at: usize| word(&bytes[at..]);
        let u64_at =
            |at: usize| u64::from(word(&bytes[at..])) | u64::from(word(&bytes[at + 4..])) << 32;
        if u32_at(0) != MAGIC || u32_at(4) != crc32c::crc32c(&bytes[8..]) {
            return None;
        }
        let version = u32_at(8);
        // A newer version may have other rules: its reader reports the version.
        let newer = (version != VERSION).then_some(Packing::Plain);
        let head = Head {
            version,
            sum: u32_at(12),
            zone: u32_at(16),
            block: u32_at(20),
            next_zone: u32_at(24),
            bytes: u32_at(28),
            first: u32_at(32),
            last: u32_at(36),
            packing: Packing::of(u32_at(40) & 0xff).or(newer)?,
            kinds: u32_at(40) >> 8,
            stored: u32_at(44),
            log: u64_at(48),
            epoch: u64_at(56),
            epoch_first: u64_at(64),
            number: u64_at(72),
            offset: u64_at(80),
            keep_from: u64_at(88),
            durable: u64_at(96),
        };
        (newer.is_some() || head.is_possible()).then_some(head)
    }

    /// True if its numbers may stand together.
    fn is_possible(&self) -> bool {
        let most = MOST_BLOCKS * BLOCK - HEAD as u64;
        let inside = |at: u32| at == NONE || at <= self.bytes;
        let is_stored = match self.packing {
            Packing::Plain => self.stored == self.bytes,
            Packing::Lz4 | Packing::Zstd => self.stored < self.bytes,
        };
        is_stored
            && u64::from(self.bytes) <= most
            && inside(self.first)
            && inside(self.last)
            && self.offset <= MOST
            && self.epoch <= MOST
            && self.number <= MOST
            && (1..=self.number).contains(&self.epoch_first)
            && self.keep_from <= self.offset
            && self.durable < self.number
    }

    /// True if it has no part of a record of these kinds, given by their bits.
    pub(super) fn has_none_of(&self, kinds: u32) -> bool {
        self.kinds != 0 && self.kinds & kinds == 0
    }

    /// Blocks of the batch.
    pub(super) fn blocks(&self) -> u64 {
        blocks(self.stored)
    }

    /// Blocks that compression saved.
    pub(super) fn blocks_saved(&self) -> u64 {
        blocks(self.bytes) - self.blocks()
    }

    /// The position in the stream at which its bytes end.
    pub(super) fn end(&self) -> u64 {
        self.offset + u64::from(self.bytes)
    }

    /// The error for a batch that is not what was written; up to `lsn` the log is whole.
    pub(super) fn damaged(&self, lsn: Lsn, why: &'static str) -> WalError {
        WalError::Damaged { zone: self.zone, page: u64::from(self.block), lsn, why }
    }

    /// The position in the stream at which the first record of the batch begins.
    pub(super) fn first_record(&self) -> Option<u64> {
        (self.first != NONE).then(|| self.offset + u64::from(self.first))
    }

    /// The last place in the stream at which the batch shows a record to end or begin.
    pub(super) fn last_boundary(&self) -> Option<u64> {
        let last = (self.last != NONE).then(|| self.offset + u64::from(self.last));
        last.max(self.first_record())
    }
}

/// Blocks of a batch with a payload of so many bytes.
fn blocks(payload: u32) -> u64 {
    (HEAD as u64 + u64::from(payload)).div_ceil(BLOCK)
}

/// The first 4 bytes as a number.
pub(super) fn word(bytes: &[u8]) -> u32 {
    let mut word = [0; 4];
    word.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    u32::from_le_bytes(word)
}

/// Bytes of a record with a payload of so many.
pub(super) fn record_bytes(payload: usize) -> usize {
    1 + number_bytes(payload) + payload
}

/// The kind of the record that begins so, where its payload begins, and where it ends. None if too
/// little of it is there to say, or it is none.
pub(super) fn record_at(bytes: &[u8]) -> Option<(u8, usize, usize)> {
    let (&kind, mut rest) = bytes.split_first()?;
    let payload = take_number(&mut rest)?;
    let begin = bytes.len() - rest.len();
    Some((kind, begin, begin + payload))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn heads_are_read_as_written_and_no_bit_flips_unseen(
            word in 0..1000u32, long in 1000..MOST, bit in 0..HEAD * 8
        ) {
            let head = Head {
                version: VERSION, sum: word, zone: word + 1, block: word + 2, next_zone: NONE,
                bytes: word + 3, first: word, last: NONE, packing: Packing::Lz4, stored: word,
                kinds: word,
                log: !long, epoch: long,
                epoch_first: long - 5, number: long - 1, offset: long, keep_from: long - 3,
                durable: long - 4,
            };
            let mut block = [7; HEAD + 1];
            head.encode(&mut block);
            prop_assert_eq!(Head::decode(&block), Some(head));
            block[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(Head::decode(&block), None);
        }
    }

    #[test]
    fn heads_with_numbers_that_can_not_stand_together_are_none() {
        let sound = Head {
            version: VERSION,
            bytes: 100,
            stored: 100,
            first: 100,
            last: 100,
            epoch: 3,
            epoch_first: 7,
            number: 7,
            offset: 50,
            keep_from: 50,
            durable: 6,
            ..Head::default()
        };
        let most = (MOST_BLOCKS * BLOCK - HEAD as u64) as u32;
        let decoded = |head: Head| {
            let mut block = [0; HEAD];
            head.encode(&mut block);
            Head::decode(&block)
        };
        for head in [
            sound,
            Head { bytes: most, stored: most, ..sound },
            Head { packing: Packing::Zstd, stored: 99, ..sound },
            Head { first: NONE, last: NONE, ..sound },
            Head { epoch_first: 1, ..sound },
            Head { offset: MOST, epoch: MOST, number: MOST, ..sound },
        ] {
            assert_eq!(decoded(head), Some(head));
        }
        for head in [
            Head { bytes: most + 1, stored: most + 1, ..sound },
            Head { packing: Packing::Lz4, bytes: most + 1, ..sound },
            Head { packing: Packing::Lz4, ..sound },
            Head { stored: 99, ..sound },
            Head { first: 101, ..sound },
            Head { last: 101, ..sound },
            Head { offset: MOST + 1, ..sound },
            Head { epoch: MOST + 1, ..sound },
            Head { number: MOST + 1, ..sound },
            Head { epoch_first: 0, ..sound },
            Head { epoch_first: 8, ..sound },
            Head { keep_from: 51, ..sound },
            Head { durable: 7, ..sound },
        ] {
            assert_eq!(decoded(head), None, "{head:?}");
        }
    }
}
