//! The database, as its users see it. What needs a process of its own is a test of its own.

mod crashes;
mod fail_nth;
mod fill;
mod full;
mod hostile;
mod isolation;
mod label;
mod little_memory;
mod log_size;
mod long_values;
mod lost_pages;
mod misuse;
mod model;
mod rolled_back;
mod shapes;
mod small_world;
mod stats;
mod tables;
mod threads;
mod together;
mod unread;
mod unreadable_pages;
mod versions;
mod wal;
mod wal_crashes;
mod wal_damage;
