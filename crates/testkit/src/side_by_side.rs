//! Work that is done two at a time: a test that is long by itself leaves no core idle.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;

/// Does the work for each of these. Returns what each gave, in their order.
pub fn each<I: Send, T: Send>(
    all: impl IntoIterator<Item = I, IntoIter: Send>,
    work: impl Fn(I) -> T + Sync,
) -> Vec<T> {
    let (left, done) = (Mutex::new(all.into_iter().enumerate()), Mutex::new(BTreeMap::new()));
    let next = || left.lock().unwrap().next();
    two_at_a_time(|| {
        while let Some((number, one)) = next() {
            let given = work(one);
            done.lock().unwrap().insert(number, given);
        }
    });
    done.into_inner().unwrap().into_values().collect()
}

/// Lets two threads do the same.
pub(crate) fn two_at_a_time(work: impl Fn() + Sync) {
    thread::scope(|scope| {
        scope.spawn(&work);
        scope.spawn(&work);
    });
}
