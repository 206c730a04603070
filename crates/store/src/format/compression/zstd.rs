//! Frames of zstd, without what all of them begin with.

use std::cell::RefCell;

use ::zstd::zstd_safe::{CCtx, CParameter, DCtx, compress_bound, find_frame_compressed_size};

use crate::format::PAGE;

/// The level of zstd. Those above save a hundredth at most, and take up to six times as long.
const LEVEL: i32 = 1;

/// How every frame begins, which is left out: the magic number, no checksum, no dictionary and no
/// size of the content.
const START: [u8; 5] = [0x28, 0xb5, 0x2f, 0xfd, 0];

/// The window, which is left out as well: a page, or 1 MiB for a longer content.
fn window(content: usize) -> u8 {
    if content <= PAGE { 0x10 } else { 0x50 }
}

thread_local! {
    /// Contexts are large: a thread makes them once.
    static ENCODER: RefCell<CCtx<'static>> = RefCell::new(encoder());
    /// With the frame.
    static DECODER: RefCell<(DCtx<'static>, Vec<u8>)> = RefCell::new((DCtx::create(), Vec::new()));
}

fn encoder() -> CCtx<'static> {
    let mut context = CCtx::create();
    for parameter in [CParameter::CompressionLevel(LEVEL), CParameter::ContentSizeFlag(false)] {
        context.set_parameter(parameter).expect("zstd has this parameter");
    }
    context
}

/// A frame without its start; none if it begins with another one.
pub(super) fn compress(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut frame = Vec::with_capacity(compress_bound(bytes.len()));
    ENCODER.with_borrow_mut(|context| context.compress2(&mut frame, bytes)).ok()?;
    // A smaller window fits into a larger one.
    let is_known = frame.starts_with(&START) && *frame.get(START.len())? <= window(bytes.len());
    is_known.then(|| frame.split_off(START.len() + 1))
}

/// Decompresses one frame of zstd without its start that fills `into`; false if it is none. No
/// frame can make this take memory: the content is written to its place itself.
pub fn decompress(rest: &[u8], into: &mut [u8]) -> bool {
    DECODER.with_borrow_mut(|(context, frame)| {
        frame.clear();
        frame.extend_from_slice(&START);
        frame.push(window(into.len()));
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
    fn one_frame_of_zstd_fills_its_place() {
        for len in [1, 200, 1000, 1025, 2048, 4096, 4097, 200_000, 1 << 20] {
            let short = compress(&vec![7; len]).unwrap();
            let fills = |bytes: &[u8], len| decompress(bytes, &mut vec![0; len]);
            assert!(fills(&short, len));
            assert!(!fills(&short, len - 1) && !fills(&short, len + 1));
            assert!(!fills(&short[..short.len() - 1], len) && !fills(&[], len));
            let two = [&short[..], &START, &[window(len)], &short].concat();
            assert!(!fills(&two, 2 * len), "a second frame");
        }
    }
}
