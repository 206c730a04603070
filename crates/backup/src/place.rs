//! Where the objects of a backup are kept: a directory, or a bucket.

use std::io::{self, Read};
use std::ops::ControlFlow;

/// The name of the list of zones and parts.
pub(crate) const LIST: &str = "backup.json";

/// What the names of parts begin with.
pub(crate) const PARTS: &str = "parts/";

/// The end of the name of an object that is not whole yet.
pub(crate) const UNFINISHED: &str = ".new";

/// Objects by name. An object that has its name is whole.
pub(crate) trait Place: Send + Sync {
    /// The object's name with that of the place, for messages.
    fn name_of(&self, object: &str) -> String;

    /// Makes what objects need before one can be put.
    fn prepare(&self) -> io::Result<()>;

    /// Begins an object, or its replacement.
    fn begin(&self, object: &str) -> io::Result<Box<dyn Unfinished>>;

    /// Reads an object. That it is absent is [`io::ErrorKind::NotFound`].
    fn open(&self, object: &str) -> io::Result<Box<dyn Read>>;

    /// Tells the names of all that is there, also of what no backup made, and what is left of
    /// objects that were not finished. None if the place does not exist yet.
    fn names(&self, each: &mut dyn FnMut(Name<'_>) -> ControlFlow<()>) -> io::Result<()>;

    /// Removes objects, and tells each that is gone. The first error is returned once all were
    /// tried.
    fn remove(&self, objects: &[&str], gone: &mut dyn FnMut(&str)) -> io::Result<()>;

    /// Makes durable the names that objects got.
    fn sync_names(&self) -> io::Result<()>;

    /// Objects that are best written at a time.
    fn at_a_time(&self) -> usize;
}

/// The name of something in a place.
#[derive(Clone, Copy)]
pub(crate) struct Name<'a> {
    pub name: &'a str,
    /// False for directories, links, and the like.
    pub is_object: bool,
}

/// An object that gets its name, and is durable, when it is finished. If it is dropped before, it
/// never was.
pub(crate) trait Unfinished {
    /// Appends bytes.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Makes the content durable, and gives it its name.
    fn finish(self: Box<Self>) -> io::Result<()>;
}
