//! The unmodified `sqlite3` of the system, with the extension: what a user does, in several
//! connections and several processes.
//!
//! Where there is no `sqlite3` that loads extensions the tests say so, and pass.

use crate::sqlite3::{self, Shell, run};

macro_rules! skip_without_sqlite3 {
    () => {
        if !sqlite3::is_there() {
            eprintln!("skipped: there is no sqlite3 that loads extensions");
            return;
        }
    };
}

#[test]
fn a_store_is_made_and_holds_the_database_when_it_is_opened_again() {
    skip_without_sqlite3!();
    let directory = tempfile::tempdir().unwrap();
    let db = sqlite3::uri(&directory, "my.db");
    let out = run(&db, "create table t(a, b); insert into t values (1, 'one'); select * from t;");
    assert_eq!(out, "1|one\n");
    let out = run(&db, "insert into t values (2, 'two'); select * from t; pragma integrity_check;");
    assert_eq!(out, "1|one\n2|two\nok\n");
    let files = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(files, 1, "the store and nothing beside it");
}

#[test]
fn every_journal_mode_commits_and_rolls_back() {
    skip_without_sqlite3!();
    for mode in ["delete", "truncate", "persist", "memory", "wal"] {
        let directory = tempfile::tempdir().unwrap();
        let db = sqlite3::uri(&directory, "my.db");
        let out = run(
            &db,
            &format!(
                "pragma journal_mode={mode};
                 create table t(a integer primary key, b);
                 begin; insert into t values (1, 'kept'); commit;
                 begin; update t set b = 'lost'; insert into t values (2, 'lost'); rollback;
                 savepoint s; insert into t values (3, 'lost'); rollback to s; release s;
                 insert into t values (1, 'refused');
                 select * from t; pragma integrity_check;"
            ),
        );
        assert_eq!(out, format!("{mode}\n1|kept\nok\n"), "{mode}");
        assert_eq!(run(&db, "select * from t; pragma integrity_check;"), "1|kept\nok\n", "{mode}");
    }
}

#[test]
fn every_page_size_and_a_vacuum_that_changes_it_keep_the_data() {
    skip_without_sqlite3!();
    let directory = tempfile::tempdir().unwrap();
    let db = sqlite3::uri(&directory, "my.db");
    run(
        &db,
        "create table t(a integer primary key, b);
         with recursive c(x) as (select 1 union all select x + 1 from c where x < 2000)
         insert into t select x, hex(x * x) from c;",
    );
    for bytes in [512, 1024, 4096, 8192, 65536] {
        let out = run(
            &db,
            &format!(
                "pragma page_size={bytes}; vacuum; pragma page_size;
                 delete from t where a % 97 = 0; insert into t select 97 * value, hex(97 * value * 97 * value)
                 from (with recursive c(value) as (select 1 union all select value + 1 from c where value < 20) select value from c);
                 select count(*), sum(b = hex(a * a)) from t; pragma integrity_check;"
            ),
        );
        assert_eq!(out, format!("{bytes}\n2000|2000\nok\n"));
    }
}

#[test]
fn another_process_is_told_that_the_database_is_locked() {
    skip_without_sqlite3!();
    let directory = tempfile::tempdir().unwrap();
    let db = sqlite3::uri(&directory, "my.db");
    let mut first = Shell::start(&db);
    assert_eq!(first.ask("create table t(a); insert into t values (1); select a from t;"), "1");
    let (out, err) = sqlite3::run_all(&db, "select a from t;");
    assert!(out.is_empty() && err.contains("locked"), "{out} {err}");
    assert_eq!(first.ask("select count(*) from t;"), "1");
    first.quit();
    assert_eq!(run(&db, "select a from t;"), "1\n");
}

#[test]
fn connections_of_a_process_wait_for_each_other_s_locks() {
    skip_without_sqlite3!();
    for mode in ["delete", "wal"] {
        let directory = tempfile::tempdir().unwrap();
        let db = sqlite3::uri(&directory, "my.db");
        let mut shell = Shell::start(&db);
        shell.ask(&format!(
            "pragma journal_mode={mode}; create table t(a); insert into t values (1);"
        ));
        shell.tell(&format!(".connection 1\n.open '{db}'"));
        assert_eq!(shell.ask("begin; select count(*) from t;"), "1");
        shell.tell(".connection 0");
        // A reader is there: only with a log the writer need not wait for it.
        let written = shell.ask("insert into t values (2); select count(*) from t;");
        match mode {
            "wal" => assert_eq!(written, "2"),
            _ => assert!(written.contains("locked"), "{written}"),
        }
        shell.tell(".connection 1");
        assert_eq!(shell.ask("select count(*) from t; commit;"), "1", "{mode}: a snapshot");
        assert_eq!(shell.ask("insert into t values (3); select count(*) >= 2 from t;"), "1");
        shell.tell(".connection 0");
        assert_eq!(shell.ask("pragma integrity_check;"), "ok");
        shell.quit();
    }
}

