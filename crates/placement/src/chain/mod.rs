//! Chains of groups, for schemes that give each group a size: the queues and the pool that hold the
//! zones, the lifespans of versions, measurements, and the write amplification that a chain costs.

pub(crate) mod groups;
pub(crate) mod measured;
pub(crate) mod model;
pub(crate) mod pool;
pub(crate) mod sizes;
pub(crate) mod survival;
