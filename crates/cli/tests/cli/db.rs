//! Inspection of databases by their users.

use std::os::unix::fs::FileExt;
use std::process::Stdio;

use crate::run::Scratch;
use serde_json::Value;

/// Two small databases on the store `dir:d`.
fn two() -> Scratch {
    let scratch = Scratch::new();
    scratch.quiet(
        "bench ycsb --workload a --records 100 --value-bytes 10 --tenants 2 --device dir:d \
         --zone 256KiB --transactions 50 -q",
    );
    scratch
}

#[test]
fn stats_tell_tables_log_and_store() {
    let scratch = two();
    let stats = scratch.json("db stats dir:d --json");
    let databases = stats["databases"].as_array().unwrap();
    assert_eq!(databases.len(), 2);
    for database in databases {
        let tables = database["tables"].as_array().unwrap();
        let records =
            |name| &tables.iter().find(|table| table["table"] == name).unwrap()["records"];
        assert_eq!(
            (records("ycsb.usertable"), records("workload.contents")),
            (&100.into(), &1.into())
        );
        assert!(database["log_capacity_bytes"].as_u64() > Some(0));
    }
    assert_eq!(stats["store"]["scheme"], "frostline");
}

#[test]
fn a_backup_is_restored_as_it_was_and_the_next_copies_little() {
    let scratch = two();
    let first = scratch.json("db backup dir:d copies --json");
    assert_eq!(first["copied_bytes"], first["bytes"]);
    assert!(scratch.quiet("db backup dir:d copies").contains(", 0.00 MiB of it copied"));
    scratch.quiet("db restore copies dir:again");
    assert_eq!(scratch.quiet("db dump dir:again"), scratch.quiet("db dump dir:d"));
    assert!(scratch.quiet("db check dir:again").contains("sound"));
    scratch.fails(2, "db restore copies dir:d");
    let none = scratch.fails(2, "db restore nothing dir:new");
    assert!(none.contains("no backup") && none.contains("hint: frostline db backup"), "{none}");
    if !cfg!(feature = "s3") {
        let bucket = scratch.fails(2, "db backup dir:d s3://bucket/of/this");
        assert!(bucket.contains("s3://bucket/of/this: this was built without S3"), "{bucket}");
        assert!(bucket.contains("hint: cargo build --release --features s3"), "{bucket}");
    }
}

#[test]
fn a_directory_that_holds_anything_else_takes_no_backup() {
    let scratch = two();
    std::fs::create_dir_all(scratch.path("mine/parts")).unwrap();
    scratch.file("mine/parts/notes.txt", "mine");
    for line in [
        "db backup dir:d mine",
        "db backup dir:d mine/parts",
        "store backup dir:d mine",
        "bench ycsb --records 500 --transactions 50 -q --device dir:e --backup mine",
    ] {
        let refused = scratch.fails(2, line);
        assert!(refused.contains("notes.txt: not of a backup"), "{line}: {refused}");
        assert!(refused.contains("hint: a backup needs a directory"), "{line}: {refused}");
    }
    assert_eq!(std::fs::read_dir(scratch.path("mine")).unwrap().count(), 1);
    assert_eq!(std::fs::read_dir(scratch.path("mine/parts")).unwrap().count(), 1);
}

#[test]
fn the_backup_of_another_store_is_not_replaced() {
    let scratch = Scratch::new();
    let bench = "bench ycsb --records 500 --transactions 50 -q --device";
    scratch.quiet(&format!("{bench} dir:d"));
    scratch.quiet("db backup dir:d copies");
    scratch.quiet(&format!("{bench} dir:e"));
    for line in [
        "db backup dir:e copies".to_string(),
        "store backup dir:e copies".to_string(),
        format!("{bench} dir:e --keep --no-check --backup copies"),
    ] {
        let refused = scratch.fails(2, &line);
        let said = "frostline: copies/: holds the backup of another store\nhint: give each store its own target";
        assert!(refused.starts_with(said), "{line}: {refused}");
    }
    let several = format!("{bench} dir:f --scheme nosep,sepbit --backup many");
    assert!(scratch.fails(2, &several).contains("--backup: one run is backed up"));

    // Two restored copies go on. The first takes the next backup, and the other is refused.
    scratch.quiet("db restore copies dir:again");
    scratch.quiet("db restore copies dir:other");
    for (device, seed) in [("dir:again", 7), ("dir:other", 8)] {
        scratch.quiet(&format!("{bench} {device} --keep --no-check --seed {seed}"));
    }
    scratch.quiet("db backup dir:again copies");
    let refused = scratch.fails(1, "db backup dir:other copies");
    assert!(refused.contains("copies/: its copy of zone "), "{refused}");
    assert!(refused.contains("hint: back up to another target"), "{refused}");
    scratch.quiet("db restore copies dir:last");
    assert_eq!(scratch.quiet("db dump dir:last"), scratch.quiet("db dump dir:again"));
}

