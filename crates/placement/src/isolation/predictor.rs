//! The part of an isolating scheme that predicts which pages are frozen.

use crate::build::Setup;
use crate::events::{Pages, Request, UserWrite, Victim};
use crate::page::PageState;
use crate::params::BuildError;
use crate::wants::Foresight;

/// Predicts which pages are frozen: a recogniser at work, or an oracle.
pub trait Predictor: Send + Sized + 'static {
    /// The predictor's state of each page.
    type Page: PageState;
    /// The knowledge of the future that the predictor needs.
    const FORESIGHT: Foresight;

    /// Builds the predictor for a scheme that takes pages with more than the log-odds `confidence`
    /// for frozen. `recogniser` is the name of the recogniser.
    ///
    /// # Errors
    /// No recogniser has this name.
    fn build(
        setup: &Setup<'_>,
        scheme: &str,
        recogniser: &str,
        confidence: f32,
    ) -> Result<Self, BuildError>;
    /// A request begins.
    fn on_request(&mut self, request: &Request);
    /// The user writes a page: brings its state up to date.
    fn on_write(&mut self, write: &UserWrite, page: &mut Self::Page);
    /// A page was trimmed.
    fn on_trim(&mut self, lba: u32);
    /// Returns the log-odds that the version that is being written is frozen.
    fn score_write(&mut self, write: &UserWrite, page: &Self::Page) -> f32;
    /// Sets the log-odds that each of the valid pages of a victim is frozen.
    fn score_victim(&mut self, victim: &Victim, pages: &Pages<'_, Self::Page>, scores: &mut [f32]);
    /// See [`Scheme::memory`](crate::Scheme::memory).
    fn memory(&self) -> Vec<u8>;
    /// See [`Scheme::recall`](crate::Scheme::recall).
    fn recall(&mut self, memory: &[u8]);
    /// Bytes that the predictor holds besides its state of each page.
    fn bytes(&self) -> usize;
    /// Figures that a report should show (name, value).
    fn gauges(&self) -> Vec<(&'static str, f64)>;
}
