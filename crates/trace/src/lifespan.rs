//! How long each write lives: user writes from it to the next write of its page.

use crate::prepare::FINAL;

/// The lifespan of a write whose page is never written again.
pub const NEVER: u32 = u32::MAX;

/// The lifespan of each write, in user writes; [`NEVER`] for the last write of a page.
///
/// `words` are fewer than 2^32 - 1 LBAs under `space`, with or without [`FINAL`]. One backward pass
/// over a table of four bytes a page.
///
/// # Panics
/// If an LBA is not under `space`.
pub fn lifespans(words: &[u32], space: u32) -> Vec<u32> {
    // A position is kept as its distance from the end of the trace, plus one, so that the
    // table starts as zeros, which the operating system hands out without touching them.
    let mut next = vec![0u32; space as usize];
    let mut lifespans = vec![NEVER; words.len()];
    for (from_end, (&word, lifespan)) in words.iter().zip(&mut lifespans).rev().enumerate() {
        let here = from_end as u32 + 1;
        let there = std::mem::replace(&mut next[(word & !FINAL) as usize], here);
        if there != 0 {
            *lifespan = here - there;
        }
    }
    lifespans
}

/// The mean lifespan of each LBA's writes over the whole trace, in user writes.
///
/// An LBA first written at `f`, last at `l`, and `k` times in all has `(l - f) / (k - 1)`; one
/// written once or never has infinity. `words` are LBAs under `space`, with or without [`FINAL`].
///
/// # Panics
/// If an LBA is not under `space`.
pub fn mean_lifespans(words: &[u32], space: u32) -> Vec<f32> {
    #[derive(Clone, Copy)]
    struct Page {
        first: u32,
        last: u32,
        writes: u32,
    }
    let mut pages = vec![Page { first: 0, last: 0, writes: 0 }; space as usize];
    for (i, &word) in words.iter().enumerate() {
        let page = &mut pages[(word & !FINAL) as usize];
        if page.writes == 0 {
            page.first = i as u32;
        }
        page.last = i as u32;
        page.writes += 1;
    }
    let mean = |page: &Page| match page.writes {
        0 | 1 => f32::INFINITY,
        // In f64, as f32 cannot hold the difference of positions beyond 2^24.
        k => (f64::from(page.last - page.first) / f64::from(k - 1)) as f32,
    };
    pages.iter().map(mean).collect()
}
