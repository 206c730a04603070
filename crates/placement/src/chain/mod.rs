//! Chains of groups, for schemes that give their groups a size: the queues and the pool that zones lie
//! in, how long versions live, what is measured of them, and the write amplification that a chain costs.

pub mod groups;
pub mod measured;
pub mod model;
pub mod pool;
pub mod sizes;
pub mod survival;
