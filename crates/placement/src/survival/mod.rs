//! Parts of the scheme [`survival`](crate::schemes::survival), of which the victim policy of that
//! name uses the scales.

pub mod ages;
pub mod clusters;
pub mod contexts;
pub mod hazards;
pub mod memory;
pub mod streams;
pub mod tally;
