//! The stores that are open in this process, each once, shared by all connections.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::Error;
use crate::make::Shape;
use crate::volume::{StoreFiles, hold};

/// By directory.
static OPEN: Mutex<BTreeMap<PathBuf, Arc<StoreFiles>>> = Mutex::new(BTreeMap::new());

/// The store in a directory; it is opened if it is not, with so much space over its data if that is
/// given, and made if it is absent and a shape is given.
pub(crate) fn open(
    path: &Path,
    make: Option<&Shape>,
    space: Option<f64>,
) -> Result<Arc<StoreFiles>, Error> {
    let mut open = hold(&OPEN)?;
    if let Some(volume) = open.get(path) {
        return Ok(volume.clone());
    }
    let volume = Arc::new(StoreFiles::open(path, make, space)?);
    open.insert(path.to_owned(), volume.clone());
    Ok(volume)
}

/// The store in a directory, if it is open.
pub(crate) fn find(path: &Path) -> Result<Option<Arc<StoreFiles>>, Error> {
    Ok(hold(&OPEN)?.get(path).cloned())
}

/// A file has done with its store. After the last one the store is closed.
pub(crate) fn close(path: &Path, volume: Arc<StoreFiles>) -> Result<(), Error> {
    let mut open = hold(&OPEN)?;
    drop(volume);
    // Nobody else gets one while the list is held.
    if open.get(path).is_some_and(|volume| Arc::strong_count(volume) == 1)
        && let Some(volume) = open.remove(path).and_then(Arc::into_inner)
    {
        return volume.close();
    }
    Ok(())
}
