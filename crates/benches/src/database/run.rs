//! One run: databases are loaded, the workload runs, and the data are checked.

use std::sync::Arc;
use std::time::Duration;

use frostline_db::{Databases, Db, DbError, Direction};
use frostline_store::Cleaning;
use frostline_watch::Server;
use frostline_workload::driver::{self, Until};
use frostline_workload::{Condition, LoadProgress, Loading};
use frostline_zone::{Device, ZoneState};

use super::bench::DatabaseBench;
use super::benchmark::Benchmark;
use super::moment::{Moment, Rates};
use super::recorder::Recorder;
use super::replay::RunOrder;
use super::report::{MeasuredDatabase, Space};
use super::tenants::{Tenant, run_all};
use crate::monitor::{Event, Monitor};
use crate::seconds::Seconds;
use crate::watching::watched;
use crate::{Error, Result};

/// One run on one device.
pub(super) struct Run<'a> {
    /// The options.
    pub(super) bench: &'a DatabaseBench,
    /// The workload.
    pub(super) workload: &'a dyn Benchmark,
    /// Follows the run, and may stop it.
    pub(super) monitor: &'a dyn Monitor,
    /// Answers those who watch it, if there is a server.
    pub(super) server: Option<&'a Server>,
}

impl Run<'_> {
    /// Runs the workload on the databases of a device. `None` if it was stopped before they were
    /// loaded.
    pub(super) fn on(&self, device: &Arc<dyn Device>) -> Result<Option<MeasuredDatabase>> {
        let instances = self.bench.open(device)?;
        let Some(path) = &self.bench.record else {
            return self.watched(device, instances, None);
        };
        let (recorder, writing) = Recorder::begin(path, instances.store.has_deltas())?;
        instances.store.observe(recorder.clone()).map_err(Error::store(self.uri()))?;
        let measured = self.watched(device, instances, Some(&recorder));
        recorder.end(matches!(measured, Ok(Some(_))));
        if let Some(writes) = writing.end()? {
            self.monitor.on(Event::Recorded { path, writes });
        }
        measured
    }

    fn watched(
        &self,
        device: &Arc<dyn Device>,
        instances: Databases,
        recorder: Option<&Recorder>,
    ) -> Result<Option<MeasuredDatabase>> {
        let measured = watched(&instances, self.server, self.monitor, || {
            self.measure(device, &instances, recorder)
        })?;
        if measured.is_some() {
            instances.close().map_err(Error::database(self.uri()))?;
        }
        Ok(measured)
    }

    /// Loads the databases, runs the workload, and counts meanwhile.
    fn measure(
        &self,
        device: &Arc<dyn Device>,
        instances: &Databases,
        recorder: Option<&Recorder>,
    ) -> Result<Option<MeasuredDatabase>> {
        let opened = Moment::now(instances).map_err(Error::database(self.uri()))?;
        let opened = opened.store.written.user;
        if self.bench.keep {
            // Verified before the tables are opened, because opening creates missing tables.
            let contents = self.workload.contents();
            let verified = instances.all.iter().try_for_each(|db| contents.verify(db));
            verified.map_err(Error::workload(self.uri()))?;
        }
        let tenants = self.tenants(instances)?;
        if !self.bench.keep && !self.load(&tenants)? {
            return Ok(None);
        }
        let before = self.moment(|| {
            instances.store.count_copies()?;
            Moment::with_victims(instances)
        })?;
        let counted_kind = self.workload.counted_kind();
        let mut seconds = Seconds::new(self.monitor, &before.store);
        let mut rates = Rates::new(counted_kind, &before);
        let limit = self.bench.run_seconds().map(Duration::from_secs);
        let reports = run_all(&tenants, self.options(), |passed, done| {
            // If a database fails, its workers end anyway.
            if let Ok(now) = Moment::now(instances) {
                seconds.end(passed, &now.store, |length| Some(rates.next(length, done, now.sum)));
            }
            !self.monitor.is_stopped() && limit.is_none_or(|limit| passed < limit)
        });
        self.monitor.on(Event::Counted);
        let interrupted = self.monitor.is_stopped();
        let windows = seconds.windows;
        let reports = reports.map_err(Error::workload(self.uri()))?;
        let after = self.moment(|| Moment::with_victims(instances))?;
        if let Some(recorder) = recorder {
            recorder.stop_after(after.store.written.user)?;
        }
        let conditions = if self.bench.check { self.check(&tenants)? } else { Vec::new() };
        let space = self.space(device, instances)?;
        let info = instances.store.info().map_err(Error::store(self.uri()))?;
        let bench = self.bench;
        let order = match bench.cleaning == Cleaning::Inline && !bench.keep && bench.tenants == 1 {
            true if bench.in_order && bench.threads == 1 => RunOrder::OneThread,
            true => RunOrder::InOrder,
            false => RunOrder::Any,
        };
        Ok(Some(MeasuredDatabase {
            info,
            before,
            after,
            reports,
            windows,
            counted_kind,
            conditions,
            space,
            opened,
            order,
            interrupted,
        }))
    }

    fn uri(&self) -> &str {
        &self.bench.device.uri
    }

    fn tenants<'i>(&self, instances: &'i Databases) -> Result<Vec<Tenant<'i>>> {
        let tenant = |(n, db)| {
            let opened = self.workload.open(db).map_err(Error::workload(self.uri()))?;
            Ok(Tenant { db, opened, seed: self.bench.seed.wrapping_add(n) })
        };
        (0..).zip(&instances.all).map(tenant).collect()
    }

    /// Fills the tables; returns false if loading was stopped.
    fn load(&self, tenants: &[Tenant<'_>]) -> Result<bool> {
        for (n, tenant) in (0..).zip(tenants) {
            let loading = Loading { threads: self.bench.threads.into(), seed: tenant.seed };
            let mut observer = |loaded: LoadProgress| {
                let LoadProgress { parts, parts_in_all, .. } = loaded;
                let (done, of) = (n * parts_in_all + parts, tenants.len() as u64 * parts_in_all);
                self.monitor.on(Event::Progress { what: "loading", done, of });
                !self.monitor.is_stopped()
            };
            let loaded = tenant.opened.load(tenant.db, loading, &mut observer);
            let loaded = loaded.map_err(Error::workload(self.uri()))?;
            if self.monitor.is_stopped() || !loaded.is_complete() {
                return Ok(false);
            }
            tenant.db.checkpoint().map_err(Error::database(self.uri()))?;
            tracing::info!(tenant = n + 1, seed = tenant.seed, "loaded a database");
        }
        Ok(true)
    }

    fn options(&self) -> driver::RunOptions {
        let until = match (self.bench.transactions, self.bench.run_seconds()) {
            (Some(transactions), _) => Until::Transactions(transactions),
            (None, seconds) => Until::Time(Duration::from_secs(seconds.unwrap_or(u64::MAX))),
        };
        driver::RunOptions {
            threads: self.bench.threads.into(),
            until,
            in_flight: self.bench.in_flight.into(),
            seed: self.bench.seed,
        }
    }

    fn moment(&self, now: impl Fn() -> std::result::Result<Moment, DbError>) -> Result<Moment> {
        now().map_err(Error::database(self.uri()))
    }

    /// The zones in use, and the data in them if they are checked, as that takes a scan of all.
    fn space(&self, device: &Arc<dyn Device>, instances: &Databases) -> Result<Space> {
        let zones = device.report(0, device.geometry().zones);
        let zones = zones.map_err(|error| Error::store(self.uri())(error.into()))?;
        let in_use = zones.iter().filter(|zone| zone.state != ZoneState::Empty);
        let bytes = |db| data_bytes(db).map_err(Error::database(self.uri()));
        let data_bytes = match self.bench.check {
            true => Some(instances.all.iter().map(bytes).sum::<Result<u64>>()?),
            false => None,
        };
        Ok(Space { space_bytes: in_use.map(|zone| zone.capacity).sum(), data_bytes })
    }

    fn check(&self, tenants: &[Tenant<'_>]) -> Result<Vec<Vec<Condition>>> {
        let check = |tenant: &Tenant<'_>| {
            tenant.opened.check(tenant.db).map_err(Error::workload(self.uri()))
        };
        tenants.iter().map(check).collect()
    }
}

/// Bytes of all keys and values of a database.
fn data_bytes(db: &Db) -> std::result::Result<u64, DbError> {
    let transaction = db.begin_read()?;
    let mut bytes = 0;
    for (_, table) in db.tables() {
        let mut records = transaction.scan_all(table, Direction::Forward);
        while let Some((key, value)) = records.next()? {
            bytes += (key.len() + value.len()) as u64;
        }
    }
    Ok(bytes)
}
