//! 2R-FIFO: 2R with one FIFO list of normal and cold zones, a selective merge and a second
//! chance. Kang, Choi, Oh and Lee, "2R: Efficiently Isolating Cold Pages in Flash Storages",
//! PVLDB 13(11), 2020, section 4.3.
//!
//! User writes go to the normal region (class 0), relocations to the cold one (class 1). All zones
//! stand in one list in the order of their opening. Cleaning scans on from where it stopped. It
//! takes zones whose valid share is below BLK_UTIL (selective merge), all from the region of the
//! first zone it took, until their garbage fills a zone. At FIFO_SCAN_DEPTH of the list the scan
//! starts over from the head (second chance for the zones near the tail).
//!
//! The paper does not say what happens when a whole turn finds no zone below BLK_UTIL, which must
//! happen when space is tight. Here the zone with the fewest valid pages within the depth is taken;
//! if no zone there has garbage, the zone with the fewest valid pages of all. A turn that finds
//! some zones but too few merges those.

use std::cmp::Reverse;

use crate::{
    BuildError, Choice, Info, Param, Params, Relocation, Scheme, Setup, UserWrite, VictimPolicy,
    Victims, Wants, ZoneEvent, ZoneView,
};

/// Two regions; victims in order of age if they are empty enough, several of one region at a time.
#[derive(Clone, Debug)]
pub struct TwoRFifo {
    max_valid_share: f64,
    scan_depth: f64,
    /// Live zones in the order of their opening.
    list: Vec<u32>,
    /// Place in the list from which the next scan goes on.
    scan: usize,
}

impl Scheme for TwoRFifo {
    type Page = ();
    const INFO: Info = Info {
        name: "2r-fifo",
        summary: "normal and cold region, selective FIFO merge with second chance",
        source: "Kang et al., PVLDB 13(11), 2020, section 4.3",
        params: &[
            Param::real(
                "blk-util",
                0.5,
                0.0..=1.0,
                "a zone is merged only if less of it is valid (BLK_UTIL)",
            ),
            Param::real(
                "scan-depth",
                0.8,
                0.0..=1.0,
                "share of the list that is scanned (FIFO_SCAN_DEPTH)",
            ),
        ],
    };
    const WANTS: Wants = Wants { victims: Victims::Own("2r-fifo"), ..Wants::NOTHING };

    fn build(_: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        Ok(TwoRFifo {
            max_valid_share: params.real(Self::INFO.params, "blk-util")?,
            scan_depth: params.real(Self::INFO.params, "scan-depth")?,
            list: Vec::new(),
            scan: 0,
        })
    }

    fn classes(&self) -> usize {
        2
    }

    #[inline(always)]
    fn place_user(&mut self, _: &UserWrite, (): &mut ()) -> usize {
        0
    }

    #[inline(always)]
    fn destination(&self, _: &ZoneEvent) -> Option<usize> {
        Some(1)
    }

    #[inline(always)]
    fn place_relocation(&mut self, _: &Relocation, (): &mut ()) -> usize {
        1
    }

    fn on_opened(&mut self, zone: &ZoneEvent) {
        debug_assert!(!self.list.contains(&zone.zone), "a zone is in the list once");
        self.list.push(zone.zone);
    }

    fn on_reclaimed(&mut self, zone: &ZoneEvent) {
        if let Some(place) = self.list.iter().position(|&z| z == zone.zone) {
            self.list.remove(place);
            self.scan -= usize::from(place < self.scan);
            assert!(self.scan <= self.list.len(), "a scan goes on in the list");
        }
    }

    fn pick(&mut self, zones: &ZoneView<'_>, _: &mut dyn VictimPolicy, choice: &mut Choice) {
        let out = &mut choice.victims;
        let depth = (self.list.len() as f64 * self.scan_depth).ceil() as usize;
        let depth = depth.clamp(1, self.list.len().max(1));
        self.selective_merge(zones, depth, out);
        if out.is_empty() {
            let emptiest = |list: &[u32]| {
                let candidates = list.iter().copied().filter(|&z| zones.is_candidate(z));
                candidates.max_by_key(|&z| (zones.garbage(z), Reverse(z)))
            };
            let within = emptiest(&self.list[..depth.min(self.list.len())]);
            out.extend(within.or_else(|| emptiest(&self.list)));
        }
    }

    fn bytes(&self) -> usize {
        self.list.capacity() * 4
    }
}

impl TwoRFifo {
    /// One turn over the list: zones of one region that are empty enough, up to a zone's worth of
    /// garbage.
    fn selective_merge(&mut self, zones: &ZoneView<'_>, depth: usize, out: &mut Vec<u32>) {
        let pages = f64::from(zones.zone_pages());
        let mut region = None;
        let mut freed = 0;
        for _ in 0..depth.min(self.list.len()) {
            if self.scan >= depth {
                self.scan = 0;
            }
            let zone = self.list[self.scan];
            self.scan += 1;
            let garbage = zones.garbage(zone);
            let class = zones.class(zone);
            let empty_enough = (pages - f64::from(garbage)) / pages < self.max_valid_share;
            if zones.is_candidate(zone) && empty_enough && region.is_none_or(|r| r == class) {
                region = Some(class);
                out.push(zone);
                freed += garbage;
            }
            if freed >= zones.zone_pages() {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::victims::Greedy;
    use crate::zones::table::ZoneRows;

    /// Zones of 10 pages, sealed: (garbage, class).
    fn scheme(rows: &[(i32, usize)], params: &str) -> (TwoRFifo, ZoneRows) {
        let (_, mut params) = Params::parse(&format!("2r-fifo{params}")).unwrap();
        let mut scheme = TwoRFifo::build(&Setup::new(10, 100), &mut params).unwrap();
        let mut zones = ZoneRows::new(10);
        for &(garbage, class) in rows {
            let zone = zones.seal(class, garbage, 0);
            scheme.on_opened(&ZoneEvent { zone, class, now: 0 });
        }
        (scheme, zones)
    }

    fn pick(scheme: &mut TwoRFifo, zones: &ZoneRows) -> Vec<u32> {
        let mut choice = Choice::default();
        scheme.pick(&zones.view(), &mut Greedy::default(), &mut choice);
        choice.victims
    }

    #[test]
    fn full_zones_are_passed_over_and_one_region_is_merged() {
        let (mut scheme, zones) = scheme(&[(1, 0), (6, 1), (7, 0), (6, 1), (9, 0)], "");
        assert_eq!(pick(&mut scheme, &zones), [2, 4], "cold zones until 10 pages are free");
    }

    #[test]
    fn the_scan_goes_on_where_it_stopped_and_starts_over_at_the_depth() {
        let rows = [(10, 0), (10, 0), (10, 0), (10, 0), (10, 0)];
        let (mut scheme, zones) = scheme(&rows, ":scan-depth=0.6");
        let picks: Vec<_> = (0..4).map(|_| pick(&mut scheme, &zones)[0]).collect();
        assert_eq!(picks, [1, 2, 3, 1], "the two youngest get a second chance");
    }

    #[test]
    fn the_emptiest_zone_is_taken_if_none_is_empty_enough() {
        let (mut scheme, zones) = scheme(&[(1, 0), (3, 1), (2, 0)], "");
        assert_eq!(pick(&mut scheme, &zones), [2]);
    }
}
