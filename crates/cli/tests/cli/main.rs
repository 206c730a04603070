//! The command as its users run it. One binary: each of its own would cost the time to link all
//! that it uses.

mod bench;
mod bench_device;
mod database;
mod db;
mod docs;
mod documented;
mod errors;
mod generate;
mod help;
mod learn;
mod output;
mod report;
mod reproduce;
mod results;
mod run;
mod serve;
mod sim;
mod store;
mod tables;
mod trace;
mod verbose;
