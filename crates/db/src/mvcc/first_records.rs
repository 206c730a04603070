//! Where the records that a transaction sees begin. It may have deleted many before them, which no
//! scan has to pass again.

use parking_lot::Mutex;

use crate::direction::Direction;

/// By tree and direction, a key before which the transaction sees no record.
#[derive(Default)]
pub(super) struct FirstRecords(Mutex<Vec<(u32, Direction, Vec<u8>)>>);

impl FirstRecords {
    pub(super) const fn new() -> Self {
        FirstRecords(Mutex::new(Vec::new()))
    }

    pub(super) fn clear(&mut self) {
        self.0.get_mut().clear();
    }

    pub(super) fn get(&self, tree: u32, direction: Direction) -> Option<Vec<u8>> {
        let known = self.0.lock();
        let found = known.iter().find(|known| (known.0, known.1) == (tree, direction));
        found.map(|(_, _, key)| key.clone())
    }

    /// A scan found no record before this key.
    pub(super) fn note(&self, tree: u32, direction: Direction, key: &[u8]) {
        let mut known = self.0.lock();
        match known.iter_mut().find(|known| (known.0, known.1) == (tree, direction)) {
            Some((_, _, first)) => {
                first.clear();
                first.extend_from_slice(key);
            }
            None => known.push((tree, direction, key.to_vec())),
        }
    }

    /// A record of this key is written.
    pub(super) fn forget(&mut self, tree: u32, key: &[u8]) {
        let known = self.0.get_mut();
        if !known.is_empty() {
            known.retain(|(of, direction, first)| *of != tree || !direction.is_before(key, first));
        }
    }
}
