//! Frozen pages in separate classes, added to any scheme. Tan et al., "Separating Frozen Pages via
//! Learning-based Recognition with ZNS SSD for Write Amplification Reduction in Database"
//! (SepFrozen), section 4.2.
//!
//! The inner scheme places user writes. When a victim is cleaned, a recogniser scores all its valid
//! pages at once; pages that it takes for frozen go to the frozen class, the others where the inner
//! scheme puts them. A page that is written after it was taken for frozen is placed by the inner
//! scheme, as if it came from that scheme's coldest class.
//!
//! A page is frozen from its last write on. The paper does not say what happens to the inner
//! scheme's state of a recognised page; here it stays as it is.
//!
//! Separate classes for frozen pages (`separate=yes`), recognition of user writes (`when=writing`)
//! and tiers are not in the paper. A page that is wrongly taken for frozen leaves a hole among
//! pages that stay. Cost-benefit cleaning values the holes of an old zone highly, and copies all
//! those pages to fill them. So only pages that are frozen with a probability of 0.95 lie in the
//! most certain class, where the paper asks for 0.5, and the classes below take less certain ones:
//! `tiers` classes divide the log-odds from 0 to those of `sure` evenly, the lowest bound left out.
//! With `separate=no` there is one class, and the lowest tier's bound counts. With `separate=watch`
//! pages are recognised and nothing is done about it: the figures of recognition are then those of
//! the inner scheme's own copies.

mod memory;
mod oracle;
mod predictor;
mod recognition;

use bytemuck::{Pod, Zeroable};

pub use oracle::Oracle;
pub use predictor::Predictor;
pub use recognition::Recognition;

use crate::any_scheme::AnyScheme;
use crate::build::{Info, Setup};
use crate::choice::Choice;
use crate::erased::INNER_WORDS;
use crate::events::{Pages, Relocation, Request, UserWrite, Victim, ZoneEvent};
use crate::fast22::Fast22;
use crate::page::PageState;
use crate::params::{BuildError, Param, Params, Value};
use crate::scheme::Scheme;
use crate::victims::VictimPolicy;
use crate::wants::{Foresight, Wants};
use crate::zones::ZoneView;

/// A scheme made of an inner scheme and a predictor of frozen pages.
pub trait Isolation: Send + 'static {
    /// Places the pages that are not taken for frozen.
    type Inner: Scheme;
    /// Predicts which pages are frozen.
    type Predictor: Predictor;
    /// Name, source and parameters.
    const INFO: Info;

    /// Builds the inner scheme.
    ///
    /// # Errors
    /// As [`Scheme::build`].
    fn inner(setup: &Setup<'_>) -> Result<Self::Inner, BuildError> {
        Self::Inner::build(setup, &mut Params::default())
    }
}

/// The paper that published the idea.
pub const SOURCE: &str = "Tan et al., SepFrozen, section 4.2";
/// The parameter that gives frozen pages separate classes.
pub const SEPARATE: Param = separate("yes");
/// [`SEPARATE`] with the paper's default.
pub const SHARED: Param = separate("no");
/// The moments at which pages are recognised.
pub const AT: Param = Param::word(
    "when",
    "cleaning",
    &["cleaning", "writing"],
    "when pages are recognised: cleaning, or writing as well",
);
/// The confidence from which on a page is taken for frozen.
pub const CONFIDENCE: Param = confidence(0.95);
/// [`CONFIDENCE`] with the paper's default.
pub const PAPER_CONFIDENCE: Param = confidence(0.5);
/// The number of frozen classes.
pub const TIERS: Param = tiers(3);
/// [`TIERS`] with the paper's default.
pub const ONE_TIER: Param = tiers(1);
/// The name of the recogniser.
pub const RECOGNISER: Param = Param {
    key: "recogniser",
    value: Value::Name("online"),
    help: "the recogniser: online (learns as it goes), model (a file), one-bit, every",
};

const fn separate(default: &'static str) -> Param {
    let help = "frozen pages have classes of their own; watch: they stay where they are";
    Param::word("separate", default, &["no", "yes", "watch"], help)
}

const fn confidence(default: f64) -> Param {
    let help = "the probability above which a page is taken for frozen";
    Param::real("confidence", default, 0.5..=0.9999, help)
}

const fn tiers(default: i64) -> Param {
    let help = "with separate=yes: classes of frozen pages, by confidence";
    Param::whole("tiers", default, 1..=8, help)
}

/// Builds the inner scheme that the user named.
///
/// # Errors
/// None is named, or it can't be built.
pub fn build_named_inner(setup: &Setup<'_>) -> Result<AnyScheme<INNER_WORDS>, BuildError> {
    let make = setup.inner.ok_or_else(|| BuildError::UnknownName {
        kind: "scheme",
        name: String::new(),
        known: "no inner scheme is named".to_string(),
    })?;
    make(&Setup { inner: None, ..*setup }).map(AnyScheme::from_box)
}

