//! SepFrozen: any scheme, with pages that are recognised as frozen kept apart. Tan et al.,
//! "Separating Frozen Pages via Learning-based Recognition with ZNS SSD for Write Amplification
//! Reduction in Database", section 4.2.
//!
//! User writes are placed by the scheme within. When a victim is cleaned, a recogniser is asked
//! about all its valid pages at once; those that it takes for frozen go to the frozen class, the
//! others where the scheme within puts them. A frozen page that is written after all is placed by
//! the scheme within, as if it came from its coldest class.
//!
//! `sepfrozen-bit` and `sepfrozen-dac` are the paper's: frozen pages share the coldest class of
//! SepBIT and DAC. `frozen:NAME` is any other scheme, with classes of their own for frozen pages
//! unless `apart=no`. `frozen-perfect:NAME` knows which versions are frozen: what no recogniser
//! can beat in the same arrangement. With `at=writing` the recogniser is asked about user writes
//! as well. A class of its own and `at=writing` are not in the paper.
//!
//! Nor are tiers. A page that is wrongly taken for frozen leaves a hole among pages that stay, and
//! cost-benefit cleaning, for which an old zone's holes are worth much, copies all of them to fill
//! it. So a page must be frozen with a probability of 0.95 to lie among the surest, where the paper
//! asks for 0.5, and the classes of tiers below take those with less: `tiers` classes part the log-odds
//! from 0 to those of `sure` evenly, the lowest bound left out. With `apart=no` there is one class,
//! and the lowest tier's bound counts.
//!
//! `frostline` is `lifespan` within, and what a database uses unless told otherwise.
//!
//! A page is frozen from its last write on. The paper leaves open what a recognised page's state
//! in the scheme within becomes: here it stays as it is.

use bytemuck::{Pod, Zeroable};

use crate::any_scheme::AnyScheme;
use crate::judge::{Foreseen, Judge, Learned};
use crate::memory;
use crate::schemes::dac::Dac;
use crate::schemes::lifespan::Lifespan;
use crate::schemes::sepbit::SepBit;
use crate::{
    BuildError, Foresight, Hotness, Info, PageState, Param, Params, Relocation, Request, Scheme,
    Setup, UserWrite, ZoneEvent, ZoneTable,
};

/// Which scheme is within, and who recognises frozen pages.
pub trait Arrangement: Send + 'static {
    /// The scheme within.
    type Within: Scheme;
    /// Who says that a page is frozen.
    type Judge: Judge;
    /// What the registry says of it.
    const INFO: Info;
}

