//! Compression of images, and of a log: where contents do not compress, only some are tried.

#[cfg(feature = "zstd")]
mod zstd;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

#[cfg(feature = "zstd")]
pub use zstd::decompress as decompress_zstd;

use crate::Compression;

/// True if frames of zstd are decompressed.
pub const HAS_ZSTD: bool = cfg!(feature = "zstd");

/// The compression that makes most contents shortest.
#[cfg(feature = "zstd")]
pub const BEST: Compression = Compression::Zstd;

/// The compression that makes most contents shortest.
#[cfg(not(feature = "zstd"))]
pub const BEST: Compression = Compression::Lz4;

/// While compression brings nothing, one content of so many is tried.
const TRIED: u32 = 16;

/// Contents that are tried one by one after one that became shorter.
const NEXT: u32 = 8;

/// A compressor. Recent contents decide how many are tried.
#[derive(Debug)]
pub struct Compressor {
    /// How.
    pub compression: Compression,
    contents: AtomicU32,
    /// Contents to be tried one by one.
    hopeful: AtomicU32,
}

impl Compressor {
    /// It compresses as told, where that helps.
    pub fn new(compression: Compression) -> Self {
        Compressor { compression, contents: AtomicU32::new(0), hopeful: AtomicU32::new(0) }
    }

    /// Compresses bytes; none if they would not become shorter than `most`, or are not tried.
    pub fn compress(&self, bytes: &[u8], most: usize) -> Option<Vec<u8>> {
        let compress = match self.compression {
            Compression::None => return None,
            Compression::Lz4 => |bytes: &[u8]| Some(lz4_flex::block::compress(bytes)),
            #[cfg(feature = "zstd")]
            Compression::Zstd => zstd::compress,
        };
        let content = self.contents.fetch_add(1, Relaxed);
        let hopeful = self.hopeful.load(Relaxed);
        if hopeful == 0 && !content.is_multiple_of(TRIED) {
            return None;
        }
        let compressed = compress(bytes).filter(|short| short.len() < most);
        // Counts of threads may get lost: what matters is whether most contents become shorter.
        let hopeful = if compressed.is_some() { NEXT } else { hopeful.saturating_sub(1) };
        self.hopeful.store(hopeful, Relaxed);
        compressed
    }
}

/// Decompresses a block of LZ4 that fills `into`; false if it is none.
pub fn decompress_lz4(block: &[u8], into: &mut [u8]) -> bool {
    lz4_flex::block::decompress_into(block, into).is_ok_and(|len| len == into.len())
}

/// Without zstd nothing is decompressed.
#[cfg(not(feature = "zstd"))]
pub fn decompress_zstd(_: &[u8], _: &mut [u8]) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_that_do_not_compress_are_tried_now_and_then_and_others_always() {
        let (zeroes, mut noise) = (vec![0; 3000], vec![0; 3000]);
        (0u32..)
            .zip(&mut noise)
            .for_each(|(n, byte)| *byte = (n.wrapping_mul(0x9e37_79b9) >> 24) as u8 ^ n as u8);
        for compression in [Compression::Lz4, Compression::Zstd] {
            let compressor = Compressor::new(compression);
            let becomes_shorter = |bytes: &[u8]| compressor.compress(bytes, 2900).is_some();
            assert!(becomes_shorter(&zeroes) && becomes_shorter(&zeroes));
            for _ in 0..NEXT + TRIED {
                assert!(!becomes_shorter(&noise));
            }
            let first = (0..).position(|_| becomes_shorter(&zeroes)).unwrap();
            assert!((1..TRIED as usize).contains(&first), "{first} were not tried");
            assert!(becomes_shorter(&zeroes));
        }
        assert!(Compressor::new(Compression::None).compress(&zeroes, 2900).is_none());
    }
}
