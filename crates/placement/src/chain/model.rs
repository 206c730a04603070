//! The write amplification of a chain of groups: MiDAS's Markov chain in closed form.
//!
//! A user write goes to the hot group or to the first group of the chain. Pages that leave a group
//! alive go to the next one; the last group keeps the pages that it copies. A group before the last
//! is a queue: it holds its pages for its size divided by the rate at which they come. From this
//! follow the age at which they leave, and the share that is then alive. The last group is cleaned
//! greedily; its copies follow from Desnoyers's formula for two kinds of pages ("Analytic Models of
//! SSD Write Performance", ACM TOS 10(2), 2014).

use super::survival::SurvivalCurve;

/// The most groups of a chain.
pub(crate) const MOST_GROUPS: usize = 9;

/// The hotter kind of pages in the last group has a lifespan below this share of the mean.
const HOTTER: f64 = 0.7;
/// The share of the observed ages that is reliable: the oldest are not.
const RELIABLE: f64 = 0.98;

/// A volume that shall be divided into groups. Pages and zones are whole numbers held as `f64`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Space {
    /// Pages in a zone.
    pub zone_pages: f64,
    /// Zones of all groups together, open ones included.
    pub zones: u32,
    /// Valid pages of the volume.
    pub valid: f64,
    /// Frozen pages among `valid`, which lie in zones of their own.
    pub frozen: f64,
}

/// The hot group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Hot {
    /// Zones, the open one included.
    pub zones: u32,
    /// Share of the user writes that go to the hot group.
    pub share: f64,
    /// Share of its pages that leave it alive.
    pub leak: f64,
    /// User writes for which it keeps a page.
    pub lifetime: f64,
}

impl Hot {
    /// No hot group.
    pub(crate) const NONE: Hot = Hot { zones: 0, share: 0.0, leak: 0.0, lifetime: 0.0 };

    /// A hot group of `zones` zones that takes exactly the versions that die in it. `None` if too
    /// few versions are short-lived.
    pub(crate) fn of_size(zones: u32, survival: &SurvivalCurve, zone_pages: f64) -> Option<Hot> {
        let lifetime = survival.age_of_queue(f64::from(zones) * zone_pages)?;
        Some(Hot { zones, share: 1.0 - survival.alive(lifetime), leak: 0.0, lifetime })
    }

    /// A measured hot group, for the model, in which all versions that die within the lifetime die
    /// in the hot group. A group that few pages come to keeps them for long, while most versions
    /// die elsewhere, sooner. So the lifetime is at most that within which no more versions die
    /// than die in the group.
    #[must_use]
    pub(crate) fn with_own_deaths(self, survival: &SurvivalCurve) -> Hot {
        let deaths = self.share * (1.0 - self.leak);
        let most = survival.age_at(1.0 - deaths).unwrap_or(f64::INFINITY);
        Hot { lifetime: self.lifetime.min(most), ..self }
    }
}

/// The zones of each group of the chain, the last group included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Chain {
    zones: [u32; MOST_GROUPS],
    groups: usize,
}

impl Chain {
    /// One group of `zones` zones.
    pub(crate) fn whole(zones: u32) -> Self {
        let mut chain = Chain { zones: [0; MOST_GROUPS], groups: 1 };
        chain.zones[0] = zones;
        chain
    }

    /// The chain with one more group, of no zones, before the group at `place`. The chain must have
    /// less than [`MOST_GROUPS`].
    #[must_use]
    pub(crate) fn with_group(mut self, place: usize) -> Self {
        assert!(place < self.groups && self.groups < MOST_GROUPS, "a chain has room for a group");
        self.zones.copy_within(place..self.groups, place + 1);
        self.zones[place] = 0;
        self.groups += 1;
        self
    }

    /// The groups before the last.
    pub(crate) fn queues(&self) -> &[u32] {
        &self.zones[..self.groups - 1]
    }
}

impl std::ops::Deref for Chain {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.zones[..self.groups]
    }
}

impl std::ops::DerefMut for Chain {
    fn deref_mut(&mut self) -> &mut [u32] {
        &mut self.zones[..self.groups]
    }
}

