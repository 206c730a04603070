//! The settings of a replay, for its report.

use frostline_placement::Semantics;
use frostline_results::ReplaySetup;

use crate::Settings;

impl From<&Settings> for ReplaySetup {
    /// The setup of these settings, without files.
    fn from(settings: &Settings) -> ReplaySetup {
        let semantics = match settings.semantics {
            Semantics::Published => "published",
            Semantics::SepbitFast22 => "sepbit-fast22",
            Semantics::MidasFast24 => "midas-fast24",
        };
        ReplaySetup {
            semantics: semantics.to_string(),
            seed: settings.seed,
            warmup: settings.warmup,
            window: settings.window,
            lifespans: settings.lifespans,
            no_guess: !settings.guess,
            page_bytes: settings.page_size,
            max_open: settings.max_open,
            preload: None,
            model: None,
        }
    }
}
