//! The reader of pages for steps that do not wait: a thread that reads together what all of them
//! miss.
//!
//! Pages that are missed while it reads are its next batch. So a batch grows with the number of
//! steps that wait.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::misses::Misses;

/// The pause of a step that lacks room which other threads make.
const NAP: Duration = Duration::from_millis(1);

/// Steps that wait, and what they wait for.
#[derive(Default)]
pub(crate) struct PageReader {
    has_begun: AtomicBool,
    queue: Mutex<Queue>,
    work: Condvar,
}

#[derive(Default)]
struct Queue {
    missed: VecDeque<(u32, Arc<Waiting>)>,
    napping: Vec<Arc<Waiting>>,
    /// When their nap is over.
    nap_ends: Option<Instant>,
    /// Rows take more memory than they should.
    wants_room: bool,
    thread: Thread,
}

/// The state of the thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Thread {
    /// There is none, and nobody may wait for it.
    #[default]
    None,
    Awake,
    Asleep,
    /// There is none any more.
    Ended,
}

/// A step that waits.
pub(crate) struct Waiting(Mutex<State>);

struct State {
    /// Pages that are not read yet, or a nap.
    left: usize,
    /// A page could not be read, or nobody reads any more.
    has_failed: bool,
    waker: Option<Waker>,
}

/// Why a step is to run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    /// What it missed was read.
    Read,
    /// It will get the error if it reads by itself.
    Failed,
}

/// The next work of the thread.
pub(super) struct Batch {
    pub missed: Vec<(u32, Arc<Waiting>)>,
    pub wants_room: bool,
}

impl Waiting {
    fn new(left: usize, waker: &Waker) -> Arc<Waiting> {
        Arc::new(Waiting(Mutex::new(State { left, has_failed: false, waker: Some(waker.clone()) })))
    }

    /// Whether what the step waits for has happened; else `waker` is woken when it has.
    pub(crate) fn poll(&self, waker: &Waker) -> Poll<Ready> {
        let mut state = self.0.lock();
        match (state.has_failed, state.left) {
            (true, _) => Poll::Ready(Ready::Failed),
            (false, 0) => Poll::Ready(Ready::Read),
            _ => {
                state.waker.get_or_insert_with(|| waker.clone()).clone_from(waker);
                Poll::Pending
            }
        }
    }

    /// One of the things that the step waits for has happened, or failed.
    fn arrive(&self, is_there: bool) -> Option<Waker> {
        let mut state = self.0.lock();
        state.left = state.left.saturating_sub(1);
        state.has_failed |= !is_there;
        if state.left == 0 || state.has_failed { state.waker.take() } else { None }
    }
}

impl PageReader {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock()
    }

    /// True the first time: the caller starts the thread.
    pub(crate) fn begin(&self) -> bool {
        if self.has_begun.load(Relaxed) || self.has_begun.swap(true, Relaxed) {
            return false;
        }
        self.queue().thread = Thread::Awake;
        true
    }

    /// Registers a step that waits for what it missed. None if nobody reads: it has to by itself.
    pub(crate) fn wait_for(&self, misses: &Misses, waker: &Waker) -> Option<Arc<Waiting>> {
        let waiting = Waiting::new(misses.pages.len().max(1), waker);
        let mut queue = self.queue();
        if matches!(queue.thread, Thread::None | Thread::Ended) {
            return None;
        }
        match misses.pages.is_empty() {
            true => {
                queue.nap_ends.get_or_insert_with(|| Instant::now() + NAP);
                queue.napping.push(waiting.clone());
            }
            false => {
                let missed = misses.pages.iter().map(|&page| (page, waiting.clone()));
                queue.missed.extend(missed);
            }
        }
        self.wake(queue);
        Some(waiting)
    }

    /// A step waits no more.
    pub(crate) fn forget(&self, waiting: &Arc<Waiting>) {
        let mut queue = self.queue();
        queue.missed.retain(|(_, other)| !Arc::ptr_eq(other, waiting));
        queue.napping.retain(|other| !Arc::ptr_eq(other, waiting));
        waiting.0.lock().waker = None;
    }

    /// Steps that are registered.
    #[cfg(test)]
    pub(crate) fn registered(&self) -> usize {
        let queue = self.queue();
        queue.missed.len() + queue.napping.len()
    }

    /// The thread is to make room for rows; false if there is none.
    pub(super) fn make_room(&self) -> bool {
        let mut queue = self.queue();
        queue.wants_room = !matches!(queue.thread, Thread::None | Thread::Ended);
        let wants_room = queue.wants_room;
        self.wake(queue);
        wants_room
    }

    /// True if room for rows has still to be made.
    pub(crate) fn makes_room(&self) -> bool {
        self.queue().wants_room
    }

    fn wake(&self, mut queue: MutexGuard<'_, Queue>) {
        let is_asleep = queue.thread == Thread::Asleep;
        if is_asleep {
            queue.thread = Thread::Awake;
            drop(queue);
            self.work.notify_one();
        }
    }

    /// The next pages to be read, at most so many; none at the end. Wakes steps after their nap.
    pub(super) fn next(&self, most: usize) -> Option<Batch> {
        let mut queue = self.queue();
        loop {
            if queue.thread == Thread::Ended {
                return None;
            }
            if queue.nap_ends.take_if(|end| *end <= Instant::now()).is_some() {
                let napping = std::mem::take(&mut queue.napping);
                drop(queue);
                wake_all(napping.iter().filter_map(|waiting| waiting.arrive(true)).collect());
                queue = self.queue();
                continue;
            }
            if queue.wants_room || !queue.missed.is_empty() {
                let count = queue.missed.len().min(most);
                let missed = queue.missed.drain(..count).collect();
                return Some(Batch { missed, wants_room: queue.wants_room });
            }
            queue.thread = Thread::Asleep;
            match queue.nap_ends {
                None => self.work.wait(&mut queue),
                Some(end) => drop(self.work.wait_until(&mut queue, end)),
            }
            if queue.thread == Thread::Asleep {
                queue.thread = Thread::Awake;
            }
        }
    }

    /// Pages were read, or could not be: wakes the steps that wait for nothing else.
    pub(super) fn arrived(&self, missed: &[(u32, Arc<Waiting>)], is_there: impl Fn(u32) -> bool) {
        let arrive = |(page, waiting): &(u32, Arc<Waiting>)| waiting.arrive(is_there(*page));
        wake_all(missed.iter().filter_map(arrive).collect());
    }

    /// Room for rows was made, or could not be.
    pub(super) fn made_room(&self) {
        self.queue().wants_room = false;
    }

    /// Nobody reads from now on. Steps that wait run again, and read by themselves.
    pub(crate) fn end(&self) {
        let mut queue = self.queue();
        queue.thread = Thread::Ended;
        queue.wants_room = false;
        let missed = std::mem::take(&mut queue.missed).into_iter().map(|(_, waiting)| waiting);
        let waiting: Vec<_> = missed.chain(std::mem::take(&mut queue.napping)).collect();
        drop(queue);
        self.work.notify_one();
        wake_all(waiting.iter().filter_map(|waiting| waiting.arrive(false)).collect());
    }
}

/// Wakers may call anything, so no lock is held.
fn wake_all(wakers: Vec<Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}
