//! The examples run, and print what they are to show. `cargo test` builds them; with `--test` alone
//! those of the last build are run.

use std::path::Path;
use std::process::Command;

/// The lines that an example prints, run in a directory of its own.
fn lines_of(example: &str, argument: &str) -> Vec<String> {
    let test = std::env::current_exe().unwrap();
    // Cargo builds examples before tests are run, beside the directory of the tests.
    let built = test.ancestors().nth(2).unwrap().join("examples").join(example);
    let directory = tempfile::tempdir().unwrap();
    let ran = Command::new(built).arg(argument).current_dir(directory.path()).output().unwrap();
    assert!(ran.status.success(), "{example}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap().lines().map(str::to_string).collect()
}

#[test]
fn the_queue_does_every_job_once() {
    assert_eq!(lines_of("queue", "q").last().unwrap(), "6 jobs are done");
}

#[test]
fn the_index_follows_what_it_is_of() {
    let expected = ["London: [\"Ada\"]", "Manchester: [\"Alan\"]", "Arlington: [\"Grace\"]"];
    assert_eq!(lines_of("index", "i"), expected);
}

#[test]
fn the_counter_counts_all() {
    assert_eq!(lines_of("counter", "c").last().unwrap(), "Some(60) visits");
}

#[test]
fn the_old_readings_go_and_the_others_stay() {
    let lines = lines_of("time_series", "r");
    assert!(lines[0].contains("(\"attic\", 3599)"), "{lines:?}");
    assert_eq!(lines[2..], ["1800 old readings are gone", "5400 readings are left"]);
}

#[test]
fn the_orders_are_found_by_customer() {
    let lines = lines_of("orders", "o");
    assert_eq!(lines[3..], ["Ada's order 1: bolts", "Ada's order 3: washers"]);
}

#[test]
fn the_server_takes_a_long_file_and_gives_it_back() {
    let expected = [
        "PUT: HTTP/1.1 201 Created, 0 bytes",
        "GET: HTTP/1.1 200 OK, 5000000 bytes",
        "DELETE: HTTP/1.1 204 No Content, 0 bytes",
        "GET: HTTP/1.1 404 Not Found, 0 bytes",
    ];
    assert_eq!(lines_of("server", "s"), expected);
}

#[test]
fn the_schemes_are_compared() {
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/tiny_zipf10.u32.zst");
    assert!(Path::new(trace).exists());
    assert_eq!(lines_of("schemes", trace).len(), 4);
}
