//! Notes of trims and openings take pages of the metadata log: it never runs out of them.

use std::io::IoSlice;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use frostline_store::{Cleaning, Format, Open, Store};
use frostline_zone::{Device, DeviceError, Geometry, Shape, ZoneInfo, in_memory};

const PAGE: usize = 4096;
const PAGES: u32 = 1000;

/// A device on which the flush of a checkpoint takes long, unless it is the user's thread that
/// writes it.
struct Slow {
    inner: Arc<dyn Device>,
    user: ThreadId,
    meta_zones: u32,
    /// The thread that wrote leaves of the map.
    checkpointer: Mutex<Option<ThreadId>>,
}

impl Device for Slow {
    fn geometry(&self) -> &Geometry {
        self.inner.geometry()
    }

    fn report(&self, first: u32, count: u32) -> Result<Vec<ZoneInfo>, DeviceError> {
        self.inner.report(first, count)
    }

    fn append_vectored(&self, zone: u32, at: u64, p: &[IoSlice<'_>]) -> Result<(), DeviceError> {
        let pages = p.iter().map(|part| part.len()).sum::<usize>() / PAGE;
        let thread = thread::current().id();
        // Notes have one page, superblocks two.
        if zone < self.meta_zones && pages > 2 && thread != self.user {
            *self.checkpointer.lock().unwrap() = Some(thread);
        }
        self.inner.append_vectored(zone, at, p)
    }

    fn read(&self, zone: u32, offset: u64, buffer: &mut [u8]) -> Result<(), DeviceError> {
        self.inner.read(zone, offset, buffer)
    }

    fn reset(&self, zone: u32) -> Result<(), DeviceError> {
        self.inner.reset(zone)
    }

    fn finish(&self, zone: u32) -> Result<(), DeviceError> {
        self.inner.finish(zone)
    }

    fn flush(&self) -> Result<(), DeviceError> {
        let of_checkpoint = {
            let mut writes = self.checkpointer.lock().unwrap();
            writes.take_if(|writer| *writer == thread::current().id()).is_some()
        };
        if of_checkpoint {
            thread::sleep(Duration::from_millis(100));
        }
        self.inner.flush()
    }
}

fn device() -> Arc<dyn Device> {
    let zone_bytes = 64 * PAGE as u64;
    let shape = Shape::of_zones(120, zone_bytes);
    let device = in_memory(&shape).unwrap();
    let format = Format { logical_pages: Some(PAGES.into()), unit: 4096, ..Format::default() };
    Store::format(device.clone(), &format).unwrap();
    device
}

#[test]
fn trims_that_are_synced_one_by_one_leave_room_for_checkpoints() {
    for cleaning in [Cleaning::Inline, Cleaning::Background] {
        let store = Store::open(device(), Open { cleaning, ..Open::default() }).unwrap();
        for lba in 0..PAGES {
            store.write(lba, &[1; PAGE]).unwrap();
        }
        for lba in 0..PAGES {
            assert!(store.trim(lba).unwrap());
            store.sync().unwrap();
        }
        store.close().unwrap();
    }
}

#[test]
fn users_leave_room_for_a_checkpoint_that_takes_long() {
    let (inner, user) = (device(), thread::current().id());
    let meta_zones = Store::inspect(inner.clone()).unwrap().info().unwrap().meta_zones;
    let device = Slow { inner, user, meta_zones, checkpointer: Mutex::new(None) };
    let store = Store::open(Arc::new(device), Open::default()).unwrap();
    for lba in 0..PAGES {
        store.write(lba, &[1; PAGE]).unwrap();
        store.trim(lba).unwrap();
        store.sync().unwrap();
    }
    store.close().unwrap();
}
