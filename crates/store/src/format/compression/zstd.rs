//! Frames of zstd, without what all of them begin with.

use std::cell::RefCell;

use ::zstd::zstd_safe::{CCtx, CParameter, DCtx, compress_bound, find_frame_compressed_size};

/// The level of zstd. Those above save a hundredth at most, and take up to six times as long.
const LEVEL: i32 = 1;

/// How the frame of zstd of every image begins, which images leave out: the magic number, no
/// checksum, no dictionary and no size of the content, a window of a page.
const START: [u8; 6] = [0x28, 0xb5, 0x2f, 0xfd, 0, 0x10];

thread_local! {
    /// Contexts are large: a thread makes them once.
    static ENCODER: RefCell<CCtx<'static>> = RefCell::new(encoder());
    /// With the frame, whose start stays.
    static DECODER: RefCell<(DCtx<'static>, Vec<u8>)> = RefCell::new((DCtx::create(), START.to_vec()));
}

fn encoder() -> CCtx<'static> {
    let mut context = CCtx::create();
    for parameter in [CParameter::CompressionLevel(LEVEL), CParameter::ContentSizeFlag(false)] {
        context.set_parameter(parameter).expect("zstd has this parameter");
    }
    context
}

/// A frame without its start; none if it begins with another one.
pub fn compress(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut frame = Vec::with_capacity(compress_bound(bytes.len()));
    ENCODER.with_borrow_mut(|context| context.compress2(&mut frame, bytes)).ok()?;
    let start = frame.first_chunk::<{ START.len() }>()?;
    // A smaller window fits into that of a page.
    let is_known = start[..5] == START[..5] && start[5] <= START[5];
    is_known.then(|| frame.split_off(START.len()))
}

/// Decompresses one frame of zstd without its start that fills `into`; false if it is none. No
/// frame can make this take memory: the content is written to the page itself.
pub fn decompress(rest: &[u8], into: &mut [u8]) -> bool {
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
    fn one_frame_of_zstd_fills_the_page() {
        for len in [1, 200, 1000, 1025, 2048, 4096] {
            let short = compress(&vec![7; len]).unwrap();
            let fills = |bytes: &[u8], len| decompress(bytes, &mut vec![0; len]);
            assert!(fills(&short, len));
            assert!(!fills(&short, len - 1) && !fills(&short, len + 1));
            assert!(!fills(&short[..short.len() - 1], len) && !fills(&[], len));
            let two = [&short[..], &START, &short].concat();
            assert!(!fills(&two, 2 * len), "a second frame");
        }
    }
}
