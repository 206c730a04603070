//! Who says that a page is frozen: a recogniser that goes by what is known of it, or the future.

use crate::{
    BuildError, Candidates, Foresight, Hotness, PageState, Past, Recogniser, Request, Requests,
    Setup, UserWrite,
};

/// Who says that a page is frozen.
pub trait Judge: Send + Sized + 'static {
    /// What it remembers of each page.
    type Page: PageState;
    /// What it must be told of the future.
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
    /// Finds the log-odds of all valid pages of a victim, at time `now`; `hotness` is empty if there
    /// is none.
    fn judge(&mut self, now: u32, lbas: &[u32], pages: &[Self::Page], hotness: &[Hotness]);
    /// What [`Judge::judge`] found last, page by page.
    fn scores(&self) -> &[f32];
    /// See [`Scheme::memory`](crate::Scheme::memory).
    fn memory(&self) -> Vec<u8>;
    /// See [`Scheme::recall`](crate::Scheme::recall).
    fn recall(&mut self, memory: &[u8]);
    /// Bytes that it holds besides what it remembers of each page.
    fn bytes(&self) -> usize;
    /// Figures that a report should show.
    fn gauges(&self) -> Vec<(&'static str, f64)>;
}

/// A recogniser, and what it is told.
pub struct Learned {
    recogniser: Box<dyn Recogniser>,
    sure: f32,
    requests: Requests,
    /// A bit for each LBA whose fate the recogniser wants to hear.
    followed: Vec<u64>,
    /// Valid pages of the volume.
    valid: u32,
    scores: Vec<f32>,
    taken: Vec<bool>,
    follow: Vec<bool>,
    asked: u64,
    recognised: u64,
}

impl Learned {
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

impl Judge for Learned {
    type Page = Past;
    const FORESIGHT: Foresight = Foresight::None;

    fn build(setup: &Setup<'_>, scheme: &str, by: &str, sure: f32) -> Result<Self, BuildError> {
        let refused = |why| BuildError::BadValue {
            name: scheme.to_string(),
            key: "by",
            value: by.to_string(),
            why,
        };
        let nobody = || "nobody is there to recognise frozen pages".to_string();
        let make = setup.recogniser.ok_or_else(nobody).map_err(refused)?;
        let recogniser = make(by, setup).map_err(refused)?;
        Ok(Learned {
            recogniser,
            sure,
            requests: Requests::default(),
            followed: vec![0; (setup.space as usize).div_ceil(64)],
            valid: 0,
            scores: Vec::new(),
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
        self.valid = write.valid as u32;
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
            valid: self.valid,
            lbas: &[write.lba],
            pasts: std::slice::from_ref(page),
            hotness: write.hotness.map(std::slice::from_ref),
        };
        self.recogniser.score(&pages, &mut score);
        score[0]
    }

    fn judge(&mut self, now: u32, lbas: &[u32], pasts: &[Past], hotness: &[Hotness]) {
        let Learned { scores, taken, follow, sure, .. } = self;
        scores.clear();
        scores.resize(lbas.len(), 0.0);
        follow.clear();
        follow.resize(lbas.len(), false);
        let hotness = (hotness.len() == lbas.len()).then_some(hotness);
        let candidates = Candidates { now, valid: self.valid, lbas, pasts, hotness };
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

    fn scores(&self) -> &[f32] {
        &self.scores
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

/// The future itself.
#[derive(Default)]
pub struct Foreseen {
    scores: Vec<f32>,
}

/// Whether a page's version is its last.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Last(u32);

impl PageState for Last {}

impl Last {
    fn score(self) -> f32 {
        if self.0 != 0 { f32::INFINITY } else { f32::NEG_INFINITY }
    }
}

impl Judge for Foreseen {
    type Page = Last;
    const FORESIGHT: Foresight = Foresight::Rates;

    fn build(_: &Setup<'_>, _: &str, _: &str, _: f32) -> Result<Self, BuildError> {
        Ok(Foreseen::default())
    }

    fn on_request(&mut self, _: &Request) {}

    #[inline(always)]
    fn on_write(&mut self, write: &UserWrite, page: &mut Last) {
        page.0 = u32::from(write.last);
    }

    fn on_trim(&mut self, _: u32) {}

    fn at_writing(&mut self, _: &UserWrite, page: &Last) -> f32 {
        page.score()
    }

    fn judge(&mut self, _: u32, _: &[u32], pages: &[Last], _: &[Hotness]) {
        self.scores.clear();
        self.scores.extend(pages.iter().map(|last| last.score()));
    }

    fn scores(&self) -> &[f32] {
        &self.scores
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
