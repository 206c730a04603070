//! The export is a sequence of bytes, and keeps the promises of its replies.

use std::sync::Arc;

use crate::client::*;
use frostline_zone::{Device, Fault, Faulty, Operation};
use proptest::prelude::*;

const NO_SPACE: u32 = 28;

/// The bytes on which random requests work: a few pages, not at the beginning.
const BEGIN: u64 = 3 * PAGE;
const LENGTH: u64 = 6 * PAGE;

#[derive(Clone, Debug)]
enum Op {
    Read { one_piece: bool },
    Write(u8),
    Zero { no_hole: bool },
    Trim,
    Flush,
}

fn ops() -> impl Strategy<Value = Vec<(Op, u64, u32, bool)>> {
    let op = prop_oneof![
        3 => any::<bool>().prop_map(|one_piece| Op::Read { one_piece }),
        4 => (1..=255u8).prop_map(Op::Write),
        2 => any::<bool>().prop_map(|no_hole| Op::Zero { no_hole }),
        1 => Just(Op::Trim),
        1 => Just(Op::Flush),
    ];
    let edge = prop_oneof![0..LENGTH, (0..LENGTH / 512).prop_map(|sector| sector * 512)];
    let range =
        (edge.clone(), edge).prop_map(|(a, b)| (a.min(b), (a.max(b) - a.min(b) + 1) as u32));
    let one = (op, range, any::<bool>()).prop_map(|(op, (at, length), fua)| (op, at, length, fua));
    prop::collection::vec(one, 1..40)
}

/// The pages that lie completely in a range.
fn trimmed(at: u64, length: u64) -> std::ops::Range<usize> {
    let first = at.next_multiple_of(PAGE);
    let end = (at + length) / PAGE * PAGE;
    first as usize..end.max(first) as usize
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn requests_act_as_on_a_row_of_bytes(ops in ops(), is_structured in any::<bool>()) {
        let scratch = tempfile::tempdir().unwrap();
        let socket = scratch.path().join("socket");
        let faulty = Arc::new(Faulty::new(memory(), 1));
        let device: Arc<dyn Device> = faulty.clone();
        format(&device);
        let store = open(&device);
        let mut model = vec![0u8; LENGTH as usize];
        serving(&store, false, &socket, || {
            let mut client = Client::new(&socket, is_structured);
            for (op, at, length, fua) in ops.clone() {
                let range = at as usize..at as usize + length as usize;
                let (offset, flags) = (BEGIN + at, u16::from(fua));
                match op {
                    Op::Read { one_piece } => {
                        let flags = if one_piece && is_structured { ONE_PIECE } else { 0 };
                        let read = client.ask(READ, flags, offset, length, &[]).unwrap();
                        assert!(read == model[range], "{length} bytes at {offset}");
                    }
                    Op::Write(byte) => {
                        let bytes = vec![byte; length as usize];
                        client.ask(WRITE, flags, offset, length, &bytes).unwrap();
                        model[range].fill(byte);
                    }
                    Op::Zero { no_hole } => {
                        let flags = flags | if no_hole { NO_HOLE } else { FAST_ZERO };
                        client.ask(WRITE_ZEROES, flags, offset, length, &[]).unwrap();
                        model[range].fill(0);
                    }
                    Op::Trim => {
                        client.ask(TRIM, flags, offset, length, &[]).unwrap();
                        model[trimmed(at, length.into())].fill(0);
                    }
                    Op::Flush => drop(client.ask(FLUSH, 0, 0, 0, &[]).unwrap()),
                }
            }
            let all = client.ask(READ, 0, BEGIN, LENGTH as u32, &[]).unwrap();
            assert!(all == model);
            // When the file system below is full, each request is done or finds no space.
            faulty.fail(Operation::Append, 0..u64::MAX, Fault::Full);
            for (op, at, length, fua) in ops {
                let (offset, flags) = (BEGIN + at, u16::from(fua));
                let reply = match op {
                    Op::Read { .. } => client.ask(READ, 0, offset, length, &[]),
                    Op::Write(byte) => {
                        client.ask(WRITE, flags, offset, length, &vec![byte; length as usize])
                    }
                    Op::Zero { .. } => client.ask(WRITE_ZEROES, flags, offset, length, &[]),
                    Op::Trim => client.ask(TRIM, flags, offset, length, &[]),
                    Op::Flush => client.ask(FLUSH, 0, 0, 0, &[]),
                };
                assert!(matches!(reply, Ok(_) | Err(NO_SPACE)), "{op:?}: {reply:?}");
            }
        });
    }
}

