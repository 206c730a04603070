//! A summary of a trace file.

use std::path::Path;

use serde::Serialize;

use crate::{Format, Loaded, TraceError, VolumeInfo};

/// A summary of a trace file, to be looked at before a replay.
#[derive(Clone, Debug, Serialize)]
pub struct TraceInfo {
    /// Path of the file.
    pub path: String,
    /// Name of its format.
    pub format: String,
    /// Bytes in a page.
    pub page_size: u32,
    /// True if writes have hotness records.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hotness: bool,
    /// Its volumes.
    pub volumes: Vec<VolumeInfo>,
}

impl TraceInfo {
    /// Summarises a loaded trace. Takes about twelve bytes of memory for each write and each page.
    ///
    /// # Errors
    /// Those of [`VolumeInfo::of`].
    pub fn of(path: &Path, page_size: u32, mut loaded: Loaded) -> Result<TraceInfo, TraceError> {
        if loaded.format == Format::U32 {
            // The format has no clock: its times are only numbers of writes.
            loaded.volumes.iter_mut().for_each(|volume| volume.times = None);
        }
        let volumes = loaded.volumes.iter().map(VolumeInfo::of).collect::<Result<Vec<_>, _>>()?;
        Ok(TraceInfo {
            path: path.display().to_string(),
            format: loaded.format.to_string(),
            page_size,
            hotness: loaded.has_hotness,
            volumes,
        })
    }
}
