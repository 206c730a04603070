//! Metrics of a database in Prometheus's text exposition.

use frostline_store::metrics::{Exposition, only};

use crate::{Db, DbError};

impl Db {
    /// Counters and gauges of the database and of the store below it, in Prometheus's text
    /// exposition, version 0.0.4. Of databases that share a store each has the store's figures.
    ///
    /// # Errors
    /// A thread of the store panicked.
    pub fn metrics(&self) -> Result<String, DbError> {
        let stats = self.stats()?;
        let mut text = Exposition::behind(self.store().metrics()?);
        let mut count = |name: &str, help: &str, value: u64| {
            text.counter(name, help, &[only(value as f64)]);
        };
        count("commits", "Commits that wrote something", stats.commits);
        count("conflicts", "Transactions that lost against another", stats.conflicts);
        count("pages_read", "Pages read as they were not in memory", stats.pages_read);
        count("pages_evicted", "Pages written as their memory was needed", stats.pages_evicted);
        count(
            "pages_rewritten",
            "Pages written as cleaning would have copied them",
            stats.pages_rewritten,
        );
        count(
            "pages_checkpointed",
            "Pages written so that the log could be cut",
            stats.pages_checkpointed,
        );
        count("database_checkpoints", "Checkpoints of the database", stats.checkpoints);
        count("log_bytes", "Bytes of log records", stats.log.bytes);
        count("log_zones_lost", "Zones of the log that could not be reset", stats.log.zones_lost);
        count(
            "ghosts_left",
            "Deleted records that stay in pages that could not be read",
            stats.ghosts_left,
        );
        let versions = stats.versions;
        count(
            "snapshots_ended",
            "Snapshots that were ended, as too many bytes of versions were kept for them",
            versions.snapshots_ended,
        );
        let mut gauge = |name: &str, help: &str, value: u64| {
            text.gauge(name, help, &[only(value as f64)]);
        };
        gauge("versions", "Versions kept for snapshots", versions.versions);
        gauge("version_bytes", "Bytes of the versions kept for snapshots", versions.bytes);
        gauge(
            "most_version_bytes",
            "Bytes of versions above which snapshots end",
            versions.most_bytes,
        );
        gauge("pages", "Pages in use", stats.pages.into());
        gauge("log_used_bytes", "Bytes of the log in use", stats.log_used.0);
        Ok(text.into_text())
    }
}
