//! `file:`, `block:` and `dir:` through kills and power cuts, against a naive model: flushed
//! changes survive, and of each zone's later changes a beginning.
//!
//! Runs are drawn from a seed, though the moment of a kill is not. `FROSTLINE_TIMES=n` runs n times
//! as many devices.

#![cfg(target_os = "linux")]

use std::sync::{Arc, Mutex, PoisonError};

use frostline_testkit::power::{self, End, Machine, task, tell};
use frostline_zone::{Device, OpenOptions, Shape, ZoneState, can_create, create, open};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

const ZONES: u32 = 6;
const BLOCK: usize = 4096;
const CAPACITY: usize = 8 * BLOCK;

/// The kinds of devices, with the least number of syncs in which one is made.
const KINDS: [(&str, u32); 3] = [("file", 10), ("block", 10), ("dir", 15)];

fn uri(machine: &Machine, kind: &str) -> String {
    format!("{kind}:{}/of/a/device", machine.disk().display())
}

/// Held while devices are used here and by processes: one that is being started holds for a moment
/// all that is open here, and with it the lock of a device that another test has closed.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn open_or_create(uri: &str, options: &OpenOptions) -> Arc<dyn Device> {
    let shape = Shape {
        bytes: u64::from(ZONES) * CAPACITY as u64,
        zone_bytes: Some(CAPACITY as u64),
        ..Shape::default()
    };
    if !can_create(uri) {
        return open(uri, options).unwrap();
    }
    let device = create(uri, &shape, options).unwrap();
    tell("made");
    device
}

/// The killed process: opens the device, or makes it, and changes it until it is killed.
#[test]
fn as_a_process() {
    let Some(task) = task() else { return };
    let (seed, uri) = task.split_once(' ').unwrap();
    let mut rng = SmallRng::seed_from_u64(seed.parse().unwrap());
    let options = OpenOptions { direct: rng.random_bool(0.2), ..OpenOptions::default() };
    let device = open_or_create(uri, &options);
    for fill in (1u8..=255).cycle() {
        act(&*device, &mut rng, fill);
    }
}

fn act(device: &dyn Device, rng: &mut SmallRng, fill: u8) {
    let zone = rng.random_range(0..ZONES);
    let info = device.zone(zone).unwrap();
    let room = (info.capacity - info.write_pointer) as usize / BLOCK;
    match rng.random_range(0..20) {
        0..12 if room > 0 => {
            let blocks = rng.random_range(1..=room.min(3));
            tell(format_args!("append {zone} {blocks} {fill}"));
            device.append(zone, info.write_pointer, &vec![fill; blocks * BLOCK]).unwrap();
        }
        12 => {
            tell(format_args!("finish {zone}"));
            device.finish(zone).unwrap();
        }
        13..16 => {
            device.flush().unwrap();
            tell("flushed");
        }
        _ => {
            tell(format_args!("reset {zone}"));
            device.reset(zone).unwrap();
        }
    }
}

#[test]
fn as_a_process_that_makes_a_device() {
    let Some(uri) = task() else { return };
    open_or_create(&uri, &OpenOptions::default()).flush().unwrap();
    tell("flushed");
}

#[test]
fn a_device_can_be_made_where_the_making_of_one_was_cut_short() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    KINDS.iter().for_each(|(kind, least)| cut_the_making(kind, *least));
}

fn cut_the_making(kind: &str, least: u32) {
    let options = OpenOptions::default();
    let uri = |machine: &Machine| uri(machine, kind);
    let mut rng = SmallRng::seed_from_u64(1);
    let mut cut = 0;
    loop {
        cut += 1;
        let mut machine = Machine::start();
        let end = End::Sync(cut);
        let told = machine.run("as_a_process_that_makes_a_device", &uri(&machine), end);
        if told.len() == 2 {
            break;
        }
        if cut % 2 == 0 {
            machine.cut_power(&mut rng);
        }
        assert!(can_create(&uri(&machine)) || open(&uri(&machine), &options).is_ok(), "{cut}");
        let again = machine.run("as_a_process_that_makes_a_device", &uri(&machine), End::Sync(0));
        assert_eq!(again.last().unwrap(), "flushed", "{cut}");
        machine.cut_power(&mut rng);
        assert!(!can_create(&uri(&machine)) && open(&uri(&machine), &options).is_ok(), "{cut}");
    }
    assert!(cut > least, "{kind}: {cut}");
}

