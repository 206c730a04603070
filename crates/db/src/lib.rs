//! An embedded, transactional, ordered key-value database on the page store.
mod node;
pub mod wal;
