//! Runs a page workload on a fresh store, and measures it.

mod feed;
mod recorder;
mod report;
mod workload;
mod writers;

pub use report::{StoreRun, StoreSetup};
pub use workload::{PageWorkload, ParsePageWorkloadError};

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use frostline_store::{Cleaning, Format, Open, Store};
use frostline_zone::{Device, can_create};

use self::feed::Feed;
use self::recorder::Recorder;
use self::report::MeasuredStore;
use self::workload::LoadedWorkload;
use self::writers::{Writers, fill};
use crate::device::DeviceSpec;
use crate::following::{FollowedReport, followed};
use crate::monitor::{Event, Monitor};
use crate::names::cleaning_name;
use crate::report::{BenchReport, with_victims};
use crate::seconds::Seconds;
use crate::speed::Speed;
use crate::watching::{listen, watched};
use crate::{Error, Result, check_gp};

/// The default length of a bench, in seconds.
const SECONDS: u64 = 30;

/// The report of a [`StoreBench`].
pub type StoreReport = BenchReport<StoreSetup, StoreRun>;

/// Writes the pages of a workload to a store. The store is formatted and filled first, unless it is
/// to be [kept](StoreBench::keep).
#[derive(Clone, Debug)]
pub struct StoreBench {
    /// The device.
    pub device: DeviceSpec,
    /// The speed that the device is held to.
    pub speed: Speed,
    /// The options of the store. Their seed is also that of the workload.
    pub format: Format,
    /// The page writes.
    pub workload: PageWorkload,
    /// The most bytes of memory for a workload's trace; `None` for no limit.
    pub memory: Option<u64>,
    /// Stop after this number of seconds, without the fill; 30 if no number of writes is given
    /// either.
    pub seconds: Option<u64>,
    /// Stop after this number of page writes, without the fill.
    pub writes: Option<u64>,
    /// Threads that write.
    pub threads: u16,
    /// Writes between two syncs of a thread; if `None`, it syncs once, at the end.
    pub sync_every: Option<u64>,
    /// The thread that cleans.
    pub cleaning: Cleaning,
    /// Serve metrics for Prometheus, and a page that draws the zones, at this address.
    pub metrics: Option<SocketAddr>,
    /// Back up the device here while the bench fills and writes, so that what is written is there
    /// after a second.
    pub backup: Option<OsString>,
    /// Also record the LBAs in this trace, including those of the fill.
    pub record: Option<PathBuf>,
    /// Use the existing store: nothing is formatted or filled.
    pub keep: bool,
    /// Space over data that the store may take, in place of a garbage proportion.
    pub space: Option<f64>,
}

impl Default for StoreBench {
    /// Zipf's law with an exponent of 1 on a device in memory; the device's size must still be set.
    fn default() -> Self {
        StoreBench {
            device: DeviceSpec::default(),
            speed: Speed::default(),
            format: Format::default(),
            workload: PageWorkload::Zipf(1.0),
            memory: None,
            seconds: None,
            writes: None,
            threads: 1,
            sync_every: None,
            cleaning: Cleaning::Background,
            metrics: None,
            backup: None,
            record: None,
            keep: false,
            space: None,
        }
    }
}

impl StoreBench {
    /// Runs the bench. If the monitor stops it while it counts, the report has the counts until
    /// then.
    ///
    /// # Errors
    /// A device, store, trace or address that can't be used in the given way; [`Error::Stopped`]
    /// before the store is filled.
    pub fn run(&self, monitor: &dyn Monitor) -> Result<StoreReport> {
        check_gp(self.format.gp)?;
        let workload = LoadedWorkload::new(&self.workload, self.memory)?;
        let server = listen(self.metrics, monitor)?;
        let device = self.device()?;
        let shape = device.geometry().to_string();
        let failed = Error::store(&self.device.uri);
        let &StoreBench { cleaning, space, .. } = self;
        let accept_loss = self.device.accept_loss;
        let open = Open { cleaning, space, accept_loss, ..Open::default() };
        let (measured, backup) = followed(device, self.backup.as_deref(), |device| {
            let store = Store::open(device.clone(), open).map_err(&failed)?;
            let server = server.as_ref();
            let measured =
                watched(&store, server, monitor, || self.measure(&store, workload, monitor))?;
            store.close().map_err(failed)?;
            Ok(measured)
        })?;
        Ok(self.report(shape, measured, backup))
    }

