//! midas-frozen: [`midas`](super::midas) with frozen pages in classes of their own. Not published
//! elsewhere.
//!
//! MiDAS's model observes update intervals. The last version of a page has none, so a volume in
//! which pages freeze looks like one whose pages die young, and the last group, in which the frozen
//! pages lie, gets too little room. Here frozen pages are recognised when they are relocated
//! ([`isolation`](crate::isolation)), and lie in zones of their own. The model counts neither these
//! pages among the valid ones nor these zones among those that it divides.
//!
//! The zones of frozen pages and the last group are one pool, in which the victim policy chooses.

use super::midas::Midas;
use crate::isolation::{
    AT, CONFIDENCE, Isolated, Isolation, RECOGNISER, Recognition, SEPARATE, TIERS,
};
use crate::{BuildError, Info, Params, Scheme, Setup};

/// MiDAS, and frozen pages in classes of their own.
pub type MidasFrozen = Isolated<AroundMidas>;

/// MiDAS, and frozen pages in classes of their own.
#[derive(Clone, Copy, Debug)]
pub struct AroundMidas;

impl Isolation for AroundMidas {
    type Inner = Midas;
    type Predictor = Recognition;
    const INFO: Info = Info {
        name: "midas-frozen",
        summary: "MiDAS, and frozen pages in classes of their own that its model leaves out",
        source: "Frostline",
        params: &[SEPARATE, AT, CONFIDENCE, TIERS, RECOGNISER],
    };

    fn inner(setup: &Setup<'_>) -> Result<Midas, BuildError> {
        Ok(Midas::build(setup, &mut Params::default())?.beside_frozen())
    }
}
