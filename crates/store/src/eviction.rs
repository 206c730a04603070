//! Leaves of the map leave memory when it takes more than it may.

use crate::StoreError;
use crate::inner::Inner;
use crate::leaves::Evicted;

impl Inner {
    /// Keeps the map within its memory.
    pub fn shrink_map(&self) -> Result<(), StoreError> {
        if self.most_leaves >= self.layout.leaves() as usize {
            return Ok(());
        }
        // Whoever holds it is writing leaves, and comes by here afterwards.
        let Ok(one) = self.keeper.try_lock() else { return Ok(()) };
        loop {
            let mut state = self.state()?;
            if state.placer.map().resident() <= self.most_leaves {
                return Ok(());
            }
            if self.counters.meta_is_low() {
                // What is left of the metadata log is for a checkpoint.
                drop((state, one));
                return self.keep();
            }
            let time = state.time;
            match state.placer.map_mut().evict() {
                Evicted::Gone => {}
                Evicted::Nothing => return Ok(()),
                Evicted::Changed(leaf, image) => {
                    drop(state);
                    let written = self.write_leaves(&[(leaf, image)], time);
                    let places = written.map_err(|error| self.fail(error))?;
                    let mut state = self.state()?;
                    for (leaf, at) in places {
                        state.root[leaf as usize] = at;
                        state.placer.map_mut().written(leaf);
                    }
                }
            }
        }
    }

    /// Keeps the map within its memory as far as that needs no writing.
    pub fn drop_clean_leaves(&self) -> Result<(), StoreError> {
        let mut state = self.state()?;
        let above = state.placer.map().resident().saturating_sub(self.most_leaves);
        // Looking for them costs a pass over all leaves.
        if above > self.layout.leaves() as usize / 64 {
            state.placer.map_mut().drop_clean(above);
        }
        Ok(())
    }
}
