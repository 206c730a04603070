//! GW: SepBIT without its separation of user writes. Wang et al., FAST'22, section 4.2, Exp#5.
//!
//! User writes go to class 0; relocations go to 1, 2 or 3 by age: below 4 l, below 16 l, the rest,
//! with l the mean lifespan of the last 16 reclaimed zones of class 0. With more classes the cuts
//! go on in powers of four.

use crate::zone_lifespan::ZoneLifespan;
use crate::{
    BuildError, Info, Param, Params, Relocation, Scheme, Semantics, Setup, Stamp, UserWrite,
    ZoneEvent, ZoneView,
};

/// User writes in one class, relocations by age.
#[derive(Debug)]
pub struct Gw {
    lifespan: ZoneLifespan,
    classes: usize,
}

impl Scheme for Gw {
    type Page = Stamp;
    const INFO: Info = Info {
        name: "gw",
        summary: "user writes in one class, relocations by age",
        source: "Wang et al., FAST 2022, Exp#5",
        params: &[Param::whole("classes", 4, 2..=9, "one for user writes")],
    };

    fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        if setup.semantics == Semantics::SepbitFast22 {
            *params = std::mem::take(params).or("classes", "6");
        }
        let classes = params.whole(Self::INFO.params, "classes")?;
        Ok(Gw { lifespan: ZoneLifespan::new(classes - 1), classes })
    }

    fn classes(&self) -> usize {
        self.classes
    }

    #[inline(always)]
    fn place_user(&mut self, write: &UserWrite, page: &mut Stamp) -> usize {
        *page = Stamp::at(write.now);
        0
    }

    #[inline(always)]
    fn place_relocation(&mut self, relocation: &Relocation, page: &mut Stamp) -> usize {
        1 + self.lifespan.rung(page.age(relocation.now))
    }

    fn on_victim(&mut self, victim: &ZoneEvent, zones: &ZoneView<'_>) {
        self.lifespan.on_victim(victim, zones);
    }
}
