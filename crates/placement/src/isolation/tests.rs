use super::*;
use crate::SchemeSpec;
use crate::schemes::frozen::Frozen;
use crate::schemes::sepfrozen_bit::SepFrozenBit;
use crate::{Candidates, Fast22, Recogniser, Room, Semantics, Stamp};

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

fn around_sepbit(params: &str) -> SepFrozenBit {
    let make = |_: &str, _: &Setup<'_>| Ok(Box::new(ByName(false)) as Box<dyn Recogniser>);
    let setup = Setup { recogniser: Some(&make), ..Setup::new(16, 1000) };
    let (_, mut params) = Params::parse(&format!("sepfrozen-bit:{params}")).unwrap();
    SepFrozenBit::build(&setup, &mut params).unwrap()
}

/// The class that relocations of pages in a zone of class 0 get.
fn placed(scheme: &mut SepFrozenBit, lbas: &[u32]) -> Vec<usize> {
    let states = vec![IsolatedPage::zeroed(); lbas.len()];
    let victim = Victim { zone: 1, class: 0, now: 9, valid: 100 };
    let mut classes = vec![None; lbas.len()];
    let pages = Pages { lbas, states: &states, hotness: None, last: &[] };
    scheme.place_batch(&victim, &pages, &mut classes);
    let in_turn = |(&lba, class): (&u32, Option<u8>)| {
        let relocation = Relocation { lba, now: 9, zone: 1, class: 0, last: false };
        let placed = scheme.place_relocation(&relocation, &mut IsolatedPage::zeroed());
        class.map_or(placed, usize::from)
    };
    lbas.iter().zip(classes).map(in_turn).collect()
}

#[test]
fn pages_taken_for_frozen_go_to_the_coldest_class_as_in_the_paper() {
    let mut scheme = around_sepbit("confidence=0.5");
    assert_eq!(scheme.classes(), 6);
    // SepBIT copies pages of its first class to the third.
    assert_eq!(placed(&mut scheme, &[103, 100, 101]), [5, 2, 5]);
}

#[test]
fn separate_classes_take_frozen_pages_by_confidence() {
    // Log-odds of 6.9, in thirds.
    let mut scheme = around_sepbit("separate=yes:confidence=0.999:tiers=3");
    assert_eq!(scheme.classes(), 9);
    assert_eq!(placed(&mut scheme, &[102, 103, 104, 105, 107]), [2, 6, 6, 7, 8]);
    assert_eq!(scheme.inner_class(8), 5, "for SepBIT they lie in its coldest class");
}

#[test]
fn a_recogniser_that_is_not_trusted_is_not_followed() {
    let mut scheme = around_sepbit("confidence=0.5");
    assert_eq!(placed(&mut scheme, &[3, 9]), [2, 2]);
    assert_eq!(placed(&mut scheme, &[103, 9]), [5, 5]);
}

#[test]
fn the_inner_scheme_gets_its_own_parameters() {
    let spec = SchemeSpec::parse("frozen:dac:classes=4:tiers=2").unwrap();
    assert_eq!(spec.classes(Semantics::Published, Room::default()).unwrap(), 6);
    let spec = SchemeSpec::parse("frozen-perfect:sepbit:separate=no").unwrap();
    assert_eq!(spec.classes(Semantics::Published, Room::default()).unwrap(), 6);
    for refused in ["frozen:nothing", "frozen:dac:tears=2", "frozen:sepbit:classes=x"] {
        let found = SchemeSpec::parse(refused)
            .and_then(|s| s.classes(Semantics::Published, Room::default()));
        assert!(found.is_err(), "{refused}");
    }
    for refused in ["frozen:2r-fifo", "frozen:frozen:dac", "frozen:oracle-rate"] {
        let spec = SchemeSpec::parse(refused).unwrap();
        let setup = Setup::new(16, 100);
        struct Nothing;
        impl crate::Visitor for Nothing {
            type Output = ();
            fn visit<S: Scheme>(self, _: S) {}
        }
        assert!(spec.build(&setup, Nothing).is_err(), "{refused}");
    }
}

/// Overrides the methods that have a default.
#[derive(Debug, Default)]
struct Loud {
    recalled: Vec<u8>,
}

impl Scheme for Loud {
    type Page = Stamp;
    const INFO: Info = Info { name: "loud", summary: "", source: "", params: &[] };

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

    fn fast22(&mut self) -> Option<&mut dyn Fast22> {
        Some(self)
    }

    fn memory(&self) -> Vec<u8> {
        [&self.recalled[..], &[4; 20]].concat()
    }

    fn recall(&mut self, memory: &[u8]) {
        self.recalled = memory.to_vec();
    }
}

impl Fast22 for Loud {
    fn keeps_open(&mut self, class: usize) -> bool {
        class == 1
    }
}

fn around_loud() -> Frozen {
    let make = |_: &str, _: &Setup<'_>| Ok(Box::new(ByName(false)) as Box<dyn Recogniser>);
    let inner = |_: &Setup<'_>| Ok(AnyScheme::of(Loud::default()).unwrap().into_box());
    let setup = Setup { recogniser: Some(&make), inner: Some(&inner), ..Setup::new(16, 1000) };
    let (_, mut params) = Params::parse("frozen:tiers=2").unwrap();
    Frozen::build(&setup, &mut params).unwrap()
}

#[test]
fn the_inner_scheme_decides_which_of_its_classes_keep_zones_open() {
    let mut scheme = around_loud();
    assert_eq!([0, 1, 2, 3].map(|class| scheme.keeps_open(class)), [false, true, true, true]);
}

#[test]
fn the_inner_scheme_recalls_its_own_memory() {
    let (first, mut second) = (around_loud(), around_loud());
    second.recall(&first.memory());
    assert_eq!(second.inner.memory(), [4; 40]);
    second.recall(&[1, 0, 0, 0, 9]);
    assert_eq!(second.inner.memory(), [4; 20], "the recogniser's alone");
}

#[test]
fn the_inner_scheme_clamps_its_stamps() {
    let mut scheme = around_loud();
    let write = UserWrite::first(1, 5);
    let mut page = IsolatedPage::zeroed();
    scheme.place_user(&write, &mut page);
    let (now, long) = (3 << 30, Stamp::HORIZON);
    scheme.clamp(&mut page, now);
    let (mut inner, predictor) = (page.inner, page.predictor);
    assert_eq!((inner.of::<Stamp>().age(now), predictor.age(now)), (long, long));
}
