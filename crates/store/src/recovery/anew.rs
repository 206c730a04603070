//! Pages are written once more, so that a rebuild finds them.

use frostline_log::LogError;

use crate::format::PAGE;
use crate::inner::Inner;
use crate::{PageWrite, StoreError};

impl Inner {
    /// Writes pages once more of which the device has a later copy that does not count: it is torn, or
    /// of a group that was cut short. A rebuild goes by times, and what told it that the copy does not
    /// count is gone once the store is written. A store that is too full goes on without.
    pub fn write_anew(&self, lbas: &[u32]) -> Result<(), StoreError> {
        if lbas.is_empty() {
            return Ok(());
        }
        let mut page = vec![0; PAGE];
        for &lba in lbas.iter().filter(|&&lba| self.layout.check_lba(lba).is_ok()) {
            let bytes = match self.read_record(lba, &mut page) {
                Ok(Some(bytes)) => bytes,
                // It stays as damaged or lost as it is.
                Ok(None) | Err(StoreError::Checksum { .. } | StoreError::Lost { .. }) => continue,
                Err(error) => return Err(error),
            };
            match self.write_pages(&[PageWrite { lba, page: &page[..bytes], hotness: None }]) {
                Err(StoreError::Log(LogError::Full { .. })) => break,
                written => written?,
            }
        }
        self.sync()
    }
}
