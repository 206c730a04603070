//! Predicts frozen pages with a recogniser, from the engine's or the block layer's view of each
//! page.

use super::predictor::Predictor;
use crate::build::Setup;
use crate::events::{Pages, Request, UserWrite, Victim};
use crate::params::BuildError;
use crate::past::{Past, Requests};
use crate::recogniser::{Candidates, Recogniser};
use crate::verdicts::Verdicts;
use crate::wants::Foresight;

/// A recogniser at work, and the pages whose fate it follows.
pub struct Recognition {
    recogniser: Box<dyn Recogniser>,
    /// The log-odds above which a page is taken for frozen.
    confidence: f32,
    requests: Requests,
    /// A bit for each LBA; set while the recogniser follows the page's fate.
    followed: Vec<u64>,
    frozen: Vec<bool>,
    follow: Vec<bool>,
    scored: u64,
    recognised: u64,
    verdicts: Verdicts,
}

impl Recognition {
    #[inline(always)]
    fn place_of(lba: u32) -> (usize, u64) {
        (lba as usize / 64, 1 << (lba % 64))
    }

    /// Tells the recogniser of the end of a version that it follows.
    #[inline(always)]
    fn end(&mut self, lba: u32, written: bool) {
        let (word, bit) = Self::place_of(lba);
        let Some(word) = self.followed.get_mut(word) else { return };
        if *word & bit != 0 {
            *word &= !bit;
            self.recogniser.ended(lba, written);
        }
    }
}

impl Predictor for Recognition {
    type Page = Past;
    const FORESIGHT: Foresight = Foresight::None;

    fn build(
        setup: &Setup<'_>,
        scheme: &str,
        recogniser: &str,
        confidence: f32,
    ) -> Result<Self, BuildError> {
        let refused = |why| BuildError::BadValue {
            name: scheme.to_string(),
            key: "recogniser",
            value: recogniser.to_string(),
            why,
        };
        let none = || "there is no recogniser of frozen pages here".to_string();
        let make = setup.recogniser.ok_or_else(none).map_err(refused)?;
        let recogniser = make(recogniser, setup).map_err(refused)?;
        Ok(Recognition {
            recogniser,
            confidence,
            requests: Requests::default(),
            followed: vec![0; (setup.space as usize).div_ceil(64)],
            frozen: Vec::new(),
            follow: Vec::new(),
            scored: 0,
            recognised: 0,
            verdicts: Verdicts::default(),
        })
    }

    fn on_request(&mut self, request: &Request) {
        self.requests.begin(request.lba, request.pages);
    }

    #[inline(always)]
    fn on_write(&mut self, write: &UserWrite, page: &mut Past) {
        self.end(write.lba, true);
        self.verdicts.written(write);
        page.write(write.now, &self.requests);
    }

    fn on_trim(&mut self, lba: u32) {
        self.end(lba, false);
    }

    fn score_write(&mut self, write: &UserWrite, page: &Past) -> f32 {
        if !self.recogniser.is_trusted() {
            return f32::NEG_INFINITY;
        }
        let mut score = [0.0];
        let pages = Candidates {
            now: write.now,
            valid: write.valid as u32,
            lbas: &[write.lba],
            pasts: std::slice::from_ref(page),
            hotness: write.hotness.map(std::slice::from_ref),
        };
        self.recogniser.score(&pages, &mut score);
        score[0]
    }

    fn score_victim(&mut self, victim: &Victim, pages: &Pages<'_, Past>, scores: &mut [f32]) {
        let Recognition { frozen, follow, confidence, .. } = self;
        let Pages { lbas, states: pasts, hotness, last } = *pages;
        assert_eq!(pasts.len(), lbas.len(), "each page has a past");
        assert_eq!(scores.len(), lbas.len(), "each page has a score");
        follow.clear();
        follow.resize(lbas.len(), false);
        let (now, valid) = (victim.now, victim.valid as u32);
        let candidates = Candidates { now, valid, lbas, pasts, hotness };
        self.recogniser.score(&candidates, scores);
        frozen.clear();
        frozen.extend(scores.iter().map(|score| score > confidence));
        self.recogniser.follow(&candidates, frozen, follow);
        for (&lba, _) in lbas.iter().zip(follow).filter(|(_, follow)| **follow) {
            let (word, bit) = Self::place_of(lba);
            self.followed[word] |= bit;
        }
        self.scored += lbas.len() as u64;
        let is_trusted = self.recogniser.is_trusted();
        for (&last, &frozen) in last.iter().zip(&*frozen) {
            self.verdicts.copied(is_trusted && frozen, last);
        }
        match is_trusted {
            true => self.recognised += frozen.iter().filter(|&&frozen| frozen).count() as u64,
            false => scores.fill(f32::NEG_INFINITY),
        }
    }

    fn memory(&self) -> Vec<u8> {
        self.recogniser.memory()
    }

    fn recall(&mut self, memory: &[u8]) {
        self.recogniser.recall(memory);
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.followed[..]) + self.recogniser.bytes()
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let share = self.recognised as f64 / self.scored.max(1) as f64;
        let mut gauges = vec![("recognised share of valid pages in victims", share)];
        gauges.extend(self.recogniser.gauges());
        gauges.extend(self.verdicts.gauges(["recogniser's precision", "recogniser's recall"]));
        gauges
    }
}
