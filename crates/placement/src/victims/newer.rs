//! How much of a victim need not be copied, as an engine's memory has newer versions.
//!
//! A store that is about to copy a victim's pages has those written that changed in an engine's
//! memory ([`copying_begins`](super::VictimPolicy::copying_begins)). So they are as good as garbage,
//! though no zone counts them as such. Which share of a zone they are is seen only of victims. It
//! goes by the rate at which pages die: the sooner a page dies, the more likely it has changed.

use crate::ZoneView;

/// Octaves of rates, up to one page in each user write.
const OCTAVES: usize = 32;
/// The share of earlier victims that one more leaves.
const FADE: f32 = 0.99;
/// Zones' worth of pages that the share of the next lower octave counts as.
const PRIOR: f32 = 0.3;

/// The shares of victims' valid pages that had newer versions, by octave of their rate.
#[derive(Clone, Debug, Default)]
pub(super) struct Newer {
    /// None before the first victim.
    shares: Option<[f32; OCTAVES]>,
    /// Valid pages of victims, and those with newer versions; both in zones.
    counts: [(f32, f32); OCTAVES],
    picked: Option<Picked>,
}

/// The zone that was picked last.
#[derive(Clone, Copy, Debug)]
struct Picked {
    zone: u32,
    valid: u32,
    octave: usize,
}

impl Newer {
    /// The share of the valid pages of a zone with this rate.
    #[inline(always)]
    pub(super) fn share(&self, rate: f32) -> f32 {
        self.shares.as_ref().map_or(0.0, |shares| shares[octave(rate)])
    }

    /// A zone with this rate was picked.
    pub(super) fn picked(&mut self, zones: &ZoneView<'_>, zone: u32, rate: f32) {
        self.picked = Some(Picked { zone, valid: zones.valid(zone), octave: octave(rate) });
    }

    /// Pages of a picked zone with newer versions are garbage now, and the others will be copied.
    pub(super) fn copying_begins(&mut self, zones: &ZoneView<'_>, zone: u32) {
        let Some(picked) = self.picked.take_if(|picked| picked.zone == zone) else { return };
        let of_zone = |pages: u32| pages as f32 / zones.zone_pages() as f32;
        let (valid, newer) = &mut self.counts[picked.octave];
        *valid = *valid * FADE + of_zone(picked.valid);
        *newer = *newer * FADE + of_zone(picked.valid.saturating_sub(zones.valid(zone)));
        let mut below = 0.0;
        self.shares = Some(self.counts.map(|(valid, newer)| {
            below = (newer + PRIOR * below) / (valid + PRIOR);
            below
        }));
    }
}

/// The octave of a rate.
#[inline(always)]
fn octave(rate: f32) -> usize {
    let exponent = (rate.to_bits() >> 23) as i32 - 127;
    (exponent + OCTAVES as i32).clamp(0, OCTAVES as i32 - 1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zones::table::ZoneRows;

    #[test]
    fn shares_are_those_of_victims_whose_pages_died_as_fast() {
        let (mut zones, mut newer) = (ZoneRows::new(100), Newer::default());
        let victim = zones.seal(0, 50, 0);
        newer.picked(&zones.view(), victim, 1e-5);
        newer.copying_begins(&zones.view(), victim);
        assert_eq!(newer.share(1e-3), 0.0, "all were copied");
        for _ in 0..50 {
            let victim = zones.seal(0, 50, 0);
            newer.picked(&zones.view(), victim, 1e-4);
            (0..25).for_each(|_| zones.discard(victim));
            newer.copying_begins(&zones.view(), victim);
        }
        assert!((0.45..0.5).contains(&newer.share(1e-4)), "{}", newer.share(1e-4));
        assert_eq!(newer.share(1e-5), 0.0);
        assert!(newer.share(0.9) > 0.45, "those that die faster have as many at least");
    }
}
