//! Events of the libraries on standard error.

use std::env::{self, VarError};

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::time::uptime;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::failure::Failure;

/// The variable that selects events by their module and level: `frostline_store=debug,warn`.
const VARIABLE: &str = "RUST_LOG";

/// Prints events from now on: those that [`VARIABLE`] selects; with `-v` also those of level info
/// and above, with `-vv` debug and above, with `-vvv` all.
pub(crate) fn begin(verbose: u8) -> Result<(), Failure> {
    let level = match verbose {
        0 => LevelFilter::OFF,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let asked = asked()?;
    if level == LevelFilter::OFF && asked.is_none() {
        return Ok(());
    }
    let filter = Targets::new().with_target("frostline", level);
    let filter = filter.with_targets(asked.unwrap_or_default());
    let events = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_timer(uptime());
    tracing_subscriber::registry().with(filter).with(events).init();
    Ok(())
}

/// The events that the variable selects, if it is set.
fn asked() -> Result<Option<Targets>, Failure> {
    let text = match env::var(VARIABLE) {
        Ok(text) if text.is_empty() => return Ok(None),
        Err(VarError::NotPresent) => return Ok(None),
        Ok(text) => text,
        Err(error) => return Err(Failure::usage(VARIABLE, &error.to_string())),
    };
    let asked = text.parse::<Targets>();
    let asked = asked.map_err(|e| Failure::usage(VARIABLE, &format!("{text:?}: {e}")))?;
    Ok(Some(asked))
}
