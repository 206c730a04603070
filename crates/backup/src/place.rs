//! Where the objects of a backup are kept: a directory, or a bucket.

use std::collections::HashSet;
use std::io::{self, Read};

/// The name of the list of zones and parts.
pub const LIST: &str = "backup.json";

/// What the names of parts begin with.
pub const PARTS: &str = "parts/";

/// Objects by name. An object that has its name is whole.
pub trait Place: Send + Sync {
    /// The object's name with that of the place, for messages.
    fn name_of(&self, object: &str) -> String;

    /// Makes what objects need before one can be put.
    fn prepare(&self) -> io::Result<()>;

    /// Begins an object, or its replacement.
    fn begin(&self, object: &str) -> io::Result<Box<dyn Unfinished>>;

    /// Reads an object. That it is absent is [`io::ErrorKind::NotFound`].
    fn open(&self, object: &str) -> io::Result<Box<dyn Read>>;

    /// The names of all parts, and of what is left of some that were not finished.
    fn parts(&self) -> io::Result<HashSet<String>>;

    /// Removes objects.
    fn remove(&self, objects: &[&str]) -> io::Result<()>;

    /// Makes durable the names that objects got.
    fn settle(&self) -> io::Result<()>;

    /// Objects that are best written at a time.
    fn at_a_time(&self) -> usize;
}

/// An object that gets its name, and is durable, when it is finished. If it is dropped before, it
/// never was.
pub trait Unfinished {
    /// Appends bytes.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Makes the content durable, and gives it its name.
    fn finish(self: Box<Self>) -> io::Result<()>;
}
