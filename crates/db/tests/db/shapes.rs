//! Loads that delete as much as they put, in the orders that applications have.

use std::collections::BTreeSet;
use std::ops::Bound;

use rand::{Rng, RngExt};

/// The order in which keys come and go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// The greatest key comes, the smallest goes.
    Queue,
    /// Queues side by side, each with a long name before its keys.
    Queues,
    /// The greatest key comes, and goes.
    Stack,
    /// Each series gets a record in turn, and its oldest ones go, several at once.
    Retention,
    /// Keys come anywhere, and all in a range go.
    Ranges,
    /// Keys come anywhere and go anywhere, in waves.
    Scattered,
    /// A table is filled, and emptied from its smallest key on.
    FromTheFront,
    /// A table is filled, and emptied from its greatest key on.
    FromTheBack,
    /// A table is filled, and of every other stretch of keys all but a few go.
    Stretches,
}

pub(crate) const SHAPES: [Shape; 9] = [
    Shape::Queue,
    Shape::Queues,
    Shape::Stack,
    Shape::Retention,
    Shape::Ranges,
    Shape::Scattered,
    Shape::FromTheFront,
    Shape::FromTheBack,
    Shape::Stretches,
];

/// Bytes that a record takes in a leaf besides its key and value.
pub(crate) const SLOT: u64 = 8;

/// Pages that do not depend on the records: roots, the label, and leaves that are empty for a
/// while.
const FEW: u64 = 14;

/// Pages that are enough for records that take so many bytes with their slots: leaves are a third
/// full and more in the mean.
pub(crate) fn enough_pages(bytes: u64) -> u64 {
    FEW + bytes / 4096 * 7 / 2
}

/// Queues, and series.
const SIDE_BY_SIDE: u64 = 7;

/// Keys of a stretch: those of a leaf or two.
const STRETCH: u64 = 64;

/// A step of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Put(Vec<u8>),
    Delete(Vec<u8>),
}

/// A load, and the keys that are there once all its steps were taken.
pub(crate) struct Load {
    shape: Shape,
    /// Keys that are there at most, about.
    most: usize,
    live: BTreeSet<Vec<u8>>,
    /// Keys that came so far.
    came: u64,
    /// Keys come until there are most of them, and then they go.
    fills: bool,
    /// Keys that go next.
    going: Vec<Vec<u8>>,
}

impl Load {
    pub(crate) fn new(shape: Shape, most: usize) -> Self {
        let most = most.max(2);
        Load { shape, most, live: BTreeSet::new(), came: 0, fills: true, going: Vec::new() }
    }

    /// The next step.
    pub(crate) fn step(&mut self, rng: &mut impl Rng) -> Step {
        if self.going.is_empty() && self.comes(rng) {
            let key = self.new_key(rng);
            self.live.insert(key.clone());
            self.came += 1;
            return Step::Put(key);
        }
        Step::Delete(self.go(rng).unwrap_or_default())
    }

    /// The key that goes next; none if all are gone.
    pub(crate) fn go(&mut self, rng: &mut impl Rng) -> Option<Vec<u8>> {
        if self.going.is_empty() && !self.live.is_empty() {
            self.choose(rng);
        }
        self.going.pop().inspect(|key| _ = self.live.remove(key))
    }

    /// True if a key comes next.
    fn comes(&mut self, rng: &mut impl Rng) -> bool {
        let least = match self.shape {
            Shape::Queue | Shape::Queues | Shape::Retention => self.most - self.most / 8,
            Shape::Stretches => self.most / 4,
            _ => 0,
        };
        if self.live.len() >= self.most {
            self.fills = false;
        } else if self.live.len() <= least {
            self.fills = true;
        }
        let is_even = matches!(self.shape, Shape::Queue | Shape::Queues | Shape::Scattered);
        let comes = match is_even {
            // Some go while others come.
            true => rng.random_bool(if self.fills { 0.7 } else { 0.3 }),
            false => self.fills,
        };
        comes || self.live.is_empty()
    }

    /// Chooses keys that go.
    fn choose(&mut self, rng: &mut impl Rng) {
        let any = self.any(rng);
        self.going = match self.shape {
            Shape::Queue | Shape::FromTheFront => self.live.first().cloned().into_iter().collect(),
            Shape::Stack | Shape::FromTheBack => self.live.last().cloned().into_iter().collect(),
            Shape::Queues => self.oldest_beside(&any, 1),
            Shape::Retention => self.oldest_beside(&any, 40),
            Shape::Scattered => vec![any],
            Shape::Ranges => {
                self.live.range(any..).take(rng.random_range(1..200)).cloned().collect()
            }
            Shape::Stretches => self.other_stretches(),
        };
        self.going.reverse();
    }

    /// A key that is there.
    fn any(&self, rng: &mut impl Rng) -> Vec<u8> {
        let near = self.spread(rng.random_range(0..self.came.max(1)));
        let behind = self.live.range(near..).next().or(self.live.first());
        behind.cloned().unwrap_or_default()
    }

    /// The oldest keys of the queue or series of a key.
    fn oldest_beside(&self, key: &[u8], count: usize) -> Vec<Vec<u8>> {
        let name = &key[..key.len() - 8];
        let from = (Bound::Included(name.to_vec()), Bound::Unbounded);
        let all = self.live.range::<Vec<u8>, _>(from);
        all.take_while(|key| key.starts_with(name)).take(count).cloned().collect()
    }

    /// All keys of every other stretch, but for a few.
    fn other_stretches(&self) -> Vec<Vec<u8>> {
        let keys = (0..).zip(&self.live);
        let stays = |n: u64| (n / STRETCH) % 2 == 1 || n % 50 == 7;
        let going = keys.filter(|&(n, _)| n % STRETCH == 0 || !stays(n));
        going.map(|(_, key)| key.clone()).collect()
    }

    fn new_key(&self, rng: &mut impl Rng) -> Vec<u8> {
        match self.shape {
            Shape::Ranges | Shape::Scattered => self.spread(rng.random()),
            _ => self.spread(self.came),
        }
    }

    /// The key of this number.
    fn spread(&self, n: u64) -> Vec<u8> {
        match self.shape {
            Shape::Queues => {
                let name = "the name of a queue, which is long, and its number: ";
                [name.as_bytes(), &[(n % SIDE_BY_SIDE) as u8], &n.to_be_bytes()].concat()
            }
            Shape::Retention => [&[(n % SIDE_BY_SIDE) as u8][..], &n.to_be_bytes()].concat(),
            Shape::Ranges | Shape::Scattered => {
                (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40).to_be_bytes().to_vec()
            }
            // Those of a table that is filled come in no order, a new generation behind the one
            // before.
            Shape::FromTheFront | Shape::FromTheBack => {
                let (generation, n) = (n / self.most as u64, n % self.most as u64);
                [&generation.to_be_bytes()[..], &(n * 7919 % self.most as u64).to_be_bytes()]
                    .concat()
            }
            Shape::Queue | Shape::Stack | Shape::Stretches => n.to_be_bytes().to_vec(),
        }
    }
}
