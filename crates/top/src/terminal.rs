//! The terminal, while something is drawn on all of it.

use std::io::{self, Stderr, Stdout, Write, stderr, stdout};
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use crate::picture;
use crate::{History, KeyCommand};

/// The whole terminal. It is as it was when this is dropped.
pub struct Screen<W: Write> {
    terminal: Terminal<CrosstermBackend<W>>,
}

impl Screen<Stdout> {
    /// Takes the terminal of standard output.
    ///
    /// # Errors
    /// The terminal refuses.
    pub fn of_output() -> io::Result<Self> {
        Screen::begin(stdout())
    }
}

impl Screen<Stderr> {
    /// Takes the terminal of standard error.
    ///
    /// # Errors
    /// The terminal refuses.
    pub fn of_errors() -> io::Result<Self> {
        Screen::begin(stderr())
    }
}

impl<W: Write> Screen<W> {
    fn begin(mut out: W) -> io::Result<Self> {
        enable_raw_mode()?;
        let begun = execute!(out, EnterAlternateScreen);
        match begun.and_then(|()| Terminal::new(CrosstermBackend::new(out))) {
            Ok(terminal) => Ok(Screen { terminal }),
            Err(error) => {
                disable_raw_mode()?;
                Err(error)
            }
        }
    }

    /// Draws a picture.
    ///
    /// # Errors
    /// The terminal can't be written to.
    pub fn draw(&mut self, history: &History, title: &str, note: &str) -> io::Result<()> {
        let drawn = self.terminal.draw(|frame| {
            picture::draw(history, title, note, frame.area(), frame.buffer_mut());
        });
        drawn.map(drop)
    }
}

impl<W: Write> Drop for Screen<W> {
    fn drop(&mut self) {
        // There is no other place for an error of the terminal.
        let _ = disable_raw_mode();
        let _ = self.terminal.show_cursor();
        let _ = execute!(self.terminal.backend_mut(), LeaveAlternateScreen);
    }
}

/// Waits for a key, for no longer than this.
///
/// # Errors
/// The terminal can't be read.
pub fn wish(patience: Duration) -> io::Result<KeyCommand> {
    if !event::poll(patience)? {
        return Ok(KeyCommand::GoOn);
    }
    let Event::Key(key) = event::read()? else { return Ok(KeyCommand::GoOn) };
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let ends = match key.code {
        KeyCode::Char('q') | KeyCode::Esc => true,
        KeyCode::Char('c') => control,
        _ => false,
    };
    Ok(if ends && key.kind == KeyEventKind::Press { KeyCommand::End } else { KeyCommand::GoOn })
}

/// The picture as text, of this width and as high as it takes.
///
/// # Errors
/// None in a build that draws.
pub fn text(history: &History, title: &str, width: u16) -> io::Result<String> {
    Ok(picture::text(history, title, width))
}
