//! `--live`: a bench draws the zones of its store on the terminal while it works.

use std::io::IsTerminal;
use std::io::{self, Stderr, stderr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use frostline_benches::{Event, Monitor};
use frostline_top::{History, KeyCommand, Screen, wish};
use signal_hook::consts::SIGINT;
use signal_hook::low_level;

use super::has_pictures;
use crate::failure::{Failure, say};
use crate::interrupt::Interrupt;
use crate::screen::{line, watched_at};

/// The interval at which the store is drawn.
const INTERVAL: Duration = Duration::from_millis(250);

/// Draws a bench on standard error, and stops it when a signal or the user asks for that. What it
/// has to tell beyond the picture is printed once the picture is gone.
pub(crate) struct Live<'a> {
    command: &'static str,
    interrupt: &'a Interrupt,
    drawn: Mutex<Drawn>,
}

struct Drawn {
    screen: Option<Screen<Stderr>>,
    history: History,
    /// The part of the bench that runs, and how far it is.
    note: String,
    /// Lines that are printed at the end.
    told: Vec<String>,
}

impl<'a> Live<'a> {
    /// Takes the terminal of standard error.
    pub(crate) fn new(command: &'static str, interrupt: &'a Interrupt) -> Result<Self, Failure> {
        has_pictures(command)?;
        if !stderr().is_terminal() {
            return Err(Failure::usage(command, "--live: standard error is no terminal")
                .hint("--metrics 127.0.0.1:9464 shows the zones in a browser"));
        }
        let screen = Screen::of_errors()
            .map_err(|error| Failure::job(command, &format!("the terminal: {error}")))?;
        let (history, note) = (History::default(), "begins".to_string());
        let drawn = Drawn { screen: Some(screen), history, note, told: Vec::new() };
        Ok(Live { command, interrupt, drawn: Mutex::new(drawn) })
    }

    fn drawn(&self) -> MutexGuard<'_, Drawn> {
        self.drawn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draw(&self, drawn: &mut Drawn) -> io::Result<()> {
        let title = format!("frostline {}", self.command);
        let note = format!("{}  q: end", drawn.note);
        if let Some(screen) = &mut drawn.screen {
            screen.draw(&drawn.history, &title, &note)?;
            if wish(Duration::ZERO)? == KeyCommand::End {
                // As Ctrl-C would have done without the picture.
                low_level::raise(SIGINT)?;
            }
        }
        Ok(())
    }
}

impl Monitor for Live<'_> {
    fn on(&self, event: Event<'_>) {
        let mut drawn = self.drawn();
        match event {
            Event::Step(part) => drawn.note = part.to_string(),
            Event::Progress { what, done, of } => {
                drawn.note = format!("{what} {:.0} %", done as f64 / of.max(1) as f64 * 100.0);
            }
            Event::Second(second) => drawn.note = line(second),
            Event::Counted => drawn.note = "done, checking".to_string(),
            Event::Recorded { path, writes } => {
                drawn.told.push(format!("{}: {writes} page writes", path.display()));
            }
            Event::Metrics(address) => {
                drawn.told.push(format!("{}: {}", self.command, watched_at(address)));
            }
            Event::View(view) => {
                drawn.history.push(view.clone());
                if let Err(error) = self.draw(&mut drawn) {
                    drawn.screen = None;
                    drawn.told.push(format!("{}: the terminal: {error}", self.command));
                }
            }
            _ => {}
        }
    }

    fn views_every(&self) -> Option<Duration> {
        Some(INTERVAL)
    }

    fn is_stopped(&self) -> bool {
        self.interrupt.has_come()
    }
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        let mut drawn = self.drawn();
        drawn.screen = None;
        drawn.told.iter().for_each(|line| say(line, None));
    }
}