#[test]
fn a_bench_that_is_followed_can_be_restored_and_gone_on_with() {
    let scratch = Scratch::new();
    let bench = "bench ycsb --records 500 --transactions 500 --quiet";
    let report = scratch.json(&format!("{bench} --device dir:d --backup copies --json -"));
    let backup = &report["runs"][0]["backup"];
    assert!(backup["backups"].as_u64() > Some(0) && backup["failures"] == 0, "{backup}");
    scratch.quiet("db restore copies dir:again");
    assert!(scratch.quiet("db check dir:again").contains("sound"));
    assert_eq!(scratch.quiet("db dump dir:again"), scratch.quiet("db dump dir:d"));
    scratch.quiet(&format!("{bench} --device dir:again --keep --no-check"));
}

#[test]
fn dump_writes_every_record_on_a_line() {
    let scratch = two();
    let text = scratch.quiet("db dump dir:d");
    // The workload's records, and the note of the loaded contents.
    assert_eq!(text.lines().count(), 2 * (100 + 1));
    assert!(text.lines().all(|line| line.is_ascii() && line.split('\t').count() == 4));
    assert!(text.starts_with("1\tworkload.contents\t"), "{text}");
    let rows = scratch.quiet("db dump dir:d --json --table ycsb.usertable --tenant 2");
    for line in rows.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let digits = |field: &str| row[field].as_str().unwrap().len();
        assert_eq!((&row["tenant"], digits("key"), digits("value")), (&2.into(), 16, 20));
    }
    assert_eq!(rows.lines().count(), 100);
}

/// The bytes of every zone.
fn all(scratch: &Scratch) -> Vec<Vec<u8>> {
    let zones = std::fs::read_dir(scratch.path("d/seq")).unwrap().count();
    let zone = |zone: usize| scratch.path("d/seq").join(zone.to_string());
    (0..zones).map(|number| std::fs::read(zone(number)).unwrap()).collect()
}

#[test]
fn looking_into_databases_changes_nothing() {
    let scratch = two();
    let (before, records) = (all(&scratch), scratch.quiet("db dump dir:d"));
    for command in ["db check dir:d", "db stats dir:d", "store check dir:d", "store info dir:d"] {
        scratch.quiet(command);
        assert!(scratch.quiet("db dump dir:d") == records, "{command}");
        assert!(all(&scratch) == before, "{command}");
    }
}

#[test]
fn looking_into_a_database_that_was_killed_changes_nothing() {
    let scratch = Scratch::new();
    let line = "bench ycsb --workload 100w --records 2000 --device dir:d --zone 256KiB --size 64MiB \
                --seconds 60";
    let mut command = scratch.command(line.split_whitespace());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // The log lies behind the store. Once it has begun, the database is loaded.
    let bytes = || {
        let zones = (200..256).map(|zone| scratch.path("d/seq").join(zone.to_string()));
        zones.map(|path| std::fs::metadata(path).map_or(0, |m| m.len())).sum::<u64>()
    };
    while bytes() < 1 << 20 {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let (before, records) = (all(&scratch), scratch.quiet("db dump dir:d"));
    assert!(records.lines().count() > 0);
    for command in ["db check dir:d", "db stats dir:d", "store check dir:d", "db dump dir:d"] {
        scratch.quiet(command);
        assert!(all(&scratch) == before, "{command}");
    }
    assert!(scratch.quiet("db dump dir:d") == records);
    scratch
        .quiet("bench ycsb --workload c --records 2000 --device dir:d --keep --transactions 1 -q");
    assert!(scratch.quiet("db dump dir:d") == records, "it is what recovery makes of it");
}

#[test]
fn a_database_whose_store_lost_a_zone_is_looked_into_and_opened_only_if_that_is_accepted() {
    let scratch = Scratch::new();
    let bench = "bench ycsb --workload c --records 9000 --device dir:d --transactions 1 -q";
    scratch.quiet(&format!("{bench} --zone 256KiB"));
    let sound = scratch.quiet("db check dir:d");
    let zones = scratch.json("store zones dir:d --json");
    let share = |zone: &&Value| zone["valid_share"].as_f64().unwrap_or(0.0) > 0.9;
    let zone = zones.as_array().unwrap().iter().rfind(share).unwrap()["zone"].clone();
    let (path, before) = (scratch.path(&format!("d/seq/{zone}")), all(&scratch));
    let content = std::fs::read(&path).unwrap();
    std::fs::write(&path, &content[..8192]).unwrap();
    let ran = scratch.run("db check dir:d");
    let named = format!("zone {zone} ends at page 2 of ");
    assert!(ran.status == 1 && ran.out.starts_with(&named), "{}: {}", ran.status, ran.out);
    let said = scratch.fails(1, &format!("{bench} --keep"));
    assert!(said.contains("synced pages are missing") && said.contains("--accept-loss"), "{said}");
    std::fs::write(&path, content).unwrap();
    assert!(all(&scratch) == before);
    assert_eq!(scratch.quiet("db check dir:d"), sound);
}

#[test]
fn a_sound_database_is_called_sound_and_its_store_as_well() {
    let scratch = two();
    let text = scratch.quiet("db check dir:d");
    assert_eq!(text.lines().count(), 2);
    assert!(text.starts_with("dir:d: tenant 1: sound: 103 records in 4 trees of "), "{text}");
    let report = scratch.json("db check dir:d --json");
    assert_eq!(report["databases"][1]["findings"], Value::Array(vec![]));
    assert!(scratch.quiet("store check dir:d").starts_with("dir:d: sound: "));
}

/// Changes the bytes at these offsets of a file.
fn flip(scratch: &Scratch, name: &str, at: impl IntoIterator<Item = u64>) {
    let file = std::fs::File::options().read(true).write(true).open(scratch.path(name)).unwrap();
    for at in at {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 1], at).unwrap();
    }
}

