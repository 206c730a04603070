//! Compression of images: where contents do not compress, only some are tried.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use zstd::zstd_safe::{CCtx, CParameter, DCtx, compress_bound, find_frame_compressed_size};

use crate::Compression;
use crate::format::PAGE;

/// While compression brings nothing, one image of so many is tried.
const TRIED: u32 = 16;

/// Images that are tried one by one after one that became shorter.
const NEXT: u32 = 8;

/// The level of zstd. Those above save a hundredth at most, and take up to six times as long.
const LEVEL: i32 = 1;

/// How the frame of zstd of every image begins, which images leave out: the magic number, no checksum, no
/// dictionary and no size of the content, a window of a page.
const START: [u8; 6] = [0x28, 0xb5, 0x2f, 0xfd, 0, 0x10];

/// How an image is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// A block of LZ4.
    Lz4,
    /// A frame of zstd, without its [start](START).
    Zstd,
}

/// What compresses images, as contents of late tell.
#[derive(Debug)]
pub struct Compressor {
    compression: Compression,
    images: AtomicU32,
    /// Images to be tried one by one.
    hopeful: AtomicU32,
}

impl Compressor {
    /// Images are compressed as told, where that helps.
    pub fn new(compression: Compression) -> Self {
        Compressor { compression, images: AtomicU32::new(0), hopeful: AtomicU32::new(0) }
    }

    /// How an image is compressed whose page is read seldom or often.
    pub fn method(&self, is_seldom_read: bool) -> Option<Method> {
        match self.compression {
            Compression::None => None,
            Compression::Lz4 => Some(Method::Lz4),
            Compression::Mixed if is_seldom_read => Some(Method::Zstd),
            Compression::Mixed => Some(Method::Lz4),
            Compression::Zstd => Some(Method::Zstd),
        }
    }

    /// Compresses bytes; none if they would not become shorter than `most`, or are not tried.
    pub fn compress(&self, method: Method, bytes: &[u8], most: usize) -> Option<Vec<u8>> {
        let image = self.images.fetch_add(1, Relaxed);
        let hopeful = self.hopeful.load(Relaxed);
        if hopeful == 0 && !image.is_multiple_of(TRIED) {
            return None;
        }
        let compressed = match method {
            Method::Lz4 => Some(lz4_flex::block::compress(bytes)),
            Method::Zstd => ENCODER.with_borrow_mut(|encoder| encoder.compress(bytes)),
        };
        let compressed = compressed.filter(|short| short.len() < most);
        // Counts of threads may get lost: what matters is whether most images become shorter.
        let hopeful = if compressed.is_some() { NEXT } else { hopeful.saturating_sub(1) };
        self.hopeful.store(hopeful, Relaxed);
        compressed
    }
}

/// Decompresses bytes that fill `into`; false if they do not.
pub fn decompress(method: Method, bytes: &[u8], into: &mut [u8]) -> bool {
    let filled = match method {
        Method::Lz4 => lz4_flex::block::decompress_into(bytes, into).ok(),
        Method::Zstd => DECODER.with_borrow_mut(|decoder| decoder.decompress(bytes, into)),
    };
    filled == Some(into.len())
}

thread_local! {
    /// Their contexts are large, and made once a thread.
    static ENCODER: RefCell<Encoder> = RefCell::new(Encoder::new());
    static DECODER: RefCell<Decoder> = RefCell::new(Decoder::new());
}

/// zstd's compressor of images.
struct Encoder {
    context: CCtx<'static>,
    frame: Vec<u8>,
}

impl Encoder {
    fn new() -> Encoder {
        let mut context = CCtx::create();
        for parameter in [CParameter::CompressionLevel(LEVEL), CParameter::ContentSizeFlag(false)] {
            context.set_parameter(parameter).expect("zstd has this parameter");
        }
        Encoder { context, frame: vec![0; compress_bound(PAGE)] }
    }

    /// A frame without its start; none if it begins with another one.
    fn compress(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let len = self.context.compress2(&mut self.frame[..], bytes).ok()?;
        let (start, rest) = self.frame[..len].split_first_chunk::<{ START.len() }>()?;
        // A smaller window fits into that of a page.
        let is_known = start[..5] == START[..5] && start[5] <= START[5];
        is_known.then(|| rest.to_vec())
    }
}

/// zstd's decompressor of images. It writes to the page itself, and so takes no memory by what a frame says.
struct Decoder {
    context: DCtx<'static>,
    frame: Vec<u8>,
}

impl Decoder {
    fn new() -> Decoder {
        Decoder { context: DCtx::create(), frame: START.to_vec() }
    }

    /// The number of bytes in one frame without its start; none if it is damaged or longer than `into`.
    fn decompress(&mut self, bytes: &[u8], into: &mut [u8]) -> Option<usize> {
        self.frame.truncate(START.len());
        self.frame.extend_from_slice(bytes);
        // More frames may follow by zstd's rules, also of its old formats.
        let is_one = find_frame_compressed_size(&self.frame).ok() == Some(self.frame.len());
        is_one.then(|| self.context.decompress(into, &self.frame).ok())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise() -> Vec<u8> {
        (0..3000u32).map(|n| (n.wrapping_mul(0x9e37_79b9) >> 24) as u8 ^ n as u8).collect()
    }

    #[test]
    fn contents_that_do_not_compress_are_tried_now_and_then_and_others_always() {
        for method in [Method::Lz4, Method::Zstd] {
            let compressor = Compressor::new(Compression::Mixed);
            let (zeroes, noise) = (vec![0; 3000], noise());
            let becomes_shorter = |bytes: &[u8]| compressor.compress(method, bytes, 2900).is_some();
            assert!(becomes_shorter(&zeroes) && becomes_shorter(&zeroes));
            for _ in 0..NEXT + TRIED {
                assert!(!becomes_shorter(&noise));
            }
            let first = (0..).position(|_| becomes_shorter(&zeroes)).unwrap();
            assert!((1..TRIED as usize).contains(&first), "{first} were not tried");
            assert!(becomes_shorter(&zeroes));
        }
    }

    #[test]
    fn pages_that_are_read_seldom_are_compressed_with_zstd_unless_the_store_is_opened_otherwise() {
        let methods = |compression| [false, true].map(|is| Compressor::new(compression).method(is));
        assert_eq!(methods(Compression::None), [None; 2]);
        assert_eq!(methods(Compression::Lz4), [Some(Method::Lz4); 2]);
        assert_eq!(methods(Compression::Mixed), [Some(Method::Lz4), Some(Method::Zstd)]);
        assert_eq!(methods(Compression::Zstd), [Some(Method::Zstd); 2]);
    }

    #[test]
    fn one_frame_of_zstd_fills_the_page() {
        let compressor = Compressor::new(Compression::Zstd);
        let compress = |bytes: &[u8]| compressor.compress(Method::Zstd, bytes, PAGE).unwrap();
        for len in [1, 200, 1000, 1025, 2048, PAGE] {
            let bytes = vec![7; len];
            let short = compress(&bytes);
            let fills = |bytes: &[u8], len| decompress(Method::Zstd, bytes, &mut vec![0; len]);
            assert!(fills(&short, len));
            assert!(!fills(&short, len - 1) && !fills(&short, len + 1));
            assert!(!fills(&short[..short.len() - 1], len) && !fills(&[], len));
            let two = [&short[..], &START, &short].concat();
            assert!(!fills(&two, 2 * len), "a second frame");
        }
    }
}
