//! The trace-replay simulator that the authors of SepBIT published with their FAST'22 paper. Its
//! log is imitated with all accidents, so that the counts agree to the last page. It differs from
//! the papers' reading as follows:
//!
//! * when the last zone of a class is sealed, another is opened at once; this holds for all
//!   classes, and for
//!   six at least; a zone counts as opened then;
//! * the pages of a request count as written when the request ends; only then is the log cleaned,
//!   of one
//!   victim;
//! * only garbage in sealed zones counts, and the garbage proportion of a victim is at least the
//!   trigger's;
//! * among equal victims, the first in the order of its hash table is taken;
//! * cost-benefit takes the square root of the age; ages, and the times of some schemes, are the
//!   trace's
//!   times;
//! * some schemes have other rules ([`READINGS`]).
//!
//! It is checked against the authors' results (`tests/sim/sepbit_fast22.rs`). The log of devices
//! has none of these rules.

mod log;
mod policy;
mod zones;

pub use log::{Fast22Log, Fast22Options};
pub use policy::Policy;

/// The rules of schemes that differ in this simulator.
pub const READINGS: &[(&str, &str)] = &[
    (
        "sepbit",
        "a user write is short-lived only if it is younger than the queue of recent writes is long, too; a zone's lifespan counts from its predecessor's seal",
    ),
    ("uw", "as for sepbit"),
    (
        "gw",
        "six classes by default, as the authors' script runs it; a zone's lifespan counts from its predecessor's seal",
    ),
    (
        "sfs",
        "time is the trace's, in microseconds; a sealed zone of garbage only makes the first centre a NaN until the next victim",
    ),
    ("multilog", "the same rule; its random numbers are unseeded there, so it is met on average"),
    (
        "eti",
        "a merged extent keeps the count of the first; a split may exceed 1,024 extents by one; the last extent reaches 1,024 pages too far",
    ),
    ("multiqueue", "the class is floor(ln(count)) after the touch, so idle chunks do not sink"),
    (
        "fadac",
        "the average is rounded after each term, and so sinks below 1; garbage in open zones counts as valid",
    ),
    (
        "warcip",
        "time is the trace's, in microseconds; the first interval after a cluster's zone is sealed replaces its centre",
    ),
    ("fk", "class floor(t / s), where the paper has ceil(t / s) - 1"),
];
