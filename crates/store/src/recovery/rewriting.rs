//! Pages are written once more, so that a rebuild finds them.

use std::collections::BTreeSet;

use frostline_log::LogError;

use crate::engine::Engine;
use crate::format::PAGE;
use crate::format::delta::ChangedWords;
use crate::{PageWrite, StoreError};

impl Engine {
    /// Writes pages once more of which the device has a later record that does not count: it is
    /// torn, or of a group that was cut short. A rebuild goes by times, and what told it that the
    /// record does not count is gone once the store is written. A store that is too full goes on
    /// without.
    pub(crate) fn rewrite_dropped(&self, lbas: &[u64]) -> Result<(), StoreError> {
        if lbas.is_empty() {
            return Ok(());
        }
        let mut page = vec![0; PAGE];
        let pages: BTreeSet<u32> =
            lbas.iter().map(|&lba| self.core.layout.sizes.page_of(lba)).collect();
        for lba in pages.into_iter().filter(|&lba| self.core.layout.check_lba(lba).is_ok()) {
            match self.read_page(lba, None, &mut page, &mut ChangedWords::default()) {
                Ok(true) => {}
                // It stays as damaged or lost as it is.
                Ok(false) | Err(StoreError::Checksum { .. } | StoreError::Lost { .. }) => continue,
                Err(error) => return Err(error),
            };
            let write = PageWrite { lba, page: &page, hotness: None, changed: None };
            match self.write_pages(&[write]) {
                Err(StoreError::Log(LogError::Full { .. })) => break,
                written => written?,
            }
        }
        self.chunks.sync()
    }
}
