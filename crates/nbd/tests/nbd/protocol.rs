//! Wrong options and requests are refused, and do no harm.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::client::*;
use frostline_nbd::{Address, MOST_CONNECTIONS, Server};
use frostline_store::Store;
use frostline_zone::{Device, Fault, Faulty, Operation};
use proptest::prelude::*;

const INVALID: u32 = 22;
const NO_SPACE: u32 = 28;

fn store() -> Store {
    let device = memory();
    format(&device);
    open(&device)
}

/// Checks that the server still serves a new client.
fn assert_serves(socket: &std::path::Path) {
    let mut client = Client::new(socket, true);
    client.ask(WRITE, 0, 0, 3, b"new").unwrap();
    assert_eq!(client.ask(READ, 0, 0, 3, &[]).unwrap(), b"new");
}

#[test]
fn a_connection_goes_on_after_requests_that_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let socket = scratch.path().join("socket");
    let store = store();
    serving(&store, false, &socket, || {
        for is_structured in [false, true] {
            let mut client = Client::new(&socket, is_structured);
            let size = client.size;
            assert_eq!(size, store.pages() * PAGE);
            let mut ask = |command, flags, offset, length, bytes: &[u8]| {
                client.ask(command, flags, offset, length, bytes).unwrap_err()
            };
            assert_eq!(ask(READ, 0, size - 1, 2, &[]), INVALID);
            assert_eq!(ask(READ, 0, u64::MAX, 2, &[]), INVALID);
            assert_eq!(ask(READ, 0, 0, 0, &[]), INVALID);
            assert_eq!(ask(READ, 0, 0, (32 << 20) + 1, &[]), 12);
            assert_eq!(ask(WRITE, 0, size - 1, 2, b"xy"), NO_SPACE);
            assert_eq!(ask(TRIM, 0, size, 1, &[]), NO_SPACE);
            assert_eq!(ask(READ, 1 << 9, 0, 1, &[]), INVALID);
            assert_eq!(ask(99, 0, 0, 1, &[]), INVALID);
            assert_eq!(ask(WRITE_ZEROES, NO_HOLE | FAST_ZERO, 0, 1, &[]), 95);
            if !is_structured {
                assert_eq!(ask(BLOCK_STATUS, 0, 0, 1, &[]), INVALID);
            }
            assert_eq!(client.ask(READ, 0, size - 2, 2, &[]).unwrap(), [0, 0]);
        }
    });
}

#[test]
fn an_export_that_is_only_read_refuses_changes() {
    let scratch = tempfile::tempdir().unwrap();
    let socket = scratch.path().join("socket");
    let store = store();
    serving(&store, true, &socket, || {
        let mut client = Client::new(&socket, false);
        assert_eq!(client.flags & 2, 2);
        assert_eq!(client.ask(WRITE, 0, 0, 1, b"x"), Err(1));
        assert_eq!(client.ask(TRIM, 0, 0, 4096, &[]), Err(1));
        assert_eq!(client.ask(READ, 0, 0, 1, &[]), Ok(vec![0]));
    });
}

#[test]
fn options_that_are_wrong_or_unknown_are_answered_and_the_handshake_goes_on() {
    const UNSUPPORTED: u32 = 0x8000_0001;
    const MALFORMED: u32 = 0x8000_0003;
    const UNKNOWN: u32 = 0x8000_0006;
    const TOO_BIG: u32 = 0x8000_0009;
    let scratch = tempfile::tempdir().unwrap();
    let socket = scratch.path().join("socket");
    let store = store();
    serving(&store, false, &socket, || {
        let mut client = Client::greeted(&socket);
        assert_eq!(client.option(5, &[]), Err(UNSUPPORTED));
        assert_eq!(client.option(77, &[1, 2, 3]), Err(UNSUPPORTED));
        assert_eq!(client.option(3, &[1]), Err(MALFORMED));
        assert_eq!(client.option(7, &[0, 0]), Err(MALFORMED));
        assert_eq!(client.option(7, &[0xff; 8]), Err(MALFORMED));
        assert_eq!(client.option(7, &[text(b"disk"), vec![0, 0]].concat()), Err(UNKNOWN));
        assert_eq!(client.option(10, &[0; 8]), Err(MALFORMED));
        assert_eq!(client.option(7, &vec![0; 1 << 20]), Err(TOO_BIG));
        assert_eq!(client.option(3, &[]).unwrap(), [(2, vec![0; 4]), (1, vec![])]);
        client.option(8, &[]).unwrap();
        let listed = client.option(9, &[0; 8]).unwrap();
        assert_eq!(listed[0].1[4..], *b"base:allocation");
        let none = [&[0; 4][..], &1u32.to_be_bytes(), &text(b"qemu:dirty-bitmap:x")].concat();
        assert_eq!(client.option(10, &none).unwrap(), [(1, vec![])]);
        let info = client.option(6, &[0, 0, 0, 0, 0, 1, 0, 3]).unwrap();
        let sizes = [1, 4096, 32 << 20].map(u32::to_be_bytes).concat();
        assert_eq!(info[1], (3, [&[0, 3][..], &sizes].concat()));
        client.option(7, &[0; 6]).unwrap();
        assert_eq!(client.ask(READ, 0, 0, 1, &[]), Ok(vec![0]));
    });
}

