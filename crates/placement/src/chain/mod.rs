//! Chains of groups, for schemes that give each group a size: the queues and the pool that hold the
//! zones, the lifespans of versions, measurements, and the write amplification that a chain costs.

pub mod groups;
pub mod measured;
pub mod model;
pub mod pool;
pub mod sizes;
pub mod survival;
