//! Search for the division into groups with the least predicted write amplification.

use crate::chain::model::{Chain, Hot, MOST_GROUPS, Prediction, Space, predict};
use crate::chain::survival::SurvivalCurve;

/// The hot group has at most one in this many zones, the last group at least one in this many.
const SMALLEST_PART: u32 = 40;
/// The most rounds in which every size is tried again.
const ROUNDS: usize = 4;
/// Ratio of a size to try to the size before it.
const STEP: f64 = 1.2;

/// A division into groups, and its predicted figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Division {
    /// The hot group.
    pub hot: Hot,
    /// The groups of the chain.
    pub chain: Chain,
    /// The prediction for this division.
    pub prediction: Prediction,
}

/// Finds a division of low write amplification. The search includes the hot group's size, unless
/// `fixed` gives the hot group. The chain has two groups or more. `None` if no division can be
/// kept.
///
/// A hot group is as good as the best chain behind it. To find that chain, the search splits the
/// last group again and again, each time into the most promising sizes. It then improves each size
/// of the best division in turn, with the others fixed.
pub(crate) fn search(
    survival: &SurvivalCurve,
    space: &Space,
    fixed: Option<Hot>,
    most: usize,
) -> Option<Division> {
    let search = Search { survival, space, most: most.min(MOST_GROUPS) };
    let mut best = match fixed {
        Some(hot) => search.behind(hot),
        None => search.with_hot(),
    }?;
    for _ in 0..ROUNDS {
        let before = best.prediction.waf;
        search.improve(&mut best, fixed.is_none());
        if best.prediction.waf > before - 1e-4 {
            break;
        }
    }
    let given: u32 = best.chain.iter().sum();
    assert_eq!(best.hot.zones + given, space.zones, "all zones are given away");
    Some(best)
}

struct Search<'a> {
    survival: &'a SurvivalCurve,
    space: &'a Space,
    most: usize,
}

impl Search<'_> {
    /// The best division with a hot group, or without one if that is better.
    fn with_hot(&self) -> Option<Division> {
        let mut divisions = vec![self.behind(Hot::NONE)];
        best_size(self.largest_hot(), &mut |zones| {
            let division = self.behind(self.hot(zones)?);
            divisions.push(division);
            Some(division?.prediction.waf)
        });
        divisions.into_iter().flatten().min_by(|a, b| a.prediction.waf.total_cmp(&b.prediction.waf))
    }

    fn largest_hot(&self) -> u32 {
        self.space.zones / SMALLEST_PART
    }

    fn hot(&self, zones: u32) -> Option<Hot> {
        Hot::of_size(zones, self.survival, self.space.zone_pages)
    }

    /// The best division with this hot group that splitting the last group finds. A chain of one
    /// group is not considered: the formula flatters it, because it mixes all rates.
    fn behind(&self, hot: Hot) -> Option<Division> {
        let whole = Chain::whole(self.space.zones.checked_sub(hot.zones)?);
        let mut split = self.insert(hot, whole, 0)?;
        let mut best = split;
        while let Some(next) = self.insert(hot, split.chain, split.chain.len() - 1) {
            if next.prediction.waf < best.prediction.waf {
                best = next;
            }
            split = next;
        }
        Some(best)
    }

    fn division(&self, hot: Hot, chain: Chain) -> Option<Division> {
        let prediction = predict(self.survival, self.space, &hot, &chain)?;
        Some(Division { hot, chain, prediction })
    }

    /// The best division with one more group at `place`, which takes its zones from the last group.
    fn insert(&self, hot: Hot, chain: Chain, place: usize) -> Option<Division> {
        if chain.len() == self.most {
            return None;
        }
        self.resize(hot, chain.with_group(place), place)
    }

    /// The best division in which the group at `place` exchanges zones with the last one.
    fn resize(&self, hot: Hot, mut chain: Chain, place: usize) -> Option<Division> {
        let end = chain.len() - 1;
        assert!(place < end, "a group exchanges zones with the last one, not with itself");
        let both = chain[place] + chain[end];
        let reserve = (self.space.zones / SMALLEST_PART).max(1);
        let largest = both.checked_sub(reserve)?;
        let mut waf = |size: u32| {
            chain[place] = size;
            chain[end] = both - size;
            Some(predict(self.survival, self.space, &hot, &chain)?.waf)
        };
        let size = best_size(largest, &mut waf)?;
        chain[place] = size;
        chain[end] = both - size;
        self.division(hot, chain)
    }

    /// The best division in which the hot group exchanges zones with the last one.
    fn resize_hot(&self, from: &Division) -> Option<Division> {
        let end = from.chain.len() - 1;
        let both = from.hot.zones + from.chain[end];
        let with = |zones: u32| {
            let mut chain = from.chain;
            chain[end] = both.checked_sub(zones)?;
            self.division(self.hot(zones)?, chain)
        };
        with(best_size(self.largest_hot(), &mut |zones| Some(with(zones)?.prediction.waf))?)
    }

    /// Changes the size of each group in turn if that lowers the write amplification.
    fn improve(&self, best: &mut Division, hot_too: bool) {
        let keep = |best: &mut Division, found: Option<Division>| {
            *best = found.filter(|f| f.prediction.waf < best.prediction.waf).unwrap_or(*best);
        };
        if hot_too {
            keep(best, self.resize_hot(best));
        }
        for place in 0..best.chain.len() - 1 {
            keep(best, self.resize(best.hot, best.chain, place));
        }
        keep(best, self.insert(best.hot, best.chain, best.chain.len() - 1));
    }
}

