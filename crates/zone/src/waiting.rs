//! A device that is in use is waited for, but not for long.
//!
//! When a process is killed, the system first ends the requests that it has under way, those of
//! io_uring too, and then gives its locks up. That takes some tenths of a second after the process
//! is gone.

use std::thread;
use std::time::{Duration, Instant};

use crate::DeviceError;

/// How long a device that is in use is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often it is looked at meanwhile.
const TICK: Duration = Duration::from_millis(10);

/// Opens what others may have in use, again and again for a while.
///
/// # Errors
/// Those of `open`; [`DeviceError::InUse`] only if it is in use all the time.
pub(crate) fn when_free<T>(
    mut open: impl FnMut() -> Result<T, DeviceError>,
) -> Result<T, DeviceError> {
    let begun = Instant::now();
    loop {
        match open() {
            Err(DeviceError::InUse { .. }) if begun.elapsed() < PATIENCE => thread::sleep(TICK),
            opened => return opened,
        }
    }
}
