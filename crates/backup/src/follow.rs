//! Backups that follow a device: one after the other, as long as it is in use.

use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::{Backup, BackupError, Source, Target};

/// The longest wait after a backup that failed.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// A thread that backs up a device again and again while it is in use. When it is dropped, it ends
/// with the backup that is under way.
pub struct Follower {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What a [`Follower`] did until now.
#[derive(Debug, Clone, Default)]
pub struct Followed {
    /// Backups that were made.
    pub backups: u64,
    /// Bytes that they copied.
    pub copied_bytes: u64,
    /// Those of the copied bytes that an earlier one had copied.
    pub again_bytes: u64,
    /// The longest time for which something written was in no backup, counted from the first one
    /// that was whole. A commit that is older than this survives the loss of the device.
    pub longest_behind: Duration,
    /// Backups that failed.
    pub failures: u64,
    /// The error of the last backup, if it failed.
    pub error: Option<BackupError>,
}

struct Shared {
    source: Arc<Source>,
    target: Target,
    followed: Mutex<Followed>,
    end: Mutex<End>,
    ended: Condvar,
}

/// Whether the thread goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// It goes on.
    No,
    /// It ends without a further backup.
    Now,
    /// It ends with one, if anything has changed.
    BackedUp,
}

impl Source {
    /// Starts a thread that backs up the device, now and whenever it has changed, so that what is
    /// written is in a backup after `within`: each begins half of that after the one before began,
    /// and so has as long to be made. [`Followed::longest_behind`] tells whether that is enough. A
    /// backup that fails is made again, after up to 30 seconds.
    ///
    /// # Errors
    /// The target can't be used; the thread can't be started.
    pub fn follow(
        self: &Arc<Self>,
        target: Target,
        within: Duration,
    ) -> Result<Follower, BackupError> {
        let known = target.take_known()?;
        target.know(known);
        let shared = Arc::new(Shared {
            source: self.clone(),
            target,
            followed: Mutex::default(),
            end: Mutex::new(End::No),
            ended: Condvar::new(),
        });
        let of_thread = shared.clone();
        let thread = Builder::new().name("backup".to_string());
        let thread = thread.spawn(move || of_thread.run(within / 2));
        let thread = thread.map_err(BackupError::object("a thread for backups".to_string()))?;
        Ok(Follower { shared, thread: Some(thread) })
    }
}

impl Follower {
    /// What was done until now.
    pub fn followed(&self) -> Followed {
        self.shared.followed.lock().clone()
    }

    /// Makes a last backup if anything has changed, and ends.
    ///
    /// # Errors
    /// The last backup failed.
    pub fn finish(mut self) -> Result<Followed, BackupError> {
        self.end(End::BackedUp);
        let followed = self.followed();
        match followed.error {
            Some(error) => Err(error),
            None => Ok(followed),
        }
    }

    fn end(&mut self, end: End) {
        *self.shared.end.lock() = end;
        self.shared.ended.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic was printed, and there is nothing to save here.
            let _ = thread.join();
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.end(End::Now);
        }
    }
}

impl Shared {
    fn run(&self, every: Duration) {
        let mut last = None;
        let mut wait = every;
        loop {
            let begun = Instant::now();
            // Before the moment of the backup, so that it has at least these changes.
            let changed = self.source.changed();
            if last.is_some_and(|(covered, _)| covered == changed) {
                last = Some((changed, begun));
            } else {
                let made = self.source.back_up(&self.target);
                let is_made = made.is_ok();
                self.note(made, last.map(|(_, begun)| begun));
                if is_made {
                    (last, wait) = (Some((changed, begun)), every);
                } else {
                    wait = (wait * 2).min(LONGEST_WAIT);
                }
            }
            match self.wait_until(begun + wait) {
                End::No => {}
                End::Now => return,
                End::BackedUp => {
                    let changed = self.source.changed();
                    if last.is_none_or(|(covered, _)| covered != changed) {
                        let made = self.source.back_up(&self.target);
                        self.note(made, last.map(|(_, begun)| begun));
                    }
                    return;
                }
            }
        }
    }

    /// Counts a backup. `covered` is the moment up to which all is in the one before.
    fn note(&self, made: Result<Backup, BackupError>, covered: Option<Instant>) {
        let mut followed = self.followed.lock();
        match made {
            Ok(backup) => {
                followed.backups += 1;
                followed.copied_bytes += backup.copied_bytes;
                followed.again_bytes += backup.again_bytes;
                let behind = covered.map_or(Duration::ZERO, |covered| covered.elapsed());
                followed.longest_behind = followed.longest_behind.max(behind);
                followed.error = None;
            }
            Err(error) => {
                tracing::warn!(%error, "could not back up");
                followed.failures += 1;
                followed.error = Some(error);
            }
        }
    }

    fn wait_until(&self, time: Instant) -> End {
        let mut end = self.end.lock();
        while *end == End::No {
            if self.ended.wait_until(&mut end, time).timed_out() {
                break;
            }
        }
        *end
    }
}