/// Declares an arrangement and its scheme.
macro_rules! arrangement {
    ($(#[$doc:meta])* $scheme:ident, $marker:ident, $within:ty, $judge:ty, $info:expr) => {
        $(#[$doc])*
        pub type $scheme = Frozen<$marker>;

        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $marker;

        impl Arrangement for $marker {
            type Within = $within;
            type Judge = $judge;
            const INFO: Info = $info;
        }
    };
}

const SOURCE: &str = "Tan et al., SepFrozen, section 4.2";
const PAPER: Info = Info { name: "", summary: "", source: SOURCE, params: &[], fast22: "" };
const OURS: Info = Info { source: "Frostline", ..PAPER };
const APART: Param =
    Param { key: "apart", default: "yes", help: "frozen pages have classes of their own" };
const SHARED: Param = Param { default: "no", ..APART };
const AT: Param = Param {
    key: "at",
    default: "cleaning",
    help: "when pages are recognised: cleaning, or writing as well",
};
const SURE: Param = Param {
    key: "sure",
    default: "0.95",
    help: "the probability above which a page is taken for frozen",
};
const PAPERS: Param = Param { default: "0.5", ..SURE };
const TIERS: Param = Param {
    key: "tiers",
    default: "3",
    help: "with apart=yes: classes of frozen pages, by how surely they are",
};
const ONE_TIER: Param = Param { default: "1", ..TIERS };
const BY: Param = Param {
    key: "by",
    default: "online",
    help: "who recognises: online (learns as it goes), model (a file), one-bit, every",
};

arrangement! {
    /// `sepfrozen-bit`: around SepBIT, sharing its coldest class.
    SepFrozenBit, AroundSepBit, SepBit, Learned, Info {
        name: "sepfrozen-bit",
        summary: "SepBIT, recognised frozen pages in its coldest class",
        params: &[SHARED, AT, PAPERS, ONE_TIER, BY],
        ..PAPER
    }
}
arrangement! {
    /// `sepfrozen-dac`: around DAC, sharing its coldest class.
    SepFrozenDac, AroundDac, Dac, Learned, Info {
        name: "sepfrozen-dac",
        summary: "DAC, recognised frozen pages in its coldest class",
        params: &[SHARED, AT, PAPERS, ONE_TIER, BY],
        ..PAPER
    }
}
arrangement! {
    /// `frozen:NAME`: around any scheme.
    FrozenAny, AroundAny, AnyScheme, Learned, Info {
        name: "frozen",
        summary: "any scheme (frozen:NAME), recognised frozen pages in classes of their own",
        params: &[APART, AT, SURE, TIERS, BY],
        ..PAPER
    }
}
arrangement! {
    /// `frozen-perfect:NAME`: around any scheme, with the future for a recogniser.
    FrozenPerfect, AroundAnyPerfect, AnyScheme, Foreseen, Info {
        name: "frozen-perfect",
        summary: "as frozen, with a perfect recogniser",
        params: &[APART, AT],
        ..OURS
    }
}

arrangement! {
    /// `frostline`: around classes by lifespan, with classes of their own for frozen pages.
    Frostline, AroundLifespan, Lifespan, Learned, Info {
        name: "frostline",
        summary: "lifespan, recognised frozen pages in classes of their own",
        params: &[APART, AT, SURE, TIERS, BY],
        ..OURS
    }
}

type WithinPage<A> = <<A as Arrangement>::Within as Scheme>::Page;
type JudgePage<A> = <<A as Arrangement>::Judge as Judge>::Page;

/// A scheme around another.
pub struct Frozen<A: Arrangement> {
    within: A::Within,
    judge: A::Judge,
    /// Where frozen pages go: the first class of those that are least surely so.
    class: usize,
    /// That class is no other's.
    apart: bool,
    /// The log-odds for each class of frozen pages.
    bounds: Vec<f32>,
    at_writing: bool,
    /// The pages of the victim that the judge was asked about, and how many of them were placed.
    asked: Vec<u32>,
    placed: usize,
    /// What the judge remembers of these pages.
    remembered: Vec<JudgePage<A>>,
}

/// What is remembered of a page: by the scheme within, and by the judge.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, packed)]
pub struct FrozenPage<W, J> {
    within: W,
    judge: J,
}

impl<W: PageState, J: PageState> PageState for FrozenPage<W, J> {}

impl<A: Arrangement> Frozen<A> {
    #[inline(always)]
    fn is_apart(&self, class: usize) -> bool {
        self.apart && class >= self.class
    }

    /// What the scheme within knows of the class of a zone.
    #[inline(always)]
    fn known(&self, class: usize) -> usize {
        if self.is_apart(class) { self.within.coldest() } else { class }
    }

    /// The log-odds that a page of the victim is frozen. Pages are placed in the order in which they
    /// were asked about; some may have been written meanwhile.
    fn score_of(&mut self, lba: u32) -> f32 {
        let rest = &self.asked[self.placed..];
        let Some(ahead) = rest.iter().position(|&asked| asked == lba) else {
            return f32::NEG_INFINITY;
        };
        self.placed += ahead + 1;
        self.judge.scores()[self.placed - 1]
    }

    /// The class of a page that is taken for frozen; none for others.
    #[inline(always)]
    fn frozen_class(&self, score: f32) -> Option<usize> {
        let passed = self.bounds.iter().filter(|&&bound| score > bound).count();
        let tier = passed.checked_sub(1)?;
        Some(if self.apart { self.class + tier } else { self.class })
    }
}

impl<A: Arrangement> Scheme for Frozen<A> {
    type Page = FrozenPage<WithinPage<A>, JudgePage<A>>;
    const INFO: Info = A::INFO;
    const FORESIGHT: Foresight = A::Judge::FORESIGHT;
    const PER_REQUEST: bool = true;
    const WANTS_HOTNESS: bool = true;
    const BATCHED: bool = true;

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
        let within = A::Within::build(setup, &mut Params::default())?;
        let judge = A::Judge::build(setup, Self::INFO.name, &by, sure)?;
        Ok(Frozen {
            class: if apart { within.classes() } else { within.coldest() },
            within,
            judge,
            apart,
            bounds: (1..=tiers).map(|tier| sure * tier as f32 / tiers as f32).collect(),
            at_writing,
            asked: Vec::new(),
            placed: 0,
            remembered: Vec::new(),
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

    #[inline(always)]
    fn place_user(&mut self, write: &UserWrite, page: &mut Self::Page) -> usize {
        let FrozenPage { mut within, mut judge } = *page;
        self.judge.on_write(write, &mut judge);
        let known = UserWrite { class: self.known(write.class), ..*write };
        let class = self.within.place_user(&known, &mut within);
        *page = FrozenPage { within, judge };
        if !self.at_writing {
            return class;
        }
        let score = self.judge.at_writing(write, &judge);
        self.frozen_class(score).unwrap_or(class)
    }

    fn prepare(&mut self, batch: &[(Relocation, Self::Page)], hotness: &[Hotness]) {
        self.placed = 0;
        self.asked.clear();
        self.asked.extend(batch.iter().map(|(relocation, _)| relocation.lba));
        self.remembered.clear();
        self.remembered.extend(batch.iter().map(|(_, page)| page.judge));
        if let Some((first, _)) = batch.first() {
            self.judge.judge(first.now, &self.asked, &self.remembered, hotness);
        }
    }

    fn place_relocation(&mut self, relocation: &Relocation, page: &mut Self::Page) -> usize {
        let score = self.score_of(relocation.lba);
        if let Some(class) = self.frozen_class(score) {
            return class;
        }
        let known = Relocation { class: self.known(relocation.class), ..*relocation };
        let mut within = page.within;
        let class = self.within.place_relocation(&known, &mut within);
        page.within = within;
        class
    }

    fn clamp(&self, page: &mut Self::Page, now: u32) {
        let FrozenPage { mut within, mut judge } = *page;
        self.within.clamp(&mut within, now);
        judge.clamp(now);
        *page = FrozenPage { within, judge };
    }

    fn in_use(&self, class: usize) -> bool {
        self.is_apart(class) || self.within.in_use(class)
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

    fn on_sealed(&mut self, zone: &ZoneEvent, zones: &ZoneTable) {
        if !self.is_apart(zone.class) {
            self.within.on_sealed(zone, zones);
        }
    }

    fn on_victim(&mut self, zone: &ZoneEvent, zones: &ZoneTable) {
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
mod tests {
    use super::*;
    use crate::registry::SchemeSpec;
    use crate::{Candidates, Recogniser, Semantics, Stamp};

    /// Gives pages the log-odds that their LBA names, and is trusted from LBA 100 on.
    #[derive(Debug)]
    struct ByName(bool);

    impl Recogniser for ByName {
        fn wants_hotness(&self) -> bool {
            false
        }

        fn score(&mut self, pages: &Candidates<'_>, scores: &mut [f32]) {
            self.0 |= pages.lbas.iter().any(|&lba| lba >= 100);
            scores.iter_mut().zip(pages.lbas).for_each(|(s, &lba)| *s = (lba % 100) as f32);
        }

        fn is_trusted(&self) -> bool {
            self.0
        }
    }

    fn around_sepbit(params: &str) -> Frozen<AroundSepBit> {
        let make = |_: &str, _: &Setup<'_>| Ok(Box::new(ByName(false)) as Box<dyn Recogniser>);
        let setup = Setup { recogniser: Some(&make), ..Setup::new(16, 1000) };
        let (_, mut params) = Params::parse(&format!("sepfrozen-bit:{params}")).unwrap();
        Frozen::build(&setup, &mut params).unwrap()
    }

    /// Where relocations of pages in a zone of class 0 go.
    fn placed(scheme: &mut Frozen<AroundSepBit>, lbas: &[u32]) -> Vec<usize> {
        let page = FrozenPage::zeroed();
        let relocation = |(index, &lba): (usize, &u32)| {
            (Relocation { lba, now: 9, clock: 9, zone: 1, class: 0, index }, page)
        };
        let batch: Vec<_> = lbas.iter().enumerate().map(relocation).collect();
        scheme.prepare(&batch, &[]);
        batch.iter().map(|(r, page)| scheme.place_relocation(r, &mut page.clone())).collect()
    }

    #[test]
    fn what_is_taken_for_frozen_goes_to_the_coldest_class_as_in_the_paper() {
        let mut scheme = around_sepbit("sure=0.5");
        assert_eq!(scheme.classes(), 6);
        // SepBIT copies pages of its first class to the third.
        assert_eq!(placed(&mut scheme, &[103, 100, 101]), [5, 2, 5]);
    }

    #[test]
    fn classes_of_their_own_take_frozen_pages_by_how_surely_they_are() {
        // Log-odds of 6.9, in thirds.
        let mut scheme = around_sepbit("apart=yes:sure=0.999:tiers=3");
        assert_eq!(scheme.classes(), 9);
        assert_eq!(placed(&mut scheme, &[102, 103, 104, 105, 107]), [2, 6, 6, 7, 8]);
        assert_eq!(scheme.known(8), 5, "to SepBIT they lie in its coldest class");
    }

    #[test]
    fn a_recogniser_that_is_not_trusted_is_not_followed() {
        let mut scheme = around_sepbit("sure=0.5");
        assert_eq!(placed(&mut scheme, &[3, 9]), [2, 2]);
        assert_eq!(placed(&mut scheme, &[103, 9]), [5, 5]);
    }

    #[test]
    fn pages_that_were_written_meanwhile_cost_the_others_nothing() {
        let mut scheme = around_sepbit("sure=0.5");
        let all = placed(&mut scheme, &[103, 100, 105, 100, 107]);
        assert_eq!(all, [5, 2, 5, 2, 5]);
        scheme.placed = 0;
        let relocation = Relocation { lba: 105, now: 9, clock: 9, zone: 1, class: 0, index: 0 };
        let mut page = FrozenPage::zeroed();
        assert_eq!(scheme.place_relocation(&relocation, &mut page), 5);
        let gone = Relocation { lba: 106, ..relocation };
        assert_eq!(scheme.place_relocation(&gone, &mut page), 2, "nobody was asked about it");
    }

    #[test]
    fn the_scheme_within_gets_its_own_parameters() {
        let spec = SchemeSpec::parse("frozen:dac:classes=4:tiers=2").unwrap();
        assert_eq!(spec.classes(Semantics::Published).unwrap(), 6);
        let spec = SchemeSpec::parse("frozen-perfect:sepbit:apart=no").unwrap();
        assert_eq!(spec.classes(Semantics::Published).unwrap(), 6);
        for refused in ["frozen:nothing", "frozen:dac:tears=2", "frozen:sepbit:classes=x"] {
            let found = SchemeSpec::parse(refused).and_then(|s| s.classes(Semantics::Published));
            assert!(found.is_err(), "{refused}");
        }
        for refused in ["frozen:2r-fifo", "frozen:frozen:dac", "frozen:oracle-rate"] {
            let spec = SchemeSpec::parse(refused).unwrap();
            let setup = Setup::new(16, 100);
            struct Nothing;
            impl crate::registry::Visitor for Nothing {
                type Output = ();
                fn visit<S: Scheme>(self, _: S) {}
            }
            assert!(spec.build(&setup, Nothing).is_err(), "{refused}");
        }
    }

    /// Overrides what has a default.
    #[derive(Debug, Default)]
    struct Loud {
        recalled: Vec<u8>,
    }

    impl Scheme for Loud {
        type Page = Stamp;
        const INFO: Info = PAPER;

        fn build(_: &Setup<'_>, _: &mut Params) -> Result<Self, BuildError> {
            Ok(Loud::default())
        }

        fn classes(&self) -> usize {
            2
        }

        fn place_user(&mut self, write: &UserWrite, page: &mut Stamp) -> usize {
            *page = Stamp::at(write.now);
            0
        }

        fn place_relocation(&mut self, _: &Relocation, _: &mut Stamp) -> usize {
            1
        }

        fn in_use(&self, class: usize) -> bool {
            class == 1
        }

        fn memory(&self) -> Vec<u8> {
            [&self.recalled[..], &[4; 20]].concat()
        }

        fn recall(&mut self, memory: &[u8]) {
            self.recalled = memory.to_vec();
        }
    }

    fn around_loud() -> Frozen<AroundAny> {
        let make = |_: &str, _: &Setup<'_>| Ok(Box::new(ByName(false)) as Box<dyn Recogniser>);
        let setup = Setup { recogniser: Some(&make), ..Setup::new(16, 1000) };
        let (_, mut params) = Params::parse("frozen:tiers=2").unwrap();
        let scheme: Frozen<AroundAny> = Frozen::build(&setup, &mut params).unwrap();
        let within = AnyScheme::of(Loud::default()).unwrap();
        Frozen { class: within.classes(), within, ..scheme }
    }

    #[test]
    fn the_scheme_within_says_which_of_its_classes_are_in_use() {
        let scheme = around_loud();
        assert_eq!([0, 1, 2, 3].map(|class| scheme.in_use(class)), [false, true, true, true]);
    }

    #[test]
    fn the_scheme_within_recalls_its_own_memory() {
        let (first, mut second) = (around_loud(), around_loud());
        second.recall(&first.memory());
        assert_eq!(second.within.memory(), [4; 40]);
        second.recall(&[1, 0, 0, 0, 9]);
        assert_eq!(
            second.within.memory(),
            [4; 20],
            "a store's from before had the recogniser's only"
        );
    }

    #[test]
    fn the_scheme_within_clamps_its_stamps() {
        let mut scheme = around_loud();
        let write = UserWrite {
            lba: 1,
            now: 5,
            clock: 5,
            first: true,
            zone: 0,
            class: 0,
            sealed: false,
            valid: 1,
            last: false,
            lifespan: 0,
            hotness: None,
        };
        let mut page = FrozenPage::zeroed();
        scheme.place_user(&write, &mut page);
        let (now, long) = (3 << 30, Stamp::HORIZON);
        scheme.clamp(&mut page, now);
        let (mut within, judge) = (page.within, page.judge);
        assert_eq!((within.of::<Loud>().age(now), judge.age(now)), (long, long));
    }
}
