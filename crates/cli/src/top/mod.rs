//! `frostline top`: the zones of a store as a map that moves, and the figures of its work.

mod live;
mod source;

use std::io::{IsTerminal, stdout};
use std::time::{Duration, Instant};

use frostline_top::{DRAWS, History, KeyCommand, Screen, text, wish};

use self::source::ViewSource;
use crate::args::TopArgs;
use crate::cause::FULL;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::json;

pub(crate) use self::live::Live;

const COMMAND: &str = "top";

/// Columns of a picture that is printed.
const WIDTH: u16 = 100;

/// Draws a store until the user ends it; once if it is not on a terminal.
pub(crate) fn run(args: &TopArgs) -> Result<String, Failure> {
    let source = ViewSource::of(&args.target)?;
    let first = source.view()?;
    if args.json {
        return json(COMMAND, &first);
    }
    has_pictures(COMMAND)?;
    let mut history = History::default();
    history.push(first);
    if args.once || !stdout().is_terminal() {
        // A second look tells what is done now.
        std::thread::sleep(interval(args));
        if let Some(Ok(view)) = source.next() {
            history.push(view);
        }
        return text(&history, &args.target, WIDTH).map_err(terminal_failure);
    }
    let watched = Interrupt::watch().and_then(|interrupt| show(args, &source, history, &interrupt));
    watched.map(|()| String::new()).map_err(terminal_failure)
}

fn terminal_failure(error: std::io::Error) -> Failure {
    Failure::job(COMMAND, &error.to_string())
}

/// Fails in a build that draws nothing.
fn has_pictures(command: &str) -> Result<(), Failure> {
    match DRAWS {
        true => Ok(()),
        false => Err(Failure::usage(command, "this program was built without pictures").hint(FULL)),
    }
}

fn interval(args: &TopArgs) -> Duration {
    Duration::from_secs_f64(args.interval)
}

/// Draws views as they come. A store that does not answer any more stays as it was seen last.
fn show(
    args: &TopArgs,
    source: &ViewSource,
    mut history: History,
    interrupt: &Interrupt,
) -> std::io::Result<()> {
    let interval = interval(args);
    let title = format!("frostline top {}", args.target);
    let mut screen = Screen::of_output()?;
    let mut note = source.note().to_string();
    while !interrupt.has_come() {
        let drawn = Instant::now();
        screen.draw(&history, &title, &format!("{note}q: end"))?;
        if wish(interval.saturating_sub(drawn.elapsed()))? == KeyCommand::End {
            break;
        }
        match source.next() {
            None => {}
            Some(Ok(view)) => {
                history.push(view);
                note.clear();
            }
            Some(Err(why)) => note = format!("no answer: {why}  "),
        }
    }
    Ok(())
}
