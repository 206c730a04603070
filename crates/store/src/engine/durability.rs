//! Syncs: pages and notes are made durable.

use crate::StoreError;
use crate::engine::inner::Inner;
use crate::format::head::{MetaKind, NotesHead};
use crate::format::layout::NOTES;
use crate::state::State;

impl Inner {
    /// Makes everything that was written before durable.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.sync_by(State::sync)
    }

    /// The same so that zones can be reset, which follows from what was cleaned.
    pub fn sync_for_resets(&self) -> Result<(), StoreError> {
        self.sync_by(State::seal_all)
    }

    fn sync_by(&self, seal_all: fn(&mut State) -> u64) -> Result<(), StoreError> {
        let mut state = self.state()?;
        state.check_writable()?;
        let last = seal_all(&mut state);
        let outgoing = state.chunks.take_outgoing();
        drop(state);
        self.write_out(outgoing)?;
        self.make_durable(last)
    }

    /// Makes all sealed chunks up to number `last`, and all notes made before, durable.
    pub fn make_durable(&self, last: u64) -> Result<(), StoreError> {
        let done = || {
            let mut state = self.state()?;
            while !state.chunks.is_written(last) {
                state = self.wait(state)?;
            }
            // Behind the chunks: the note of one that its zone did not take is to be among them.
            let noted = state.notes.next_serial();
            drop(state);
            self.write_notes()?;
            self.device.flush()?;
            self.state()?.made_durable(last, noted);
            self.changed.notify_all();
            Ok(())
        };
        done().map_err(|error| self.fail(error))
    }

    /// Writes the notes that wait. When it returns, all notes made before are written.
    pub fn write_notes(&self) -> Result<(), StoreError> {
        let mut meta = self.meta()?;
        let mut state = self.state()?;
        let durable = NotesHead { notes: state.notes.durable(), chunks: state.chunks.durable() };
        let notes = state.notes.take();
        drop(state);
        for some in notes.chunks(NOTES) {
            meta.append(MetaKind::Notes(durable), some, &[])?;
        }
        Ok(())
    }
}