/// The bytes written to a zone, and whether it was finished.
#[derive(Clone, Debug, Default)]
struct Content {
    bytes: Vec<u8>,
    is_full: bool,
}

impl Content {
    /// True if this explains what was found. A finished zone reads as anything where it was never
    /// written.
    fn explains(&self, found: &Content) -> bool {
        let len = if self.is_full { CAPACITY } else { self.bytes.len() };
        found.bytes.len() == len && found.bytes.starts_with(&self.bytes)
    }
}

/// The states that a zone may have after a power cut: one for each written block, the last of them
/// the present state.
struct Model {
    zones: Vec<Vec<Content>>,
    is_made: bool,
    flushed: u32,
}

impl Model {
    fn hear(&mut self, line: &str) {
        let mut words = line.split(' ');
        let what = words.next().unwrap();
        let mut number = || words.next().unwrap().parse::<usize>().unwrap();
        match what {
            "made" => self.is_made = true,
            "flushed" => {
                (self.is_made, self.flushed) = (true, self.flushed + 1);
                let keep_last = |states: &mut Vec<_>| drop(states.drain(..states.len() - 1));
                self.zones.iter_mut().for_each(keep_last);
            }
            "append" => {
                let (zone, blocks, fill) = (number(), number(), number());
                for _ in 0..blocks {
                    self.change(zone, |now| now.bytes.extend([fill as u8; BLOCK]));
                }
            }
            "finish" => self.change(number(), |now| now.is_full = true),
            _ => self.change(number(), |now| *now = Content::default()),
        }
    }

    fn change(&mut self, zone: usize, change: impl FnOnce(&mut Content)) {
        let mut now = self.zones[zone].last().unwrap().clone();
        change(&mut now);
        self.zones[zone].push(now);
    }

    /// Checks that the device is in a state that the model allows, and sets the model to it. The
    /// device must exist if `is_durable`.
    fn compare(&mut self, uri: &str, is_durable: bool) {
        let look = OpenOptions { read_only: true, ..OpenOptions::default() };
        let device: Option<Arc<dyn Device>> = open(uri, &look).ok();
        assert!(
            device.is_some() || !self.is_made,
            "there is no device: {:?}",
            open(uri, &look).err()
        );
        let Some(device) = device else { return };
        for (zone, states) in (0..).zip(&mut self.zones) {
            let info = device.zone(zone).unwrap();
            let mut bytes = vec![0; info.write_pointer as usize];
            device.read(zone, 0, &mut bytes).unwrap();
            let found = Content { bytes, is_full: info.state == ZoneState::Full };
            let is_explained = states.iter().any(|state| state.explains(&found));
            assert!(is_explained, "zone {zone} is {found:?}, not of {states:?}");
            if is_durable {
                states.clear();
            }
            states.push(found);
        }
    }
}

/// Runs a device through several kills and power cuts; returns the number of power cuts and of
/// flushes.
fn live(seed: u64) -> (u32, u32) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut machine = Machine::start();
    let (kind, _) = KINDS[(seed % 3) as usize];
    let uri = |machine: &Machine| uri(machine, kind);
    let zones = vec![vec![Content::default()]; ZONES as usize];
    let mut model = Model { zones, is_made: false, flushed: 0 };
    let cuts = rng.random_range(2..5);
    for _ in 0..cuts {
        for _ in 0..rng.random_range(1..4) {
            let task = format!("{} {}", rng.random::<u64>(), uri(&machine));
            let end = End::draw(&mut rng, 30, 60);
            machine.run("as_a_process", &task, end).iter().for_each(|line| model.hear(line));
            model.compare(&uri(&machine), false);
        }
        machine.cut_power(&mut rng);
        model.compare(&uri(&machine), true);
    }
    (cuts, model.flushed)
}

#[test]
fn what_was_flushed_survives_kills_and_power_cuts() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    power::rounds(3, live);
}
