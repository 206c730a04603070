//! A store is served until a signal comes, and is then closed.

use std::io::{BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Stdio;

use crate::run::Scratch;

const SERVE: &str = "serve nbd file:disk --listen ./socket --create --size 16MiB --zone 256KiB";

/// Serves, does a client's handshake, and ends the server; returns all its messages.
fn served(scratch: &Scratch, line: &str) -> String {
    let mut server =
        scratch.command(line.split_whitespace()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(server.stderr.take().unwrap());
    let mut first = String::new();
    said.read_line(&mut first).unwrap();
    let mut hello = [0; 8];
    UnixStream::connect(scratch.path("socket")).unwrap().read_exact(&mut hello).unwrap();
    assert_eq!(&hello, b"NBDMAGIC");
    let killed = std::process::Command::new("kill").arg(server.id().to_string()).status().unwrap();
    assert!(killed.success());
    said.read_to_string(&mut first).unwrap();
    assert_eq!(server.wait().unwrap().code(), Some(0));
    first
}

#[test]
fn a_disk_is_made_served_closed_and_served_again() {
    let scratch = Scratch::new();
    let said = served(&scratch, SERVE);
    assert_eq!(
        said,
        "frostline: file:disk: 8784 KiB at nbd+unix:///?socket=./socket\n\
         frostline: file:disk: 0 pages written, 0 relocated, WAF 1.0000\n"
    );
    assert_eq!(scratch.names(), ["disk"]);
    served(&scratch, SERVE);
    served(&scratch, "serve nbd file:disk --listen ./socket --read-only");
    scratch.quiet("store check file:disk");
}

#[test]
fn a_disk_is_served_on_a_socket_that_was_there_before_the_server() {
    let scratch = Scratch::new();
    let path = scratch.path("socket");
    let socket = UnixListener::bind(&path).unwrap();
    let mut client = UnixStream::connect(&path).unwrap();
    let line = "serve nbd file:disk --listen - --create --size 16MiB --zone 256KiB -q";
    let mut server = scratch.command(line.split_whitespace());
    let mut server = server.stdin(OwnedFd::from(socket)).spawn().unwrap();
    let mut hello = [0; 8];
    client.read_exact(&mut hello).unwrap();
    assert_eq!(&hello, b"NBDMAGIC");
    let killed = std::process::Command::new("kill").arg(server.id().to_string()).status().unwrap();
    assert!(killed.success());
    assert_eq!(server.wait().unwrap().code(), Some(0));
    assert!(path.exists(), "the socket is not the server's");
}

#[test]
fn standard_input_that_is_no_socket_is_not_listened_on() {
    let scratch = Scratch::new();
    let line = "serve nbd file:disk --listen - --create --size 16MiB --zone 256KiB";
    let said = scratch.fails(1, line);
    assert!(said.contains("standard input is not a socket"), "{said}");
}

#[test]
fn a_disk_that_may_not_be_written_is_not_served() {
    let scratch = Scratch::new();
    scratch.quiet("store format dir:disk --size 16MiB --zone 256KiB -q");
    for zone in std::fs::read_dir(scratch.path("disk/seq")).unwrap() {
        let readable = std::fs::Permissions::from_mode(0o444);
        std::fs::set_permissions(zone.unwrap().path(), readable).unwrap();
    }
    let said = scratch.fails(2, "serve nbd dir:disk --listen ./socket");
    assert!(said.starts_with("frostline: disk/seq") && said.contains("ermission denied"), "{said}");
    scratch.quiet("store check dir:disk");
}

#[test]
fn a_disk_is_watched_while_it_is_served() {
    let scratch = Scratch::new();
    let line = format!("{SERVE} --scheme frozen:sepgc --metrics 127.0.0.1:0");
    let mut server =
        scratch.command(line.split_whitespace()).stderr(Stdio::piped()).spawn().unwrap();
    let said = BufReader::new(server.stderr.take().unwrap());
    let said: Vec<_> = said.lines().map(Result::unwrap).take(2).collect();
    let address = said[1].strip_prefix("frostline: serve nbd: zones at http://").unwrap();
    let (address, _) = address.split_once('/').unwrap();
    let view = scratch.json(&format!("top {address} --json"));
    assert_eq!(view["scheme"], "frozen:sepgc");
    assert_eq!(view["zones"].as_array().unwrap().len(), 64);
    let held = scratch.fails(2, "top file:disk");
    assert!(held.contains("hint: ") && held.contains("frostline top ADDR"), "{held}");
    let killed = std::process::Command::new("kill").arg(server.id().to_string()).status().unwrap();
    assert!(killed.success());
    assert_eq!(server.wait().unwrap().code(), Some(0));
    let still = scratch.quiet("top file:disk");
    assert!(still.contains("64 zones"), "{still}");
    scratch.fails(1, &format!("top {address}"));
}

#[test]
fn databases_are_no_disk_and_a_disk_must_be_there_or_be_made() {
    let scratch = Scratch::new();
    scratch.quiet("bench ycsb --workload a --records 500 --transactions 50 -q");
    let said = scratch.fails(2, "serve nbd file:frostline-bench --listen ./socket");
    assert!(said.contains("it holds databases"), "{said}");
    let said = scratch.fails(2, "serve nbd file:disk --listen ./socket");
    assert!(said.contains("--create"), "{said}");
    assert_eq!(scratch.names(), ["frostline-bench"]);
}

#[test]
fn memory_is_locked_or_it_is_told_why_not() {
    let scratch = Scratch::new();
    let line = format!("{SERVE} --lock-memory");
    let mut server =
        scratch.command(line.split_whitespace()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(server.stderr.take().unwrap());
    let mut first = String::new();
    said.read_line(&mut first).unwrap();
    if !first.contains(" at nbd+unix://") {
        assert!(first.starts_with("frostline: serve nbd: --lock-memory: "), "{first}");
        assert_eq!(server.wait().unwrap().code(), Some(1));
        assert_eq!(scratch.names(), [""; 0], "nothing was made");
        return;
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let locked = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap();
    assert_ne!(locked.trim(), "0 kB");
    let killed = std::process::Command::new("kill").arg(server.id().to_string()).status().unwrap();
    assert!(killed.success());
    assert_eq!(server.wait().unwrap().code(), Some(0));
}
