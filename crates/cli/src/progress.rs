//! A progress bar on standard error, if that is a terminal.

use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often the bar is drawn while work goes on elsewhere.
const TICK: Duration = Duration::from_millis(100);

/// A bar of `total`, hidden if `quiet` or no terminal is there to see it.
pub fn bar(what: &'static str, unit: &str, total: u64, quiet: bool) -> ProgressBar {
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

/// Does `work` while the bar follows `done`.
pub fn follow<T>(bar: &ProgressBar, done: impl Fn() -> u64 + Send, work: impl FnOnce() -> T) -> T {
    let (working, over) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while over.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                bar.set_position(done());
            }
        });
        // Dropped when the work is over, also by a panic, or the watcher would never end.
        let _working = working;
        work()
    })
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn work_that_panics_is_not_waited_for() {
        let followed = catch_unwind(|| follow(&ProgressBar::hidden(), || 0, || panic!("work")));
        assert!(followed.is_err());
    }
}
