//! The system's `sqlite3` is killed with SIGKILL again and again while it commits. Each commit that
//! it had acknowledged is there when the database is opened again, transactions are whole, and
//! `integrity_check` finds nothing.
//!
//! `FROSTLINE_TIMES=n` kills n times as often.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::sqlite3::{self, Shell, run};
use frostline_testkit::seeds;

/// The mode of a store of whole pages.
const WHOLE_PAGES: &str = "whole pages";

/// Rows that a transaction changes, so that it changes several pages.
const ROWS: u64 = 20;

/// Commits transactions until it is killed, after `commits` of them were acknowledged. Returns the
/// last.
fn commit_until_killed(db: &str, pragmas: &str, from: u64, commits: u64) -> u64 {
    let mut writer = Command::new("sh")
        .args(["-c", "exec sqlite3 -batch -init /dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = writer.stdin.take().unwrap();
    let mut acknowledged = BufReader::new(writer.stdout.take().unwrap()).lines();
    let extension = std::env::current_exe().unwrap().with_file_name("libfrostline_sqlite");
    writeln!(stdin, ".load {}\n.open '{db}'\n{pragmas}", extension.display()).unwrap();
    for number in from + 1..=from + commits + 30 {
        writeln!(
            stdin,
            "begin; update t set v = {number} where a % 50 = {number} % 50; update last set n = {number}; commit;\n\
             .print committed {number}"
        )
        .unwrap();
    }
    stdin.flush().unwrap();
    let mut last = from;
    while last < from + commits {
        let Some(line) = acknowledged.next() else { panic!("it ended after {last}") };
        let line = line.unwrap();
        match line.strip_prefix("committed ") {
            Some(number) => last = number.parse().unwrap(),
            None => assert!(!line.contains("rror"), "{line}"),
        }
    }
    writer.kill().unwrap();
    writer.wait().unwrap();
    drop(stdin);
    // What it still said before it was killed counts as well.
    let rest = acknowledged.map_while(Result::ok);
    let rest = rest.filter_map(|line| line.strip_prefix("committed ").and_then(|n| n.parse().ok()));
    rest.fold(last, u64::max)
}

fn kill_again_and_again(mode: &str, pragmas: &str) {
    if !sqlite3::is_there() {
        eprintln!("skipped: there is no sqlite3 that loads extensions");
        return;
    }
    let kills = seeds::times(4);
    let directory = tempfile::tempdir().unwrap();
    let unit = if mode == WHOLE_PAGES { "&unit=4096" } else { "" };
    let db = sqlite3::uri(&directory, "my.db") + unit;
    run(
        &db,
        &format!(
            "{pragmas} create table t(a integer primary key, v, filling); create table last(n);
             insert into last values (0);
             with recursive c(x) as (select 0 union all select x + 1 from c where x < 50 * {ROWS} - 1)
             insert into t select x, 0, hex(zeroblob(300)) from c;"
        ),
    );
    let (mut last, mut lost, mut unacknowledged) = (0, 0, 0);
    for kill in 0..kills {
        let acknowledged = commit_until_killed(&db, pragmas, last, 1 + kill * 7 % 23);
        let mut shell = Shell::start(&db);
        assert_eq!(shell.ask("pragma integrity_check;"), "ok", "{mode}, kill {kill}");
        let found: u64 = shell.ask("select n from last;").parse().unwrap();
        lost += acknowledged.saturating_sub(found);
        unacknowledged += found.saturating_sub(acknowledged);
        // Each of the last fifty transactions changed all its rows, or none.
        let torn = shell.ask(
            "select count(*) from (select a % 50 from t group by a % 50 having min(v) <> max(v));",
        );
        assert_eq!(torn, "0", "{mode}, kill {kill}: torn transactions");
        let newest = shell.ask("select max(v) from t;");
        assert_eq!(newest.parse::<u64>().unwrap(), found, "{mode}, kill {kill}");
        last = found;
        shell.quit();
    }
    println!(
        "{mode}: {kills} kills, {last} commits found, {unacknowledged} of them unacknowledged; lost: {lost}"
    );
    assert_eq!(lost, 0, "{mode}: acknowledged commits are lost");
}

#[test]
fn no_acknowledged_commit_is_lost_with_the_journal_as_it_is_by_default() {
    kill_again_and_again("delete", "");
}

#[test]
fn no_acknowledged_commit_is_lost_in_a_store_of_whole_pages() {
    kill_again_and_again(WHOLE_PAGES, "");
}

#[test]
fn no_acknowledged_commit_is_lost_with_the_journal_off() {
    kill_again_and_again("off", "pragma journal_mode=off;");
}

#[test]
fn no_acknowledged_commit_is_lost_with_a_write_ahead_log() {
    kill_again_and_again("wal", "pragma journal_mode=wal; pragma wal_autocheckpoint=20;");
}
