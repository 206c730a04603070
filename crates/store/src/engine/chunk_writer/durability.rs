//! Syncs: pages and notes are made durable.

use super::ChunkWriter;
use crate::StoreError;
use crate::state::State;

impl ChunkWriter {
    /// Makes everything that was written before durable.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        self.sync_by(State::sync)
    }

    /// The same so that zones can be reset, which follows from what was cleaned.
    pub(crate) fn sync_for_resets(&self) -> Result<(), StoreError> {
        self.sync_by(State::seal_all)
    }

    fn sync_by(&self, seal_all: fn(&mut State) -> u64) -> Result<(), StoreError> {
        let mut state = self.core.state()?;
        state.check_writable()?;
        let last = seal_all(&mut state);
        self.write_out(state)?;
        self.make_durable(last)
    }

    /// Makes all sealed chunks up to number `last`, and all notes made before, durable.
    pub(crate) fn make_durable(&self, last: u64) -> Result<(), StoreError> {
        let done = || {
            let mut state = self.core.state()?;
            while !state.chunks().is_written(last) {
                state = self.core.wait(state)?;
            }
            // Behind the chunks: the note of one that its zone did not take is to be among them.
            let noted = state.notes().next_serial();
            drop(state);
            self.metadata.write_notes()?;
            self.core.device.flush()?;
            self.core.state()?.made_durable(last, noted);
            self.core.changed();
            Ok(())
        };
        done().map_err(|error| self.core.fail(error))
    }

    /// Writes the notes that wait.
    pub(crate) fn write_notes(&self) -> Result<(), StoreError> {
        self.metadata.write_notes().map_err(|error| self.core.fail(error))
    }
}
