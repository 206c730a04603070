//! lifespan: pages that are expected to live equally long lie together, on a logarithmic scale. Not
//! published elsewhere.
//!
//! A user write is expected to live as long as the page's last versions did: the mean of their
//! lifespans' logarithms, of which each counts half as much as the one after it. For a page without
//! a past it is what pages of its kind had: of its origin, if an engine tells, else of its extent of
//! LBAs, as files and trees lie together. A page that cleaning finds valid is expected to live as
//! long again as it has lived, or as its kind does if that is longer.
//!
//! Class k takes what is expected to live less than base^k zones' worth of user writes, the last
//! one everything longer. With `relocations=apart` pages that cleaning copies have classes of
//! their own.

use crate::{
    BuildError, Info, PageState, Param, Params, Relocation, Scheme, Setup, Stamp, UserWrite,
    log2_1p,
};

/// LBAs in an extent whose pages pass for one kind: 2^8.
const EXTENT_SHIFT: u32 = 8;
/// Origins that are told apart.
const ORIGINS: usize = 4096;
/// Steps of an expectation for each doubling.
const STEPS: f32 = 8.0;
/// A kind's mean moves by this share of the difference at each lifespan.
const KIND_GAIN: f32 = 1.0 / 32.0;

/// By the lifespan that is expected of a page.
#[derive(Clone, Debug)]
pub struct Lifespan {
    /// The logarithms between classes.
    cuts: Vec<f32>,
    /// The first class of relocations.
    relocations: usize,
    /// The mean logarithm of each kind's lifespans.
    kinds: Vec<f32>,
}

/// When a page was written, and what was expected of it then.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Expectation {
    written: Stamp,
    /// The logarithm of the lifespan in steps, more by 1; 0 if the page has no past.
    steps: u32,
}

impl PageState for Expectation {
    fn clamp(&mut self, now: u32) {
        self.written.clamp(now);
    }
}

impl Lifespan {
    #[inline(always)]
    fn class(&self, expected: f32) -> usize {
        self.cuts.iter().map(|&cut| usize::from(expected >= cut)).sum()
    }

    #[inline(always)]
    fn kind(&self, write: &UserWrite) -> usize {
        match write.hotness {
            Some(hotness) => (hotness.origin as usize).min(ORIGINS - 1),
            None => (write.lba >> EXTENT_SHIFT) as usize,
        }
    }
}

impl Scheme for Lifespan {
    type Page = Expectation;
    const INFO: Info = Info {
        name: "lifespan",
        summary: "by the lifespan expected from a page's past, or from pages of its kind",
        source: "Frostline",
        params: &[
            Param { key: "classes", default: "7", help: "the last for what lives longest" },
            Param { key: "base", default: "3", help: "how much longer each class lives" },
            Param {
                key: "relocations",
                default: "together",
                help: "whether they share classes with user writes: together, or apart",
            },
        ],
        fast22: "",
    };
    const WANTS_HOTNESS: bool = true;

    fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        let classes = params.take(Self::INFO.params, "classes", 2..=64usize)?;
        let base = params.take(Self::INFO.params, "base", 1.01..=1000.0f32)?;
        let apart = params.choose(Self::INFO.params, "relocations", &["together", "apart"])? == 1;
        let zone = (setup.zone_pages as f32).log2();
        let extents = (setup.space >> EXTENT_SHIFT) as usize + 1;
        Ok(Lifespan {
            cuts: (0..classes - 1).map(|k| zone + base.log2() * k as f32).collect(),
            relocations: if apart { classes } else { 0 },
            kinds: vec![f32::INFINITY; if setup.told { ORIGINS } else { extents }],
        })
    }

    fn classes(&self) -> usize {
        self.relocations + self.cuts.len() + 1
    }

    #[inline(always)]
    fn place_user(&mut self, write: &UserWrite, page: &mut Expectation) -> usize {
        let kind = self.kind(write);
        let Some(of_kind) = self.kinds.get_mut(kind) else { return self.classes() - 1 };
        let mut expected = *of_kind;
        if !write.first {
            let lived = log2_1p(page.written.age(write.now));
            *of_kind =
                if of_kind.is_finite() { *of_kind + KIND_GAIN * (lived - *of_kind) } else { lived };
            let before = if page.steps == 0 { lived } else { (page.steps - 1) as f32 / STEPS };
            expected = (lived + before) / 2.0;
            page.steps = (expected * STEPS) as u32 + 1;
        } else {
            page.steps = 0;
        }
        page.written = Stamp::at(write.now);
        self.class(expected)
    }

    #[inline(always)]
    fn place_relocation(&mut self, relocation: &Relocation, page: &mut Expectation) -> usize {
        let lived = log2_1p(page.written.age(relocation.now));
        self.relocations + self.class(lived.max(page.steps.saturating_sub(1) as f32 / STEPS))
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.kinds[..])
    }
}
