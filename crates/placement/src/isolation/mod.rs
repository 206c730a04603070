//! Frozen pages apart from others, around any scheme. Tan et al., "Separating Frozen Pages via
//! Learning-based Recognition with ZNS SSD for Write Amplification Reduction in Database"
//! (SepFrozen), section 4.2.
//!
//! User writes are placed by the scheme within. When a victim is cleaned, a recogniser is asked
//! about all its valid pages at once; those that it takes for frozen go to the frozen class, the
//! others where the scheme within puts them. A frozen page that is written after all is placed by
//! the scheme within, as if it came from its coldest class.
//!
//! A page is frozen from its last write on. The paper leaves open what a recognised page's state
//! in the scheme within becomes: here it stays as it is.
//!
//! Classes of their own for frozen pages (`apart=yes`), recognition of user writes (`at=writing`)
//! and tiers are not in the paper. A page that is wrongly taken for frozen leaves a hole among pages
//! that stay, and cost-benefit cleaning, for which an old zone's holes are worth much, copies all of
//! them to fill it. So a page must be frozen with a probability of 0.95 to lie among the surest,
//! where the paper asks for 0.5, and the classes of tiers below take those with less: `tiers`
//! classes part the log-odds from 0 to those of `sure` evenly, the lowest bound left out. With
//! `apart=no` there is one class, and the lowest tier's bound counts.

mod foreseen;
mod judge;
mod memory;
mod recognised;

use bytemuck::{Pod, Zeroable};

pub use foreseen::Foreseen;
pub use judge::Judge;
pub use recognised::Recognised;

use crate::any_scheme::AnyScheme;
use crate::build::{Foresight, Info, Setup};
use crate::erased::WITHIN;
use crate::events::{Pages, Relocation, Request, UserWrite, Victim, ZoneEvent};
use crate::fast22::Fast22;
use crate::page::PageState;
use crate::params::{BuildError, Param, Params};
use crate::scheme::Scheme;
use crate::zones::ZoneView;

/// The scheme within, and the recogniser of frozen pages.
pub trait Arrangement: Send + 'static {
    /// The scheme within.
    type Within: Scheme;
    /// Says that a page is frozen.
    type Judge: Judge;
    /// Name, source and parameters.
    const INFO: Info;

    /// Builds the scheme within.
    ///
    /// # Errors
    /// As [`Scheme::build`].
    fn within(setup: &Setup<'_>) -> Result<Self::Within, BuildError> {
        Self::Within::build(setup, &mut Params::default())
    }
}

/// The paper that published the idea.
pub const SOURCE: &str = "Tan et al., SepFrozen, section 4.2";
/// The parameter that gives frozen pages classes of their own.
pub const APART: Param =
    Param { key: "apart", default: "yes", help: "frozen pages have classes of their own" };
/// The same, by default as in the paper.
pub const SHARED: Param = Param { default: "no", ..APART };
/// When pages are recognised.
pub const AT: Param = Param {
    key: "at",
    default: "cleaning",
    help: "when pages are recognised: cleaning, or writing as well",
};
/// The confidence of the judgement.
pub const SURE: Param = Param {
    key: "sure",
    default: "0.95",
    help: "the probability above which a page is taken for frozen",
};
/// The same, by default as in the paper.
pub const PAPERS: Param = Param { default: "0.5", ..SURE };
/// Classes of frozen pages.
pub const TIERS: Param = Param {
    key: "tiers",
    default: "3",
    help: "with apart=yes: classes of frozen pages, by how surely they are",
};
/// The same, by default as in the paper.
pub const ONE_TIER: Param = Param { default: "1", ..TIERS };
/// The recogniser.
pub const BY: Param = Param {
    key: "by",
    default: "online",
    help: "the recogniser: online (learns as it goes), model (a file), one-bit, every",
};

/// Builds the scheme that was named to stand within another.
///
/// # Errors
/// None was named, or it can't be built.
pub fn any_within(setup: &Setup<'_>) -> Result<AnyScheme<WITHIN>, BuildError> {
    let make = setup.within.ok_or_else(|| BuildError::UnknownName {
        kind: "scheme",
        name: String::new(),
        known: "none is named to stand within another".to_string(),
    })?;
    make(&Setup { within: None, ..*setup }).map(AnyScheme::from_box)
}

