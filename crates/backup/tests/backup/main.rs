//! Backups to a directory. Those to a bucket are a test of their own.

mod database;
mod device;
