//! Options for making and opening a database.

use frostline_db as engine;
use frostline_placement::registry::Registry;
use frostline_store::Format;

/// Options for making and opening a database.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("orders.frost");
/// let db = frostline::Options::new().memory(256 << 20).bound(64 << 30).open(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) memory: usize,
    pub(crate) bound: u64,
    pub(crate) scheme: String,
    pub(crate) victim: String,
    pub(crate) schemes: Registry,
    pub(crate) create: bool,
    pub(crate) accept_loss: bool,
}

impl Default for Options {
    fn default() -> Self {
        let Format { scheme, victim, .. } = engine::Create::default().store;
        Options {
            memory: 64 << 20,
            bound: 16 << 30,
            scheme,
            victim,
            schemes: Registry::published(),
            create: true,
            accept_loss: false,
        }
    }
}

impl Options {
    /// The options of [`Db::open`](crate::Db::open).
    pub fn new() -> Self {
        Options::default()
    }

    /// Bytes of memory for pages: 64 MiB unless set.
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// Bytes that a database that is made may take on its device, garbage and log included: 16 GiB
    /// unless set. Files are sparse, so that it takes as much as it holds.
    pub fn bound(mut self, bytes: u64) -> Self {
        self.bound = bytes;
        self
    }

    /// The scheme that places the pages of a database that is made, as `frostline schemes` lists
    /// them: `frostline` unless set.
    pub fn scheme(mut self, scheme: impl Into<String>) -> Self {
        self.scheme = scheme.into();
        self
    }

    /// The schemes that names stand for, those of the program among them: the published ones unless
    /// set. A database that was made with a scheme of the program's is opened with it as well.
    pub fn schemes(mut self, schemes: Registry) -> Self {
        self.schemes = schemes;
        self
    }

    /// The victim policy of a database that is made: `cost-benefit` unless set.
    pub fn victim(mut self, victim: impl Into<String>) -> Self {
        self.victim = victim.into();
        self
    }

    /// Makes a database that is absent: true unless set.
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Opens the database although synced pages are missing, because a part of it can't be read or is
    /// cut: they are then lost for good. False unless set: such a database is not opened, and nothing
    /// of it changes.
    pub fn accept_loss(mut self, accept: bool) -> Self {
        self.accept_loss = accept;
        self
    }
}
