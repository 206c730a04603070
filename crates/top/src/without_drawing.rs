//! Replaces what is drawn in a build without the feature `draw`: every call refuses.

use std::convert::Infallible;
use std::io::{self, Stderr, Stdout};
use std::marker::PhantomData;
use std::time::Duration;

use crate::{History, KeyCommand};

/// The whole terminal; never exists.
pub struct Screen<W> {
    never: Infallible,
    out: PhantomData<W>,
}

fn refused<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this program was built without pictures"))
}

impl Screen<Stdout> {
    /// Takes no terminal.
    ///
    /// # Errors
    /// Always.
    pub fn of_output() -> io::Result<Self> {
        refused()
    }
}

impl Screen<Stderr> {
    /// Takes no terminal.
    ///
    /// # Errors
    /// Always.
    pub fn of_errors() -> io::Result<Self> {
        refused()
    }
}

impl<W> Screen<W> {
    /// Draws a picture; is never called.
    ///
    /// # Errors
    /// None.
    pub fn draw(&mut self, _history: &History, _title: &str, _note: &str) -> io::Result<()> {
        match self.never {}
    }
}

/// Waits for no key.
///
/// # Errors
/// Always.
pub fn wish(_patience: Duration) -> io::Result<KeyCommand> {
    refused()
}

/// Makes no picture.
///
/// # Errors
/// Always.
pub fn text(_history: &History, _title: &str, _width: u16) -> io::Result<String> {
    refused()
}
