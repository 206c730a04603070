//! SepGC: user writes and relocations apart. Van Houdt, Performance Evaluation 2014, as SepBIT
//! (FAST'22, section 4.1) uses it.

use crate::{BuildError, Info, Params, Relocation, Scheme, Setup, UserWrite, ZoneEvent};

/// User writes in one class, relocations in another.
#[derive(Clone, Copy, Debug)]
pub struct SepGc;

impl Scheme for SepGc {
    type Page = ();
    const INFO: Info = Info {
        name: "sepgc",
        summary: "user writes and relocations apart",
        source: "Van Houdt, Performance Evaluation 2014; SepBIT, FAST 2022, section 4.1",
        params: &[],
    };

    fn build(_: &Setup<'_>, _: &mut Params) -> Result<Self, BuildError> {
        Ok(SepGc)
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
}
