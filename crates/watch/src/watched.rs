//! The things that can be watched.

use frostline_db::{Databases, Db, DbError};
use frostline_store::{Store, StoreView};

/// A thing that can be watched.
pub trait Watched: Send + Sync {
    /// Its counters and gauges in Prometheus's text exposition, version 0.0.4.
    ///
    /// # Errors
    /// A thread of it panicked.
    fn metrics(&self) -> Result<String, DbError>;

    /// Its store at this moment.
    ///
    /// # Errors
    /// The device can't report its zones; a thread of the store panicked.
    fn view(&self) -> Result<StoreView, DbError>;
}

impl Watched for Store {
    fn metrics(&self) -> Result<String, DbError> {
        Ok(Store::metrics(self)?)
    }

    fn view(&self) -> Result<StoreView, DbError> {
        Ok(Store::view(self)?)
    }
}

impl Watched for Db {
    fn metrics(&self) -> Result<String, DbError> {
        Db::metrics(self)
    }

    fn view(&self) -> Result<StoreView, DbError> {
        Ok(self.store().view()?)
    }
}

impl Watched for Databases {
    fn metrics(&self) -> Result<String, DbError> {
        Databases::metrics(self)
    }

    fn view(&self) -> Result<StoreView, DbError> {
        Ok(self.store.view()?)
    }
}
