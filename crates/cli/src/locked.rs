//! Memory that the system may not write to swap.

use crate::failure::Failure;

const HINT: &str = "ulimit -l unlimited allows it, and LimitMEMLOCK=infinity of a systemd unit";

/// Keeps all memory of the process in memory, as it is touched, from now on.
pub(crate) fn lock_memory(command: &str) -> Result<(), Failure> {
    lock().map_err(|why| Failure::job(command, &format!("--lock-memory: {why}")).hint(HINT))
}

#[cfg(target_os = "linux")]
fn lock() -> Result<(), String> {
    use rustix::io::Errno;
    use rustix::mm::{MlockAllFlags, mlockall};
    use rustix::process::{Resource, geteuid, getrlimit};

    // Locking would succeed, and an allocation fail later.
    if let (Some(most), false) = (getrlimit(Resource::Memlock).current, geteuid().is_root()) {
        return Err(format!("this user may lock {} KiB only", most >> 10));
    }
    // As it is touched: stacks of threads are much longer than what is used of them.
    let all = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
    mlockall(all).map_err(|error| match error {
        Errno::NOMEM | Errno::PERM => "the system lets this process lock too little".to_string(),
        error => error.to_string(),
    })
}

#[cfg(not(target_os = "linux"))]
fn lock() -> Result<(), String> {
    Err("only on Linux".to_string())
}