#[test]
fn databases_share_a_store_and_are_attached_to_each_other() {
    skip_without_sqlite3!();
    let directory = tempfile::tempdir().unwrap();
    let [one, two] = ["one.db", "two.db"].map(|name| sqlite3::uri(&directory, name));
    run(&one, "create table t(a); insert into t values (1);");
    let out = run(
        &two,
        &format!(
            "attach '{one}' as other; create table t(a);
             begin; insert into t select a + 1 from other.t; insert into other.t select a from t; commit;
             select a from other.t; select a from main.t;"
        ),
    );
    assert_eq!(out, "1\n2\n2\n");
    assert_eq!(run(&one, "select a from t;"), "1\n2\n");
}

/// A transaction of more pages than the store can write at once is refused, and the database goes
/// on.
#[test]
fn a_transaction_that_is_too_large_is_refused_and_rolled_back() {
    skip_without_sqlite3!();
    let directory = tempfile::tempdir().unwrap();
    let db = sqlite3::uri_of_size(&directory, "my.db", "64MiB");
    let db = format!("{db}&zone=1MiB&gp=0.15&unit=4096");
    let mut shell = Shell::start(&db);
    let rows = "(with recursive c(n) as (select 1 union all select n + 1 from c where n < 7500) select n from c)";
    shell.ask("create table t(a integer primary key, b);");
    shell.ask(&format!("insert into t select n, 'old' || hex(randomblob(2000)) from {rows};"));
    let change = "update t set b = randomblob(4000); select 'done';";
    let answer = shell.ask(change);
    assert!(answer.contains("full") && !answer.contains("done"), "{answer}");
    let is_old = "select count(*), sum(substr(b, 1, 3) = 'old') from t; pragma integrity_check;";
    assert_eq!(shell.ask(is_old), "7500|7500\nok");
    assert_eq!(shell.ask("update t set b = 'new' where a = 7; select changes();"), "1");
    assert_eq!(shell.ask(is_old), "7500|7499\nok");
    shell.quit();
    assert_eq!(run(&db, is_old), "7500|7499\nok\n");
}

#[test]
fn a_write_ahead_log_takes_a_transaction_in_parts() {
    skip_without_sqlite3!();
    let directory = tempfile::tempdir().unwrap();
    let db = sqlite3::uri(&directory, "my.db");
    let rows = "(with recursive c(n) as (select 1 union all select n + 1 from c where n < 4000) select n from c)";
    let mut shell = Shell::start(&db);
    assert_eq!(shell.ask("pragma journal_mode=wal;"), "wal");
    shell.ask("create table t(a integer primary key, b);");
    shell.ask(&format!("insert into t select n, zeroblob(4000) from {rows};"));
    shell.ask(&format!(
        "begin; insert into t select n + 4000, zeroblob(4000) from {rows}; rollback;"
    ));
    assert_eq!(shell.ask("select count(*) from t; pragma integrity_check;"), "4000\nok");
    shell.quit();
    assert_eq!(run(&db, "select count(*) from t; pragma integrity_check;"), "4000\nok\n");
}

#[test]
fn a_database_that_shrinks_gives_its_pages_back() {
    skip_without_sqlite3!();
    let directory = tempfile::tempdir().unwrap();
    let db = sqlite3::uri(&directory, "my.db");
    run(
        &db,
        "create table t(a, b); insert into t select value, zeroblob(3000) from (with recursive c(value) as
         (select 1 union all select value + 1 from c where value < 3000) select value from c);
         delete from t where a > 10; vacuum;",
    );
    let valid = sqlite3::inspect(&directory).0.valid_pages;
    assert!(valid < 60, "{valid} pages are in use");
}

