//! The log against a naive reference model and against its promised invariants.

// A log of every scheme is most of what there is to compile here, and the simulator has it
// compiled.
use frostline_sim as _;

mod cases;
mod clock;
mod driver;
mod invariants;
mod limits;
mod model;
mod reference;
mod steps;
mod stub;
