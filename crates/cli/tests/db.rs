//! Databases as their users look into them.

mod run;

use run::Scratch;
use serde_json::Value;

/// Two small databases on one store: `file:d`.
fn two() -> Scratch {
    let scratch = Scratch::new();
    scratch.quiet(
        "bench ycsb --workload a --records 100 --value-bytes 10 --tenants 2 --device file:d \
         --zone 256KiB --transactions 50 -q",
    );
    scratch
}

#[test]
fn stats_tell_tables_log_and_store() {
    let scratch = two();
    let stats = scratch.json("db stats file:d --json");
    let databases = stats["databases"].as_array().unwrap();
    assert_eq!(databases.len(), 2);
    for database in databases {
        let table = &database["tables"][0];
        assert_eq!((&table["table"], &table["records"]), (&"ycsb.usertable".into(), &100.into()));
        assert_eq!((&table["key_bytes"], &table["value_bytes"]), (&800.into(), &1000.into()));
        assert!(database["log_capacity_bytes"].as_u64() > Some(0));
    }
    assert_eq!(stats["store"]["scheme"], "sepbit");
    let text = scratch.quiet("db stats file:d");
    assert!(text.starts_with("file:d\n") && text.contains("\ntenant 2 of 2: "), "{text}");
}

#[test]
fn dump_writes_every_record_on_a_line() {
    let scratch = two();
    let text = scratch.quiet("db dump file:d");
    assert_eq!(text.lines().count(), 200);
    assert!(text.lines().all(|line| line.is_ascii() && line.split('\t').count() == 4));
    assert!(text.starts_with("1\tycsb.usertable\t"), "{text}");
    let rows = scratch.quiet("db dump file:d --json --table ycsb.usertable --tenant 2");
    for line in rows.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let digits = |field: &str| row[field].as_str().unwrap().len();
        assert_eq!((&row["tenant"], digits("key"), digits("value")), (&2.into(), 16, 20));
    }
    assert_eq!(rows.lines().count(), 100);
}

#[test]
fn looking_into_databases_changes_nothing() {
    let scratch = two();
    let files = || {
        let zones = std::fs::read_dir(scratch.path("d/seq")).unwrap();
        let mut zones: Vec<_> = zones.map(|zone| zone.unwrap().path()).collect();
        zones.sort();
        zones.iter().map(|zone| std::fs::read(zone).unwrap()).collect::<Vec<_>>()
    };
    scratch.quiet("db stats file:d");
    let before = files();
    for command in ["db stats file:d", "db dump file:d"] {
        scratch.quiet(command);
        assert!(files() == before, "{command}");
    }
}

#[test]
fn wrong_usage_is_told_in_one_line() {
    let scratch = two();
    scratch.quiet("store format file:s --size 16MiB --zone 256KiB -q");
    for (line, said) in [
        ("db", "db: no command given (known: "),
        ("db dump file:d --table x", "file:d: there is no table x"),
        ("db dump file:d --tenant 3", "db dump: --tenant 3: 2 databases share file:d"),
        ("db stats file:s", "file:s: not a database"),
        ("db stats file:none", "none"),
        ("db stats mem:", "mem:: nothing is in memory yet: it can only be created"),
    ] {
        let err = scratch.fails(2, line);
        assert!(err.starts_with(&format!("frostline: {said}")), "{line}: {err}");
    }
}