/// Transactions that each change a few bytes of some pages.
fn change_rows(db: &str) {
    let mut lines = "create table t(a integer primary key, v, filling);
         insert into t select value, 1000000, randomblob(120) from (with recursive c(value) as
         (select 1 union all select value + 1 from c where value < 3000) select value from c);\n"
        .to_string();
    for number in 1..=100 {
        lines += &format!("update t set v = {} where a % 300 = {number};\n", 1000000 + number);
    }
    run(db, &lines);
    let out = run(db, "select count(*), sum(v) from t; pragma integrity_check;");
    assert_eq!(out, "3000|3000050500\nok\n");
}

#[test]
fn changed_rows_are_written_as_deltas_in_a_store_that_is_made() {
    skip_without_sqlite3!();
    let directory = tempfile::tempdir().unwrap();
    change_rows(&sqlite3::uri(&directory, "my.db"));
    let (info, stats) = sqlite3::inspect(&directory);
    assert_eq!(info.unit, 64);
    let bytes = stats.written.user_bytes / stats.written.user;
    assert!(stats.written.user > 1000 && bytes < 1000, "{bytes} bytes each");
}

#[test]
fn a_store_of_whole_pages_writes_no_deltas() {
    skip_without_sqlite3!();
    let directory = tempfile::tempdir().unwrap();
    change_rows(&(sqlite3::uri(&directory, "my.db") + "&unit=4096"));
    let (info, stats) = sqlite3::inspect(&directory);
    assert_eq!(info.unit, 4096);
    assert_eq!(stats.written.user_bytes, 4096 * stats.written.user);
}

#[test]
fn a_scheme_that_takes_whole_pages_only_has_units_of_a_page() {
    skip_without_sqlite3!();
    let directory = tempfile::tempdir().unwrap();
    let db = sqlite3::uri(&directory, "my.db") + "&scheme=midas";
    assert!(sqlite3::run_all(&db, "").1.contains("unable to open"));
    let db = db + "&unit=4096";
    assert_eq!(run(&db, "create table t(a); insert into t values (1); select a from t;"), "1\n");
}

/// As a user types it, who has not turned on the log of the shell.
#[test]
fn on_a_terminal_the_reason_why_a_database_cannot_be_opened_is_told() {
    skip_without_sqlite3!();
    let directory = tempfile::tempdir().unwrap();
    let db = sqlite3::uri(&directory, "my.db").replace("size=1GiB", "size=banana");
    let Some(said) = sqlite3::on_a_terminal(&db) else {
        eprintln!("skipped: there is no script that gives a terminal");
        return;
    };
    assert!(
        said.contains("frostline: size=banana: \"banana\" is not a size such as 4096"),
        "{said}"
    );
}

#[test]
fn a_wrong_parameter_or_a_file_of_something_else_is_an_error_with_a_reason() {
    skip_without_sqlite3!();
    let directory = tempfile::tempdir().unwrap();
    for (wrong, why) in [
        ("size=many", "not a size"),
        ("size=1GiB&gp=x", "not a share"),
        ("size=1GiB&unit=x", "divides 4096"),
        ("size=1GiB&unit=100", "divide 4096"),
        ("size=1GiB&zone=1", "zone"),
        ("size=1GiB&scheme=none", "none"),
        ("size=1GiB&unitt=64", "unitt: not a parameter of a store; there are store, size, zone"),
        ("sizee=1GiB&cache=private", "sizee: not a parameter"),
    ] {
        let db = sqlite3::uri(&directory, "my.db").replace("size=1GiB", wrong);
        let (_, err) = sqlite3::run_all(&db, "");
        assert!(err.contains("unable to open") && err.contains(why), "{wrong}: {err}");
        assert!(!directory.path().join("store").exists(), "{wrong}: nothing is made");
    }
    let known = sqlite3::uri(&directory, "other.db") + "&mode=rwc&cache=private&psow=1";
    assert_eq!(run(&known, "select 1;"), "1\n");
    let store = directory.path().join("store");
    std::fs::write(&store, "mine").unwrap();
    let (_, err) = sqlite3::run_all(&sqlite3::uri(&directory, "my.db"), "");
    assert!(err.contains("unable to open"), "{err}");
    assert_eq!(std::fs::read_to_string(&store).unwrap(), "mine");
    // A directory has a store of its own, beside what else is there.
    std::fs::remove_file(&store).unwrap();
    std::fs::create_dir(&store).unwrap();
    std::fs::write(store.join("notes.txt"), "mine").unwrap();
    assert_eq!(run(&sqlite3::uri(&directory, "my.db"), "select 1;"), "1\n");
    assert!(store.join("store.frost").is_file());
}
