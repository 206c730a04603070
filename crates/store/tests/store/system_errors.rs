//! Errors of the process, the system or the whole device fail the operation, and cost no zone.

use std::io::{self, IoSlice};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use frostline_store::{Cleaning, Format, Open, Store, StoreError};
use frostline_zone::{Device, DeviceError, Geometry, Operation, Shape, ZoneInfo, in_memory};
use rustix::io::Errno;

const PAGE: usize = 4096;
const PAGES: u32 = 500;
const OPEN: Open = Open { cleaning: Cleaning::Inline, ..Open::DEFAULT };

/// A device whose every operation on zones from `first` on fails with this number of the system, if
/// it is not 0.
struct Refusing {
    inner: Arc<dyn Device>,
    number: AtomicI32,
    first: AtomicU32,
}

impl Refusing {
    fn check(&self, operation: Operation, zone: u32, offset: u64) -> Result<(), DeviceError> {
        match self.number.load(Ordering::Relaxed) {
            0 => Ok(()),
            _ if zone < self.first.load(Ordering::Relaxed) => Ok(()),
            number => {
                let source = io::Error::from_raw_os_error(number);
                Err(DeviceError::Io { operation, zone, offset, source })
            }
        }
    }
}

impl Device for Refusing {
    fn geometry(&self) -> &Geometry {
        self.inner.geometry()
    }

    fn report(&self, first: u32, count: u32) -> Result<Vec<ZoneInfo>, DeviceError> {
        self.inner.report(first, count)
    }

    fn append_vectored(&self, zone: u32, at: u64, p: &[IoSlice<'_>]) -> Result<(), DeviceError> {
        self.check(Operation::Append, zone, at)?;
        self.inner.append_vectored(zone, at, p)
    }

    fn read(&self, zone: u32, offset: u64, buffer: &mut [u8]) -> Result<(), DeviceError> {
        self.check(Operation::Read, zone, offset)?;
        self.inner.read(zone, offset, buffer)
    }

    fn reset(&self, zone: u32) -> Result<(), DeviceError> {
        self.check(Operation::Reset, zone, 0)?;
        self.inner.reset(zone)
    }

    fn finish(&self, zone: u32) -> Result<(), DeviceError> {
        self.check(Operation::Finish, zone, 0)?;
        self.inner.finish(zone)
    }

    fn flush(&self) -> Result<(), DeviceError> {
        self.inner.flush()
    }
}

/// An empty store.
fn device() -> Arc<Refusing> {
    let (bytes, zone_bytes) = (60 * 40 * PAGE as u64, Some(40 * PAGE as u64));
    let inner = in_memory(&Shape { bytes, zone_bytes, ..Shape::default() }).unwrap();
    let format = Format { logical_pages: Some(PAGES.into()), unit: 4096, ..Format::default() };
    Store::format(inner.clone(), &format).unwrap();
    Arc::new(Refusing { inner, number: AtomicI32::new(0), first: AtomicU32::new(0) })
}

/// True if an error, or the one behind it, has this number.
fn has_number(error: &StoreError, number: Errno) -> bool {
    match error {
        StoreError::Failed(error) => has_number(error, number),
        StoreError::Device(error) => match &**error {
            DeviceError::Io { source, .. } => Errno::from_io_error(source) == Some(number),
            _ => false,
        },
        _ => false,
    }
}

#[test]
fn a_full_disk_or_too_many_open_files_fail_the_write_and_retire_no_zone() {
    for number in [Errno::NOSPC, Errno::MFILE, Errno::NFILE, Errno::NOMEM] {
        let device = device();
        let store = Store::open(device.clone(), OPEN).unwrap();
        let usable = |store: &Store| {
            let stats = store.stats().unwrap();
            stats.free_zones + stats.waiting_zones
        };
        for lba in 0..PAGES {
            store.write(lba, &[1; PAGE]).unwrap();
        }
        store.sync().unwrap();
        let before = usable(&store);
        // Of the zones for metadata all refuse at once, and that would end it anyway.
        device.first.store(store.info().unwrap().meta_zones, Ordering::Relaxed);
        device.number.store(number.raw_os_error(), Ordering::Relaxed);
        let mut refused = None;
        for lba in 0..PAGES {
            if let Err(error) = store.write(lba, &[2; PAGE]) {
                refused = Some(error);
                break;
            }
        }
        let refused = refused.or_else(|| store.sync().err()).unwrap();
        assert!(has_number(&refused, number), "{number}: {refused}");
        assert!(usable(&store) + 1 >= before, "{number}: zones were retired");
        device.number.store(0, Ordering::Relaxed);
        drop(store);

        let store = Store::open(device, OPEN).unwrap();
        assert!(usable(&store) + 1 >= before, "{number}: zones are lost");
        let mut page = [0; PAGE];
        for lba in 0..PAGES {
            assert!(store.read(lba, &mut page).unwrap());
            assert!([1, 2].contains(&page[0]), "LBA {lba}");
            store.write(lba, &[3; PAGE]).unwrap();
        }
        store.close().unwrap();
    }
}

#[test]
fn opening_fails_with_an_error_of_the_system_and_changes_nothing() {
    for number in [Errno::MFILE, Errno::NOMEM] {
        let device = device();
        let store = Store::open(device.clone(), OPEN).unwrap();
        for lba in 0..PAGES {
            store.write(lba, &[1; PAGE]).unwrap();
        }
        store.sync().unwrap();
        drop(store);
        device.number.store(number.raw_os_error(), Ordering::Relaxed);
        let refused = Store::open(device.clone(), OPEN).err().unwrap();
        assert!(has_number(&refused, number), "{refused}");
        device.number.store(0, Ordering::Relaxed);
        let store = Store::open(device, OPEN).unwrap();
        assert!(store.read(PAGES - 1, &mut [0; PAGE]).unwrap());
    }
}
