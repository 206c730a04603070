//! An oracle: it knows the future, so its frozen pages bound what any recogniser can reach.

use super::predictor::Predictor;
use crate::build::Setup;
use crate::events::{Pages, Request, UserWrite, Victim};
use crate::page::PageState;
use crate::params::BuildError;
use crate::wants::Foresight;

/// Knows whether a page will be written again.
pub struct Oracle;

/// Not zero if the page's version is its last.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Last(u32);

impl PageState for Last {}

impl Last {
    fn score(self) -> f32 {
        if self.0 != 0 { f32::INFINITY } else { f32::NEG_INFINITY }
    }
}

impl Predictor for Oracle {
    type Page = Last;
    const FORESIGHT: Foresight = Foresight::Rates;

    fn build(_: &Setup<'_>, _: &str, _: &str, _: f32) -> Result<Self, BuildError> {
        Ok(Oracle)
    }

    fn on_request(&mut self, _: &Request) {}

    #[inline(always)]
    fn on_write(&mut self, write: &UserWrite, page: &mut Last) {
        page.0 = u32::from(write.last);
    }

    fn on_trim(&mut self, _: u32) {}

    fn score_write(&mut self, _: &UserWrite, page: &Last) -> f32 {
        page.score()
    }

    fn score_victim(&mut self, _: &Victim, pages: &Pages<'_, Last>, scores: &mut [f32]) {
        scores.iter_mut().zip(pages.states).for_each(|(score, last)| *score = last.score());
    }

    fn memory(&self) -> Vec<u8> {
        Vec::new()
    }

    fn recall(&mut self, _: &[u8]) {}

    fn bytes(&self) -> usize {
        0
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
