//! Classifiers recognise pages that are soon written again, at the moment they are written (PHFTL,
//! DAC 2023, section III-B).

use std::fmt::Debug;

use bytemuck::{Pod, Zeroable};

use crate::events::{Request, UserWrite};
use crate::page::{PageState, Stamp};

/// The state of a page in a classifier: 36 bytes, as PHFTL counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Classified {
    /// The time at which the page was written.
    pub written: Stamp,
    /// The classifier's own: in PHFTL the state of a recurrent network after the page's writes.
    pub hidden: [u8; 32],
}

impl PageState for Classified {
    fn clamp(&mut self, now: u32) {
        self.written.clamp(now);
    }
}

/// The most bytes of a classifier's [`memory`](Classifier::memory).
pub const LARGEST_CLASSIFIER: usize = 24 << 10;

/// Makes the classifier that a scheme asks for.
pub type MakeClassifier<'a> = &'a dyn Fn(&ClassifierSetup) -> Box<dyn Classifier>;

/// The facts that a classifier is made from.
#[derive(Clone, Copy, Debug)]
pub struct ClassifierSetup {
    /// Largest LBA + 1.
    pub space: u32,
    /// User writes between two adjustments of the threshold and the model.
    pub window: u32,
    /// True if predictions use all writes of a page, false if only the newest.
    pub full_history: bool,
    /// True if the threshold is adjusted in each window; false if the first window's threshold
    /// stays.
    pub adaptive: bool,
    /// Seed of the classifier's random numbers.
    pub seed: u64,
}

/// Tells short-living from long-living pages, and learns from their lifespans.
pub trait Classifier: Debug + Send {
    /// The user begins a request.
    fn on_request(&mut self, _request: &Request) {}

    /// The user reads pages.
    fn on_read(&mut self, _request: &Request) {}

    /// True if the version being written is predicted to be short-living. Brings the page's state
    /// up to date. Allocates nothing.
    fn is_short_living(&mut self, write: &UserWrite, page: &mut Classified) -> bool;

    /// A page was trimmed.
    fn on_trim(&mut self, _lba: u32) {}

    /// Knowledge that the classifier would have to learn again after a restart: at most
    /// [`LARGEST_CLASSIFIER`] bytes.
    fn memory(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Restores what [`memory`](Self::memory) gave. Called once, before the first prediction. Bytes
    /// that the classifier does not understand count as no memory.
    fn recall(&mut self, _memory: &[u8]) {}

    /// The threshold: a version is short-living if it lives for fewer user writes. `None` until it
    /// is known.
    fn threshold(&self) -> Option<u32>;

    /// Bytes that the classifier holds.
    fn bytes(&self) -> usize {
        0
    }

    /// Figures that a report should show (name, value).
    fn gauges(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