/// The predicted figures of a division into groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Prediction {
    /// Write amplification.
    pub waf: f64,
    /// Share of valid pages in the victims of each group of the chain.
    pub valid: [f64; MOST_GROUPS],
}

/// Predicts what a division costs. `chain` has the zones of each group of the chain, the last group
/// included. `None` if the division can't be kept: the last group has no room for its valid pages,
/// or pages grow older in the queues than any that were observed.
pub(crate) fn predict(
    survival: &SurvivalCurve,
    space: &Space,
    hot: &Hot,
    chain: &[u32],
) -> Option<Prediction> {
    let (last, queues) = chain.split_last()?;
    let past_hot = survival.alive(hot.lifetime);
    // Versions that die as young as those of the hot group never come to the chain.
    let alive = |age: f64| (survival.alive(age) / past_hot).min(1.0);
    let entering = 1.0 - hot.share + hot.share * hot.leak;
    let mut valid = [0.0; MOST_GROUPS];
    let (mut age, mut rate, mut copied) = (0.0, entering, hot.share * hot.leak);
    for (&zones, valid) in queues.iter().zip(&mut valid) {
        age += (f64::from(zones) - 0.5) * space.zone_pages / rate;
        let next = entering * alive(age);
        *valid = next / rate;
        rate = next;
        copied += rate;
        if rate <= 0.0 || age > RELIABLE * survival.end() {
            return None;
        }
    }
    let since = age.max(hot.lifetime);
    let rewritten = last_group(survival, space, since, f64::from(*last))?;
    // Frozen pages are written to the last group once and stay.
    let staying = if space.frozen > 0.0 { entering * survival.endless() / past_hot } else { 0.0 };
    copied += (rate - staying).max(0.0) * rewritten / (1.0 - rewritten);
    debug_assert!(copied >= 0.0, "no group copies less than nothing");
    valid[chain.len() - 1] = rewritten;
    Some(Prediction { waf: 1.0 + copied, valid })
}

/// Share of valid pages in the victims of a last group of `zones` zones, which receives pages at
/// age `since`.
fn last_group(survival: &SurvivalCurve, space: &Space, since: f64, zones: f64) -> Option<f64> {
    let endless = if space.frozen > 0.0 { survival.endless() } else { 0.0 };
    // Pages that froze only lately are still in the queues.
    let frozen = (space.frozen - endless * since).max(0.0);
    let held = space.valid - frozen - survival.younger(since);
    let room = zones * space.zone_pages - frozen;
    if held <= 0.0 || room <= held {
        return None;
    }
    let (share, pages) = hotter(survival, since, endless);
    let one_more = 1.0 + 1.0 / (2.0 * space.zone_pages);
    let amplification = one_more * desnoyers(room / held * one_more, share, pages);
    Some((1.0 - 1.0 / amplification).max(0.0))
}

/// Divides the versions that die at ages above `since` into hotter and other ones. Returns the
/// hotter ones' share of the writes and of the pages. The share `endless` never dies.
fn hotter(survival: &SurvivalCurve, since: f64, endless: f64) -> (f64, f64) {
    // A version whose end was not seen lives to the end of the curve, unless it is known to be
    // frozen.
    let unseen = (survival.endless() - endless) * survival.end();
    let mass = survival.alive(since) - endless;
    let lived = survival.lived(survival.end()) - survival.lived(since) + unseen;
    if mass <= 0.0 || lived <= 0.0 {
        return (0.0, 0.0);
    }
    let cut = (HOTTER * lived / mass).max(since);
    let share = (survival.alive(since) - survival.alive(cut)) / mass;
    let pages = (survival.lived(cut) - survival.lived(since)) / lived;
    (share.clamp(0.0, 1.0), pages.clamp(0.0, 1.0))
}

