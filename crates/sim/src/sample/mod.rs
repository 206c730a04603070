//! Samples of a trace: the features of a page at a moment, and whether it was frozen then.

mod memory;
mod parts;

use frostline_learn::{FeatureLayout, LearnError, Origin, RecordSource, Sampling, Set};
use frostline_placement::NEVER;
use frostline_trace::{FINAL, Prepared, TraceError, Writes, prepare};

use memory::PageMemory;
use parts::{Parts, SampleUse};

/// Samples of a trace.
#[derive(Clone, Debug)]
pub struct Samples {
    /// The features of the samples.
    pub layout: FeatureLayout,
    /// The way in which they were taken.
    pub sampling: Sampling,
    /// Samples for training.
    pub train: Set,
    /// Samples for evaluation.
    pub test: Set,
    /// Different pages written: the volume's logical capacity.
    pub pages: u32,
}

impl Samples {
    /// The origin of a model that was trained on these samples of a trace.
    pub fn origin(&self, trace: &str) -> Origin {
        Origin {
            trace: trace.to_string(),
            samples: self.train.len(),
            frozen: self.train.frozen_samples(),
            sampling: self.sampling,
        }
    }

    /// The names of the fields of each write.
    pub fn fields(&self) -> Vec<String> {
        self.layout.fields().iter().map(ToString::to_string).collect()
    }

    /// The same samples with only the last `history` writes of each page.
    ///
    /// # Errors
    /// [`LearnError::History`] if the samples have fewer writes.
    pub fn narrowed(&self, history: usize) -> Result<Samples, LearnError> {
        if history > self.layout.history() {
            return Err(LearnError::History(history));
        }
        let layout = FeatureLayout::new(self.layout.records(), history)?;
        let narrowed = |set: &Set| set.narrowed(layout.width());
        Ok(Samples { layout, train: narrowed(&self.train), test: narrowed(&self.test), ..*self })
    }
}

/// The reason why a trace has no samples.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// The trace can't be annotated.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The features need an engine's records, and the trace has none.
    #[error("the trace has no hotness records")]
    NoHotness,
}

/// Takes samples of a volume's writes. A sample is frozen if its page is neither written again nor
/// trimmed until the end of the trace; for training with
/// [`SampleSplit::Time`](frostline_learn::SampleSplit), until the end of the part that training
/// sees.
///
/// # Errors
/// [`SampleError::NoHotness`], and the errors of [`prepare`].
pub fn sample(
    mut writes: Writes,
    layout: FeatureLayout,
    how: &Sampling,
) -> Result<Samples, SampleError> {
    let hotness = writes.hotness.take();
    let volume = prepare(None, writes, true)?;
    let memory = match layout.records() {
        RecordSource::Block => PageMemory::block(volume.space),
        RecordSource::Engine => {
            PageMemory::engine(volume.space, hotness.ok_or(SampleError::NoHotness)?)
        }
    };
    let mut parts = Parts::new(layout.width(), volume.words.len() as u64, how);
    walk(&volume, memory, |i, lba, lifespan, memory| {
        for age in ages(how.age).take_while(|&age| age < lifespan) {
            let looked = i + 1 + u64::from(age);
            let dies = (lifespan != NEVER).then(|| i + 1 + u64::from(lifespan));
            match parts.place(looked, dies) {
                SampleUse::Late => break,
                SampleUse::Left => {}
                SampleUse::In { part, frozen } => {
                    part.offer(frozen, |put| memory.features(layout, lba, age, put));
                }
            }
        }
    });
    let Parts { train, test, .. } = parts;
    let (train, test) = (train.into_set(), test.into_set());
    Ok(Samples { layout, sampling: *how, train, test, pages: volume.unique })
}

/// The ages at which a page is sampled.
fn ages(first: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(first), |age| age.checked_mul(2).filter(|&age| age > 0))
}

/// Goes through the writes. After each write it calls `look` with the write's number, page and
/// lifespan, and the memory of all pages.
fn walk(
    volume: &Prepared,
    mut memory: PageMemory,
    mut look: impl FnMut(u64, u32, u32, &PageMemory),
) {
    let begins = |i: usize| volume.starts.as_ref().is_none_or(|starts| starts.get(i));
    let mut trims = volume.trims.iter().peekable();
    let known = volume.lifespans.as_ref().map(Vec::len);
    assert_eq!(known, Some(volume.words.len()), "each write has a lifespan");
    let lifespans = volume.lifespans.iter().flatten();
    for (i, (&word, &lifespan)) in volume.words.iter().zip(lifespans).enumerate() {
        while let Some(trim) = trims.next_if(|trim| trim.at <= i) {
            memory.trim(trim.lbas());
        }
        let lba = word & !FINAL;
        if begins(i) {
            let rest = (i + 1..volume.words.len()).take_while(|&next| !begins(next));
            memory.begin(lba, 1 + rest.count() as u32);
        }
        memory.write(i as u32, lba);
        look(i as u64, lba, lifespan, &memory);
    }
}
