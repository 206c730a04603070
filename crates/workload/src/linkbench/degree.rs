//! The number of links of a node, and the length of payloads.

use frostline_random::mix;

use crate::random::Random;

/// The most links of a node.
const LONGEST: f64 = 10_000.0;
/// The exponent of the distribution of links.
const EXPONENT: f64 = 1.18;

/// The number of links that node `id` is loaded with: `d` or more with probability `(d + 1)^-1.18`,
/// up to 10,000. It depends on the node alone, so that a worker knows which links exist without
/// reading.
///
/// The paper (section 3.2) measured a power law in which half of the nodes have no links and the
/// average is about 4; here 56 % have none, and the average is 4.1.
pub(super) fn links_of(id: u64) -> u64 {
    // 53 bits as a number from 2^-53 to 1, whose logarithm is finite.
    let unit = ((mix(id) >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64);
    (unit.powf(-1.0 / EXPONENT).min(LONGEST) - 1.0) as u64
}

/// A random length of a payload with this average: exponentially distributed, up to 20 times the
/// average. The paper's figure shows long tails; for its averages see the constants in the module
/// `rows`.
pub(super) fn payload(random: &mut Random, average: f64) -> usize {
    let length = -average * (1.0 - random.unit()).ln();
    length.min(20.0 * average).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_follow_the_power_law() {
        let nodes = 1_000_000;
        let links: Vec<u64> = (1..=nodes).map(links_of).collect();
        let none = links.iter().filter(|count| **count == 0).count() as f64 / nodes as f64;
        assert!((none - (1.0 - 2f64.powf(-EXPONENT))).abs() < 0.005, "{none}");
        let many = links.iter().filter(|count| **count >= 99).count() as f64 / nodes as f64;
        assert!((many / 100f64.powf(-EXPONENT) - 1.0).abs() < 0.1, "{many}");
        let average = links.iter().sum::<u64>() as f64 / nodes as f64;
        assert!((3.7..4.5).contains(&average), "{average}");
        assert!(links.iter().all(|count| *count < 10_000));
    }

    #[test]
    fn payloads_have_their_average() {
        let mut random = Random::stream(1, 0);
        let sum: usize = (0..100_000).map(|_| payload(&mut random, 87.6)).sum();
        assert!((sum as f64 / 100_000.0 - 87.6).abs() < 2.0, "{sum}");
    }
}
