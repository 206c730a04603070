//! oracle-rate-frozen: oracle-rate that also knows whether the version being written is frozen. It
//! shows what a perfect recogniser of frozen pages adds to knowledge of each page's rate.
//!
//! Class k takes pages whose mean lifespan is below base^k zones' worth of user writes; the last
//! class takes frozen versions only, already at the user write. Not published elsewhere.

use crate::future::{BASE, log_cuts, rate_classes};
use crate::{
    BuildError, Foresight, Info, PageState, Param, Params, Relocation, Scheme, Setup, UserWrite,
    Wants,
};

/// Classes by the logarithm of the page's mean lifespan; frozen versions apart.
#[derive(Clone, Debug)]
pub struct OracleRateFrozen {
    frozen: u8,
    /// Class of every LBA while it is not frozen.
    class_of: Vec<u8>,
}

/// The page's rate class, fetched at its first write, and the class of this version.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct RateClass {
    rate: u8,
    version: u8,
}

impl PageState for RateClass {}

impl Scheme for OracleRateFrozen {
    type Page = RateClass;
    const INFO: Info = Info {
        name: "oracle-rate-frozen",
        summary: "oracle-rate with frozen versions apart",
        source: "Frostline",
        params: &[Param::whole("classes", 12, 2..=255, "the last for frozen versions"), BASE],
    };
    const WANTS: Wants = Wants { foresight: Foresight::Rates, ..Wants::NOTHING };

    fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        let classes: usize = params.whole(Self::INFO.params, "classes")?;
        let base = params.real(Self::INFO.params, "base")?;
        let cuts = log_cuts(setup, base, classes - 2);
        let class_of = rate_classes(setup, &cuts, Self::INFO.name)?;
        Ok(OracleRateFrozen { frozen: classes as u8 - 1, class_of })
    }

    fn classes(&self) -> usize {
        usize::from(self.frozen) + 1
    }

    fn holds_frozen(&self, class: usize) -> bool {
        class == usize::from(self.frozen)
    }

    #[inline(always)]
    fn place_user(&mut self, write: &UserWrite, page: &mut RateClass) -> usize {
        if write.first {
            page.rate = self.class_of[write.lba as usize];
        }
        page.version = if write.last { self.frozen } else { page.rate };
        usize::from(page.version)
    }

    #[inline(always)]
    fn place_relocation(&mut self, _: &Relocation, page: &mut RateClass) -> usize {
        usize::from(page.version)
    }

    fn bytes(&self) -> usize {
        self.class_of.len()
    }
}
