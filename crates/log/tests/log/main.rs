//! The log against a naive reference model and against its promised invariants.

mod cases;
mod clock;
mod invariants;
mod limits;
mod model;
mod reference;
mod steps;
mod stub;