type WithinPage<A> = <<A as Arrangement>::Within as Scheme>::Page;
type JudgePage<A> = <<A as Arrangement>::Judge as Judge>::Page;

/// A scheme with frozen pages apart from its own.
pub struct Isolated<A: Arrangement> {
    within: A::Within,
    judge: A::Judge,
    /// The class of frozen pages: of several, that of the least certain ones.
    class: usize,
    /// That class is no other's.
    apart: bool,
    /// The log-odds for each class of frozen pages.
    bounds: Vec<f32>,
    at_writing: bool,
    /// The recogniser's state of the pages of a victim, and their log-odds.
    judged: Vec<JudgePage<A>>,
    scores: Vec<f32>,
}

/// The state of a page: the scheme's within, and the recogniser's.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, packed)]
pub struct Both<W, J> {
    within: W,
    judge: J,
}

impl<W: PageState, J: PageState> PageState for Both<W, J> {}

impl<A: Arrangement> Isolated<A> {
    #[inline(always)]
    fn is_apart(&self, class: usize) -> bool {
        self.apart && class >= self.class
    }

    /// The class of a zone as the scheme within knows it.
    #[inline(always)]
    fn known(&self, class: usize) -> usize {
        if self.is_apart(class) { self.within.coldest() } else { class }
    }

    /// The class of a page that is taken for frozen; none for others.
    #[inline(always)]
    fn frozen_class(&self, score: f32) -> Option<usize> {
        let passed = self.bounds.iter().filter(|&&bound| score > bound).count();
        let tier = passed.checked_sub(1)?;
        Some(if self.apart { self.class + tier } else { self.class })
    }
}

impl<A: Arrangement> Fast22 for Isolated<A> {
    fn at(&mut self, micros: u64) {
        if let Some(within) = self.within.fast22() {
            within.at(micros);
        }
    }

    fn keeps_open(&mut self, class: usize) -> bool {
        self.is_apart(class) || self.within.fast22().is_none_or(|within| within.keeps_open(class))
    }
}

impl<A: Arrangement> Scheme for Isolated<A> {
    type Page = Both<WithinPage<A>, JudgePage<A>>;
    const INFO: Info = A::INFO;
    const FORESIGHT: Foresight = A::Judge::FORESIGHT;
    const PER_REQUEST: bool = true;
    const WANTS_HOTNESS: bool = true;
    const BATCHED: bool = true;
    const SEES_OTHERS: bool = <A::Within as Scheme>::SEES_OTHERS;

    fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        let apart = params.choose(Self::INFO.params, "apart", &["no", "yes"])? == 1;
        let at_writing = params.choose(Self::INFO.params, "at", &["cleaning", "writing"])? == 1;
        let (mut by, mut sure, mut tiers) = (String::new(), 0.5, 1);
        if Self::FORESIGHT == Foresight::None {
            by = params.text(Self::INFO.params, "by");
            sure = params.take(Self::INFO.params, "sure", 0.5..=0.9999)?;
            tiers = params.take(Self::INFO.params, "tiers", 1..=8)?;
        }
        let sure = f64::ln(sure / (1.0 - sure)) as f32;
        let within = A::within(setup)?;
        let judge = A::Judge::build(setup, Self::INFO.name, &by, sure)?;
        Ok(Isolated {
            class: if apart { within.classes() } else { within.coldest() },
            within,
            judge,
            apart,
            bounds: (1..=tiers).map(|tier| sure * tier as f32 / tiers as f32).collect(),
            at_writing,
            judged: Vec::new(),
            scores: Vec::new(),
        })
    }

    fn classes(&self) -> usize {
        self.within.classes() + if self.apart { self.bounds.len() } else { 0 }
    }

    fn coldest(&self) -> usize {
        self.class
    }

    fn on_request(&mut self, request: &Request) {
        self.judge.on_request(request);
        self.within.on_request(request);
    }

    fn sees_others(&self) -> bool {
        self.within.sees_others()
    }

    #[inline(always)]
    fn on_neighbour(&mut self, next: Option<&Self::Page>, now: u32) {
        let next = next.map(|page| page.within);
        self.within.on_neighbour(next.as_ref(), now);
    }

    #[inline(always)]
    fn on_survey(&mut self, page: &Self::Page, now: u32) {
        let within = page.within;
        self.within.on_survey(&within, now);
    }

    #[inline(always)]
    fn place_user(&mut self, write: &UserWrite, page: &mut Self::Page) -> usize {
        let Both { mut within, mut judge } = *page;
        self.judge.on_write(write, &mut judge);
        let known = UserWrite { class: self.known(write.class), ..*write };
        let class = self.within.place_user(&known, &mut within);
        *page = Both { within, judge };
        if !self.at_writing {
            return class;
        }
        let score = self.judge.at_writing(write, &judge);
        self.frozen_class(score).unwrap_or(class)
    }

    fn place_batch(
        &mut self,
        victim: &Victim,
        pages: &Pages<'_, Self::Page>,
        classes: &mut [Option<u8>],
    ) {
        let Pages { lbas, states, hotness } = *pages;
        if lbas.is_empty() {
            return;
        }
        self.judged.clear();
        self.judged.extend(states.iter().map(|page| page.judge));
        self.scores.clear();
        self.scores.resize(lbas.len(), f32::NEG_INFINITY);
        let pages = Pages { lbas, states: &self.judged, hotness };
        self.judge.judge(victim, &pages, &mut self.scores);
        for (class, &score) in classes.iter_mut().zip(&self.scores) {
            *class = self.frozen_class(score).map(|class| class as u8);
        }
    }

    /// Of a page that is not taken for frozen.
    fn place_relocation(&mut self, relocation: &Relocation, page: &mut Self::Page) -> usize {
        let known = Relocation { class: self.known(relocation.class), ..*relocation };
        let mut within = page.within;
        let class = self.within.place_relocation(&known, &mut within);
        page.within = within;
        class
    }

    fn clamp(&self, page: &mut Self::Page, now: u32) {
        let Both { mut within, mut judge } = *page;
        self.within.clamp(&mut within, now);
        judge.clamp(now);
        *page = Both { within, judge };
    }

    fn fast22(&mut self) -> Option<&mut dyn Fast22> {
        Some(self)
    }

    /// Classes of their own divide the pages among more zones; the paper's arrangement does not.
    fn seals_stale(&self) -> bool {
        self.apart || self.within.seals_stale()
    }

    fn on_trim(&mut self, lba: u32) {
        self.judge.on_trim(lba);
        self.within.on_trim(lba);
    }

    fn on_opened(&mut self, zone: &ZoneEvent) {
        if !self.is_apart(zone.class) {
            self.within.on_opened(zone);
        }
    }

    fn on_sealed(&mut self, zone: &ZoneEvent, zones: &ZoneView<'_>) {
        if !self.is_apart(zone.class) {
            self.within.on_sealed(zone, zones);
        }
    }

    fn on_victim(&mut self, zone: &ZoneEvent, zones: &ZoneView<'_>) {
        if !self.is_apart(zone.class) {
            self.within.on_victim(zone, zones);
        }
    }

    fn on_reclaimed(&mut self, zone: &ZoneEvent) {
        if !self.is_apart(zone.class) {
            self.within.on_reclaimed(zone);
        }
    }

    fn memory(&self) -> Vec<u8> {
        memory::join(self.judge.memory(), &self.within.memory())
    }

    fn recall(&mut self, memory: &[u8]) {
        let (judge, within) = memory::split(memory);
        self.judge.recall(judge);
        self.within.recall(within);
    }

    fn bytes(&self) -> usize {
        self.within.bytes() + self.judge.bytes()
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let mut gauges = self.within.gauges();
        gauges.extend(self.judge.gauges());
        gauges
    }
}

#[cfg(test)]
mod tests;