    /// The device, with a fresh store on it unless the existing one is to be kept.
    fn device(&self) -> Result<Arc<dyn Device>> {
        if self.keep && can_create(&self.device.uri) {
            return Err(Error::NothingToKeep { uri: self.device.uri.clone() });
        }
        let device = self.device.formatted(|device| {
            let device = self.speed.of(device.clone())?;
            if self.keep {
                return Ok(());
            }
            Store::format(device, &self.format).map_err(Error::store(&self.device.uri))
        })?;
        self.speed.of(device)
    }

    /// Fills the store, runs the workload, and counts meanwhile.
    fn measure(
        &self,
        store: &Store,
        workload: LoadedWorkload,
        monitor: &dyn Monitor,
    ) -> Result<MeasuredStore> {
        let failed = Error::store(&self.device.uri);
        let pages = workload.fill(store.pages())?;
        let (record, recorder) = self.record.as_deref().map(Recorder::begin).transpose()?.unzip();
        if !self.keep {
            self.fill(store, pages, record.as_ref(), monitor)?;
        }
        if monitor.is_stopped() {
            return Err(Error::Stopped { what: Some("the store was not filled") });
        }
        store.sync().map_err(&failed)?;
        store.count_copies().map_err(&failed)?;
        let before = with_victims(store).map_err(&failed)?;
        let mut seconds = Seconds::new(monitor, &before);
        let lbas = workload.lbas(pages, self.format.seed)?;
        let feed = Feed::new(lbas, self.writes.unwrap_or(u64::MAX), record);
        let written = self.writers(store, &feed).run(|passed| {
            // If the store fails, the writers end anyway.
            if let (true, Ok(stats)) = (seconds.is_over(passed), store.stats()) {
                seconds.end(passed, &stats, |_| None);
            }
            !monitor.is_stopped()
        });
        let interrupted = monitor.is_stopped();
        monitor.on(Event::Counted);
        let (times, took) = written.map_err(&failed)?;
        drop(feed);
        recorder.map_or(Ok(()), |recorder| recorder.end(monitor))?;
        let (info, after) = (store.info().map_err(&failed)?, with_victims(store).map_err(&failed)?);
        Ok(MeasuredStore {
            info,
            before,
            after,
            times,
            took,
            windows: seconds.windows,
            interrupted,
        })
    }

    /// Writes the first pages once each.
    fn fill(
        &self,
        store: &Store,
        pages: u32,
        record: Option<&SyncSender<Vec<u32>>>,
        monitor: &dyn Monitor,
    ) -> Result<()> {
        let mut recorded = 0;
        let written = |done| {
            if let Some(record) = record {
                // If the recorder failed, it returns its error at the end.
                let _ = record.send((recorded..done).collect());
                recorded = done;
            }
            if done % (1 << 12) < 64 || done == pages {
                let (done, of) = (done.into(), pages.into());
                monitor.on(Event::Progress { what: "filling", done, of });
            }
            !monitor.is_stopped()
        };
        fill(store, pages, written).map_err(Error::store(&self.device.uri))
    }

    fn writers<'a>(&self, store: &'a Store, feed: &'a Feed) -> Writers<'a> {
        let seconds = self.seconds.or(self.writes.is_none().then_some(SECONDS));
        let time = seconds.map(Duration::from_secs);
        Writers { store, feed, threads: self.threads, sync_every: self.sync_every, time }
    }

    fn report(
        &self,
        shape: String,
        measured: MeasuredStore,
        backup: Option<FollowedReport>,
    ) -> StoreReport {
        BenchReport {
            frostline: env!("CARGO_PKG_VERSION"),
            device: self.device.uri.clone(),
            shape,
            drive: self.speed.drive_name(),
            bandwidth: self.speed.bandwidth,
            workload: self.workload.to_string(),
            cleaning: cleaning_name(self.cleaning),
            setup: StoreSetup { threads: self.threads },
            seed: measured.info.seed,
            interrupted: measured.interrupted,
            runs: vec![StoreRun { backup, ..StoreRun::new(measured) }],
        }
    }
}
