//! A disk flushes what no client flushed, once it is idle or what is unflushed is old.

use std::sync::Arc;
use std::time::{Duration, Instant};

use frostline_disk::{Disk, IDLE, OLDEST};
use frostline_store::{Format, Open, Store};
use frostline_zone::{Device, Faulty, Shape, in_memory};

const TICK: Duration = Duration::from_millis(100);

/// Serves a new store for some ticks, with a change in each of the first ones, and cuts the power.
/// Returns the first byte of each page that was written.
fn after_a_power_cut(changes: u32, ticks: u32) -> Vec<u8> {
    let memory = in_memory(&Shape { bytes: 64 << 20, ..Shape::default() }).unwrap();
    let faulty = Arc::new(Faulty::new(memory, 1));
    let device: Arc<dyn Device> = faulty.clone();
    Store::format(device.clone(), &Format::default()).unwrap();
    let store = Store::open(device, Open::default()).unwrap();
    let disk = Disk::new(&store);
    let begun = Instant::now();
    for tick in 0..ticks {
        if tick < changes {
            disk.write(u64::from(tick) * 4096, &[7; 4096]).unwrap();
        }
        disk.flush_when_idle(begun + tick * TICK).unwrap();
    }
    faulty.crash();
    drop(store);
    let store = Store::open(Arc::new(faulty.restart().unwrap()), Open::default()).unwrap();
    let disk = Disk::new(&store);
    let read = |page: u32| {
        let mut byte = [0];
        disk.read(u64::from(page) * 4096, &mut byte).unwrap();
        byte[0]
    };
    (0..changes).map(read).collect()
}

#[test]
fn an_idle_disk_flushes_what_no_client_flushed() {
    let idle = (IDLE.as_millis() / TICK.as_millis()) as u32;
    assert_eq!(after_a_power_cut(3, 3 + idle), [7, 7, 7]);
    assert_eq!(after_a_power_cut(3, 3), [0, 0, 0], "it has had no time yet");
}

#[test]
fn a_busy_disk_flushes_what_is_old() {
    let old = (OLDEST.as_millis() / TICK.as_millis()) as u32;
    let kept = after_a_power_cut(old + 1, old + 1);
    assert!(kept.iter().all(|&byte| byte == 7), "{kept:?}");
}