#[test]
fn the_old_way_to_begin_is_served() {
    let scratch = tempfile::tempdir().unwrap();
    let socket = scratch.path().join("socket");
    let store = store();
    serving(&store, false, &socket, || {
        let mut stream = Client::raw(&socket);
        let mut hello = [0; 18];
        stream.read_exact(&mut hello).unwrap();
        stream.write_all(b"\0\0\0\x01IHAVEOPT\0\0\0\x01\0\0\0\0").unwrap();
        let mut shown = [1; 134];
        stream.read_exact(&mut shown).unwrap();
        assert_eq!(shown[..8], (store.pages() * PAGE).to_be_bytes());
        assert_eq!(shown[10..], [0; 124]);
    });
}

#[test]
fn a_server_stops_while_clients_are_silent_at_any_stage() {
    let scratch = tempfile::tempdir().unwrap();
    let socket = scratch.path().join("socket");
    let store = store();
    let clients = serving(&store, false, &socket, || {
        let raw = Client::raw(&socket);
        let greeted = Client::greeted(&socket);
        let mut half = Client::new(&socket, true);
        half.send(WRITE, 0, 0, 4096, &[1; 100]).unwrap();
        (raw, greeted, half)
    });
    drop(clients);
    let mut page = [9; 4096];
    assert!(!store.read(0, &mut page).unwrap(), "half of a write has come, and none is done");
}

#[test]
fn clients_that_do_not_end_their_handshake_keep_no_other_out() {
    let scratch = tempfile::tempdir().unwrap();
    let socket = scratch.path().join("socket");
    let store = store();
    let server = Server::bind(&Address::Unix(socket.clone())).unwrap();
    let server = server.handshake_within(Duration::from_millis(300));
    serving_by(server, &store, false, || {
        let mut idle = Client::new(&socket, true);
        let silent: Vec<_> = (0..MOST_CONNECTIONS).map(|_| Client::raw(&socket)).collect();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Some go on and on, a byte or an option at a time, and some read no answers.
            for (number, mut stream) in silent.into_iter().enumerate() {
                let over = &over;
                scope.spawn(move || {
                    let _ = stream.write_all(b"\0\0\0\x03");
                    while !over.load(Ordering::Relaxed) {
                        let _ = match number % 4 {
                            0 => Ok(()),
                            1 => stream.write_all(b"I"),
                            2 => stream.write_all(b"IHAVEOPT\0\0\0\x03\0\0\0\0"),
                            _ => stream.write_all(&[b'I'; 4096]),
                        };
                        std::thread::sleep(Duration::from_millis(10));
                    }
                });
            }
            let begun = Instant::now();
            assert_serves(&socket);
            assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
            over.store(true, Ordering::Relaxed);
        });
        // Longer than the limit: it is none of a session.
        std::thread::sleep(Duration::from_millis(400));
        assert_eq!(idle.ask(READ, 0, 0, 3, &[]).unwrap(), b"new");
    });
}

#[test]
fn a_full_file_system_is_no_space_and_what_was_durable_stays() {
    let scratch = tempfile::tempdir().unwrap();
    let socket = scratch.path().join("socket");
    for is_structured in [false, true] {
        let faulty = Arc::new(Faulty::new(memory(), 1));
        let device: Arc<dyn Device> = faulty.clone();
        format(&device);
        let store = open(&device);
        serving(&store, false, &socket, || {
            let mut client = Client::new(&socket, is_structured);
            client.ask(WRITE, FUA, 0, 3, b"old").unwrap();
            faulty.fail(Operation::Append, 0..u64::MAX, Fault::Full);
            for _ in 0..2 {
                assert_eq!(client.ask(WRITE, FUA, PAGE, 4096, &[1; 4096]), Err(NO_SPACE));
                assert_eq!(client.ask(READ, 0, 0, 3, &[]).unwrap(), b"old");
            }
        });
        drop(store);
        faulty.stop_failing();
        let store = open(&device);
        serving(&store, false, &socket, || {
            let mut client = Client::new(&socket, is_structured);
            assert_eq!(client.ask(READ, 0, 0, 3, &[]).unwrap(), b"old");
            client.ask(WRITE, FUA, PAGE, 4096, &[1; 4096]).unwrap();
        });
    }
}

#[test]
fn the_socket_of_a_server_that_was_killed_is_replaced_and_that_of_another_is_not() {
    let scratch = tempfile::tempdir().unwrap();
    let socket = scratch.path().join("socket");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let store = store();
    serving(&store, false, &socket, || {
        let address = frostline_nbd::Address::Unix(socket.clone());
        assert!(frostline_nbd::Server::bind(&address).is_err());
        assert_serves(&socket);
    });
    assert!(!socket.exists());
    std::fs::write(&socket, "mine").unwrap();
    assert!(Server::bind(&Address::Unix(socket.clone())).is_err());
    assert_eq!(std::fs::read_to_string(&socket).unwrap(), "mine", "no socket, and not removed");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_client_that_sends_anything_harms_no_other(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        stage in 0..3,
    ) {
        let scratch = tempfile::tempdir().unwrap();
        let socket = scratch.path().join("socket");
        let store = store();
        serving(&store, false, &socket, || {
            let mut stream = Client::raw(&socket);
            // The server may end the connection before everything is sent.
            let _ = match stage {
                0 => stream.write_all(&bytes),
                1 => stream.write_all(&[b"\0\0\0\x03IHAVEOPT", &bytes[..]].concat()),
                _ => {
                    let go = b"\0\0\0\x03IHAVEOPT\0\0\0\x07\0\0\0\x06\0\0\0\0\0\0\x25\x60\x95\x13";
                    stream.write_all(&[go, &bytes[..]].concat())
                }
            };
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.read_to_end(&mut Vec::new());
            assert_serves(&socket);
        });
    }
}