#[test]
fn what_was_written_before_a_flush_or_with_fua_survives_a_power_cut() {
    for (is_fua, seed) in [(false, 1), (true, 2)] {
        let scratch = tempfile::tempdir().unwrap();
        let socket = scratch.path().join("socket");
        let faulty = Arc::new(Faulty::new(memory(), seed));
        let device: Arc<dyn Device> = faulty.clone();
        format(&device);
        let store = open(&device);
        serving(&store, false, &socket, || {
            let (mut one, mut two) = (Client::new(&socket, false), Client::new(&socket, true));
            let flags = if is_fua { FUA } else { 0 };
            for page in 0..40 {
                one.ask(WRITE, flags, page * PAGE + 100, 5000, &[7; 5000]).unwrap();
            }
            if !is_fua {
                two.ask(FLUSH, 0, 0, 0, &[]).unwrap();
            }
            faulty.crash();
        });
        drop(store);
        let device: Arc<dyn Device> = Arc::new(faulty.restart().unwrap());
        let store = open(&device);
        serving(&store, false, &socket, || {
            let mut client = Client::new(&socket, true);
            let read = client.ask(READ, 0, 100, 39 * 4096 + 5000, &[]).unwrap();
            assert!(read.iter().all(|&byte| byte == 7), "FUA: {is_fua}");
        });
    }
}

#[test]
fn parts_of_a_page_that_several_connections_write_at_once_are_all_there() {
    let scratch = tempfile::tempdir().unwrap();
    let socket = scratch.path().join("socket");
    let device = memory();
    format(&device);
    let store = open(&device);
    serving(&store, false, &socket, || {
        std::thread::scope(|scope| {
            for part in 0..4u64 {
                let socket = &socket;
                scope.spawn(move || {
                    let mut client = Client::new(socket, part % 2 == 0);
                    for round in 0..2000u32 {
                        let bytes = [round as u8; 1024];
                        client.ask(WRITE, 0, part * 1024, 1024, &bytes).unwrap();
                        let read = client.ask(READ, 0, part * 1024, 1024, &[]).unwrap();
                        assert!(read == bytes, "part {part}, round {round}");
                    }
                });
            }
        });
    });
}

#[test]
fn block_status_tells_holes_from_data() {
    let scratch = tempfile::tempdir().unwrap();
    let socket = scratch.path().join("socket");
    let device = memory();
    format(&device);
    let store = open(&device);
    serving(&store, false, &socket, || {
        let mut client = Client::new(&socket, true);
        client.ask(WRITE, 0, 2 * PAGE, 3 * 4096, &[1; 3 * 4096]).unwrap();
        client.ask(TRIM, 0, 3 * PAGE, 4096, &[]).unwrap();
        let status = client.ask(BLOCK_STATUS, 0, 512, 6 * 4096, &[]).unwrap();
        let numbers: Vec<_> =
            status.as_chunks::<4>().0.iter().map(|four| u32::from_be_bytes(*four)).collect();
        let hole = 3;
        assert_eq!(numbers, [2 * 4096 - 512, hole, 4096, 0, 4096, hole, 4096, 0, 4096 + 512, hole]);
        let one = client.ask(BLOCK_STATUS, 8, 512, 6 * 4096, &[]).unwrap();
        assert_eq!(one, status[..8]);
    });
}
