//! sepfrozen-dac: DAC ([`dac`](super::dac)), with recognised frozen pages in its coldest class,
//! class 0. Tan et al., SepFrozen, section 4.2.
//!
//! This is the paper's arrangement ([`isolation`](crate::isolation)), with its parameters: a page
//! is taken for frozen if that is more likely than not (`confidence=0.5`), frozen pages share a
//! class with others (`separate=no`), and pages are recognised when they are relocated
//! (`when=cleaning`). The paper trains its recogniser beforehand (`recogniser=model`); here it
//! learns while it runs by default.

use super::dac::Dac;
use crate::Info;
use crate::isolation::{
    AT, Isolated, Isolation, ONE_TIER, PAPER_CONFIDENCE, RECOGNISER, Recognition, SHARED, SOURCE,
};

/// DAC, with recognised frozen pages in its coldest class.
pub type SepFrozenDac = Isolated<AroundDac>;

/// DAC, with recognised frozen pages in its coldest class.
#[derive(Clone, Copy, Debug)]
pub struct AroundDac;

impl Isolation for AroundDac {
    type Inner = Dac;
    type Predictor = Recognition;
    const INFO: Info = Info {
        name: "sepfrozen-dac",
        summary: "DAC, recognised frozen pages in its coldest class",
        source: SOURCE,
        params: &[SHARED, AT, PAPER_CONFIDENCE, ONE_TIER, RECOGNISER],
    };
}
