//! The description of a scheme, and the setup that it is built from.

use crate::classifier::{Classifier, ClassifierSetup, MakeClassifier};
use crate::erased::{Erased, INNER_WORDS};
use crate::forecaster::{Forecaster, MakeForecaster};
use crate::params::{BuildError, Param};
use crate::recogniser::Recogniser;
use crate::semantics::Semantics;

/// The description of a scheme.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Name on the command line.
    pub name: &'static str,
    /// Its rule, in a sentence.
    pub summary: &'static str,
    /// The paper that published it.
    pub source: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
}

/// The room that a volume has for open zones, if it is limited. Schemes that can do with fewer
/// classes keep within it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Zones of a fixed capacity beyond those that the logical pages fill; none if zones are added
    /// as they are needed. Open zones take from these.
    pub spare_zones: Option<u32>,
    /// True if cleaning waits until few zones are free: what is free in open zones is then missing
    /// as over-provisioning. Else cleaning goes by garbage, and a free page costs nothing.
    pub waits_for_zones: bool,
    /// Zones that may be open at once, one for each class; none if the device has no limit.
    pub open_zones: Option<u32>,
}

/// The setup that a scheme is built from.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    /// Pages in a zone.
    pub zone_pages: u32,
    /// Bytes in a page.
    pub page_bytes: u32,
    /// Largest LBA + 1.
    pub space: u32,
    /// The room for open zones.
    pub room: Room,
    /// The reading of the papers that the scheme follows.
    pub semantics: Semantics,
    /// Seed of the scheme's random numbers.
    pub seed: u64,
    /// Mean lifespan of each LBA (infinite if written once), for
    /// [`Foresight::Rates`](crate::Foresight::Rates).
    pub mean_lifespans: Option<&'a [f32]>,
    /// Lifespan of each user write, for [`Foresight::Lifespans`](crate::Foresight::Lifespans).
    pub lifespans: Option<&'a [u32]>,
    /// True if user writes and relocations come with [`Hotness`](crate::Hotness) records.
    pub has_hotness: bool,
    /// Makes recognisers of frozen pages, for schemes that need one.
    pub recogniser: Option<MakeRecogniser<'a>>,
    /// Makes classifiers of pages, for schemes that need one.
    pub classifier: Option<MakeClassifier<'a>>,
    /// Makes forecasters of lifespans, for schemes that need one.
    pub forecaster: Option<MakeForecaster<'a>>,
    /// Makes the inner scheme, if one is named.
    pub inner: Option<MakeInner<'a>>,
}

/// Makes the recogniser of frozen pages with a given name; the error says why there is none.
pub type MakeRecogniser<'a> = &'a dyn Fn(&str, &Setup<'_>) -> Result<Box<dyn Recogniser>, String>;

/// Makes an inner scheme.
pub type MakeInner<'a> = &'a dyn Fn(&Setup<'_>) -> Result<Box<dyn Erased<INNER_WORDS>>, BuildError>;

impl Setup<'_> {
    /// Makes the classifier for a scheme that needs one.
    ///
    /// # Errors
    /// The setup has no classifier.
    pub(crate) fn make_classifier(
        &self,
        scheme: &str,
        setup: &ClassifierSetup,
    ) -> Result<Box<dyn Classifier>, BuildError> {
        let make = self.classifier.ok_or_else(|| BuildError::NoClassifier(scheme.to_string()))?;
        Ok(make(setup))
    }

    /// Makes the forecaster for a scheme that needs one.
    ///
    /// # Errors
    /// The setup has no forecaster.
    pub(crate) fn make_forecaster(&self, scheme: &str) -> Result<Box<dyn Forecaster>, BuildError> {
        let make = self.forecaster.ok_or_else(|| BuildError::NoForecaster(scheme.to_string()))?;
        Ok(make(self.seed))
    }

    /// A setup with pages of 4 KiB, without foresight.
    pub fn new(zone_pages: u32, space: u32) -> Self {
        Setup {
            zone_pages,
            page_bytes: 4096,
            space,
            room: Room::default(),
            semantics: Semantics::Published,
            seed: 0,
            mean_lifespans: None,
            lifespans: None,
            has_hotness: false,
            recogniser: None,
            classifier: None,
            forecaster: None,
            inner: None,
        }
    }
}
