//! NoSep: every page, written or relocated, goes to the same open zone. The baseline of SepBIT
//! (FAST'22, section 4.1); with greedy cleaning it is what 2R (PVLDB 13(11), 2020) calls
//! 1R-Greedy, with cost-benefit LFS-CB.

use crate::{BuildError, Info, Params, Relocation, Scheme, Setup, UserWrite, ZoneEvent};

/// One class for everything.
#[derive(Clone, Copy, Debug)]
pub struct NoSep;

impl Scheme for NoSep {
    type Page = ();
    const INFO: Info = Info {
        name: "nosep",
        summary: "one class for everything",
        source: "SepBIT, FAST 2022, section 4.1",
        params: &[],
    };

    fn build(_: &Setup<'_>, _: &mut Params) -> Result<Self, BuildError> {
        Ok(NoSep)
    }

    fn classes(&self) -> usize {
        1
    }

    #[inline(always)]
    fn place_user(&mut self, _: &UserWrite, (): &mut ()) -> usize {
        0
    }

    #[inline(always)]
    fn destination(&self, _: &ZoneEvent) -> Option<usize> {
        Some(0)
    }

    #[inline(always)]
    fn place_relocation(&mut self, _: &Relocation, (): &mut ()) -> usize {
        0
    }
}
