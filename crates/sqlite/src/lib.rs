//! SQLite databases in a page store.
//!
//! A VFS, named `frostline`: in an unmodified `sqlite3`,
//!
//! ```text
//! .load target/release/libfrostline_sqlite
//! .open 'file:my.db?vfs=frostline&store=FILE'
//! ```
//!
//! opens a database in the store in FILE, which is made if it is absent. All that was written to a
//! file since its last sync becomes durable at once or not at all
//! ([`frostline_store::Store::write_group`]), so rollback journals stay in memory and each page is
//! written once. docs/sqlite.md says what is promised.
//!
//! A program that has SQLite linked registers the VFS by `register` (feature `linked`).
//!
//! The way of a write: `calls.rs` (C outside, Rust inside), `file.rs` (a connection's open file),
//! `volume.rs` (a store and its files), `content.rs` (what waits for a sync), `directory.rs` (which
//! pages a file has). `lock.rs` and `shared_memory.rs` have what connections of a process share,
//! `volumes.rs` the stores that are open in it.

mod calls;
mod content;
mod directory;
mod entry;
mod error;
mod ffi;
mod file;
mod lock;
mod make;
mod name;
mod shared_memory;
mod stored_pages;
mod volume;
mod volumes;

use error::Error;

#[cfg(feature = "linked")]
pub use entry::register;
pub use entry::sqlite3_frostlinesqlite_init;
