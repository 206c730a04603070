//! oracle-rate: class by the logarithm of the page's mean lifespan over the whole trace.
//!
//! The best that knowledge of each page's rate achieves, without knowing when it will be written:
//! class k takes pages whose mean lifespan is below base^k zones' worth of user writes; pages
//! written only once go to the last class. Not published elsewhere.

use crate::future::{BASE, log_cuts, rate_classes};
use crate::{
    BuildError, Foresight, Info, PageState, Param, Params, Relocation, Scheme, Setup, UserWrite,
    Wants,
};

/// Classes by the logarithm of the page's mean lifespan.
#[derive(Clone, Debug)]
pub struct OracleRate {
    classes: usize,
    /// Class of every LBA.
    class_of: Vec<u8>,
}

/// The page's class, fetched at its first write: later writes then touch no second table.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct RateClass(u8);

impl PageState for RateClass {}

impl Scheme for OracleRate {
    type Page = RateClass;
    const INFO: Info = Info {
        name: "oracle-rate",
        summary: "by the logarithm of the page's mean lifespan over the whole trace",
        source: "Frostline",
        params: &[Param::whole("classes", 12, 2..=255, "the last for the rarest pages"), BASE],
    };
    const WANTS: Wants = Wants { foresight: Foresight::Rates, ..Wants::NOTHING };

    fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        let classes: usize = params.whole(Self::INFO.params, "classes")?;
        let base = params.real(Self::INFO.params, "base")?;
        let cuts = log_cuts(setup, base, classes - 1);
        Ok(OracleRate { classes, class_of: rate_classes(setup, &cuts, Self::INFO.name)? })
    }

    fn classes(&self) -> usize {
        self.classes
    }

    #[inline(always)]
    fn place_user(&mut self, write: &UserWrite, page: &mut RateClass) -> usize {
        if write.first {
            *page = RateClass(self.class_of[write.lba as usize]);
        }
        usize::from(page.0)
    }

    #[inline(always)]
    fn place_relocation(&mut self, _: &Relocation, page: &mut RateClass) -> usize {
        usize::from(page.0)
    }

    fn bytes(&self) -> usize {
        self.class_of.len()
    }
}
