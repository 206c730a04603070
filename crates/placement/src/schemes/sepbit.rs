//! SepBIT: user writes by the lifespan of the copy they invalidate, relocations by age. Wang et
//! al., "Separating Data via Block Invalidation Time Inference", FAST'22, Algorithm 1.
//!
//! With l the mean lifespan of the last 16 reclaimed zones of class 0: a user write goes to class 0
//! if it invalidates a copy younger than l, else (new pages too) to class 1; a relocation goes to
//! class 2 if it comes from class 0, else to 3, 4 or 5 by its age: below 4 l, below 16 l, the rest.
//! With more classes the cuts go on in powers of four. l is infinite at first.
//!
//! `memory=fifo` is the paper's implementation: it remembers a queue of recent LBAs instead of a
//! last write time for each LBA, and reports how many it held. The age of a relocated page still
//! comes from its last write time, which lies beside the page on the device.

use crate::short_lived::{MEMORY, ShortLived};
use crate::zone_lifespan::ZoneLifespan;
use crate::{
    BuildError, Info, Param, Params, Relocation, Scheme, Setup, Stamp, UserWrite, ZoneEvent,
    ZoneView,
};

/// User writes in classes 0 and 1, relocations in the rest.
#[derive(Debug)]
pub struct SepBit {
    lifespan: ZoneLifespan,
    short_lived: ShortLived,
    classes: usize,
}

impl Scheme for SepBit {
    type Page = Stamp;
    const INFO: Info = Info {
        name: "sepbit",
        summary: "user writes by inferred lifespan, relocations by age",
        source: "Wang et al., FAST 2022, Algorithm 1",
        params: &[
            Param::whole("classes", 6, 4..=11, "two for user writes, the rest below"),
            MEMORY,
        ],
    };

    fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        let classes = params.whole(Self::INFO.params, "classes")?;
        let short_lived = ShortLived::build(setup, params, Self::INFO.params)?;
        Ok(SepBit { lifespan: ZoneLifespan::new(classes - 3), short_lived, classes })
    }

    fn classes(&self) -> usize {
        self.classes
    }

    #[inline(always)]
    fn place_user(&mut self, write: &UserWrite, page: &mut Stamp) -> usize {
        usize::from(!self.short_lived.decide(write, page, &self.lifespan))
    }

    #[inline(always)]
    fn destination(&self, victim: &ZoneEvent) -> Option<usize> {
        (victim.class == 0).then_some(2)
    }

    #[inline(always)]
    fn place_relocation(&mut self, relocation: &Relocation, page: &mut Stamp) -> usize {
        match relocation.class {
            0 => 2,
            _ => 3 + self.lifespan.rung(page.age(relocation.now)),
        }
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
