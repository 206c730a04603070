//! Where a page goes, and which zone is cleaned next.
//!
//! This crate holds the rules and nothing else: no I/O, no clock, no allocation per page write.
//! The log (`frostline-log`) calls them; the simulator and the page store drive the log. So the
//! rule that was simulated is the rule that runs on a device.
//!
//! * [`Scheme`] gives every user write and every relocation a class. One scheme, one file, under
//!   [`schemes`]; [`registry`] names them all.
//! * [`VictimPolicy`] chooses the zone that is cleaned next, from the [`ZoneTable`]. One policy,
//!   one file, under [`victims`].
//! * [`Recogniser`] tells frozen pages from others, by what an engine tells of its pages
//!   ([`Hotness`]) or by what a block layer sees of them ([`Past`]).

mod any_scheme;
mod clock;
mod future;
pub mod hotness;
mod judge;
mod log_class;
mod memory;
pub mod params;
mod past;
mod recogniser;
pub mod registry;
pub mod rng;
pub mod scheme;
pub mod schemes;
mod short_lived;
pub mod victims;
mod zone_lifespan;
pub mod zones;

pub use hotness::{Activity, Hotness};
pub use params::{BuildError, Params};
pub use past::{Past, Requests, log2_1p};
pub use recogniser::{Candidates, Recogniser};
pub use scheme::{
    Foresight, Info, LARGEST_MEMORY, MakeRecogniser, NEVER, PageState, Param, Relocation, Request,
    Scheme, Semantics, Setup, Stamp, UserWrite, ZoneEvent,
};
pub use victims::VictimPolicy;
pub use zones::ZoneTable;
