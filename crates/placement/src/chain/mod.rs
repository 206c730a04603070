//! Chains of groups, for schemes that give their groups a size: the queues and the pool that zones lie
//! in, how long versions live, and the write amplification that a chain costs.

pub mod groups;
pub mod model;
pub mod survival;
