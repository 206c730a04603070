//! Who tells frozen pages from others while a victim is cleaned (SepFrozen, section 4.1).

use std::fmt::Debug;

use crate::{Hotness, Past};

/// Valid pages of victims, about to be copied: one entry a page in each slice.
#[derive(Clone, Copy, Debug)]
pub struct Candidates<'a> {
    /// Time: user page writes so far, modulo 2^32.
    pub now: u32,
    /// What the block layer saw of each page.
    pub pasts: &'a [Past],
    /// What the engine told of each page when it wrote it, if it did.
    pub hotness: Option<&'a [Hotness]>,
}

/// Tells which pages are frozen. Rules, trained models and oracles alike; a scheme asks it once
/// for a victim, and is free to follow it or not.
pub trait Recogniser: Debug + Send {
    /// Whether it goes by what engines tell: without [`Candidates::hotness`] it then takes no page
    /// for frozen.
    fn wants_hotness(&self) -> bool;

    /// Sets for each page whether it is taken for frozen. Allocates nothing.
    fn recognise(&mut self, pages: &Candidates<'_>, frozen: &mut [bool]);

    /// After [`Recogniser::recognise`], with the same pages: may choose some whose fate it wants
    /// to hear, to learn from. `follow` says which pages it follows already, and is to say which
    /// it follows from now on.
    fn follow(&mut self, _lbas: &[u32], _pages: &Candidates<'_>, _follow: &mut [bool]) {}

    /// A page that it follows was written again, at time `now`: it was not frozen.
    fn rewritten(&mut self, _lba: u32, _now: u32) {}

    /// Figures that a report should show (name, value).
    fn gauges(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
