//! Recognisers tell frozen pages from others while a victim is cleaned (SepFrozen, section 4.1).

use std::fmt::Debug;

use crate::hotness::Hotness;
use crate::past::Past;

/// The pages to score, those of one victim: one entry a page in each slice.
#[derive(Clone, Copy, Debug)]
pub struct Candidates<'a> {
    /// Time: user page writes so far, modulo 2^32.
    pub now: u32,
    /// Valid pages of the volume.
    pub valid: u32,
    /// The pages.
    pub lbas: &'a [u32],
    /// The past of each page, as a block layer sees it.
    pub pasts: &'a [Past],
    /// The hotness record of each page's last write, if the engine hands them down.
    pub hotness: Option<&'a [Hotness]>,
}

/// Tells how likely pages are to be frozen: a rule, a trained model, or a model that learns while
/// it runs. A scheme asks it once for each victim, and is free to ignore the answer.
pub trait Recogniser: Debug + Send {
    /// True if the recogniser needs hotness records: without [`Candidates::hotness`] no page seems
    /// frozen to it.
    fn wants_hotness(&self) -> bool;

    /// Sets for each page the log-odds that it is frozen: 0 if both are equally likely, infinite if
    /// it is certain. Allocates nothing.
    fn score(&mut self, pages: &Candidates<'_>, scores: &mut [f32]);

    /// True if the scores are good enough for a scheme to follow them.
    fn is_trusted(&self) -> bool {
        true
    }

    /// Called after [`Recogniser::score`] with the same pages. `taken` marks the pages that the
    /// scheme takes for frozen by these scores, if it trusts them. To learn from a page's fate, the
    /// recogniser sets the page's entry of `follow`.
    fn follow(&mut self, _pages: &Candidates<'_>, _taken: &[bool], _follow: &mut [bool]) {}

    /// A page that the recogniser follows was written again, or trimmed. It is not followed any
    /// longer.
    fn ended(&mut self, _lba: u32, _written: bool) {}

    /// See [`Scheme::memory`](crate::Scheme::memory).
    fn memory(&self) -> Vec<u8> {
        Vec::new()
    }

    /// See [`Scheme::recall`](crate::Scheme::recall).
    fn recall(&mut self, _memory: &[u8]) {}

    /// Bytes that the recogniser holds.
    fn bytes(&self) -> usize {
        0
    }

    /// Figures that a report should show (name, value).
    fn gauges(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