type InnerPage<I> = <<I as Isolation>::Inner as Scheme>::Page;
type PredictorPage<I> = <<I as Isolation>::Predictor as Predictor>::Page;

/// A scheme that keeps frozen pages out of its inner scheme's classes.
pub struct Isolated<I: Isolation> {
    inner: I::Inner,
    predictor: I::Predictor,
    /// The first class of frozen pages, which takes the least certain ones.
    class: usize,
    /// False if frozen pages share a class of the inner scheme.
    separate: bool,
    /// True if frozen pages are recognised, and placed by the inner scheme for all that.
    watches: bool,
    /// The log-odds above which each class takes frozen pages.
    bounds: Vec<f32>,
    at_writing: bool,
    /// The predictor's state of the pages of a victim, and their log-odds.
    states: Vec<PredictorPage<I>>,
    scores: Vec<f32>,
}

/// The state of a page: the inner scheme's, and the predictor's.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, packed)]
pub struct IsolatedPage<I, P> {
    inner: I,
    predictor: P,
}

impl<I: PageState, P: PageState> PageState for IsolatedPage<I, P> {}

impl<I: Isolation> Isolated<I> {
    #[inline(always)]
    fn is_separate(&self, class: usize) -> bool {
        self.separate && class >= self.class
    }

    /// The class of a zone as the inner scheme knows it.
    #[inline(always)]
    fn inner_class(&self, class: usize) -> usize {
        if self.is_separate(class) { self.inner.coldest() } else { class }
    }

    /// The class of a page with this score if it is taken for frozen.
    #[inline(always)]
    fn frozen_class(&self, score: f32) -> Option<usize> {
        let passed = self.bounds.iter().filter(|&&bound| score > bound).count();
        let tier = passed.checked_sub(1).filter(|_| !self.watches)?;
        Some(if self.separate { self.class + tier } else { self.class })
    }
}

impl<I: Isolation> Fast22 for Isolated<I> {
    fn at(&mut self, micros: u64) {
        if let Some(rules) = self.inner.fast22() {
            rules.at(micros);
        }
    }

    fn keeps_open(&mut self, class: usize) -> bool {
        self.is_separate(class) || self.inner.fast22().is_none_or(|rules| rules.keeps_open(class))
    }
}

impl<I: Isolation> Scheme for Isolated<I> {
    type Page = IsolatedPage<InnerPage<I>, PredictorPage<I>>;
    const INFO: Info = I::INFO;
    const WANTS: Wants = Wants {
        foresight: I::Predictor::FORESIGHT,
        requests: true,
        hotness: true,
        batches: true,
        others: <I::Inner as Scheme>::WANTS.others,
        victims: <I::Inner as Scheme>::WANTS.victims,
        ..Wants::NOTHING
    };

    fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        let separate = params.word(Self::INFO.params, "separate")?;
        let (separate, watches) = (separate == "yes", separate == "watch");
        let at_writing = params.word(Self::INFO.params, "when")? == "writing";
        let (mut recogniser, mut confidence, mut tiers) = (String::new(), 0.5, 1);
        if Self::WANTS.foresight == Foresight::None {
            recogniser = params.name(Self::INFO.params, "recogniser");
            confidence = params.real(Self::INFO.params, "confidence")?;
            tiers = params.whole(Self::INFO.params, "tiers")?;
        }
        let confidence = f64::ln(confidence / (1.0 - confidence)) as f32;
        let inner = I::inner(setup)?;
        let predictor = I::Predictor::build(setup, Self::INFO.name, &recogniser, confidence)?;
        Ok(Isolated {
            class: if separate { inner.classes() } else { inner.coldest() },
            inner,
            predictor,
            separate,
            watches,
            bounds: (1..=tiers).map(|tier| confidence * tier as f32 / tiers as f32).collect(),
            at_writing,
            states: Vec::new(),
            scores: Vec::new(),
        })
    }

    fn classes(&self) -> usize {
        self.inner.classes() + if self.separate { self.bounds.len() } else { 0 }
    }

    fn coldest(&self) -> usize {
        self.class
    }

    fn holds_frozen(&self, class: usize) -> bool {
        if self.separate { class >= self.class } else { class == self.class }
    }

    fn on_request(&mut self, request: &Request) {
        self.predictor.on_request(request);
        self.inner.on_request(request);
    }

    /// Separate classes divide the pages among more zones; the paper's shared class does not.
    fn wants(&self) -> Wants {
        let inner = self.inner.wants();
        let seals_stale = self.separate || inner.seals_stale;
        Wants { others: inner.others, whole_pages: inner.whole_pages, seals_stale, ..Self::WANTS }
    }

    #[inline(always)]
    fn on_neighbour(&mut self, next: Option<&Self::Page>, now: u32) {
        let next = next.map(|page| page.inner);
        self.inner.on_neighbour(next.as_ref(), now);
    }

    #[inline(always)]
    fn on_survey(&mut self, page: &Self::Page, now: u32) {
        let inner = page.inner;
        self.inner.on_survey(&inner, now);
    }

    #[inline(always)]
    fn place_user(&mut self, write: &UserWrite, page: &mut Self::Page) -> usize {
        let IsolatedPage { mut inner, mut predictor } = *page;
        self.predictor.on_write(write, &mut predictor);
        let seen = UserWrite { class: self.inner_class(write.class), ..*write };
        let class = self.inner.place_user(&seen, &mut inner);
        *page = IsolatedPage { inner, predictor };
        if !self.at_writing {
            return class;
        }
        let score = self.predictor.score_write(write, &predictor);
        self.frozen_class(score).unwrap_or(class)
    }

    fn place_batch(
        &mut self,
        victim: &Victim,
        pages: &Pages<'_, Self::Page>,
        classes: &mut [Option<u8>],
    ) {
        let Pages { lbas, states, hotness, last } = *pages;
        if lbas.is_empty() {
            return;
        }
        assert_eq!(classes.len(), lbas.len(), "each page of a victim gets a class");
        assert_eq!(states.len(), lbas.len(), "each page of a victim has a state");
        self.states.clear();
        self.states.extend(states.iter().map(|page| page.predictor));
        self.scores.clear();
        self.scores.resize(lbas.len(), f32::NEG_INFINITY);
        let pages = Pages { lbas, states: &self.states, hotness, last };
        self.predictor.score_victim(victim, &pages, &mut self.scores);
        for (class, &score) in classes.iter_mut().zip(&self.scores) {
            *class = self.frozen_class(score).map(|class| {
                debug_assert!(class < self.classes(), "frozen pages have classes of the scheme");
                class as u8
            });
        }
    }

    /// Places a page that is not taken for frozen.
    fn place_relocation(&mut self, relocation: &Relocation, page: &mut Self::Page) -> usize {
        let seen = Relocation { class: self.inner_class(relocation.class), ..*relocation };
        let mut inner = page.inner;
        let class = self.inner.place_relocation(&seen, &mut inner);
        page.inner = inner;
        class
    }

    fn clamp(&self, page: &mut Self::Page, now: u32) {
        let IsolatedPage { mut inner, mut predictor } = *page;
        self.inner.clamp(&mut inner, now);
        predictor.clamp(now);
        *page = IsolatedPage { inner, predictor };
    }

    fn fast22(&mut self) -> Option<&mut dyn Fast22> {
        Some(self)
    }

    fn on_trim(&mut self, lba: u32, page: Option<&Self::Page>, now: u32) {
        self.predictor.on_trim(lba);
        let inner = page.map(|page| page.inner);
        self.inner.on_trim(lba, inner.as_ref(), now);
    }

    fn on_opened(&mut self, zone: &ZoneEvent) {
        if !self.is_separate(zone.class) {
            self.inner.on_opened(zone);
        }
    }

    fn on_sealed(&mut self, zone: &ZoneEvent, zones: &ZoneView<'_>) {
        if !self.is_separate(zone.class) {
            self.inner.on_sealed(zone, zones);
        }
    }

    fn on_victim(&mut self, zone: &ZoneEvent, zones: &ZoneView<'_>) {
        if !self.is_separate(zone.class) {
            self.inner.on_victim(zone, zones);
        }
    }

    fn on_reclaimed(&mut self, zone: &ZoneEvent) {
        if !self.is_separate(zone.class) {
            self.inner.on_reclaimed(zone);
        }
    }

    fn pick(&mut self, zones: &ZoneView<'_>, policy: &mut dyn VictimPolicy, choice: &mut Choice) {
        self.inner.pick(zones, policy, choice);
    }

    fn explain(&self) -> Vec<String> {
        self.inner.explain()
    }

    fn memory(&self) -> Vec<u8> {
        memory::join(self.predictor.memory(), &self.inner.memory())
    }

    fn recall(&mut self, memory: &[u8]) {
        let (predictor, inner) = memory::split(memory);
        self.predictor.recall(predictor);
        self.inner.recall(inner);
    }

    fn bytes(&self) -> usize {
        self.inner.bytes() + self.predictor.bytes()
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let mut gauges = self.inner.gauges();
        gauges.extend(self.predictor.gauges());
        gauges
    }
}

#[cfg(test)]
mod tests;
