//! The simulator, as its users see it.

mod golden;
mod guard;
mod midas_fast24;
mod models;
mod records;
mod samples;
mod sepbit_fast22;
mod stopping;
mod trims;
mod work;
