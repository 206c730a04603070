//! PHFTL: a network predicts at the write whether a page will be short-living. Sun et al.,
//! "Learning-based Data Separation for Write Amplification Reduction in Solid State Drives", DAC
//! 2023.
//!
//! User writes that will be short-living go to class 0, others to class 1. A page that was
//! relocated k times since it was written goes to class 1 + k, and from the fifth time on to
//! class 6. The paper's victim policy is [`adjusted-greedy`](crate::victims).
//!
//! The 36 bytes of state of each page lie in meta pages at the tail of each zone, and are read
//! through a cache of 1 % of them ([`MetaCache`]). With `meta=free` they cost nothing. A relocated
//! page's state lies beside it, so cleaning reads no meta pages.
//!
//! Readings where the paper is silent: the drive's size is the size of the LBA space; `history=1`
//! makes each prediction from the page's newest write alone, as the paper's comparison does.

use crate::meta_cache::MetaCache;
use crate::{
    BuildError, Classified, Classifier, ClassifierSetup, Info, LARGEST_CLASSIFIER, Param, Params,
    Relocation, Request, Scheme, Setup, ShortLiving, UserWrite, Victims, Wants, ZoneEvent,
    ZoneView,
};

/// Classes: short-living, long-living, relocated once, up to five times.
const CLASSES: usize = 7;
/// The class of pages that were relocated once.
const RELOCATED: usize = 2;

/// Classes by predicted lifespan, and by the number of relocations.
#[derive(Debug)]
pub struct Phftl {
    classifier: Box<dyn Classifier>,
    /// `None` if metadata costs nothing.
    meta: Option<MetaCache>,
}

impl Phftl {
    #[inline(always)]
    fn after(class: usize) -> usize {
        (class + 1).clamp(RELOCATED, CLASSES - 1)
    }
}

impl Scheme for Phftl {
    type Page = Classified;
    const INFO: Info = Info {
        name: "phftl",
        summary: "by a network's prediction of the lifespan, and by relocations since",
        source: "Sun et al., PHFTL, DAC 2023",
        params: &[
            Param::real(
                "window",
                5.0,
                0.01..=100.0,
                "user writes between two trainings, in percent of the drive",
            ),
            Param::word(
                "history",
                "full",
                &["full", "1"],
                "what predictions go by: full, all writes of a page; 1, the newest only",
            ),
            Param::word(
                "threshold",
                "adaptive",
                &["adaptive", "first"],
                "what is short-living: adaptive, or first: as the first window gave it",
            ),
            Param::word(
                "meta",
                "pages",
                &["pages", "free"],
                "where its metadata lies: pages, at the tail of zones; free, at no cost",
            ),
        ],
    };
    const WANTS: Wants = Wants {
        requests: true,
        reads: true,
        most_memory: LARGEST_CLASSIFIER,
        victims: Victims::Policy("adjusted-greedy"),
        whole_pages: true,
        ..Wants::NOTHING
    };

    fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        let percent = params.real(Self::INFO.params, "window")?;
        let full_history = params.word(Self::INFO.params, "history")? == "full";
        let adaptive = params.word(Self::INFO.params, "threshold")? == "adaptive";
        let in_pages = params.word(Self::INFO.params, "meta")? == "pages";
        let window = (f64::from(setup.space) * percent / 100.0).max(1.0) as u32;
        let classifier = ClassifierSetup {
            space: setup.space,
            window,
            full_history,
            adaptive,
            seed: setup.seed,
        };
        Ok(Phftl {
            classifier: setup.make_classifier(Self::INFO.name, &classifier)?,
            meta: in_pages.then(|| MetaCache::new(size_of::<Classified>(), setup)),
        })
    }

    fn classes(&self) -> usize {
        CLASSES
    }

    #[inline(always)]
    fn on_request(&mut self, request: &Request) {
        self.classifier.on_request(request);
    }

    fn on_read(&mut self, request: &Request) {
        self.classifier.on_read(request);
    }

    #[inline(always)]
    fn place_user(&mut self, write: &UserWrite, page: &mut Classified) -> usize {
        if let Some(meta) = self.meta.as_mut().filter(|_| !write.first) {
            meta.read(write.zone, write.offset);
        }
        usize::from(!self.classifier.is_short_living(write, page))
    }

    #[inline(always)]
    fn destination(&self, victim: &ZoneEvent) -> Option<usize> {
        Some(Self::after(victim.class))
    }

    #[inline(always)]
    fn place_relocation(&mut self, relocation: &Relocation, _: &mut Classified) -> usize {
        Self::after(relocation.class)
    }

    fn on_trim(&mut self, lba: u32, _: Option<&Self::Page>, _: u32) {
        self.classifier.on_trim(lba);
    }

    fn on_opened(&mut self, zone: &ZoneEvent) {
        if let Some(meta) = &mut self.meta {
            meta.open(zone.zone);
        }
    }

    fn on_sealed(&mut self, zone: &ZoneEvent, _: &ZoneView<'_>) {
        if let Some(meta) = &mut self.meta {
            meta.seal(zone.zone);
        }
    }

    fn on_reclaimed(&mut self, zone: &ZoneEvent) {
        if let Some(meta) = &mut self.meta {
            meta.free(zone.zone);
        }
    }

    fn wants(&self) -> Wants {
        Wants { meta_pages: self.meta.as_ref().map_or(0, MetaCache::pages), ..Self::WANTS }
    }

    fn short_living(&self) -> Option<ShortLiving> {
        self.classifier.threshold().map(|threshold| ShortLiving { class: 0, threshold })
    }

    fn memory(&self) -> Vec<u8> {
        self.classifier.memory()
    }

    fn recall(&mut self, memory: &[u8]) {
        self.classifier.recall(memory);
    }

    fn bytes(&self) -> usize {
        self.classifier.bytes() + self.meta.as_ref().map_or(0, MetaCache::bytes)
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let mut gauges = self.classifier.gauges();
        gauges.extend(self.meta.iter().flat_map(MetaCache::gauges));
        gauges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages that were written less than 100 user writes ago are short-living.
    #[derive(Debug)]
    struct Rule(ClassifierSetup);

    impl Classifier for Rule {
        fn is_short_living(&mut self, write: &UserWrite, page: &mut Classified) -> bool {
            let age = page.written.age(write.now);
            page.written = crate::Stamp::at(write.now);
            !write.first && age < 100
        }

        fn threshold(&self) -> Option<u32> {
            Some(100)
        }

        fn gauges(&self) -> Vec<(&'static str, f64)> {
            let ClassifierSetup { window, full_history, .. } = self.0;
            vec![("window", f64::from(window)), ("full", f64::from(u8::from(full_history)))]
        }
    }

    fn phftl(spec: &str) -> Phftl {
        let make = |setup: &ClassifierSetup| Box::new(Rule(*setup)) as Box<dyn Classifier>;
        let (_, mut params) = Params::parse(spec).unwrap();
        Phftl::build(&Setup { classifier: Some(&make), ..Setup::new(1024, 10_000) }, &mut params)
            .unwrap()
    }

    #[test]
    fn user_writes_go_by_what_the_classifier_says() {
        let mut phftl = phftl("phftl");
        let mut page = Classified::default();
        assert_eq!(phftl.place_user(&UserWrite::first(7, 500), &mut page), 1);
        let again = |now: u32| UserWrite { first: false, zone: 1, ..UserWrite::first(7, now) };
        assert_eq!(phftl.place_user(&again(550), &mut page), 0);
        assert_eq!(phftl.place_user(&again(650), &mut page), 1);
        assert_eq!(phftl.short_living(), Some(ShortLiving { class: 0, threshold: 100 }));
    }

    #[test]
    fn relocations_go_by_how_often_they_were_relocated_up_to_five_times() {
        let mut phftl = phftl("phftl");
        for (class, to) in [(0, 2), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 6)] {
            let relocation = Relocation { lba: 1, now: 9, zone: 4, class, last: false };
            assert_eq!(phftl.place_relocation(&relocation, &mut Classified::default()), to);
            assert_eq!(phftl.destination(&ZoneEvent { zone: 4, class, now: 9 }), Some(to));
        }
    }

    #[test]
    fn the_classifier_is_made_as_the_parameters_say() {
        let told = |spec| phftl(spec).gauges()[..2].iter().map(|g| g.1).collect::<Vec<_>>();
        assert_eq!(told("phftl"), [500.0, 1.0]);
        assert_eq!(told("phftl:window=20:history=1"), [2000.0, 0.0]);
    }

    #[test]
    fn metadata_takes_36_bytes_a_page_unless_it_is_free() {
        // 113 states of 36 bytes fit into 4 KiB.
        assert_eq!(phftl("phftl").wants().meta_pages, 9);
        assert_eq!(phftl("phftl:meta=free").wants().meta_pages, 0);
    }
}
