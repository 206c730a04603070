//! oracle-death: class by the logarithm of the true remaining lifespan, frozen pages last.
//!
//! The best that knowing every invalidation does with a limited number of classes: unlike FK its
//! classes cover all lifespans, so it stays a bound when zones are small. Class k takes what will
//! be invalidated within base^k zones' worth of user writes; the last class takes frozen pages
//! only. Not published elsewhere.

use crate::{
    BuildError, Foresight, Info, NEVER, PageState, Param, Params, Relocation, Scheme, Setup,
    UserWrite,
};

/// Classes by the logarithm of the remaining lifespan.
#[derive(Clone, Debug)]
pub struct OracleDeath {
    /// Upper bounds of the remaining lifespan, in user writes, of all classes but the last two.
    cuts: Vec<u32>,
}

/// When the page will be invalidated; [`NEVER`] if it is frozen.
#[derive(Clone, Copy, Debug, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Death(u32);

impl PageState for Death {}

impl OracleDeath {
    #[inline(always)]
    fn class(&self, death: u32, now: u32) -> usize {
        if death == NEVER {
            return self.cuts.len() + 1;
        }
        let remaining = death.saturating_sub(now);
        self.cuts.partition_point(|&cut| remaining > cut)
    }
}

impl Scheme for OracleDeath {
    type Page = Death;
    const INFO: Info = Info {
        name: "oracle-death",
        summary: "by the logarithm of the true remaining lifespan, frozen pages last",
        source: "Frostline",
        params: &[
            Param { key: "classes", default: "12", help: "the last for frozen pages" },
            Param { key: "base", default: "2", help: "base of the logarithm" },
        ],
        fast22: "",
    };
    const FORESIGHT: Foresight = Foresight::Lifespans;

    fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        let classes = params.take(Self::INFO.params, "classes", 2..=255usize)?;
        let base = params.take(Self::INFO.params, "base", 1.01..=1000.0f64)?;
        let cuts = (0..classes - 2).map(|k| {
            let cut = f64::from(setup.zone_pages) * base.powi(k as i32);
            cut.min(f64::from(NEVER - 1)) as u32
        });
        Ok(OracleDeath { cuts: cuts.collect() })
    }

    fn classes(&self) -> usize {
        self.cuts.len() + 2
    }

    #[inline(always)]
    fn place_user(&mut self, write: &UserWrite, page: &mut Death) -> usize {
        *page = Death(write.now.saturating_add(write.lifespan));
        self.class(page.0, write.now)
    }

    #[inline(always)]
    fn place_relocation(&mut self, relocation: &Relocation, page: &mut Death) -> usize {
        self.class(page.0, relocation.now)
    }

    fn bytes(&self) -> usize {
        self.cuts.len() * 4
    }
}
