//! UW: SepBIT without its separation of relocations. Wang et al., FAST'22, section 4.2, Exp#5.
//!
//! User writes go to class 0 or 1 as in SepBIT, every relocation to class 2.

use crate::short_lived::{MEMORY, ShortLived};
use crate::zone_lifespan::ZoneLifespan;
use crate::{
    BuildError, Info, Params, Relocation, Scheme, Setup, Stamp, UserWrite, ZoneEvent, ZoneView,
};

/// User writes by inferred lifespan, relocations in one class.
#[derive(Debug)]
pub struct Uw {
    lifespan: ZoneLifespan,
    short_lived: ShortLived,
}

impl Scheme for Uw {
    type Page = Stamp;
    const INFO: Info = Info {
        name: "uw",
        summary: "user writes as in SepBIT, relocations in one class",
        source: "Wang et al., FAST 2022, Exp#5",
        params: &[MEMORY],
    };

    fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        let short_lived = ShortLived::build(setup, params, Self::INFO.params)?;
        Ok(Uw { lifespan: ZoneLifespan::new(1), short_lived })
    }

    fn classes(&self) -> usize {
        3
    }

    #[inline(always)]
    fn place_user(&mut self, write: &UserWrite, page: &mut Stamp) -> usize {
        usize::from(!self.short_lived.decide(write, page, &self.lifespan))
    }

    #[inline(always)]
    fn destination(&self, _: &ZoneEvent) -> Option<usize> {
        Some(2)
    }

    #[inline(always)]
    fn place_relocation(&mut self, _: &Relocation, _: &mut Stamp) -> usize {
        2
    }

    fn on_victim(&mut self, victim: &ZoneEvent, zones: &ZoneView<'_>) {
        self.lifespan.on_victim(victim, zones);
    }

    fn bytes(&self) -> usize {
        self.short_lived.bytes()
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        self.short_lived.gauges()
    }
}
