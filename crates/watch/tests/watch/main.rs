//! The pages and figures that a store or a database serves while it works.

mod dashboard;
mod server;
