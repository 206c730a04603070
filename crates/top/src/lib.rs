//! A page store at work, drawn on a terminal: its zones as a map that moves, and the figures of its
//! work.
//!
//! [`History`] takes views of the store as they come. [`Screen`] draws it on all of the terminal,
//! [`text`] makes a picture to be printed. In a build without the feature `draw` both refuse
//! ([`DRAWS`] says so beforehand).

#[cfg(feature = "draw")]
mod figures;
mod history;
#[cfg(feature = "draw")]
mod map;
#[cfg(feature = "draw")]
mod picture;
#[cfg(feature = "draw")]
mod terminal;
#[cfg(not(feature = "draw"))]
#[path = "without_drawing.rs"]
mod terminal;
#[cfg(all(test, feature = "draw"))]
mod tests;

pub use history::{History, Lately};
pub use terminal::{Screen, text, wish};

/// True if this build draws.
pub const DRAWS: bool = cfg!(feature = "draw");

/// A wish of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyCommand {
    /// None, up to now.
    GoOn,
    /// To end: q, Esc or Ctrl-C.
    End,
}
