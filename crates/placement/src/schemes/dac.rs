//! DAC, dynamic data clustering: a page moves one class hotter when the user writes it and one
//! class colder when cleaning copies it. Chiang, Lee and Chang, Software: Practice and Experience
//! 29(3), 1999, as SepBIT (FAST'22, section 4.1) uses it, with six classes; 2R (PVLDB 2020) found
//! four with cost-benefit cleaning best, which is `dac-cb` here.
//!
//! Class 0 is the coldest. New pages start there. A page's level is the class of the zone it lies
//! in, so no state is kept. The age condition of the 1999 paper (a page that comes back late is not
//! promoted) is not in SepBIT's description, and not here either.

use crate::{BuildError, Info, Param, Params, Relocation, Scheme, Setup, UserWrite, ZoneEvent};

/// User writes move a page one class up, relocations one class down.
#[derive(Clone, Copy, Debug)]
pub struct Dac {
    hottest: usize,
}

impl Scheme for Dac {
    type Page = ();
    const INFO: Info = Info {
        name: "dac",
        summary: "one class hotter at a user write, one colder at a relocation",
        source: "Chiang, Lee and Chang, SP&E 1999; SepBIT, FAST 2022, section 4.1",
        params: &[Param::whole("classes", 6, 2..=64, "classes, coldest first")],
    };

    fn build(_: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        Ok(Dac { hottest: params.whole::<usize>(Self::INFO.params, "classes")? - 1 })
    }

    fn classes(&self) -> usize {
        self.hottest + 1
    }

    fn coldest(&self) -> usize {
        0
    }

    #[inline(always)]
    fn place_user(&mut self, write: &UserWrite, (): &mut ()) -> usize {
        if write.first { 0 } else { (write.class + 1).min(self.hottest) }
    }

    #[inline(always)]
    fn destination(&self, victim: &ZoneEvent) -> Option<usize> {
        Some(victim.class.saturating_sub(1))
    }

    #[inline(always)]
    fn place_relocation(&mut self, relocation: &Relocation, (): &mut ()) -> usize {
        relocation.class.saturating_sub(1)
    }
}
