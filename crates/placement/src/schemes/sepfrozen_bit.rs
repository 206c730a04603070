//! sepfrozen-bit: SepBIT ([`sepbit`](super::sepbit)), with recognised frozen pages in its coldest
//! class, the last of its six. Tan et al., SepFrozen, section 4.2.
//!
//! This is the paper's arrangement ([`isolation`](crate::isolation)), with its parameters: a page
//! is taken for frozen if that is more likely than not (`confidence=0.5`), frozen pages share a
//! class with others (`separate=no`), and pages are recognised when they are relocated
//! (`when=cleaning`). The paper trains its recogniser beforehand (`recogniser=model`); here it
//! learns while it runs by default.

use super::sepbit::SepBit;
use crate::Info;
use crate::isolation::{
    AT, Isolated, Isolation, ONE_TIER, PAPER_CONFIDENCE, RECOGNISER, Recognition, SHARED, SOURCE,
};

/// SepBIT, with recognised frozen pages in its coldest class.
pub type SepFrozenBit = Isolated<AroundSepBit>;

/// SepBIT, with recognised frozen pages in its coldest class.
#[derive(Clone, Copy, Debug)]
pub struct AroundSepBit;

impl Isolation for AroundSepBit {
    type Inner = SepBit;
    type Predictor = Recognition;
    const INFO: Info = Info {
        name: "sepfrozen-bit",
        summary: "SepBIT, recognised frozen pages in its coldest class",
        source: SOURCE,
        params: &[SHARED, AT, PAPER_CONFIDENCE, ONE_TIER, RECOGNISER],
    };
}
