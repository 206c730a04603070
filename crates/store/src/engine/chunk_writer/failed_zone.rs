//! A zone that takes no more: the pages of its chunks, which are still in memory, go elsewhere.

use std::sync::Arc;

use super::ChunkWriter;
use crate::StoreError;
use crate::state::chunk::Chunk;
use crate::state::mapped_page::RecordCopy;

impl ChunkWriter {
    /// Places the valid pages of a chunk that its zone did not take elsewhere. Returns the chunks
    /// that they filled.
    pub(super) fn rescue(&self, chunk: &Chunk) -> Result<Vec<Arc<Chunk>>, StoreError> {
        let mut state = self.core.state()?;
        if state.zone_failed(chunk.zone) {
            self.core.changed();
        }
        for (index, (at, record)) in chunk.extents().enumerate() {
            let hotness = chunk.hotness.as_ref().map(|all| all[index]).unwrap_or_default();
            let content = chunk.content(at).unwrap_or_default();
            let mut mapped = self.loader.mapped(state, record.lba)?;
            let (from, record) = (at, *record);
            mapped.relocate(&RecordCopy { from, class: None, record, hotness, bytes: content })?;
            state = mapped.into_state();
        }
        state.seal_all();
        Ok(state.take_outgoing())
    }

    /// The pages of chunks that could not be written are elsewhere, and written there.
    pub(super) fn forget(&self, rescued: Vec<Arc<Chunk>>) -> Result<(), StoreError> {
        if rescued.is_empty() {
            return Ok(());
        }
        let mut state = self.core.state()?;
        rescued.into_iter().for_each(|chunk| state.chunk_moved(chunk));
        drop(state);
        self.core.changed();
        Ok(())
    }
}
