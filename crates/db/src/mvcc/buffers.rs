//! Buffers for versions. Most versions are forgotten as soon as the commit that replaced them is
//! complete, so each thread uses its buffers again.

use std::cell::RefCell;

/// Buffers that each thread keeps.
const KEPT: usize = 64;

/// Bytes of a buffer that is kept: more than the longest record takes.
const BYTES: usize = 2048;

thread_local! {
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// An empty buffer.
pub fn take() -> Vec<u8> {
    SPARE.with_borrow_mut(Vec::pop).unwrap_or_else(|| Vec::with_capacity(BYTES))
}

/// Takes a buffer back that is not needed any more.
pub fn give_back(mut buffer: Vec<u8>) {
    SPARE.with_borrow_mut(|spare| {
        if buffer.capacity() >= BYTES && spare.len() < KEPT {
            buffer.clear();
            spare.push(buffer);
        }
    });
}
