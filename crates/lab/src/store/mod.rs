//! A page workload on a fresh store, measured.

mod feed;
mod recorder;
mod report;
mod workload;
mod writers;

pub use report::{StoreRun, StoreSetup};
pub use workload::{PageWorkload, ParsePageWorkloadError};

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::Duration;

use frostline_store::{Cleaning, Format, Open, Store};
use frostline_zone::{Device, can_create};

use self::feed::Feed;
use self::recorder::Recorder;
use self::report::Measured;
use self::workload::Loaded;
use self::writers::{SetOnDrop, Writers, fill};
use crate::device::{DeviceSpec, describe};
use crate::metrics::Metrics;
use crate::monitor::{Event, Monitor};
use crate::names::cleaning_name;
use crate::report::BenchReport;
use crate::seconds::Seconds;
use crate::speed::Speed;
use crate::{Error, Result, check_gp};

/// Seconds that a bench takes unless told otherwise.
const SECONDS: u64 = 30;

/// The report of a [`StoreBench`].
pub type StoreReport = BenchReport<StoreSetup, StoreRun>;

/// Writes pages to a store, by a workload. The store is formatted and filled before, unless it is to
/// be [kept](StoreBench::keep).
#[derive(Clone, Debug)]
pub struct StoreBench {
    /// The device.
    pub device: DeviceSpec,
    /// The speed that the device is held to.
    pub speed: Speed,
    /// The options of the store. Their seed is that of the workload as well.
    pub format: Format,
    /// The page writes.
    pub workload: PageWorkload,
    /// Bytes of memory that the trace of a workload may take; any number unless given.
    pub memory: Option<u64>,
    /// Stop after so many seconds, those of the fill not counted; 30 if no number of writes is given
    /// either.
    pub seconds: Option<u64>,
    /// Stop after so many page writes, those of the fill not counted.
    pub writes: Option<u64>,
    /// Threads that write.
    pub threads: u16,
    /// Each thread syncs after so many writes; once, at the end, unless given.
    pub sync_every: Option<u64>,
    /// The thread that cleans.
    pub cleaning: Cleaning,
    /// Serve metrics for Prometheus at this address.
    pub metrics: Option<SocketAddr>,
    /// Write the LBAs to this trace as well, those of the fill included.
    pub record: Option<PathBuf>,
    /// Go on with the store that is there: nothing is formatted or filled.
    pub keep: bool,
    /// Go on although synced pages are missing, which are then lost for good.
    pub accept_loss: bool,
}

impl Default for StoreBench {
    /// Zipf's law with an exponent of 1 on a device in memory, whose size is still to be given.
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
            record: None,
            keep: false,
            accept_loss: false,
        }
    }
}

impl StoreBench {
    /// Runs the bench. A monitor that stops it while it counts gets what was counted up to then.
    ///
    /// # Errors
    /// A device, store, trace or address that can't be used as is asked; [`Error::Stopped`] before
    /// the store is filled.
    pub fn run(&self, monitor: &dyn Monitor) -> Result<StoreReport> {
        check_gp(self.format.gp)?;
        let workload = Loaded::new(&self.workload, self.memory)?;
        let metrics = self.metrics.map(Metrics::listen).transpose()?;
        if let Some(metrics) = &metrics {
            monitor.on(Event::Metrics(metrics.address));
        }
        let device = self.device()?;
        let shape = describe(&*device);
        let failed = Error::store(&self.device.uri);
        let (cleaning, accept_loss) = (self.cleaning, self.accept_loss);
        let open = Open { cleaning, accept_loss, ..Open::default() };
        let store = Store::open(device, open).map_err(&failed)?;
        let over = AtomicBool::new(false);
        let measured = thread::scope(|scope| {
            // Ends the server also when this function fails.
            let _over = SetOnDrop(&over);
            if let Some(metrics) = &metrics {
                scope.spawn(|| metrics.serve(&store, &over));
            }
            self.measure(&store, workload, monitor)
        })?;
        store.close().map_err(failed)?;
        Ok(self.report(shape, measured))
    }

    /// The device, with a fresh store on it unless the one that is there is to be kept.
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

    /// Fills the store, lets the workload run, and counts meanwhile.
    fn measure(&self, store: &Store, workload: Loaded, monitor: &dyn Monitor) -> Result<Measured> {
        let failed = Error::store(&self.device.uri);
        let pages = workload.fill(store.pages())?;
        let (record, recorder) = self.record.as_deref().map(Recorder::begin).unzip();
        if !self.keep {
            self.fill(store, pages, record.as_ref(), monitor)?;
        }
        if monitor.is_stopped() {
            return Err(Error::Stopped { what: Some("the store was not filled") });
        }
        store.sync().map_err(&failed)?;
        store.count_copies().map_err(&failed)?;
        let before = store.stats().map_err(&failed)?;
        let mut seconds = Seconds::new(monitor, &before);
        let lbas = workload.lbas(pages, self.format.seed)?;
        let feed = Feed::new(lbas, self.writes.unwrap_or(u64::MAX), record);
        let written = self.writers(store, &feed).run(|passed| {
            // An error of the store ends the writers, too.
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
        let (info, after) = (store.info().map_err(&failed)?, store.stats().map_err(&failed)?);
        Ok(Measured { info, before, after, times, took, windows: seconds.windows, interrupted })
    }

    /// Writes the first pages once.
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
                // A recorder that failed returns its error at the end.
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

    fn report(&self, shape: String, measured: Measured) -> StoreReport {
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
            runs: vec![StoreRun::new(measured)],
        }
    }
}
