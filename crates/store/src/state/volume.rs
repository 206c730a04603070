//! The log behind the store: its zones are the very ones that the simulator has, over leaves of a
//! map.

use frostline_log::Steps;
use frostline_placement::{AnyScheme, Setup, victims};

use crate::StoreError;
use crate::format::layout::Layout;
use crate::state::map_cache::MapCache;

/// A volume of any scheme, of which only the name is known here: a call through a pointer is
/// nothing beside the writing of a page.
pub(crate) type Volume = Steps<AnyScheme, MapCache>;

/// The volume of a store that holds nothing.
pub(crate) fn build(layout: &Layout) -> Result<Volume, StoreError> {
    let (options, scheme, seed) = (layout.options(), &layout.scheme, layout.fixed.seed);
    let policy = victims::build(&layout.victim, seed)?;
    let setup = Setup {
        room: options.room(),
        seed,
        has_hotness: layout.has_hotness(),
        ..Setup::new(options.zone_pages, options.space)
    };
    // No model from a file: a store trains its own.
    #[cfg(feature = "models")]
    let recogniser = |by: &str, setup: &Setup<'_>| frostline_learn::recogniser(by, setup, None);
    #[cfg(feature = "models")]
    let setup = Setup {
        recogniser: Some(&recogniser),
        classifier: Some(&frostline_learn::classifier),
        forecaster: Some(&frostline_learn::forecaster),
        ..setup
    };
    let map = MapCache::new(layout.fixed.logical_pages, layout.sizes, layout.leaf);
    Ok(Steps::over(options, scheme.build_any(&setup)?, policy, map)?)
}
