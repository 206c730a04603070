//! frostline: classes by expected lifespan ([`lifespan`](super::lifespan)) for pages that are written
//! again, and classes of their own for those that are recognised as frozen
//! ([`isolation`](crate::isolation)). What a database uses unless told otherwise. Not published
//! elsewhere.
//!
//! Frozen pages have three classes by default: the surest are frozen with a probability above 0.95,
//! the other two take what is less sure (`sure`, `tiers`). The recogniser learns while the volume is
//! written, from what became of pages that cleaning came across (`by=online`).
//!
//! The scheme within keeps its defaults: seven classes, so that ten zones are open at most. Those that
//! hardly fill are sealed.

use super::lifespan::Lifespan;
use crate::Info;
use crate::isolation::{APART, AT, Arrangement, BY, Isolated, Recognised, SURE, TIERS};

/// Classes by lifespan, and frozen pages in classes of their own.
pub type Frostline = Isolated<AroundLifespan>;

/// Classes by lifespan, and frozen pages in classes of their own.
#[derive(Clone, Copy, Debug)]
pub struct AroundLifespan;

impl Arrangement for AroundLifespan {
    type Within = Lifespan;
    type Judge = Recognised;
    const INFO: Info = Info {
        name: "frostline",
        summary: "lifespan, recognised frozen pages in classes of their own",
        source: "Frostline",
        params: &[APART, AT, SURE, TIERS, BY],
    };
}
