//! Random numbers from a seed, and Zipf's law: the same on every machine for ever.
//!
//! Traces, golden results and failing seeds depend on these streams, so nothing in them may ever
//! change: the generators are published ones, and the logarithm and the exponential are this
//! crate's own.
//!
//! ```
//! use frostline_random::{SplitMix, Zipf};
//!
//! let zipf = Zipf::new(1000, 0.99);
//! let mut random = SplitMix::new(1);
//! let ranks: Vec<u64> = (0..5).map(|_| zipf.sample(|| random.unit())).collect();
//! assert_eq!(ranks, [14, 3, 0, 37, 37]);
//! ```

// Below all other crates, so that this is said once.
#[cfg(not(all(target_pointer_width = "64", target_endian = "little")))]
compile_error!(
    "Frostline needs a target of 64 bits that is little-endian: maps hold 2^32 pages in memory, \
     and formats are read in place"
);

mod exact;
mod mix;
mod split_mix;
mod xoshiro;
mod zipf;

pub use mix::{mix, unmix};
pub use split_mix::SplitMix;
pub use xoshiro::Xoshiro;
pub use zipf::Zipf;

/// 53 of 64 random bits as a number from 0 up to but not including 1, a multiple of 2^-53.
#[inline]
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}
