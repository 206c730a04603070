//! frozen: any scheme (`frozen:NAME`, SepBIT if none is named), with recognised frozen pages in
//! classes of their own. The idea is that of Tan et al., SepFrozen, section 4.2; there, frozen
//! pages lie in the inner scheme's coldest class, which is `separate=no` here
//! ([`isolation`](crate::isolation)).
//!
//! Keys of this scheme are its own; all others go to the inner scheme:
//! `frozen:dac:classes=4:separate=no`.

use crate::isolation::{
    AT, CONFIDENCE, Isolated, Isolation, RECOGNISER, Recognition, SEPARATE, SOURCE, TIERS,
    build_named_inner,
};
use crate::{AnyScheme, BuildError, INNER_WORDS, Info, Setup};

/// Any scheme, with recognised frozen pages in classes of their own.
pub type Frozen = Isolated<AroundAny>;

/// Any scheme, with recognised frozen pages in classes of their own.
#[derive(Clone, Copy, Debug)]
pub struct AroundAny;

impl Isolation for AroundAny {
    type Inner = AnyScheme<INNER_WORDS>;
    type Predictor = Recognition;
    const INFO: Info = Info {
        name: "frozen",
        summary: "any scheme (frozen:NAME), recognised frozen pages in classes of their own",
        source: SOURCE,
        params: &[SEPARATE, AT, CONFIDENCE, TIERS, RECOGNISER],
    };

    fn inner(setup: &Setup<'_>) -> Result<AnyScheme<INNER_WORDS>, BuildError> {
        build_named_inner(setup)
    }
}