#[test]
fn a_damaged_page_is_named() {
    let scratch = Scratch::new();
    scratch.quiet(
        "bench ycsb --workload c --records 9000 --device dir:d --zone 256KiB --transactions 1 -q",
    );
    // In a zone whose pages are all valid, a leaf of the table follows the first header.
    let zones = scratch.json("store zones dir:d --json");
    let share = |zone: &&Value| zone["valid_share"].as_f64().unwrap_or(0.0) > 0.9;
    let zone = zones.as_array().unwrap().iter().rfind(share).unwrap()["zone"].clone();
    flip(&scratch, &format!("d/seq/{zone}"), [20 * 4096 + 77]);
    let ran = scratch.run("db check dir:d");
    assert_eq!((ran.status, ran.err.as_str()), (1, "frostline: dir:d: 1 thing is damaged\n"));
    assert!(ran.out.starts_with("page ") && ran.out.contains(" is damaged: zone "), "{}", ran.out);
    assert_eq!(scratch.run("db stats dir:d").status, 1);
    let said = scratch.run("db dump dir:d").err;
    assert!(said.starts_with("frostline: dir:d: LBA ") && said.contains(" is damaged"), "{said}");
}

#[test]
fn a_damaged_log_is_told_with_its_place() {
    let scratch = Scratch::new();
    let line = "bench ycsb --workload 100w --records 100 --device dir:d --zone 256KiB --size 64MiB \
                --log 32MiB --seconds 60";
    let mut command = scratch.command(line.split_whitespace());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // The log lies behind the store. Its length after a given time depends on the machine: so the
    // bench is killed once many zones of the log are full, and all of them are damaged.
    let full = || {
        let zones = (0..256).map(|zone| format!("d/seq/{zone}"));
        let pages =
            |name: &String| std::fs::metadata(scratch.path(name)).map_or(0, |m| m.len() / 4096);
        zones.skip(128).filter(|name| pages(name) == 64).collect::<Vec<String>>()
    };
    while full().len() < 24 {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let full = full();
    assert!(full.len() > 2, "{full:?}");
    full.iter().for_each(|name| flip(&scratch, name, [32 * 4096 + 100]));
    let said = scratch.fails(1, "db check dir:d");
    let place = "frostline: dir:d: log: the log is damaged behind lsn ";
    assert!(
        said.starts_with(place) && said.contains(": zone ") && said.contains(", page "),
        "{said}"
    );
}

#[test]
fn wrong_usage_is_told_in_one_line() {
    let scratch = two();
    scratch.quiet("store format dir:s --size 16MiB --zone 256KiB -q");
    for (line, said) in [
        ("db", "db: no command given (known: "),
        ("db dump dir:d --table x", "dir:d: there is no table x"),
        ("db dump dir:d --tenant 3", "db dump: --tenant 3: 2 databases share dir:d"),
        ("db stats dir:s", "dir:s: not a database"),
        ("db stats dir:none", "none"),
        ("db stats mem:", "mem:: nothing is in memory yet: it can only be created"),
    ] {
        let err = scratch.fails(2, line);
        assert!(err.starts_with(&format!("frostline: {said}")), "{line}: {err}");
    }
}

#[test]
fn a_copy_has_all_records_under_another_scheme() {
    let scratch = Scratch::new();
    let bench =
        "bench ycsb --workload a --records 300 --value-bytes 40 --tenants 2 --transactions 100 -q";
    scratch.quiet(&format!(
        "{bench} --device file:d --size 64MiB --zone 256KiB --scheme nosep --unit 4096"
    ));
    scratch.quiet("db copy file:d file:e --scheme sepbit --unit 64 -q");
    assert_eq!(scratch.quiet("db dump file:e"), scratch.quiet("db dump file:d"));
    let check = scratch.json("db check file:e --json");
    assert!(check["findings"].as_array().is_none_or(|findings| findings.is_empty()), "{check}");
    let info = scratch.json("store info file:e --json");
    assert_eq!((info["scheme"].as_str(), info["unit"].as_u64()), (Some("sepbit"), Some(64)));
    let said = scratch.fails(2, "db copy file:d file:f --scheme nonesuch");
    assert!(said.contains("nonesuch") && !scratch.path("f").exists(), "{said}");
    let said = scratch.fails(2, "db copy file:d file:e");
    assert!(said.contains("not empty") && !said.contains("--force"), "{said}");
}
