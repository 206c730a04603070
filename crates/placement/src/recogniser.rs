//! Recognisers tell frozen pages from others while a victim is cleaned (SepFrozen, section 4.1).

use std::fmt::Debug;

use crate::hotness::Hotness;
use crate::past::Past;

/// Pages that are asked about, those of a victim together: one entry a page in each slice.
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

/// Tells how likely pages are to be frozen. Rules, trained models, and models that learn as they go;
/// a scheme asks it once for a victim, and is free to follow it or not.
pub trait Recogniser: Debug + Send {
    /// True if it goes by hotness records: without [`Candidates::hotness`] no page then seems
    /// frozen.
    fn wants_hotness(&self) -> bool;

    /// Sets for each page the logarithm of the odds that it is frozen: 0 if that is as likely as
    /// not, infinite if it is out of the question whether. Allocates nothing.
    fn score(&mut self, pages: &Candidates<'_>, scores: &mut [f32]);

    /// True if its scores are good enough to go by.
    fn is_trusted(&self) -> bool {
        true
    }

    /// After [`Recogniser::score`] of a victim's pages, with the same, and with those that its
    /// scores make the scheme take for frozen if it trusts them: may set for some that it wants to
    /// hear of their fate, to learn from.
    fn follow(&mut self, _pages: &Candidates<'_>, _taken: &[bool], _follow: &mut [bool]) {}

    /// A page that it follows was written again, or trimmed, and is not followed any longer.
    fn ended(&mut self, _lba: u32, _written: bool) {}

    /// See [`Scheme::memory`](crate::Scheme::memory).
    fn memory(&self) -> Vec<u8> {
        Vec::new()
    }

    /// See [`Scheme::recall`](crate::Scheme::recall).
    fn recall(&mut self, _memory: &[u8]) {}

    /// Bytes that it holds.
    fn bytes(&self) -> usize {
        0
    }

    /// Figures that a report should show (name, value).
    fn gauges(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
