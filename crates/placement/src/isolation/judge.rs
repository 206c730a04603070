//! The part of an isolating scheme that says whether a page is frozen.

use crate::build::{Foresight, Setup};
use crate::events::{Pages, Request, UserWrite, Victim};
use crate::page::PageState;
use crate::params::BuildError;

/// Says which pages are frozen.
pub trait Judge: Send + Sized + 'static {
    /// Its state of each page.
    type Page: PageState;
    /// The knowledge of the future that it needs.
    const FORESIGHT: Foresight;

    /// Makes the judge called `by`, for a scheme that takes pages with more than these log-odds for
    /// frozen.
    ///
    /// # Errors
    /// There is none of this name.
    fn build(setup: &Setup<'_>, scheme: &str, by: &str, sure: f32) -> Result<Self, BuildError>;
    /// A request begins.
    fn on_request(&mut self, request: &Request);
    /// The user writes a page: brings its state up to date.
    fn on_write(&mut self, write: &UserWrite, page: &mut Self::Page);
    /// A page was trimmed.
    fn on_trim(&mut self, lba: u32);
    /// The log-odds that the version that is being written is frozen.
    fn at_writing(&mut self, write: &UserWrite, page: &Self::Page) -> f32;
    /// Sets the log-odds that each of the valid pages of a victim is frozen.
    fn judge(&mut self, victim: &Victim, pages: &Pages<'_, Self::Page>, scores: &mut [f32]);
    /// See [`Scheme::memory`](crate::Scheme::memory).
    fn memory(&self) -> Vec<u8>;
    /// See [`Scheme::recall`](crate::Scheme::recall).
    fn recall(&mut self, memory: &[u8]);
    /// Bytes that it holds besides what it remembers of each page.
    fn bytes(&self) -> usize;
    /// Figures that a report should show.
    fn gauges(&self) -> Vec<(&'static str, f64)>;
}
