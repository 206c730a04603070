//! oracle-death: class by the logarithm of the true remaining lifespan, frozen pages last.
//!
//! The best that knowledge of every invalidation achieves with a limited number of classes: unlike
//! FK's, its classes cover all lifespans, so it stays a bound when zones are small. Class k takes
//! pages that will be invalidated within base^k zones' worth of user writes; the last class takes
//! frozen pages only. Not published elsewhere.

use crate::future::{BASE, Death, log_cuts};
use crate::{
    BuildError, Foresight, Info, Param, Params, Relocation, Scheme, Setup, UserWrite, Wants,
};

/// Classes by the logarithm of the remaining lifespan.
#[derive(Clone, Debug)]
pub struct OracleDeath {
    /// Upper bounds of the remaining lifespan, in user writes, of all classes but the last two.
    cuts: Vec<u32>,
}

impl OracleDeath {
    #[inline(always)]
    fn class(&self, death: Death, now: u32) -> usize {
        match death.remaining(now) {
            Some(remaining) => self.cuts.partition_point(|&cut| remaining > cut),
            None => self.cuts.len() + 1,
        }
    }
}

impl Scheme for OracleDeath {
    type Page = Death;
    const INFO: Info = Info {
        name: "oracle-death",
        summary: "by the logarithm of the true remaining lifespan, frozen pages last",
        source: "Frostline",
        params: &[Param::whole("classes", 12, 2..=255, "the last for frozen pages"), BASE],
    };
    const WANTS: Wants = Wants { foresight: Foresight::Lifespans, ..Wants::NOTHING };

    fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        let classes: usize = params.whole(Self::INFO.params, "classes")?;
        let base = params.real(Self::INFO.params, "base")?;
        Ok(OracleDeath { cuts: log_cuts(setup, base, classes - 2) })
    }

    fn classes(&self) -> usize {
        self.cuts.len() + 2
    }

    fn holds_frozen(&self, class: usize) -> bool {
        class == self.cuts.len() + 1
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

    fn bytes(&self) -> usize {
        self.cuts.len() * 4
    }
}
