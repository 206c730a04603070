//! Schemes of other crates.

use std::fmt;

use crate::any_scheme::AnyScheme;
use crate::build::{Info, Setup};
use crate::entry::{Entry, entry};
use crate::erased::{AnyState, INNER_WORDS};
use crate::params::{BuildError, Params};
use crate::scheme::Scheme;
use crate::wants::Foresight;

/// A scheme of another crate, for a [`Registry`](crate::registry::Registry).
///
/// The log is compiled once for each scheme of this crate, and once for all other schemes together:
/// their calls are indirect, and each page has room for the largest state.
#[derive(Clone, Copy)]
pub struct ExternalScheme {
    pub(crate) entry: Entry,
    pub(crate) build: &'static MakeScheme,
}

/// Builds a scheme whose type is not known.
pub type MakeScheme =
    dyn Fn(&Setup<'_>, &mut Params) -> Result<AnyScheme<INNER_WORDS>, BuildError> + Sync + 'static;

impl ExternalScheme {
    /// The most bytes of state that an outside scheme may keep of a page.
    pub const MOST_PAGE_BYTES: usize = size_of::<AnyState<INNER_WORDS>>();

    /// The scheme of this type. Does not compile if its state of a page is larger than
    /// [`MOST_PAGE_BYTES`](Self::MOST_PAGE_BYTES).
    pub const fn of<S: Scheme>() -> Self {
        const { assert!(size_of::<S::Page>() <= Self::MOST_PAGE_BYTES) };
        ExternalScheme { entry: entry::<S>(), build: &build::<S> }
    }

    /// A scheme that is known only when the program runs, for example one in another language. It
    /// has neither foresight nor hotness records nor reads, and no part in the choice of victims.
    pub const fn made(info: Info, build: &'static MakeScheme) -> Self {
        let entry = Entry {
            info,
            page_bytes: Self::MOST_PAGE_BYTES,
            foresight: Foresight::None,
            wants_hotness: false,
            wants_reads: false,
            victim: "cost-benefit",
            own_victim: None,
            orders_cleaning: false,
            most_memory: crate::LARGEST_MEMORY,
        };
        ExternalScheme { entry, build }
    }
}

impl fmt::Debug for ExternalScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalScheme").field("entry", &self.entry).finish_non_exhaustive()
    }
}

fn build<S: Scheme>(
    setup: &Setup<'_>,
    params: &mut Params,
) -> Result<AnyScheme<INNER_WORDS>, BuildError> {
    let scheme = S::build(setup, params)?;
    AnyScheme::of(scheme).ok_or_else(|| BuildError::LargeState {
        name: S::INFO.name.to_string(),
        bytes: size_of::<S::Page>(),
        most: ExternalScheme::MOST_PAGE_BYTES,
    })
}
