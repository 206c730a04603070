//! lifespan: pages that are expected to live equally long lie together, on a logarithmic scale. Not
//! published elsewhere.
//!
//! A user write is expected to live as long as the page's last versions did: the mean of the
//! logarithms of their lifespans, where each counts half as much as the one after it. A page
//! without a past is expected to live as long as pages of its kind: of its origin, if an engine
//! gives one, else of its extent of LBAs, because files and trees lie together. A page that
//! cleaning finds valid is expected to live as long again as it has lived, or as long as was
//! expected at its write if that is longer. With `past=kind` the past of single pages is ignored:
//! origins, or extents, that behave alike share classes.
//!
//! Class k takes pages that are expected to live for less than base^k zones' worth of user writes,
//! the last class all others. With `relocations=apart` pages that cleaning copies have classes of
//! their own.

use crate::{
    BuildError, Info, PageState, Param, Params, Relocation, Scheme, Setup, Stamp, UserWrite, Wants,
    log2_1p,
};

/// The pages of an extent of 2^8 LBAs count as one kind.
const EXTENT_SHIFT: u32 = 8;
/// The most origins that are distinguished.
const ORIGINS: usize = 4096;
/// Steps of an expectation for each doubling.
const STEPS: f32 = 8.0;
/// At each lifespan a kind's mean moves by this share of the difference.
const KIND_GAIN: f32 = 1.0 / 32.0;

/// Classes by the expected lifespan of a page.
#[derive(Clone, Debug)]
pub struct Lifespan {
    /// The logarithms of the lifespans between classes.
    cuts: Vec<f32>,
    /// The first class of relocations.
    relocations: usize,
    /// The mean logarithm of each kind's lifespans.
    kinds: Vec<f32>,
    /// True if a page's expected lifespan is always that of its kind.
    by_kind: bool,
}

/// The time of a page's last write, and the lifespan that was expected of it then.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Expectation {
    written: Stamp,
    /// The logarithm of the lifespan in steps, plus 1; 0 if the page has no past.
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
            Param::whole("classes", 7, 2..=64, "the last for what lives longest"),
            Param::real("base", 3.0, 1.01..=1000.0, "how much longer each class lives"),
            Param::word(
                "relocations",
                "together",
                &["together", "apart"],
                "whether they share classes with user writes: together, or apart",
            ),
            Param::word(
                "past",
                "page",
                &["page", "kind"],
                "what tells how long a page will live: its own past, or that of its kind",
            ),
        ],
    };
    const WANTS: Wants = Wants { hotness: true, seals_stale: true, ..Wants::NOTHING };

    fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        let classes = params.whole(Self::INFO.params, "classes")?;
        let base = params.real(Self::INFO.params, "base")? as f32;
        let apart = params.word(Self::INFO.params, "relocations")? == "apart";
        let by_kind = params.word(Self::INFO.params, "past")? == "kind";
        let zone = (setup.zone_pages as f32).log2();
        let extents = (setup.space >> EXTENT_SHIFT) as usize + 1;
        Ok(Lifespan {
            cuts: (0..classes - 1).map(|k| zone + base.log2() * k as f32).collect(),
            relocations: if apart { classes } else { 0 },
            kinds: vec![f32::INFINITY; if setup.has_hotness { ORIGINS } else { extents }],
            by_kind,
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
            expected = match (self.by_kind, page.steps) {
                (true, _) => *of_kind,
                (false, 0) => lived,
                (false, steps) => (lived + (steps - 1) as f32 / STEPS) / 2.0,
            };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hotness;
    use bytemuck::Zeroable;

    /// Zones of 16 pages: class 0 below 16 user writes, class 1 below 64, class 2 all else.
    fn lifespan(params: &str) -> Lifespan {
        let (_, mut params) = Params::parse(&format!("lifespan:classes=3:base=4{params}")).unwrap();
        Lifespan::build(&Setup::new(16, 1 << 16), &mut params).unwrap()
    }

    fn write<'a>(lba: u32, now: u32, first: bool, hotness: Option<&'a Hotness>) -> UserWrite<'a> {
        UserWrite { first, valid: 1, hotness, ..UserWrite::first(lba, now) }
    }

    fn relocation(lba: u32, now: u32) -> Relocation {
        Relocation { lba, now, zone: 1, class: 0, last: false }
    }

    #[test]
    fn a_page_is_expected_to_live_as_long_as_its_last_versions() {
        let (mut scheme, mut page) = (lifespan(""), Expectation::zeroed());
        assert_eq!(scheme.place_user(&write(7, 1, true, None), &mut page), 2, "nothing is known");
        // Lifespans of 7, then 1023: their logarithms are 3 and 10, the mean 6.5.
        assert_eq!(scheme.place_user(&write(7, 8, false, None), &mut page), 0);
        assert_eq!(scheme.place_user(&write(7, 1031, false, None), &mut page), 2);
        assert_eq!(scheme.place_user(&write(7, 1038, false, None), &mut page), 1);
    }

    #[test]
    fn a_page_without_a_past_is_expected_to_live_as_its_kind() {
        let (mut scheme, mut page) = (lifespan(""), Expectation::zeroed());
        for now in [1, 5, 9] {
            scheme.place_user(&write(300, now, now == 1, None), &mut page);
        }
        let mut new = Expectation::zeroed();
        assert_eq!(scheme.place_user(&write(301, 10, true, None), &mut new), 0, "same extent");
        assert_eq!(scheme.place_user(&write(9, 11, true, None), &mut new), 2, "another one");
        // With an engine's origins, LBAs don't matter.
        let (tree, other) = (Hotness { origin: 6, ..Hotness::default() }, Hotness::default());
        let mut told = Lifespan { kinds: vec![f32::INFINITY; ORIGINS], ..lifespan("") };
        for now in [1, 5, 9] {
            told.place_user(&write(300, now, now == 1, Some(&tree)), &mut page);
        }
        assert_eq!(told.place_user(&write(9, 10, true, Some(&tree)), &mut new), 0);
        assert_eq!(told.place_user(&write(301, 11, true, Some(&other)), &mut new), 2);
    }

    #[test]
    fn pages_of_a_kind_share_a_class_if_its_past_is_what_counts() {
        let (mut scheme, mut page) = (lifespan(":past=kind"), Expectation::zeroed());
        for now in [1, 5, 9] {
            scheme.place_user(&write(300, now, now == 1, None), &mut page);
        }
        let mut old = Expectation { written: Stamp::at(1), steps: 0 };
        assert_eq!(scheme.place_user(&write(301, 1025, false, None), &mut old), 0, "it lived long");
        let mut own = Expectation { written: Stamp::at(1), steps: 0 };
        assert_eq!(lifespan("").place_user(&write(301, 1025, false, None), &mut own), 2);
    }

    #[test]
    fn what_has_lived_long_is_expected_to_live_as_long_again() {
        let (mut scheme, mut page) = (lifespan(""), Expectation::zeroed());
        scheme.place_user(&write(7, 1, true, None), &mut page);
        scheme.place_user(&write(7, 5, false, None), &mut page);
        assert_eq!(scheme.place_relocation(&relocation(7, 10), &mut page), 0);
        assert_eq!(scheme.place_relocation(&relocation(7, 30), &mut page), 1);
        assert_eq!(scheme.place_relocation(&relocation(7, 300), &mut page), 2);
        let mut apart = lifespan(":relocations=apart");
        assert_eq!(apart.classes(), 6);
        assert_eq!(apart.place_relocation(&relocation(7, 30), &mut page), 4);
    }
}
