//! What a load draws: keys, values, bounds, tables.

use std::ops::Bound;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::model::Tables;

pub(super) type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

pub(super) struct Load {
    pub rng: SmallRng,
    pub seed: u64,
    /// Its data are more than there is memory for.
    pub is_large: bool,
    pub keys: usize,
    pub long: usize,
}

pub(super) fn below(rng: &mut SmallRng, n: usize) -> usize {
    rng.random_range(0..n.max(1))
}

impl Load {
    pub(super) fn of(seed: u64) -> Load {
        let rng = SmallRng::seed_from_u64(seed);
        let mut load = Load { rng, seed, is_large: false, keys: 0, long: 0 };
        load.is_large = load.one_in(4);
        load.keys = if load.is_large { 20_000 } else { [40, 400, 4000][load.below(3)] };
        load.long = [30_000, 300_000][load.below(2)];
        load
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        below(&mut self.rng, n)
    }

    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(super) fn key(&mut self) -> Vec<u8> {
        let n = self.below(self.keys);
        self.key_of(n)
    }

    pub(super) fn key_of(&self, n: usize) -> Vec<u8> {
        let n = n as u32;
        let mut key = match n % 7 {
            0 => b"a long shared prefix of keys that are long: ".to_vec(),
            1 => vec![255; (n % 5) as usize],
            2 => Vec::new(),
            _ => b"k".to_vec(),
        };
        key.extend_from_slice(&n.to_be_bytes());
        if n.is_multiple_of(11) {
            key.resize(512.min(20 + (n as usize * 31) % 600), n as u8);
        }
        if n == 2 {
            key.clear();
        }
        key
    }

    pub(super) fn value(&mut self) -> Vec<u8> {
        let len = match self.below(20) {
            0 => 0,
            1..=8 => self.below(60),
            9..=13 => self.below(400),
            14 => 850 + self.below(100),
            15..=16 => self.below(4000),
            17 => self.below(20_000),
            18 => self.below(self.long),
            _ => 8,
        };
        let fill = self.rng.random::<u8>();
        let mut value = vec![fill; len];
        if self.one_in(2) {
            self.rng.fill(&mut value[..]);
        }
        value
    }

    pub(super) fn bounds(&mut self) -> Bounds {
        let mut one = || match self.below(5) {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Included(self.key()),
            _ => Bound::Excluded(self.key()),
        };
        (one(), one())
    }

    pub(super) fn table(&mut self, tables: &Tables) -> Option<(String, u64)> {
        let at = self.below(tables.len());
        tables.iter().nth(at).map(|(name, (number, _))| (name.clone(), *number))
    }
}

pub(super) fn within((low, high): &Bounds, key: &[u8]) -> bool {
    let above = match low {
        Bound::Included(low) => key >= &low[..],
        Bound::Excluded(low) => key > &low[..],
        Bound::Unbounded => true,
    };
    let below = match high {
        Bound::Included(high) => key <= &high[..],
        Bound::Excluded(high) => key < &high[..],
        Bound::Unbounded => true,
    };
    above && below
}
