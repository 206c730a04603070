//! frozen-perfect: any scheme (`frozen-perfect:NAME`, SepBIT if none is named), with those versions in a
//! class of their own that the trace never writes again: what no recogniser can beat in the same
//! arrangement ([`isolation`](crate::isolation)). It runs in the simulator only. Not published
//! elsewhere.

use crate::isolation::{APART, AT, Arrangement, Foreseen, Isolated, any_within};
use crate::{AnyScheme, BuildError, Info, Setup, WITHIN};

/// Any scheme, with its frozen pages in a class of their own.
pub type FrozenPerfect = Isolated<AroundAnyPerfect>;

/// Any scheme, with its frozen pages in a class of their own.
#[derive(Clone, Copy, Debug)]
pub struct AroundAnyPerfect;

impl Arrangement for AroundAnyPerfect {
    type Within = AnyScheme<WITHIN>;
    type Judge = Foreseen;
    const INFO: Info = Info {
        name: "frozen-perfect",
        summary: "as frozen, with a perfect recogniser",
        source: "Frostline",
        params: &[APART, AT],
    };

    fn within(setup: &Setup<'_>) -> Result<AnyScheme<WITHIN>, BuildError> {
        any_within(setup)
    }
}
