//! The state after power cuts and kills, against a naive model: after a power cut, flushed changes
//! are there, and of each zone's later changes a beginning; after a kill, all changes are there,
//! though unflushed ones may be lost later.

use std::sync::Arc;

use frostline_zone::{
    Device, DeviceError, Fault, Faulty, Shape, Tail, ZoneInfo, ZoneState, in_memory,
};
use proptest::prelude::*;

const ZONES: u32 = 4;
const BLOCK: usize = 4096;
const CAPACITY: usize = 6 * BLOCK;

#[derive(Clone, Debug)]
enum Step {
    Append { zone: u32, blocks: usize },
    Reset { zone: u32 },
    Finish { zone: u32 },
    Flush,
    Crash,
    Kill,
}

fn step() -> impl Strategy<Value = Step> {
    let zone = 0..ZONES;
    prop_oneof![
        8 => (zone.clone(), 1..4usize).prop_map(|(zone, blocks)| Step::Append { zone, blocks }),
        2 => zone.clone().prop_map(|zone| Step::Reset { zone }),
        1 => zone.prop_map(|zone| Step::Finish { zone }),
        2 => Just(Step::Flush),
        1 => Just(Step::Crash),
        1 => Just(Step::Kill),
    ]
}

fn device(max_active: Option<u32>) -> Arc<dyn Device> {
    let zone_bytes = Some(8 * BLOCK as u64);
    let zone_capacity = Some(CAPACITY as u64);
    let bytes = CAPACITY as u64 * u64::from(ZONES);
    in_memory(&Shape { bytes, zone_bytes, zone_capacity, max_active, ..Shape::default() }).unwrap()
}

/// A zone of the model: its written bytes, and whether it was finished.
#[derive(Clone, Debug, Default, PartialEq)]
struct State {
    bytes: Vec<u8>,
    finished: bool,
}

impl State {
    fn is_full(&self) -> bool {
        self.finished || self.bytes.len() == CAPACITY
    }

    fn info(&self) -> (bool, u64) {
        let pointer = if self.is_full() { CAPACITY } else { self.bytes.len() };
        (self.is_full(), pointer as u64)
    }
}

/// Each zone's states since the last flush, one for each appended block.
struct Model(Vec<Vec<State>>);

impl Model {
    fn now(&self, zone: u32) -> &State {
        self.0[zone as usize].last().unwrap()
    }

    fn push(&mut self, zone: u32, state: State) {
        self.0[zone as usize].push(state);
    }

    fn append(&mut self, zone: u32, data: &[u8]) {
        for block in data.chunks(BLOCK) {
            let mut state = self.now(zone).clone();
            state.bytes.extend_from_slice(block);
            self.push(zone, state);
        }
    }

    fn flush(&mut self) {
        for states in &mut self.0 {
            states.drain(..states.len() - 1);
        }
    }
}

/// The bytes that a device returns for a zone. Bytes of a full zone that were never written read as
/// zeroes.
fn seen(device: &dyn Device, zone: u32) -> (ZoneInfo, Vec<u8>) {
    let info = device.zone(zone).unwrap();
    let mut bytes = vec![0; info.write_pointer as usize];
    device.read(zone, 0, &mut bytes).unwrap();
    (info, bytes)
}

/// True if what was read can be the zone: one of the model's states, or, if the last block may be
/// torn, a state between two of them.
fn explains(states: &[State], (info, bytes): &(ZoneInfo, Vec<u8>), tail: Tail) -> bool {
    let is_full = info.state == ZoneState::Full;
    let same = |state: &State| {
        let padded = [&state.bytes[..], &vec![0; bytes.len().saturating_sub(state.bytes.len())]];
        state.info() == (is_full, info.write_pointer) && padded.concat() == *bytes
    };
    let torn = |state: &State| {
        let sector = bytes.len().saturating_sub(BLOCK) + 512;
        state.bytes.len() == bytes.len()
            && state.bytes.len() > BLOCK / 2
            && state.bytes[..sector] == bytes[..sector]
    };
    states.iter().any(same) || tail == Tail::Torn && states[1..].iter().any(torn)
}

/// Makes a step on the device and on the model; false if the power is cut meanwhile.
fn run(device: &Faulty, model: &mut Model, step: &Step, fill: u8) -> bool {
    let result = match *step {
        Step::Append { zone, blocks } => {
            let data = vec![fill; blocks * BLOCK];
            let at = model.now(zone).info().1;
            let result = device.append(zone, at, &data);
            if matches!(result, Ok(()) | Err(DeviceError::Crashed))
                && at as usize + data.len() <= CAPACITY
            {
                model.append(zone, &data);
            }
            result
        }
        Step::Reset { zone } => {
            model.push(zone, State::default());
            device.reset(zone)
        }
        Step::Finish { zone } => {
            let bytes = model.now(zone).bytes.clone();
            model.push(zone, State { bytes, finished: true });
            device.finish(zone)
        }
        Step::Flush => {
            let result = device.flush();
            if result.is_ok() {
                model.flush();
            }
            result
        }
        Step::Crash | Step::Kill => {
            device.crash();
            device.flush()
        }
    };
    match result {
        Ok(()) => true,
        Err(DeviceError::Crashed) => false,
        Err(DeviceError::ZoneFull { .. })
        | Err(DeviceError::BeyondCapacity { .. })
        | Err(DeviceError::TooManyActive { .. }) => true,
        Err(other) => panic!("{step:?}: {other}"),
    }
}

fn survives(steps: &[Step], at: u64, end: Fault, seed: u64, tail: Tail, max_active: Option<u32>) {
    let mut device = Faulty::new(device(max_active), seed).with_tail(tail);
    device.schedule(at, end);
    let mut model = Model(vec![vec![State::default()]; ZONES as usize]);
    for (fill, step) in (1u8..).zip(steps) {
        if run(&device, &mut model, step, fill) {
            continue;
        }
        assert!(matches!(device.report(0, 1), Err(DeviceError::Crashed)));
        let is_kill = match step {
            Step::Crash => false,
            Step::Kill => true,
            _ => end == Fault::Kill,
        };
        device = if is_kill { device.reopen() } else { device.restart() }.unwrap();
        for zone in 0..ZONES {
            let seen = seen(&device, zone);
            let states = &mut model.0[zone as usize];
            let tail = if is_kill { Tail::Whole } else { tail };
            assert!(explains(states, &seen, tail), "zone {zone}: {:?}", seen.0);
            if !is_kill {
                states.clear();
            }
            let (info, bytes) = seen;
            states.push(State { finished: info.state == ZoneState::Full, bytes });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn of_each_zone_a_beginning_of_what_was_done_survives(
        steps in prop::collection::vec(step(), 1..60),
        at in 1..60u64,
        is_kill: bool,
        seed: u64,
        torn: bool,
        max_active in prop::option::of(1..4u32),
    ) {
        let tail = if torn { Tail::Torn } else { Tail::Whole };
        let end = if is_kill { Fault::Kill } else { Fault::PowerCut };
        survives(&steps, at, end, seed, tail, max_active);
    }
}
