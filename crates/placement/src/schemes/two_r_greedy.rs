//! 2R-Greedy: two regions, normal and cold, and a merge of several zones of one region at a time.
//! Kang, Choi, Oh and Lee, "2R: Efficiently Isolating Cold Pages in Flash Storages", PVLDB
//! 13(11), 2020, section 4.2 and Algorithm 1.
//!
//! User writes go to the normal region (class 0), relocations to the cold one (class 1). The
//! first victim is the zone with the most garbage; zones of the same region with the next most
//! follow, until the garbage of all fills a zone.
//!
//! The paper copies the pages of N victims into N-1 fresh cold zones; here they are appended to the
//! cold region's open zone, which stays open between merges, as in 2R-FIFO. So the space that a
//! merge leaves over is not a hole but is filled by the next merge.

use crate::{
    BuildError, Choice, Info, Params, Relocation, Scheme, Setup, UserWrite, VictimPolicy, Victims,
    Wants, ZoneEvent, ZoneView,
};

/// Two regions; victims by garbage, several of one region at a time.
#[derive(Clone, Debug, Default)]
pub struct TwoRGreedy {
    order: Vec<u32>,
}

impl Scheme for TwoRGreedy {
    type Page = ();
    const INFO: Info = Info {
        name: "2r-greedy",
        summary: "normal and cold region, greedy merge of several zones",
        source: "Kang et al., PVLDB 13(11), 2020, section 4.2",
        params: &[],
    };
    const WANTS: Wants = Wants { victims: Victims::Own("2r-greedy"), ..Wants::NOTHING };

    fn build(_: &Setup<'_>, _: &mut Params) -> Result<Self, BuildError> {
        Ok(Self::default())
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

    fn pick(&mut self, zones: &ZoneView<'_>, _: &mut dyn VictimPolicy, choice: &mut Choice) {
        let out = &mut choice.victims;
        let garbage = |z: u32| zones.garbage(z);
        let Some(first) = zones.candidates().max_by_key(|&z| (garbage(z), std::cmp::Reverse(z)))
        else {
            return;
        };
        let region = zones.class(first);
        self.order.clear();
        self.order.extend(zones.candidates().filter(|&z| zones.class(z) == region));
        self.order.sort_unstable_by_key(|&z| (std::cmp::Reverse(garbage(z)), z));
        let mut freed = 0;
        for &zone in &self.order {
            out.push(zone);
            freed += garbage(zone);
            if freed >= zones.zone_pages() {
                break;
            }
        }
    }

    fn bytes(&self) -> usize {
        self.order.capacity() * 4
    }
}
