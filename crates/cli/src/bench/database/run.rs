//! One run: databases are loaded, the workload runs, and its data are checked.

use std::sync::Arc;
use std::time::Duration;

use frostline_db::{DbError, Instances, Observer};
use frostline_workload::driver::{self, Until};
use frostline_workload::{Condition, Loaded, Loading};
use frostline_zone::Device;

use super::benchmark::{Benchmark, WorkloadError};
use super::live::Live;
use super::moment::Moment;
use super::recorder::Recorder;
use super::report::Measured;
use super::setup;
use super::tenants::{Tenant, run_all};
use crate::args::{CleaningArg, DatabaseArgs};
use crate::bench::live::Line;
use crate::device::{db_failure, store_failure};
use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// One run on one device.
pub struct Run<'a, B> {
    /// What was asked for.
    pub args: &'a DatabaseArgs,
    /// The workload.
    pub bench: &'a B,
    /// Where it is told how far it is.
    pub line: &'a Line,
    /// What ends it early.
    pub interrupt: &'a Interrupt,
}

impl<B: Benchmark> Run<'_, B>
where
    B::Opened: Sync,
{
    /// Runs the workload on the databases of a device. None if it was interrupted before they were
    /// loaded.
    pub fn on(&self, device: &Arc<dyn Device>) -> Result<Option<Measured>, Failure> {
        let Some(path) = &self.args.record else { return self.recorded(device, None) };
        let (recorder, writing) = Recorder::begin(path)?;
        let measured = self.recorded(device, Some(&recorder));
        recorder.end(matches!(measured, Ok(Some(_))));
        if let Some(writes) = writing.end()? {
            self.line.note(&format!("{}: {writes} page writes", path.display()));
        }
        measured
    }

    fn recorded(
        &self,
        device: &Arc<dyn Device>,
        recorder: Option<&Arc<Recorder>>,
    ) -> Result<Option<Measured>, Failure> {
        let observer = recorder.cloned().map(|recorder| recorder as Arc<dyn Observer>);
        let instances = setup::open(self.args, device, observer)?;
        let measured = self.measure(&instances, recorder.map(|recorder| &**recorder))?;
        if measured.is_some() {
            instances.close().map_err(|e| db_failure(&self.args.device, e))?;
        }
        Ok(measured)
    }

    /// Loads the databases, lets the workload run, and says what happened meanwhile.
    fn measure(
        &self,
        instances: &Instances,
        recorder: Option<&Recorder>,
    ) -> Result<Option<Measured>, Failure> {
        if let Some(recorder) = recorder {
            self.record_what_is_there(instances, recorder)?;
        }
        if self.args.keep {
            // Before tables are opened, which makes those that are missing.
            let contents = self.bench.contents();
            let verified = instances.all.iter().try_for_each(|db| contents.verify(db));
            verified.map_err(|e| self.failed(e))?;
        }
        let tenants = self.tenants(instances)?;
        if !self.args.keep && !self.load(&tenants)? {
            return Ok(None);
        }
        let before = self.moment(recorder, || {
            instances.store.count_copies()?;
            Moment::now(instances)
        })?;
        let mut live = Live::new(self.line, self.bench.counted_kind(), &before);
        let seconds = setup::seconds(self.args).map(Duration::from_secs);
        let reports = run_all(&tenants, self.options(), |passed, done| {
            live.tick(passed, done, instances);
            !self.interrupt.has_come() && seconds.is_none_or(|seconds| passed < seconds)
        });
        self.line.end();
        let interrupted = self.interrupt.has_come();
        let windows = live.windows;
        let reports = reports.map_err(|e| self.failed(e))?;
        let after = self.moment(recorder, || Moment::now(instances))?;
        if let Some(recorder) = recorder {
            recorder.stop();
        }
        let conditions = if self.args.no_check { Vec::new() } else { self.check(&tenants)? };
        let info = instances.store.info().map_err(|e| store_failure(&self.args.device, e))?;
        let is_in_order = self.args.cleaning == CleaningArg::Inline && !self.args.keep;
        Ok(Some(Measured {
            info,
            before,
            after,
            reports,
            windows,
            counted_kind: self.bench.counted_kind(),
            conditions,
            in_order: is_in_order && instances.all.len() == 1,
            interrupted,
        }))
    }

    /// The pages that every database has from the beginning reached the store before anybody was
    /// told.
    fn record_what_is_there(
        &self,
        instances: &Instances,
        recorder: &Recorder,
    ) -> Result<(), Failure> {
        let store = &instances.store;
        let told = store.mapped(0..store.pages() as u32, &mut |lba| {
            recorder.written(lba, &Default::default());
        });
        told.map_err(|e| store_failure(&self.args.device, e))
    }

    fn tenants<'i>(&self, instances: &'i Instances) -> Result<Vec<Tenant<'i, B>>, Failure> {
        let tenant = |(n, db)| {
            let opened = self.bench.open(db).map_err(|e| self.failed(e))?;
            Ok(Tenant { db, opened, seed: self.args.seed.wrapping_add(n) })
        };
        (0..).zip(&instances.all).map(tenant).collect()
    }

    /// Fills the tables; false if that was interrupted.
    fn load(&self, tenants: &[Tenant<'_, B>]) -> Result<bool, Failure> {
        for (n, tenant) in (0..).zip(tenants) {
            let loading = Loading { threads: self.args.threads.into(), seed: tenant.seed };
            let mut observer = |loaded: Loaded| {
                let Loaded { parts, parts_in_all, .. } = loaded;
                let (done, all) = (n * parts_in_all + parts, tenants.len() as u64 * parts_in_all);
                self.line.progress("loading", done, all);
                !self.interrupt.has_come()
            };
            let loaded = self.bench.load(&tenant.opened, tenant.db, loading, &mut observer);
            let loaded = loaded.map_err(|e| self.failed(e))?;
            if self.interrupt.has_come() || !loaded.is_complete() {
                self.line.end();
                return Ok(false);
            }
            tenant.db.checkpoint().map_err(|e| db_failure(&self.args.device, e))?;
        }
        self.line.end();
        Ok(true)
    }

    fn options(&self) -> driver::Options {
        let until = match (self.args.transactions, setup::seconds(self.args)) {
            (Some(transactions), _) => Until::Transactions(transactions),
            (None, seconds) => Until::Time(Duration::from_secs(seconds.unwrap_or(u64::MAX))),
        };
        driver::Options {
            threads: self.args.threads.into(),
            until,
            in_flight: self.args.in_flight.into(),
            seed: self.args.seed,
        }
    }

    /// What `now` says of everything. If pages are recorded, at a moment at which none is on its
    /// way.
    fn moment(
        &self,
        recorder: Option<&Recorder>,
        now: impl Fn() -> Result<Moment, DbError>,
    ) -> Result<Moment, Failure> {
        let now = || now().map_err(|e| db_failure(&self.args.device, e));
        match recorder {
            Some(recorder) => recorder.in_step(|| now().map(|now| (now.store.written.user, now))),
            None => now(),
        }
    }

    fn check(&self, tenants: &[Tenant<'_, B>]) -> Result<Vec<Vec<Condition>>, Failure> {
        let check = |tenant: &Tenant<'_, B>| {
            self.bench.check(&tenant.opened, tenant.db).map_err(|e| self.failed(e))
        };
        tenants.iter().map(check).collect()
    }

    /// The databases that are there can't be gone on with.
    fn not_kept(&self, error: &WorkloadError) -> Failure {
        Failure::usage(B::COMMAND, &format!("--keep: {}: {error}", self.args.device))
    }

    fn failed(&self, error: WorkloadError) -> Failure {
        let what = B::COMMAND;
        match error {
            WorkloadError::Engine(error) => db_failure(&self.args.device, error),
            WorkloadError::Options { .. } => Failure::usage(what, &error.to_string()),
            WorkloadError::Unfinished { .. } => self.not_kept(&error).hint(
                "without --keep the database is made and loaded anew; --force gives up what is there",
            ),
            WorkloadError::OtherContents { .. } => self.not_kept(&error).hint(
                "the options that it was loaded with, or a fresh database without --keep",
            ),
            _ => Failure::job(what, &error.to_string()),
        }
    }
}
