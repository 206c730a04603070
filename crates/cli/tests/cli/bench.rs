//! `frostline bench store`: its measurements, and that they can be repeated.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use crate::run::Scratch;
use serde_json::Value;

const SMALL: &str = "bench store --device mem: --size 8MiB --zone 256KiB --unit 4096";

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn one_thread_that_cleans_inline_is_repeatable() {
    let scratch = Scratch::new();
    let line = format!("{SMALL} --writes 5000 --cleaning inline --json - -q");
    let (one, two) = (scratch.json(&line), scratch.json(&line));
    for field in
        ["user_writes", "relocations", "waf", "far", "header_pages", "checkpoint_pages", "classes"]
    {
        assert_eq!(one["runs"][0][field], two["runs"][0][field], "{field}");
    }
    let run = &one["runs"][0];
    assert_eq!(number(&run["user_writes"]), 5000);
    let parts = ["user_writes", "relocations", "header_pages", "checkpoint_pages"];
    let all: u64 = parts.iter().map(|part| number(&run[part])).sum();
    assert_eq!(run["waf"], all as f64 / 5000.0);
    assert!(number(&run["relocations"]) > 0 && number(&run["zones_reclaimed"]) > 0);
    let far = run["far"].as_f64().unwrap();
    assert!(0.0 < far && far < 1.0, "{far}");
    let other = scratch.json(&format!("{line} --seed 2"));
    assert_ne!(other["runs"][0]["relocations"], run["relocations"]);
}

#[test]
fn every_workload_runs_with_threads_and_syncs() {
    let scratch = Scratch::new();
    scratch.pages("t.u32", (0..500).chain(100..200));
    for workload in ["zipf:0.8", "uniform", "sequential", "trace:t.u32"] {
        let run =
            format!("{SMALL} --workload {workload} --writes 2000 --threads 3 --sync-every 50");
        let report = scratch.json(&format!("{run} --json - -q"));
        assert_eq!(number(&report["runs"][0]["user_writes"]), 2000, "{workload}");
        assert_eq!(report["workload"], workload);
    }
}

#[test]
fn seconds_end_it_and_each_gives_a_line() {
    let scratch = Scratch::new();
    let ran = scratch.run(&format!("{SMALL} --seconds 1 --drive zn540 --json report.json"));
    assert_eq!(ran.status, 0, "{}", ran.err);
    let report: Value =
        serde_json::from_slice(&std::fs::read(scratch.path("report.json")).unwrap()).unwrap();
    let seconds = report["runs"][0]["seconds"].as_f64().unwrap();
    assert!(seconds >= 1.0, "{seconds}");
    assert!(ran.out.contains("as slow as a zn540"), "{}", ran.out);
    assert!(ran.err.lines().all(|line| line.contains(" MB/s  WAF ")), "{}", ran.err);
}

#[test]
fn a_bandwidth_holds_writes_back() {
    let scratch = Scratch::new();
    let slow = scratch.json(&format!("{SMALL} --writes 300 --json - -q --bandwidth 16MiB"));
    assert_eq!(slow["bandwidth"], 16 << 20);
    let rate = |report: &Value| report["runs"][0]["mb_per_second"].as_f64().unwrap();
    assert!(rate(&slow) < 20.0, "{slow}");
    let said = scratch.fails(2, &format!("{SMALL} --bandwidth 0"));
    assert!(said.starts_with("frostline: bench store: --bandwidth 0: nothing would be written"));
}

#[test]
fn what_was_written_can_be_recorded_and_the_store_kept() {
    let scratch = Scratch::new();
    let device = "--device file:d --workload uniform --cleaning inline";
    let first = scratch.json(&format!(
        "bench store {device} --size 6MiB --zone 256KiB --writes 1000 --record r.u32 --json - -q"
    ));
    let info = scratch.json("trace info r.u32 --json -q");
    let filled = number(&first["runs"][0]["logical_pages"]);
    assert_eq!(number(&info["volumes"][0]["writes"]), filled + 1000);
    let said = scratch.fails(2, &format!("bench store {device} --size 6MiB --zone 256KiB -q"));
    assert!(said.contains("the device is not empty"), "{said}");
    let kept = scratch.json(&format!("bench store {device} --keep --writes 500 --json - -q"));
    assert_eq!(number(&kept["runs"][0]["user_writes"]), 500);
    let info = scratch.json("store info file:d --json");
    assert_eq!(number(&info["user_writes"]), filled + 1500);
    assert!(scratch.quiet("store check file:d").contains("sound"));
}

#[test]
fn metrics_are_served_on_loopback_while_it_runs_and_a_signal_ends_it_with_its_table() {
    let scratch = Scratch::new();
    let line = format!("{SMALL} --seconds 60 --metrics 127.0.0.1:0");
    let mut command = scratch.command(line.split_whitespace());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    err.read_line(&mut said).unwrap();
    let address = said.strip_prefix("frostline: bench store: zones at http://").unwrap();
    let (address, _) = address.split_once('/').unwrap();
    let get = |path: &str| {
        let mut client = TcpStream::connect(address).unwrap();
        write!(client, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        answer
    };
    let answer = get("/metrics");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("\nfrostline_pages_written_total{by=\"user\"} "), "{answer}");
    assert!(get("/").contains("<canvas "));
    let top = scratch.quiet(&format!("top {address}"));
    assert!(top.contains("survival, survival") && top.contains(" zones "), "{top}");
    let view = scratch.json(&format!("top http://{address}/ --json"));
    assert_eq!(view["scheme"], "survival");
    // Once a line is printed, the bench has written something.
    err.read_line(&mut said).unwrap();
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("\nWAF "), "{table}");
    err.read_to_string(&mut said).unwrap();
    assert!(said.ends_with("frostline: bench store: interrupted: cut short\n"), "{said}");
}
