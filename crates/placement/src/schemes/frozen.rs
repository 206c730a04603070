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
//! SepBIT and DAC. `frozen:NAME` is any other scheme, with a class of its own for frozen pages
//! unless `apart=no`. `frozen-perfect:NAME` knows which versions are frozen: what no recogniser
//! can beat in the same arrangement, and with `at=writing` what recognition at the user write
//! would add. These two arrangements are not in the paper.
//!
//! A page is frozen from its last write on. The paper leaves open what a recognised page's state
//! in the scheme within becomes: here it stays as it is.

use crate::any_scheme::{AnyScheme, AnyState, build};
use crate::registry::SchemeSpec;
use crate::{
    BuildError, Candidates, Foresight, Hotness, Info, PageState, Param, Params, Past, Recogniser,
    Relocation, Request, Requests, Scheme, Setup, UserWrite, ZoneEvent, ZoneTable,
};

/// `sepfrozen-bit`: around SepBIT, sharing its coldest class.
pub const BIT: u8 = 0;
/// `sepfrozen-dac`: around DAC, sharing its coldest class.
pub const DAC: u8 = 1;
/// `frozen:NAME`: around any scheme.
pub const ANY: u8 = 2;
/// `frozen-perfect:NAME`: around any scheme, with the future for a recogniser.
pub const PERFECT: u8 = 3;

/// `sepfrozen-bit`.
pub type SepFrozenBit = Frozen<BIT>;
/// `sepfrozen-dac`.
pub type SepFrozenDac = Frozen<DAC>;
/// `frozen:NAME`.
pub type FrozenAny = Frozen<ANY>;
/// `frozen-perfect:NAME`.
pub type FrozenPerfect = Frozen<PERFECT>;

/// A scheme around another.
pub struct Frozen<const KIND: u8> {
    within: Box<dyn AnyScheme>,
    /// None if the future is known.
    recogniser: Option<Box<dyn Recogniser>>,
    /// Where frozen pages go.
    class: usize,
    /// That class is no other's.
    apart: bool,
    at_writing: bool,
    requests: Requests,
    victim: ZoneEvent,
    /// What was said of the pages of the victim, in their order, and how many were placed.
    answers: Vec<(u32, bool)>,
    placed: usize,
    asked: Asked,
    recognised: u64,
    offered: u64,
}

/// What the recogniser is asked, kept for its memory.
#[derive(Default)]
struct Asked {
    lbas: Vec<u32>,
    pasts: Vec<Past>,
    frozen: Vec<bool>,
    follow: Vec<bool>,
}

/// What is remembered of a page.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct FrozenPage {
    within: AnyState,
    past: Past,
    flags: u32,
}

/// The version is the page's last: only the future knows.
const LAST: u32 = 1;
/// The recogniser wants to hear what becomes of the page.
const FOLLOWED: u32 = 2;

impl PageState for FrozenPage {
    fn clamp(&mut self, now: u32) {
        // The state of the scheme within is not known here; its own stamps are at worst misread.
        self.past.clamp(now);
    }
}

const APART: Param =
    Param { key: "apart", default: "yes", help: "frozen pages have a class of their own" };
const SHARED: Param = Param { default: "no", ..APART };
const AT: Param = Param {
    key: "at",
    default: "cleaning",
    help: "when pages are recognised: cleaning, or writing as well",
};
const WITHIN: Param =
    Param { key: "within", default: "sepbit", help: "the scheme around which it stands" };

