//! The payload of a batch as it lies on the device: a part of the stream, or that compressed.

use frostline_store::Compression;
use frostline_store::compression::{HAS_ZSTD, decompress_lz4, decompress_zstd};

use super::batch::{Head, Packing};
use super::error::WalError;

impl From<Compression> for Packing {
    fn from(compression: Compression) -> Packing {
        // Without its feature there is no name for zstd.
        let known = [(Compression::None, Packing::Plain), (Compression::Lz4, Packing::Lz4)];
        let found = known.into_iter().find(|(of, _)| *of == compression);
        found.map_or(Packing::Zstd, |(_, packing)| packing)
    }
}

/// The part of the stream that a payload holds, whose sum is right, in `room` if it was compressed.
///
/// # Errors
/// It is no such part, or this program can't decompress it.
pub(super) fn unpack<'a>(
    head: &Head,
    payload: &'a [u8],
    room: &'a mut Vec<u8>,
) -> Result<&'a [u8], WalError> {
    let decompress = match head.packing {
        Packing::Plain => return Ok(payload),
        Packing::Lz4 => decompress_lz4,
        Packing::Zstd if HAS_ZSTD => decompress_zstd,
        Packing::Zstd => return Err(WalError::BuiltWithoutZstd),
    };
    // At most a batch of the longest, whatever the payload.
    room.resize(head.bytes as usize, 0);
    match decompress(payload, room) {
        true => Ok(room),
        false => Err(head.damaged(head.offset, "the batch can't be decompressed")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wal::batch::{BLOCK, MOST_BLOCKS};

    proptest! {
        #[test]
        fn no_payload_panics_or_takes_more_memory_than_a_batch_of_the_longest(
            payload in prop::collection::vec(any::<u8>(), 0..200), bytes in 0..=1u32 << 20
        ) {
            for packing in [Packing::Lz4, Packing::Zstd] {
                let head = Head { packing, bytes, ..Head::default() };
                let mut room = Vec::new();
                let _ = unpack(&head, &payload, &mut room);
                prop_assert!(room.capacity() as u64 <= MOST_BLOCKS * BLOCK);
            }
        }
    }
}
