//! The clock of benchmarks that print a rate.

use std::time::{Duration, Instant};

/// Prints the median of eleven samples of 50 ms or longer each, and millions of what `work` does
/// `amount` of per second.
pub fn measure(name: &str, amount: u64, mut work: impl FnMut()) {
    let mut time = |times: u32| {
        let start = Instant::now();
        (0..times).for_each(|_| work());
        start.elapsed()
    };
    let mut times = 1;
    while time(times) < Duration::from_millis(50) {
        times *= 2;
    }
    let mut samples: Vec<f64> =
        (0..11).map(|_| time(times).as_secs_f64() / f64::from(times)).collect();
    samples.sort_by(f64::total_cmp);
    let seconds = samples[samples.len() / 2];
    println!("{name:<58} {:>12.3} us {:>10.1} M/s", seconds * 1e6, amount as f64 / seconds / 1e6);
}
