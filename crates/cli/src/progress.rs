//! A progress bar on standard error, if that is a terminal.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A progress bar up to `total`, hidden if `quiet` or if standard error is not a terminal.
pub(crate) fn bar(what: &'static str, unit: &str, total: u64, quiet: bool) -> ProgressBar {
    let hidden = quiet || !std::io::stderr().is_terminal();
    let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(total), target);
    let template = match unit {
        "bytes" => "{msg} [{wide_bar}] {bytes}/{total_bytes} {eta}",
        _ => "{msg} [{wide_bar}] {percent} % {per_sec} {eta}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(what);
    bar
}
