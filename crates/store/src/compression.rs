//! Compression of images: where contents do not compress, only some are tried.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use zstd::zstd_safe::{CCtx, CParameter, DCtx, compress_bound, find_frame_compressed_size};

use crate::Compression;

/// While compression brings nothing, one image of so many is tried.
const TRIED: u32 = 16;

/// Images that are tried one by one after one that became shorter.
const NEXT: u32 = 8;

/// The level of zstd. Those above save a hundredth at most, and take up to six times as long.
const LEVEL: i32 = 1;

/// How the frame of zstd of every image begins, which images leave out: the magic number, no checksum, no
/// dictionary and no size of the content, a window of a page.
const START: [u8; 6] = [0x28, 0xb5, 0x2f, 0xfd, 0, 0x10];

thread_local! {
    /// Contexts are large: a thread makes them once.
    static ENCODER: RefCell<CCtx<'static>> = RefCell::new(encoder());
    /// With the frame, whose start stays.
    static DECODER: RefCell<(DCtx<'static>, Vec<u8>)> = RefCell::new((DCtx::create(), START.to_vec()));
}

/// A compressor of images. Recent contents decide how many are tried.
#[derive(Debug)]
pub struct Compressor {
    /// How.
    pub compression: Compression,
    images: AtomicU32,
    /// Images to be tried one by one.
    hopeful: AtomicU32,
}

impl Compressor {
    /// It compresses images as told, where that helps.
    pub fn new(compression: Compression) -> Self {
        Compressor { compression, images: AtomicU32::new(0), hopeful: AtomicU32::new(0) }
    }

    /// Compresses bytes; none if they would not become shorter than `most`, or are not tried.
    pub fn compress(&self, bytes: &[u8], most: usize) -> Option<Vec<u8>> {
        let compress = match self.compression {
            Compression::None => return None,
            Compression::Lz4 => |bytes: &[u8]| Some(lz4_flex::block::compress(bytes)),
            Compression::Zstd => compress_with_zstd,
        };
        let image = self.images.fetch_add(1, Relaxed);
        let hopeful = self.hopeful.load(Relaxed);
        if hopeful == 0 && !image.is_multiple_of(TRIED) {
            return None;
        }
        let compressed = compress(bytes).filter(|short| short.len() < most);
        // Counts of threads may get lost: what matters is whether most images become shorter.
        let hopeful = if compressed.is_some() { NEXT } else { hopeful.saturating_sub(1) };
        self.hopeful.store(hopeful, Relaxed);
        compressed
    }
}

fn encoder() -> CCtx<'static> {
    let mut context = CCtx::create();
    for parameter in [CParameter::CompressionLevel(LEVEL), CParameter::ContentSizeFlag(false)] {
        context.set_parameter(parameter).expect("zstd has this parameter");
    }
    context
}

/// A frame without its start; none if it begins with another one.
fn compress_with_zstd(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut frame = Vec::with_capacity(compress_bound(bytes.len()));
    ENCODER.with_borrow_mut(|context| context.compress2(&mut frame, bytes)).ok()?;
    let start = frame.first_chunk::<{ START.len() }>()?;
    // A smaller window fits into that of a page.
    let is_known = start[..5] == START[..5] && start[5] <= START[5];
    is_known.then(|| frame.split_off(START.len()))
}

/// Decompresses a block of LZ4 that fills `into`; false if it is none.
pub fn decompress_lz4(block: &[u8], into: &mut [u8]) -> bool {
    lz4_flex::block::decompress_into(block, into).is_ok_and(|len| len == into.len())
}

/// Decompresses one frame of zstd without its start that fills `into`; false if it is none. No frame can make
/// this take memory: the content is written to the page itself.
pub fn decompress_zstd(rest: &[u8], into: &mut [u8]) -> bool {
    DECODER.with_borrow_mut(|(context, frame)| {
        frame.truncate(START.len());
        frame.extend_from_slice(rest);
        // By zstd's rules more frames may follow, also of its old formats.
        find_frame_compressed_size(frame) == Ok(frame.len())
            && context.decompress(into, frame) == Ok(into.len())
    })
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

    #[test]
    fn one_frame_of_zstd_fills_the_page() {
        for len in [1, 200, 1000, 1025, 2048, 4096] {
            let short = compress_with_zstd(&vec![7; len]).unwrap();
            let fills = |bytes: &[u8], len| decompress_zstd(bytes, &mut vec![0; len]);
            assert!(fills(&short, len));
            assert!(!fills(&short, len - 1) && !fills(&short, len + 1));
            assert!(!fills(&short[..short.len() - 1], len) && !fills(&[], len));
            let two = [&short[..], &START, &short].concat();
            assert!(!fills(&two, 2 * len), "a second frame");
        }
    }
}
