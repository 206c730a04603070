//! frozen-perfect: any scheme (`frozen-perfect:NAME`, SepBIT if none is named), with the versions
//! that the trace never writes again in a class of their own: the bound for any recogniser with the
//! same isolation ([`isolation`](crate::isolation)). It runs in the simulator only. Not published
//! elsewhere.

use crate::isolation::{AT, Isolated, Isolation, Oracle, SEPARATE, build_named_inner};
use crate::{AnyScheme, BuildError, INNER_WORDS, Info, Setup};

/// Any scheme, with its frozen pages in a class of their own.
pub type FrozenPerfect = Isolated<AroundAnyPerfect>;

/// Any scheme, with its frozen pages in a class of their own.
#[derive(Clone, Copy, Debug)]
pub struct AroundAnyPerfect;

impl Isolation for AroundAnyPerfect {
    type Inner = AnyScheme<INNER_WORDS>;
    type Predictor = Oracle;
    const INFO: Info = Info {
        name: "frozen-perfect",
        summary: "as frozen, with a perfect recogniser",
        source: "Frostline",
        params: &[SEPARATE, AT],
    };

    fn inner(setup: &Setup<'_>) -> Result<AnyScheme<INNER_WORDS>, BuildError> {
        build_named_inner(setup)
    }
}
