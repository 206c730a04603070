//! Formatting, and opening after a clean close or a crash.
//!
//! The last complete checkpoint has the store as it was at one moment. Chunks that were written
//! later are found in the zones that were open then, and in those that notes say were opened
//! since. Of each page the newest copy counts. docs/recovery.md argues why that is enough.

mod gaps;
mod groups;
mod late;
mod log;
mod meta_scan;
mod newest;
mod opening;
mod rebuild;
mod replay;
mod restore;
mod rewriting;
mod run;
mod zone_epoch;

pub(crate) use opening::{Opened, format, number_on, open, zones_on};
pub use rebuild::Rebuilt;
pub(crate) use rebuild::rebuild;
