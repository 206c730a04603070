//! Samples of a trace: what was known of a page when it was looked at, and what became of it.

use frostline_placement::NEVER;
use frostline_placement::rng::Rng;
use frostline_trace::{FINAL, Prepared, Writes, prepare};
use serde::{Deserialize, Serialize};

use crate::memory::Memory;
use crate::{Layout, LearnError, Records, Set};

/// The share of samples, or of the trace, to train on (SepFrozen, section 4.1).
const TO_TRAIN: f64 = 0.75;

/// Which samples a model is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// All of them; there are none to train on.
    All,
    /// One in four by chance, as in the paper. It is kind to models: they have seen what comes
    /// after the samples that they are judged by.
    Random,
    /// Those from the last quarter of the trace. A model is trained on the rest, and is told of
    /// it only what is known when the last quarter begins.
    Time,
}

/// How samples are taken.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// Which of them a model is judged by.
    pub split: Split,
    /// The share of the trace, from 0 to below 1, that must still follow a sample for it to count:
    /// what was looked at shortly before the end seems frozen, but nobody knows.
    pub horizon: f64,
    /// The age in user writes at which a page is looked at, if it is still valid then, and again
    /// whenever that has doubled, as by cleaning; 0 to look once, when it is written.
    pub age: u32,
    /// The most samples to train on; a third of it is the most to judge by. Of more, these are
    /// chosen by chance.
    pub most: usize,
    /// Seed of all chance.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Sampling { split: Split::Random, horizon: 0.1, age: 0, most: 3_000_000, seed: 1 }
    }
}

/// Samples of a trace.
#[derive(Clone, Debug)]
pub struct Data {
    /// To train on.
    pub train: Set,
    /// To judge by.
    pub test: Set,
    /// Different pages written: the volume's logical capacity.
    pub pages: u32,
}

/// Takes samples of a volume's writes. A sample is frozen if its page was neither written again
/// nor trimmed by the end of the trace; by the end of what is known, for training by time.
///
/// # Errors
/// [`LearnError::NoHotness`], and what [`prepare`] refuses.
pub fn sample(mut writes: Writes, layout: Layout, how: &Sampling) -> Result<Data, LearnError> {
    let hotness = writes.hotness.take();
    let volume = prepare(None, writes, true)?;
    let memory = match layout.records() {
        Records::Block => Memory::block(volume.space),
        Records::Engine => Memory::engine(volume.space, hotness.ok_or(LearnError::NoHotness)?),
    };
    let mut parts = Parts::new(layout.width(), volume.words.len() as u64, how);
    walk(&volume, memory, |i, lba, lifespan, memory| {
        for age in ages(how.age).take_while(|&age| age < lifespan) {
            let looked = i + 1 + u64::from(age);
            let dies = (lifespan != NEVER).then(|| i + 1 + u64::from(lifespan));
            match parts.place(looked, dies) {
                Place::Late => break,
                Place::Left => {}
                Place::At { set, slot, frozen } => {
                    set.put(slot, frozen, |put| memory.features(layout, lba, age, put));
                }
            }
        }
    });
    Ok(Data { train: parts.train.set, test: parts.test.set, pages: volume.unique })
}

/// The ages at which a page is looked at.
fn ages(first: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(first), |age| age.checked_mul(2).filter(|&age| age > 0))
}

/// Goes through the writes; after each, `look` is told its number, page and lifespan, and what is
/// remembered of all pages.
fn walk(volume: &Prepared, mut memory: Memory, mut look: impl FnMut(u64, u32, u32, &Memory)) {
    let begins = |i: usize| volume.starts.as_ref().is_none_or(|starts| starts.get(i));
    let mut trims = volume.trims.iter().peekable();
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

/// The parts that samples go to.
struct Parts {
    split: Split,
    /// Training is told what happened until then.
    known: u64,
    /// User writes that must follow a sample.
    after: u64,
    end: u64,
    chance: Rng,
    train: Reservoir,
    test: Reservoir,
}

/// What becomes of a sample.
enum Place<'a> {
    /// It is too late for it, and for all that come after it.
    Late,
    /// It is left out.
    Left,
    /// It goes there.
    At { set: &'a mut Set, slot: usize, frozen: bool },
}

impl Parts {
    fn new(width: usize, end: u64, how: &Sampling) -> Self {
        let share = |share: f64| (end as f64 * share) as u64;
        let known = if how.split == Split::Time { share(TO_TRAIN) } else { end };
        let seeds = |part| Rng::new(how.seed.wrapping_mul(4).wrapping_add(part));
        Parts {
            split: how.split,
            known,
            after: share(how.horizon),
            end,
            chance: seeds(0),
            train: Reservoir::new(width, how.most, seeds(1)),
            test: Reservoir::new(width, how.most.div_ceil(3), seeds(2)),
        }
    }

    /// Where a look at a page goes, and whether its page passes for frozen there.
    fn place(&mut self, looked: u64, dies: Option<u64>) -> Place<'_> {
        let known_long_enough = |known: u64| looked + self.after <= known;
        if !known_long_enough(self.end) {
            return Place::Late;
        }
        let to_train = match self.split {
            Split::All => false,
            Split::Random => self.chance.unit() < TO_TRAIN,
            Split::Time if looked > self.known => false,
            Split::Time if known_long_enough(self.known) => true,
            Split::Time => return Place::Left,
        };
        let (part, known) = match to_train {
            true => (&mut self.train, self.known),
            false => (&mut self.test, self.end),
        };
        let frozen = dies.is_none_or(|dies| dies > known);
        match part.slot() {
            Some(slot) => Place::At { set: &mut part.set, slot, frozen },
            None => Place::Left,
        }
    }
}

/// A part with bounded room: of more samples each is kept with the same probability (Vitter,
/// "Random Sampling with a Reservoir", ACM TOMS 11(1), 1985, algorithm R).
struct Reservoir {
    set: Set,
    most: usize,
    seen: u64,
    chance: Rng,
}

impl Reservoir {
    fn new(width: usize, most: usize, chance: Rng) -> Self {
        Reservoir { set: Set::new(width), most, seen: 0, chance }
    }

    /// Where the next sample goes, if it is kept.
    fn slot(&mut self) -> Option<usize> {
        self.seen += 1;
        if self.set.len() < self.most {
            return Some(self.set.len());
        }
        let slot = self.chance.next_u64() % self.seen;
        usize::try_from(slot).ok().filter(|&slot| slot < self.most)
    }
}
