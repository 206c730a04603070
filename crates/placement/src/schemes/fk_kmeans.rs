//! FK-kmeans: future knowledge by clusters of lifespans, as SepFrozen (Tan et al., section 3)
//! draws its bound: the trace is run once, the lifespan of every write is calculated (up to the
//! end of the trace for what is never invalidated), and pages are grouped by k-means over the
//! lifespans.
//!
//! A version stays in the cluster of its lifespan when it is copied. The paper does not say
//! whether lifespans or their logarithms are clustered: `scale` takes either, the lifespans
//! themselves by default.

use std::collections::BTreeMap;

use crate::{
    BuildError, Foresight, Info, NEVER, Param, Params, Relocation, Scheme, Setup, UserWrite,
    ZoneEvent,
};

/// Classes by k-means over lifespans.
#[derive(Clone, Debug)]
pub struct FkKmeans {
    /// Largest lifespan of every cluster but the last.
    cuts: Vec<u32>,
    /// Time of the trace's last write.
    end: u32,
}

const PARAMS: &[Param] = &[
    Param { key: "classes", default: "6", help: "clusters" },
    Param { key: "scale", default: "linear", help: "linear or log: what is clustered" },
];

/// Rounds of Lloyd's iteration at most; it settles earlier on real traces.
const ROUNDS: usize = 200;

impl Scheme for FkKmeans {
    type Page = ();
    const INFO: Info = Info {
        name: "fk-kmeans",
        summary: "future knowledge: by k-means over lifespans",
        source: "Tan et al. (SepFrozen), section 3",
        params: PARAMS,
    };
    const FORESIGHT: Foresight = Foresight::Lifespans;

    fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        let classes = params.take(PARAMS, "classes", 2..=255usize)?;
        let log = params.choose(PARAMS, "scale", &["linear", "log"])? == 1;
        let lifespans =
            setup.lifespans.ok_or(BuildError::NeedsForesight { name: Self::INFO.name })?;
        let end = lifespans.len() as u32;
        Ok(FkKmeans { cuts: cluster(&histogram(lifespans), classes, log), end })
    }

    fn classes(&self) -> usize {
        self.cuts.len() + 1
    }

    #[inline(always)]
    fn place_user(&mut self, write: &UserWrite, (): &mut ()) -> usize {
        let lifespan = write.lifespan.min(self.end.saturating_sub(write.now));
        self.cuts.partition_point(|&cut| lifespan > cut)
    }

    #[inline(always)]
    fn destination(&self, victim: &ZoneEvent) -> Option<usize> {
        Some(victim.class)
    }

    #[inline(always)]
    fn place_relocation(&mut self, relocation: &Relocation, (): &mut ()) -> usize {
        relocation.class
    }

    fn bytes(&self) -> usize {
        self.cuts.len() * 4
    }
}

/// The number of times each lifespan occurs, lifespans rounded down to 11 significant bits.
fn histogram(lifespans: &[u32]) -> BTreeMap<u32, u64> {
    let mut counts = vec![0u64; 32 << 11];
    let bucket = |v: u32| {
        let shift = (21 - v.leading_zeros().min(21)) as usize;
        (shift << 11) + (v >> shift) as usize
    };
    let end = lifespans.len();
    for (i, &lifespan) in lifespans.iter().enumerate() {
        let lifespan = if lifespan == NEVER { (end - i - 1) as u32 } else { lifespan };
        counts[bucket(lifespan)] += 1;
    }
    let value = |b: usize| ((b & 2047) as u32) << (b >> 11);
    (0..counts.len()).filter(|&b| counts[b] > 0).map(|b| (value(b), counts[b])).collect()
}

/// Lloyd's k-means in one dimension, from quantiles; returns the largest value of every cluster
/// but the last. On a line clusters are intervals, so prefix sums make a round cheap.
fn cluster(histogram: &BTreeMap<u32, u64>, classes: usize, log: bool) -> Vec<u32> {
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
    bounds[1..classes].iter().map(|&b| upper(b)).collect()
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
    fn a_histogram_keeps_eleven_bits() {
        let seen: Vec<_> = histogram(&[1, 2047, 1 << 20, (1 << 20) + 1, 3]).into_iter().collect();
        assert_eq!(seen, [(1, 1), (3, 1), (2047, 1), (1 << 20, 2)]);
    }
}
