//! Events of the libraries on standard error.

use crate::run::Scratch;

const FORMAT: &str = "store format file:d --size 8MiB --zone 256KiB -q";

/// The events of a run, without their times.
fn events(err: &str) -> Vec<&str> {
    err.lines().map(|line| line.split_once("s ").map_or(line, |(_, event)| event.trim())).collect()
}

#[test]
fn events_are_told_if_asked_for_and_leave_standard_output_alone() {
    let scratch = Scratch::new();
    let ran = scratch.run(&format!("{FORMAT} -v"));
    assert_eq!((ran.status, ran.out.as_str()), (0, ""));
    let opened = r#"INFO frostline_benches::device: opened a device uri="file:d" shape="32 zones of 256 KiB""#;
    assert!(events(&ran.err).contains(&opened), "{}", ran.err);
    let debug =
        |err: &str| events(err).iter().filter(|e| e.starts_with("DEBUG frostline_store")).count();
    assert_eq!(debug(&scratch.run("store check file:d -v").err), 0);
    assert!(debug(&scratch.run("store check file:d -vv").err) > 0);
    scratch.quiet("store check file:d");
}

#[test]
fn a_variable_picks_events_by_module_and_level() {
    let scratch = Scratch::new();
    let run = |filter: &str, more: &str| {
        let line = format!("{FORMAT} --force {more}");
        let output =
            scratch.command(line.split_whitespace()).env("RUST_LOG", filter).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    scratch.quiet(FORMAT);
    let (status, err) = run("frostline_benches=info", "");
    assert_eq!((status, events(&err).len()), (Some(0), 1), "{err}");
    assert_eq!(run("frostline_benches=error", ""), (Some(0), String::new()));
    assert_eq!(run("frostline_benches=off", "-v").1.matches("frostline_benches").count(), 0);
    let (status, err) = run("frostline_benches=loud", "");
    assert_eq!(status, Some(2));
    assert!(err.starts_with("frostline: RUST_LOG: \"frostline_benches=loud\": "), "{err}");
}