/// The sizes to try: 1, 2, 3... and then each a fifth larger than the one before, up to `largest`.
fn sizes(largest: u32) -> impl Iterator<Item = u32> {
    let next = |size: &u32| Some((f64::from(*size) * STEP) as u32 + 1);
    std::iter::successors(Some(1), next).take_while(move |&size| size <= largest)
}

/// A size up to `largest` with the least cost, as far as narrowing steps find it.
fn best_size(largest: u32, cost: &mut impl FnMut(u32) -> Option<f64>) -> Option<u32> {
    let mut consider = |best: &mut Option<(f64, u32)>, size: u32| {
        if let Some(cost) = cost(size)
            && best.is_none_or(|(least, _)| cost < least)
        {
            *best = Some((cost, size));
        }
    };
    let mut best = None;
    sizes(largest).for_each(|size| consider(&mut best, size));
    let mut step = (best?.1 / 10).next_power_of_two();
    while step > 0 {
        let (_, center) = best?;
        consider(&mut best, center.saturating_sub(step).max(1));
        consider(&mut best, (center + step).min(largest));
        step /= 2;
    }
    let size = best.map(|(_, size)| size);
    assert!(size.is_none_or(|size| (1..=largest).contains(&size)), "a size is in its range");
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lifespans of a volume written by Zipf's law: one rate for each of `bins` ranks.
    fn zipf(unit: f64, bins: usize, pages: f64) -> SurvivalCurve {
        let ranks: Vec<f64> = (1..=1000).map(|r| 1.0 / (f64::from(r) - 0.5)).collect();
        let sum: f64 = ranks.iter().sum();
        let share = |age: f64| {
            let each = ranks.iter().map(|r| r / sum * (-age * r / sum * 1000.0 / pages).exp());
            each.sum::<f64>()
        };
        SurvivalCurve::new(unit, (0..bins).map(|k| share(k as f64 * unit)).collect())
    }

    fn space() -> Space {
        Space { zone_pages: 512.0, zones: 500, valid: 225_000.0, frozen: 0.0 }
    }

    #[test]
    fn no_other_division_of_the_same_number_of_groups_is_much_better() {
        let survival = zipf(128.0, 8000, 225_000.0);
        let found = search(&survival, &space(), Some(Hot::NONE), 3).unwrap();
        let mut least = f64::INFINITY;
        for a in (1..400).step_by(3) {
            for b in (1..400 - a.min(399)).step_by(3) {
                let chain = [a, b, 500 - a - b];
                let waf = predict(&survival, &space(), &Hot::NONE, &chain).map(|p| p.waf);
                least = waf.map_or(least, |waf| waf.min(least));
            }
        }
        assert!(found.prediction.waf < least * 1.005, "{found:?}, {least}");
    }

    #[test]
    fn no_hot_group_of_another_size_is_better() {
        let survival = zipf(128.0, 8000, 225_000.0);
        let found = search(&survival, &space(), None, 9).unwrap().prediction.waf;
        for zones in 1..=space().zones / SMALLEST_PART {
            let hot = Hot::of_size(zones, &survival, space().zone_pages);
            let waf = search(&survival, &space(), hot, 9).unwrap().prediction.waf;
            assert!(found < waf + 1e-3, "{found}, with {zones} zones {waf}");
        }
    }

    #[test]
    fn more_groups_and_a_hot_one_are_predicted_to_copy_less() {
        let survival = zipf(128.0, 8000, 225_000.0);
        let waf = |fixed, most| search(&survival, &space(), fixed, most).unwrap().prediction.waf;
        let (two, six) = (waf(Some(Hot::NONE), 2), waf(Some(Hot::NONE), 6));
        assert!(six < two * 0.95, "{two} {six}");
        assert!(waf(None, 6) < six);
    }

    #[test]
    fn all_zones_are_given_away() {
        let survival = zipf(128.0, 8000, 225_000.0);
        let Division { hot, chain, .. } = search(&survival, &space(), None, 9).unwrap();
        assert_eq!(hot.zones + chain.iter().sum::<u32>(), 500);
    }
}
