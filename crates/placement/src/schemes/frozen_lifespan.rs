//! frozen-lifespan: the same as `frozen:lifespan`, with types known at compile time: classes by
//! expected lifespan ([`lifespan`](super::lifespan)) for pages that are written again, and classes
//! of their own for pages that are recognised as frozen ([`isolation`](crate::isolation)). Not
//! published elsewhere.
//!
//! It was a database's default, by the name `frostline`, before the scheme `survival` was. It keeps
//! 20 bytes of each page, where `frozen:lifespan` keeps 36, so a store that was formatted with it
//! opens only with it.
//!
//! Frozen pages have three classes by default: pages in the most certain one are frozen with a
//! probability above 0.95, the other two take less certain ones (`sure`, `tiers`). The recogniser
//! learns while the volume is written, from the fate of the pages that cleaning met (`by=online`).
//!
//! The inner scheme keeps its defaults: seven classes, so that at most ten zones are open. Open
//! zones that hardly fill are sealed.

use super::lifespan::Lifespan;
use crate::Info;
use crate::isolation::{
    AT, CONFIDENCE, Isolated, Isolation, RECOGNISER, Recognition, SEPARATE, TIERS,
};

/// Classes by lifespan, and frozen pages in classes of their own.
pub type FrozenLifespan = Isolated<AroundLifespan>;

/// Classes by lifespan, and frozen pages in classes of their own.
#[derive(Clone, Copy, Debug)]
pub struct AroundLifespan;

impl Isolation for AroundLifespan {
    type Inner = Lifespan;
    type Predictor = Recognition;
    const INFO: Info = Info {
        name: "frozen-lifespan",
        summary: "frozen:lifespan in fewer bytes: the default of databases before survival curves",
        source: "Frostline",
        params: &[SEPARATE, AT, CONFIDENCE, TIERS, RECOGNISER],
    };
}
