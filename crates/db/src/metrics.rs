//! Metrics of databases in Prometheus's text exposition.

use frostline_store::Store;
use frostline_store::metrics::{Exposition, only};

use crate::{Databases, Db, DbError, Stats};

impl Db {
    /// Counters and gauges of the database and of the store below it, in Prometheus's text
    /// exposition, version 0.0.4. Of databases that share a store each has the store's figures.
    ///
    /// # Errors
    /// A thread of the store panicked.
    pub fn metrics(&self) -> Result<String, DbError> {
        exposition(self.store(), &[self.stats()?])
    }
}

impl Databases {
    /// Counters and gauges of the databases, in sum, and of the store that they share, in
    /// Prometheus's text exposition, version 0.0.4.
    ///
    /// # Errors
    /// A thread of the store panicked.
    pub fn metrics(&self) -> Result<String, DbError> {
        let stats = self.all.iter().map(Db::stats).collect::<Result<Vec<_>, _>>()?;
        exposition(&self.store, &stats)
    }
}

/// The store's metrics, and those of databases on it in sum.
fn exposition(store: &Store, databases: &[Stats]) -> Result<String, DbError> {
    let mut text = Exposition::behind(store.metrics()?);
    let mut count = |name: &str, help: &str, value: fn(&Stats) -> u64| {
        let sum: u64 = databases.iter().map(value).sum();
        text.counter(name, help, &[only(sum as f64)]);
    };
    count("commits", "Commits that wrote something", |s| s.commits);
    count("updated_bytes", "Bytes of the keys and values that commits wrote", |s| s.updated_bytes);
    count("conflicts", "Transactions that lost against another", |s| s.conflicts);
    count("page_accesses", "Pages that were looked for, about", |s| s.page_accesses);
    count("pages_read", "Pages read as they were not in memory", |s| s.pages_read);
    count("records_without_page", "Records that were read or changed without their page", |s| {
        s.records_without_page
    });
    count("records_unread", "Records that were written without a read of their page", |s| {
        s.records_unread
    });
    count("pages_evicted", "Pages written as their memory was needed", |s| s.pages_evicted);
    count("pages_kept", "Pages that left memory, with their changes kept there", |s| s.pages_kept);
    count("pages_rewritten", "Pages written as cleaning would have copied them", |s| {
        s.pages_rewritten
    });
    count("pages_checkpointed", "Pages written so that the log could be cut", |s| {
        s.pages_checkpointed
    });
    count("database_checkpoints", "Checkpoints of the database", |s| s.checkpoints);
    count("log_bytes", "Bytes of log records", |s| s.log.bytes);
    count("log_pages_saved", "Pages of the log saved by compression", |s| s.log.pages_saved);
    count("log_zones_lost", "Zones of the log that could not be reset", |s| s.log.zones_lost);
    count("ghosts_left", "Deleted records that stay in pages that could not be read", |s| {
        s.ghosts_left
    });
    let ended = "Snapshots that were ended, as too many bytes of versions were kept for them";
    count("snapshots_ended", ended, |s| s.versions.snapshots_ended);
    let mut gauge = |name: &str, help: &str, value: fn(&Stats) -> u64| {
        let sum: u64 = databases.iter().map(value).sum();
        text.gauge(name, help, &[only(sum as f64)]);
    };
    gauge("versions", "Versions kept for snapshots", |s| s.versions.versions);
    gauge("version_bytes", "Bytes of the versions kept for snapshots", |s| s.versions.bytes);
    gauge("most_version_bytes", "Bytes of versions above which snapshots end", |s| {
        s.versions.most_bytes
    });
    gauge("pages", "Pages in use", |s| s.pages.into());
    gauge("log_used_bytes", "Bytes of the log in use", |s| s.log_used.0);
    Ok(text.into_text())
}
