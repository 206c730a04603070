//! A progress bar on standard error, if that is a terminal.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
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
pub fn follow<T>(bar: &ProgressBar, done: impl Fn() -> u64 + Sync, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                bar.set_position(done());
                std::thread::park_timeout(TICK);
            }
        });
        let result = work();
        over.store(true, Ordering::Relaxed);
        watcher.thread().unpark();
        result
    })
}
