//! The sessions of docs/sqlite.md run as they stand there, one after another in one directory.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::sqlite3;

#[test]
fn every_session_of_the_documentation_runs_without_an_error() {
    if !sqlite3::is_there() {
        eprintln!("skipped: there is no sqlite3 that loads extensions");
        return;
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sqlite.md");
    let text = std::fs::read_to_string(path).unwrap();
    let sessions: Vec<&str> =
        text.split("```sqlite3\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(sessions.len() >= 2, "only {} sessions were found", sessions.len());
    let directory = tempfile::tempdir().unwrap();
    let extension = std::env::current_exe().unwrap().with_file_name("libfrostline_sqlite");
    let mut all = String::new();
    for session in sessions {
        let session =
            session.replace("target/release/libfrostline_sqlite", &extension.display().to_string());
        let mut shell = Command::new("sqlite3")
            .args(["-bail", "-batch", "-init", "/dev/null"])
            .current_dir(&directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        shell.stdin.take().unwrap().write_all(session.as_bytes()).unwrap();
        let out = shell.wait_with_output().unwrap();
        let error = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success() && error.is_empty(), "{session}\n{error}");
        all += &String::from_utf8_lossy(&out.stdout);
    }
    assert_eq!(all, "Grace\n");
    assert!(directory.path().join("FILE").is_file());
}
