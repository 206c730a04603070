//! The system's `sqlite3` with the extension.

mod documented;
mod kills;
mod shell;
mod sqlite3;
