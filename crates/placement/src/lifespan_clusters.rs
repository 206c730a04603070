//! Clusters and intervals of lifespans, for schemes that know all lifespans or some of them.

use std::collections::BTreeMap;

use crate::NEVER;

/// The most rounds of Lloyd's iteration; on real traces it converges earlier.
const ROUNDS: usize = 200;

/// The lifespans of all writes. A version that is never invalidated lives to the end of the trace.
pub(crate) fn seen(lifespans: &[u32]) -> impl Iterator<Item = u32> {
    let end = lifespans.len();
    let lived = move |(i, &lifespan): (usize, &u32)| match lifespan {
        NEVER => (end - i - 1) as u32,
        lifespan => lifespan,
    };
    lifespans.iter().enumerate().map(lived)
}

/// The number of times each lifespan occurs, with lifespans rounded down to `bits` significant
/// bits.
pub(crate) fn histogram(lifespans: impl Iterator<Item = u32>, bits: u32) -> BTreeMap<u32, u64> {
    assert!((1..u32::BITS).contains(&bits), "some of a lifespan's bits are significant");
    let mut counts = vec![0u64; 32 << bits];
    for lifespan in lifespans {
        let shift = (32 - bits).saturating_sub(lifespan.leading_zeros()) as usize;
        counts[(shift << bits) + (lifespan >> shift) as usize] += 1;
    }
    let value = |b: usize| ((b & ((1 << bits) - 1)) as u32) << (b >> bits);
    (0..counts.len()).filter(|&b| counts[b] > 0).map(|b| (value(b), counts[b])).collect()
}

/// Divides `buckets` buckets into at most `most` intervals with the least sum of costs, and returns
/// the intervals' starts. `cost` gives the cost of the buckets from a start to an end, the end
/// excluded.
pub(crate) fn intervals(
    buckets: usize,
    most: usize,
    cost: impl Fn(usize, usize) -> f64,
) -> Vec<usize> {
    // Row n, entry b: the least cost of the first b buckets in n intervals, and the last interval's
    // start.
    let mut best = vec![vec![(f64::INFINITY, 0); buckets + 1]];
    best[0][0].0 = 0.0;
    for before in 0..most.min(buckets) {
        let least = |end: usize| {
            let starts = (0..end).map(|start| (best[before][start].0 + cost(start, end), start));
            starts.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::INFINITY, 0))
        };
        best.push((0..=buckets).map(least).collect());
    }
    let cheapest = |&a: &usize, &b: &usize| best[a][buckets].0.total_cmp(&best[b][buckets].0);
    let number = (0..best.len()).min_by(cheapest).unwrap_or(0);
    let mut end = buckets;
    let starts = best[1..=number].iter().rev().map(|row| {
        end = row[end].1;
        end
    });
    let mut starts: Vec<usize> = starts.collect();
    starts.reverse();
    assert!(starts.first().is_none_or(|&first| first == 0), "the first interval begins at once");
    assert!(starts.is_sorted_by(|a, b| a < b), "no interval is empty");
    starts
}

/// Lloyd's k-means in one dimension, from quantiles; returns the largest value of every cluster
/// but the last. On a line clusters are intervals, so prefix sums make a round cheap.
pub(crate) fn cluster(histogram: &BTreeMap<u32, u64>, classes: usize, log: bool) -> Vec<u32> {
    let scale = |v: u32| if log { f64::from(v.max(1)).ln() } else { f64::from(v) };
    let values: Vec<(u32, f64)> = histogram.keys().map(|&v| (v, scale(v))).collect();
    let mut sums = vec![(0.0, 0.0)];
    for ((_, x), &n) in values.iter().zip(histogram.values()) {
        let (weight, sum) = sums[sums.len() - 1];
        sums.push((weight + n as f64, sum + n as f64 * x));
    }
    let total = sums[sums.len() - 1].0;
    let quantile = |q: f64| sums.partition_point(|s| s.0 < q * total).min(values.len());
    let mut bounds: Vec<usize> =
        (0..=classes).map(|c| quantile(c as f64 / classes as f64)).collect();
    bounds[0] = 0;
    for _ in 0..ROUNDS {
        let centres: Vec<Option<f64>> = bounds
            .windows(2)
            .map(|b| {
                let (n, sum) = (sums[b[1]].0 - sums[b[0]].0, sums[b[1]].1 - sums[b[0]].1);
                (n > 0.0).then(|| sum / n)
            })
            .collect();
        let mut next = bounds.clone();
        for c in 1..classes {
            if let (Some(low), Some(high)) = (centres[c - 1], centres[c]) {
                next[c] = values.partition_point(|v| v.1 < (low + high) / 2.0);
            }
        }
        if next == bounds {
            break;
        }
        bounds = next;
    }
    let upper = |b: usize| values.get(b).map_or(NEVER - 1, |v| v.0.saturating_sub(1));
    debug_assert!(bounds.is_sorted(), "clusters follow each other on a line");
    bounds[1..classes].iter().map(|&b| upper(b)).collect()
}

/// The share of the logarithms' variance that remains within the clusters that `cuts` make.
pub(crate) fn unexplained(histogram: &BTreeMap<u32, u64>, cuts: &[u32]) -> f64 {
    // Count, sum and sum of squares of each cluster; the last entry is that of all clusters
    // together.
    let mut sums = vec![[0.0; 3]; cuts.len() + 2];
    for (&lifespan, &count) in histogram {
        let (x, count) = (f64::from(lifespan.max(1)).ln(), count as f64);
        for of in [cuts.partition_point(|&cut| lifespan > cut), cuts.len() + 1] {
            let [n, sum, squares] = sums[of];
            sums[of] = [n + count, sum + count * x, squares + count * x * x];
        }
    }
    let spread = |&[n, sum, squares]: &[f64; 3]| squares - sum * sum / f64::max(n, 1.0);
    let within: f64 = sums[..=cuts.len()].iter().map(spread).sum();
    within / spread(&sums[cuts.len() + 1]).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_the_gaps_of_the_distribution() {
        let values = [(10, 100), (12, 100), (1000, 50), (1024, 50), (9000, 10)];
        let cuts = cluster(&values.into_iter().collect(), 3, false);
        assert!((12..1000).contains(&cuts[0]) && (1024..9000).contains(&cuts[1]), "{cuts:?}");
    }

    #[test]
    fn clusters_that_are_points_leave_no_variance_and_one_cluster_leaves_all() {
        let values = [(10, 100), (1000, 50)].into_iter().collect();
        assert!(unexplained(&values, &[100]).abs() < 1e-9);
        assert!((unexplained(&values, &[5]) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_histogram_keeps_eleven_bits() {
        let seen: Vec<_> =
            histogram([1, 2047, 1 << 20, (1 << 20) + 1, 3].into_iter(), 11).into_iter().collect();
        assert_eq!(seen, [(1, 1), (3, 1), (2047, 1), (1 << 20, 2)]);
    }
}