/// Write amplification of greedy cleaning. There are `room` times as many slots as pages, and the
/// share `pages` (f) of the pages receives the share `writes` (r) of the writes. It is the root A
/// of A = 1 + r / (exp(r room / (f A)) - 1) + (1 - r) / (exp((1 - r) room / ((1 - f) A)) - 1).
pub(crate) fn desnoyers(room: f64, writes: f64, pages: f64) -> f64 {
    let term = |r: f64, f: f64, a: f64| match r > 1e-6 && f > 1e-6 {
        true => r / ((r * room / (f * a)).exp_m1()),
        false => 0.0,
    };
    let beyond = |a: f64| 1.0 + term(writes, pages, a) + term(1.0 - writes, 1.0 - pages, a) - a;
    // If there is room, the right-hand side grows more slowly with A than A itself.
    let (mut low, mut high) = (1.0, 2.0);
    while beyond(high) > 0.0 && high < 1e4 {
        low = high;
        high *= 2.0;
    }
    for _ in 0..24 {
        let middle = (low + high) / 2.0;
        if beyond(middle) > 0.0 { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Versions of 10,000 pages that are written at random: a share 1 - 1e-4 survives each write.
    fn uniform() -> SurvivalCurve {
        SurvivalCurve::new(10.0, (0..10_000).map(|k| (-f64::from(k) * 1e-3).exp()).collect())
    }

    fn space(zones: u32) -> Space {
        Space { zone_pages: 100.0, zones, valid: 10_000.0, frozen: 0.0 }
    }

    #[test]
    fn one_group_of_uniform_pages_costs_what_greedy_cleaning_costs() {
        let one = predict(&uniform(), &space(120), &Hot::NONE, &[120]).unwrap();
        // A = 1 / (1 + W(-x exp(-x)) / x) with x = 1.2 and Lambert's W: 3.19.
        assert!((desnoyers(1.2, 0.0, 0.0) - 3.19).abs() < 0.01);
        assert!((one.waf / 3.19 - 1.0).abs() < 0.04, "the model takes some for hotter: {one:?}");
        assert!((one.valid[0] - (1.0 - 1.0 / one.waf)).abs() < 1e-9);
    }

    #[test]
    fn a_chain_costs_what_stepping_its_markov_chain_costs() {
        let survival = uniform();
        let hot = Hot { zones: 5, share: 0.2, leak: 0.1, lifetime: 500.0 };
        let chain = [12, 20, 83];
        let prediction = predict(&survival, &space(120), &hot, &chain).unwrap();
        // States: free, hot, first, second, last.
        let [v0, v1, v2, v3] =
            [hot.leak, prediction.valid[0], prediction.valid[1], prediction.valid[2]];
        let mut p = [0.1, 0.9, 0.0, 0.0, 0.0];
        for _ in 0..20_000 {
            let free =
                p[1] * (1.0 - v0) + p[2] * (1.0 - v1) + p[3] * (1.0 - v2) + p[4] * (1.0 - v3);
            let first = p[0] * (1.0 - hot.share) + p[1] * v0;
            p = [free, p[0] * hot.share, first, p[2] * v1, p[3] * v2 + p[4] * v3];
        }
        let stepped = 1.0 + (p[3] + p[4] + p[1] * v0) / p[0];
        assert!((prediction.waf - stepped).abs() < 1e-6, "{} {stepped}", prediction.waf);
    }

    #[test]
    fn what_does_not_fit_is_no_division() {
        assert_eq!(predict(&uniform(), &space(120), &Hot::NONE, &[99]), None);
        assert_eq!(predict(&uniform(), &space(120), &Hot::NONE, &[]), None);
        let endless = SurvivalCurve::new(10.0, vec![1.0; 3]);
        assert_eq!(
            predict(&endless, &space(120), &Hot::NONE, &[10, 110]),
            None,
            "beyond the curve"
        );
    }

    #[test]
    fn frozen_pages_take_room_and_are_not_copied() {
        let with = Space { valid: 20_000.0, frozen: 10_000.0, ..space(220) };
        let apart = predict(&uniform(), &with, &Hot::NONE, &[220]).unwrap();
        let without = predict(&uniform(), &space(120), &Hot::NONE, &[120]).unwrap();
        assert!((apart.waf - without.waf).abs() < 0.01, "{} {}", apart.waf, without.waf);
    }
}
