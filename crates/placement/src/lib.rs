//! Placement schemes, which give each page a class, and victim policies, which choose the zone that
//! is cleaned next.
//!
//! This crate holds the rules and nothing else: no I/O, no clock, no allocation per page write.
//! The log (`frostline-log`) calls them; the simulator and the page store drive the log. So the
//! rule that was simulated is the rule that runs on a device.
//!
//! * [`Scheme`] gives every user write and every relocation a class. One scheme, one file, under
//!   [`schemes`]; [`registry`] names them all.
//! * [`VictimPolicy`] chooses the zone that is cleaned next, from a [`ZoneView`]. One policy,
//!   one file, under [`victims`].
//! * [`registry::Registry`] takes schemes of other crates, for the simulator and for stores.
//!   [`Stamp`], [`Clock`], [`ZoneLifespan`], [`ShortLived`] and [`LogClass`] are building
//!   blocks of the published schemes.
//! * [`Recogniser`] tells frozen pages from others, by the engine's record of each page
//!   ([`Hotness`]) or by the page's past as a block layer sees it ([`Past`]).
//!
//! A scheme by name, asked about a page that is written twice:
//!
//! ```
//! use frostline_placement::{SchemeSpec, Visitor};
//! use frostline_placement::{Scheme, Setup, UserWrite};
//!
//! /// The classes of both writes.
//! struct Twice;
//!
//! impl Visitor for Twice {
//!     type Output = [usize; 2];
//!
//!     fn visit<S: Scheme>(self, mut scheme: S) -> [usize; 2] {
//!         let mut state = bytemuck::Zeroable::zeroed();
//!         let first = scheme.place_user(&UserWrite::first(7, 1), &mut state);
//!         let again = UserWrite { first: false, class: first, ..UserWrite::first(7, 5) };
//!         [first, scheme.place_user(&again, &mut state)]
//!     }
//! }
//!
//! let sepbit = SchemeSpec::parse("sepbit:classes=8")?;
//! // Class 1 takes new pages and old ones, class 0 pages whose last copy was short-lived.
//! assert_eq!(sepbit.build(&Setup::new(1024, 100_000), Twice)?, [1, 0]);
//! # Ok::<(), frostline_placement::BuildError>(())
//! ```

mod any_scheme;
mod build;
mod chain;
mod choice;
mod classifier;
mod clock;
mod dogi;
mod entry;
mod erased;
mod events;
mod external_scheme;
mod fast22;
mod forecaster;
mod future;
pub mod hotness;
pub mod isolation;
mod lifespan_clusters;
mod log_class;
mod meta_cache;
mod methods;
mod midas;
mod page;
pub mod params;
mod past;
pub mod prefetch;
mod recogniser;
pub mod registry;
pub mod scheme;
pub mod schemes;
mod semantics;
mod short_lived;
mod spec;
pub mod survival;
mod verdicts;
pub mod victims;
mod visitor;
mod wants;
mod watch;
mod zone_lifespan;
mod zone_scheme;
mod zones;

pub use any_scheme::AnyScheme;
pub use build::{Info, MakeInner, MakeRecogniser, Room, Setup};
pub use choice::Choice;
pub use classifier::{Classified, Classifier, ClassifierSetup, LARGEST_CLASSIFIER, MakeClassifier};
pub use clock::Clock;
pub use erased::{AnyState, Erased, INNER_WORDS, MOST_WORDS};
pub use events::{
    FOLLOWING_MOST, Pages, RecordKind, Relocation, Request, UserWrite, Victim, ZoneEvent,
};
pub use external_scheme::{ExternalScheme, MakeScheme};
pub use fast22::Fast22;
pub use forecaster::{
    FORECAST_CLASSES, ForecastInputs, Forecaster, LARGEST_FORECASTER, MakeForecaster,
    TrainingSample,
};
pub use hotness::{Activity, Hotness};
pub use log_class::LogClass;
pub use meta_cache::MetaCache;
pub use page::{NEVER, PageState, Stamp};
pub use params::{BuildError, Param, Params, Value};
pub use past::{Past, Pasts, Requests, log2_1p};
pub use recogniser::{Candidates, Recogniser};
pub use scheme::Scheme;
pub use semantics::Semantics;
pub use short_lived::{MEMORY, ShortLived};
pub use spec::{SchemeSpec, build_inner};
pub use victims::VictimPolicy;
pub use visitor::Visitor;
pub use wants::{Foresight, LARGEST_MEMORY, Victims, Wants};
pub use watch::{Bell, Watch};
pub use zone_lifespan::ZoneLifespan;
pub use zone_scheme::ZoneScheme;
pub use zones::{ShortLiving, ZoneColumns, ZoneView};
