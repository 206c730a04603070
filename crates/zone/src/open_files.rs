//! The open files of a device: at most a share of those that the process may open, whatever the
//! number of zones.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// A file that is opened when it is needed, and may be closed when it is not in use.
struct Openable {
    file: Mutex<Option<Arc<File>>>,
    /// True if the file was used since the last search for a file to close.
    used: AtomicBool,
    /// True if the next flush must make the file durable. It is true from the start: a process that
    /// was killed before its flush may have left content in the page cache only. This includes
    /// empty files, because such a process may have reset them.
    changed: AtomicBool,
}

impl Openable {
    fn new() -> Self {
        Openable {
            file: Mutex::default(),
            used: AtomicBool::new(false),
            changed: AtomicBool::new(true),
        }
    }

    fn slot(&self) -> MutexGuard<'_, Option<Arc<File>>> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self) -> Option<Arc<File>> {
        self.used.store(true, Ordering::Relaxed);
        self.slot().clone()
    }

    /// Closes the file, unless it is in use or spared. A changed file is synced first: the system
    /// reports a failed write only while the file is open.
    fn close(&self, spared: Spared) -> Result<(), NotClosed> {
        let was_used = self.used.swap(false, Ordering::Relaxed);
        let mut slot = self.slot();
        let Some(file) = slot.as_ref().filter(|file| Arc::strong_count(file) == 1) else {
            return Err(NotClosed::Spared);
        };
        let changed = self.changed.load(Ordering::Acquire);
        if spared == Spared::UsedAndChanged && was_used || spared != Spared::None && changed {
            return Err(NotClosed::Spared);
        }
        if changed {
            file.sync_all().map_err(NotClosed::Failed)?;
            self.changed.store(false, Ordering::Release);
        }
        *slot = None;
        Ok(())
    }
}

/// The files that stay open while others can be closed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spared {
    UsedAndChanged,
    Changed,
    None,
}

enum NotClosed {
    Spared,
    Failed(io::Error),
}

/// Numbered files, some of which are open.
pub(crate) struct OpenFiles {
    files: Box<[Openable]>,
    /// The most files that are open at a time, unless more are in use.
    most: usize,
    /// The open files, in the order in which they are looked at for closing.
    open: Mutex<VecDeque<u32>>,
    /// The error of a changed file that could not be made durable before it was closed.
    failed: Mutex<Option<io::Error>>,
}

impl OpenFiles {
    /// `files` files, all closed.
    pub(crate) fn new(files: usize) -> Self {
        // The process needs other files, too.
        let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) / 4;
        let most = most.clamp(4, 1024) as usize;
        let files = (0..files).map(|_| Openable::new()).collect();
        OpenFiles { files, most, open: Mutex::default(), failed: Mutex::default() }
    }

    fn file(&self, number: u32) -> &Openable {
        &self.files[number as usize]
    }

    /// Sets whether the next flush must make a file durable.
    pub(crate) fn set_changed(&self, number: u32, changed: bool) {
        self.file(number).changed.store(changed, Ordering::Release);
    }

    /// True if a file must be made durable, which is then the caller's task.
    pub(crate) fn take_changed(&self, number: u32) -> bool {
        self.file(number).changed.swap(false, Ordering::AcqRel)
    }

    /// Returns a file; if it is closed, `open` opens it.
    pub(crate) fn get(
        &self,
        number: u32,
        open: impl Fn() -> io::Result<File>,
    ) -> io::Result<Arc<File>> {
        let wanted = self.file(number);
        if let Some(file) = wanted.get() {
            return Ok(file);
        }
        let mut numbers = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = wanted.get() {
            return Ok(file);
        }
        while numbers.len() >= self.most && self.close_one(&mut numbers) {}
        let file = loop {
            match open() {
                Err(error) if is_out_of_files(&error) && self.close_one(&mut numbers) => {}
                opened => break Arc::new(opened?),
            }
        };
        *wanted.slot() = Some(Arc::clone(&file));
        debug_assert!(!numbers.contains(&number), "a file is among the open ones once");
        numbers.push_back(number);
        Ok(file)
    }

    /// Closes a file; false if all are in use.
    fn close_one(&self, numbers: &mut VecDeque<u32>) -> bool {
        for spared in [Spared::UsedAndChanged, Spared::Changed, Spared::None] {
            for _ in 0..numbers.len() {
                let Some(number) = numbers.pop_front() else { break };
                match self.file(number).close(spared) {
                    Ok(()) => return true,
                    Err(NotClosed::Failed(error)) => self.fail(error),
                    Err(NotClosed::Spared) => {}
                }
                numbers.push_back(number);
            }
        }
        false
    }

    fn fail(&self, error: io::Error) {
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// Fails if a changed file could not be made durable before it was closed.
    pub(crate) fn check(&self) -> io::Result<()> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner).take();
        failed.map_or(Ok(()), Err)
    }
}

/// True if the process, or the system, has as many files open as it may.
pub(crate) fn is_out_of_files(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}
