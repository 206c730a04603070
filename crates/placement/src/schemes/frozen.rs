//! frozen: any scheme (`frozen:NAME`, SepBIT if none is named), with pages that are recognised as
//! frozen in classes of their own. Tan et al., SepFrozen, section 4.2, has the idea; frozen pages lie in
//! the coldest class of the scheme within there, which is `apart=no` ([`isolation`](crate::isolation)).
//!
//! Keys that this scheme has are its own, all others go to the one within:
//! `frozen:dac:classes=4:apart=no`.

use crate::isolation::{
    APART, AT, Arrangement, BY, Isolated, Recognised, SOURCE, SURE, TIERS, any_within,
};
use crate::{AnyScheme, BuildError, Info, Setup, WITHIN};

/// Any scheme, with recognised frozen pages in classes of their own.
pub type Frozen = Isolated<AroundAny>;

/// Any scheme, with recognised frozen pages in classes of their own.
#[derive(Clone, Copy, Debug)]
pub struct AroundAny;

impl Arrangement for AroundAny {
    type Within = AnyScheme<WITHIN>;
    type Judge = Recognised;
    const INFO: Info = Info {
        name: "frozen",
        summary: "any scheme (frozen:NAME), recognised frozen pages in classes of their own",
        source: SOURCE,
        params: &[APART, AT, SURE, TIERS, BY],
    };

    fn within(setup: &Setup<'_>) -> Result<AnyScheme<WITHIN>, BuildError> {
        any_within(setup)
    }
}
