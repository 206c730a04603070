//! The page store, as its users see it. What needs a process of its own is a test of its own.

mod check;
mod concurrency;
mod crashes;
mod damage;
mod decisions;
mod deltas;
mod emptied;
mod fail_nth;
mod fixtures;
mod full;
mod groups;
mod learned;
mod limit;
mod metrics;
mod notes;
mod rebuild;
mod recorded;
mod rewriting;
mod room;
mod shifts;
mod small_map;
mod small_world;
mod system_errors;
mod versioned;
mod wear;
