//! FK, future knowledge: pages by the time of their invalidation, as far as the classes reach.
//! SepBIT (Wang et al., FAST'22, section 4.1).
//!
//! A page that will be invalidated within t user writes goes to class ceil(t / s) - 1, with s the
//! pages in a zone; all pages that live longer share the last class. With small zones and six
//! classes nearly all pages do: then FK is no bound (see the oracles).

use crate::future::Death;
use crate::{
    BuildError, Foresight, Info, Param, Params, Relocation, Scheme, Semantics, Setup, UserWrite,
    Wants,
};

/// Classes by remaining lifespan in zones.
#[derive(Clone, Copy, Debug)]
pub struct Fk {
    last: u32,
    zone_pages: u32,
    /// 1 to round up, as in the paper; 0 to round down, as in the authors' simulator.
    round: u32,
}

impl Fk {
    #[inline(always)]
    fn class(&self, death: Death, now: u32) -> usize {
        let zones = |remaining: u32| remaining.saturating_sub(self.round) / self.zone_pages;
        death.remaining(now).map_or(self.last, zones).min(self.last) as usize
    }
}

impl Scheme for Fk {
    type Page = Death;
    const INFO: Info = Info {
        name: "fk",
        summary: "future knowledge: by remaining lifespan in zones",
        source: "Wang et al., FAST 2022, section 4.1",
        params: &[Param::whole("classes", 6, 2..=255, "the last takes all that is left")],
    };
    const WANTS: Wants = Wants { foresight: Foresight::Lifespans, ..Wants::NOTHING };

    fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        let classes: u32 = params.whole(Self::INFO.params, "classes")?;
        let round = u32::from(setup.semantics == Semantics::Published);
        Ok(Fk { last: classes - 1, zone_pages: setup.zone_pages, round })
    }

    fn classes(&self) -> usize {
        self.last as usize + 1
    }

    #[inline(always)]
    fn place_user(&mut self, write: &UserWrite, page: &mut Death) -> usize {
        *page = Death::of(write);
        self.class(*page, write.now)
    }

    #[inline(always)]
    fn place_relocation(&mut self, relocation: &Relocation, page: &mut Death) -> usize {
        self.class(*page, relocation.now)
    }
}
