//! Parts of the scheme [`survival`](crate::schemes::survival). The victim policy `survival` uses
//! their scales of ages.

pub mod ages;
pub mod clusters;
pub mod companions;
pub mod contexts;
pub mod hazards;
pub mod loans;
pub mod memory;
pub mod streams;
pub mod tally;
