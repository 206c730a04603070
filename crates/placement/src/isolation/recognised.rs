//! Frozen pages as a recogniser tells them, by what the engine or the block layer knows of each.

use super::judge::Judge;
use crate::build::{Foresight, Setup};
use crate::events::{Pages, Request, UserWrite, Victim};
use crate::params::BuildError;
use crate::past::{Past, Requests};
use crate::recogniser::{Candidates, Recogniser};

/// A recogniser, and the pages whose fate it follows.
pub struct Recognised {
    recogniser: Box<dyn Recogniser>,
    sure: f32,
    requests: Requests,
    /// A bit for each LBA whose fate the recogniser wants to hear.
    followed: Vec<u64>,
    taken: Vec<bool>,
    follow: Vec<bool>,
    asked: u64,
    recognised: u64,
}

impl Recognised {
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

impl Judge for Recognised {
    type Page = Past;
    const FORESIGHT: Foresight = Foresight::None;

    fn build(setup: &Setup<'_>, scheme: &str, by: &str, sure: f32) -> Result<Self, BuildError> {
        let refused = |why| BuildError::BadValue {
            name: scheme.to_string(),
            key: "by",
            value: by.to_string(),
            why,
        };
        let none = || "there is no recogniser of frozen pages here".to_string();
        let make = setup.recogniser.ok_or_else(none).map_err(refused)?;
        let recogniser = make(by, setup).map_err(refused)?;
        Ok(Recognised {
            recogniser,
            sure,
            requests: Requests::default(),
            followed: vec![0; (setup.space as usize).div_ceil(64)],
            taken: Vec::new(),
            follow: Vec::new(),
            asked: 0,
            recognised: 0,
        })
    }

    fn on_request(&mut self, request: &Request) {
        self.requests.begin(request.lba, request.pages);
    }

    #[inline(always)]
    fn on_write(&mut self, write: &UserWrite, page: &mut Past) {
        self.end(write.lba, true);
        page.write(write.now, &self.requests);
    }

    fn on_trim(&mut self, lba: u32) {
        self.end(lba, false);
    }

    fn at_writing(&mut self, write: &UserWrite, page: &Past) -> f32 {
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

    fn judge(&mut self, victim: &Victim, pages: &Pages<'_, Past>, scores: &mut [f32]) {
        let Recognised { taken, follow, sure, .. } = self;
        let Pages { lbas, states: pasts, hotness } = *pages;
        follow.clear();
        follow.resize(lbas.len(), false);
        let (now, valid) = (victim.now, victim.valid as u32);
        let candidates = Candidates { now, valid, lbas, pasts, hotness };
        self.recogniser.score(&candidates, scores);
        taken.clear();
        taken.extend(scores.iter().map(|score| score > sure));
        self.recogniser.follow(&candidates, taken, follow);
        for (&lba, _) in lbas.iter().zip(follow).filter(|(_, follow)| **follow) {
            let (word, bit) = Self::place_of(lba);
            self.followed[word] |= bit;
        }
        self.asked += lbas.len() as u64;
        match self.recogniser.is_trusted() {
            true => self.recognised += taken.iter().filter(|&&taken| taken).count() as u64,
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
        let share = self.recognised as f64 / self.asked.max(1) as f64;
        let mut gauges = vec![("recognised share of valid pages in victims", share)];
        gauges.extend(self.recogniser.gauges());
        gauges
    }
}