const fn info(kind: u8) -> Info {
    let source = "Tan et al., SepFrozen, section 4.2";
    match kind {
        BIT => Info {
            name: "sepfrozen-bit",
            summary: "SepBIT, recognised frozen pages in its coldest class",
            source,
            params: &[SHARED, AT],
            fast22: "",
        },
        DAC => Info {
            name: "sepfrozen-dac",
            summary: "DAC, recognised frozen pages in its coldest class",
            source,
            params: &[SHARED, AT],
            fast22: "",
        },
        ANY => Info {
            name: "frozen",
            summary: "any scheme (frozen:NAME), recognised frozen pages in a class of their own",
            source,
            params: &[WITHIN, APART, AT],
            fast22: "",
        },
        _ => Info {
            name: "frozen-perfect",
            summary: "as frozen, with a perfect recogniser",
            source: "Frostline",
            params: &[WITHIN, APART, AT],
            fast22: "",
        },
    }
}

impl<const KIND: u8> Frozen<KIND> {
    fn spec(setup: &Setup<'_>, params: &mut Params) -> Result<SchemeSpec, BuildError> {
        let name = match KIND {
            BIT => "sepbit".to_string(),
            DAC => "dac".to_string(),
            _ => params.text(Self::INFO.params, "within"),
        };
        let spec = match setup.within {
            Some(text) => SchemeSpec::parse(text)?,
            None => SchemeSpec::parse(&name)?,
        };
        let refuse = |why: &str| BuildError::BadValue {
            name: Self::INFO.name.to_string(),
            key: "within",
            value: spec.text.clone(),
            why: why.to_string(),
        };
        if spec.entry.own_victim.is_some() {
            return Err(refuse("it chooses its own victims"));
        }
        if spec.entry.foresight > Self::FORESIGHT {
            return Err(refuse("it must know more of the future"));
        }
        Ok(spec)
    }

    /// What the scheme within knows of the class of a zone.
    fn known(&self, class: usize) -> usize {
        if self.is_apart(class) { self.within.coldest() } else { class }
    }

    fn is_apart(&self, class: usize) -> bool {
        self.apart && class == self.class
    }

    /// The event for the scheme within; none if the zone is not one of its own.
    fn pass(&self, zone: &ZoneEvent) -> bool {
        !self.is_apart(zone.class)
    }

    /// The place of a page of the victim among those that were asked about. They are placed in
    /// that order; some may have been written meanwhile.
    fn asked_as(&mut self, lba: u32) -> Option<usize> {
        let rest = &self.answers[self.placed..];
        let index = self.placed + rest.iter().position(|&(asked, _)| asked == lba)?;
        self.placed = index + 1;
        Some(index)
    }
}

impl<const KIND: u8> Scheme for Frozen<KIND> {
    type Page = FrozenPage;
    const INFO: Info = info(KIND);
    const FORESIGHT: Foresight = if KIND == PERFECT { Foresight::Rates } else { Foresight::None };
    const PER_REQUEST: bool = true;
    const BATCHED: bool = true;

    fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        let spec = Self::spec(setup, params)?;
        let apart = params.choose(Self::INFO.params, "apart", &["no", "yes"])? == 1;
        let at_writing = params.choose(Self::INFO.params, "at", &["cleaning", "writing"])? == 1;
        let within = build(&spec, &Setup { within: None, ..*setup })?;
        let recogniser = match KIND {
            PERFECT => None,
            _ => Some(
                setup
                    .recogniser
                    .and_then(|make| make(setup))
                    .ok_or(BuildError::NeedsRecogniser { name: Self::INFO.name })?,
            ),
        };
        let class = if apart { within.classes() } else { within.coldest() };
        Ok(Frozen {
            within,
            recogniser,
            class,
            apart,
            at_writing,
            requests: Requests::default(),
            victim: ZoneEvent { zone: 0, class: 0, now: 0, clock: 0 },
            answers: Vec::new(),
            placed: 0,
            asked: Asked::default(),
            recognised: 0,
            offered: 0,
        })
    }

    fn classes(&self) -> usize {
        self.within.classes() + usize::from(self.apart)
    }

    fn coldest(&self) -> usize {
        self.class
    }

    fn on_request(&mut self, request: &Request) {
        self.requests.begin(request.lba, request.pages);
        self.within.on_request(request);
    }

    fn place_user(&mut self, write: &UserWrite, page: &mut FrozenPage) -> usize {
        if let Some(recogniser) = &mut self.recogniser
            && page.flags & FOLLOWED != 0
        {
            recogniser.rewritten(write.lba, write.now);
        }
        page.past.write(write.now, &self.requests);
        page.flags = if write.last { LAST } else { 0 };
        let known = UserWrite { class: self.known(write.class), ..*write };
        let class = self.within.place_user(&known, &mut page.within);
        let is_frozen = self.at_writing
            && match &mut self.recogniser {
                None => write.last,
                Some(recogniser) => {
                    let mut frozen = [false];
                    let pages =
                        Candidates { now: write.now, pasts: &[page.past], hotness: None };
                    recogniser.recognise(&pages, &mut frozen);
                    frozen[0]
                }
            };
        if is_frozen { self.class } else { class }
    }

    fn prepare(&mut self, batch: &[(Relocation, FrozenPage)], hotness: &[Hotness]) {
        self.placed = 0;
        self.answers.clear();
        let Some(recogniser) = &mut self.recogniser else {
            self.answers.extend(batch.iter().map(|(r, page)| (r.lba, page.flags & LAST != 0)));
            return;
        };
        let Some((first, _)) = batch.first() else { return };
        let Asked { lbas, pasts, frozen, follow } = &mut self.asked;
        lbas.clear();
        pasts.clear();
        lbas.extend(batch.iter().map(|(r, _)| r.lba));
        pasts.extend(batch.iter().map(|(_, page)| page.past));
        frozen.clear();
        frozen.resize(batch.len(), false);
        follow.clear();
        follow.extend(batch.iter().map(|(_, page)| page.flags & FOLLOWED != 0));
        let hotness = (hotness.len() == batch.len()).then_some(hotness);
        let pages = Candidates { now: first.now, pasts, hotness };
        recogniser.recognise(&pages, frozen);
        recogniser.follow(lbas, &pages, follow);
        self.offered += batch.len() as u64;
        self.recognised += frozen.iter().filter(|&&frozen| frozen).count() as u64;
        self.answers.extend(lbas.iter().zip(frozen).map(|(&lba, &mut frozen)| (lba, frozen)));
    }

    fn place_relocation(&mut self, relocation: &Relocation, page: &mut FrozenPage) -> usize {
        if let Some(index) = self.asked_as(relocation.lba) {
            if self.asked.follow.get(index).is_some_and(|&follow| follow) {
                page.flags |= FOLLOWED;
            }
            if self.answers[index].1 {
                return self.class;
            }
        }
        let known = Relocation { class: self.known(relocation.class), ..*relocation };
        let victim = ZoneEvent { class: known.class, ..self.victim };
        self.within.place_relocation(&victim, &known, &mut page.within)
    }

    fn on_opened(&mut self, zone: &ZoneEvent) {
        if self.pass(zone) {
            self.within.on_opened(zone);
        }
    }

    fn on_sealed(&mut self, zone: &ZoneEvent, zones: &ZoneTable) {
        if self.pass(zone) {
            self.within.on_sealed(zone, zones);
        }
    }

    fn on_victim(&mut self, zone: &ZoneEvent, zones: &ZoneTable) {
        self.victim = *zone;
        if self.pass(zone) {
            self.within.on_victim(zone, zones);
        }
    }

    fn on_reclaimed(&mut self, zone: &ZoneEvent) {
        if self.pass(zone) {
            self.within.on_reclaimed(zone);
        }
    }

    fn bytes(&self) -> usize {
        self.within.bytes()
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let mut gauges = self.within.gauges();
        if let Some(recogniser) = &self.recogniser {
            let share = self.recognised as f64 / self.offered.max(1) as f64;
            gauges.push(("recognised share of relocations", share));
            gauges.extend(recogniser.gauges());
        }
        gauges
    }
}
