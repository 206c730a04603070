//! What is served of a store or database at work.

mod dashboard;
mod server;
