//! The benches of databases: their measurements, their recordings, and their ends.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

use crate::run::Scratch;
use frostline_trace::{LoadOptions, load};
use serde_json::Value;

/// TPC-C on a few pages, with a buffer that is too small for them.
const TPCC: &str = "bench tpcc --warehouses 1 --items 200 --customers 20 --buffer 256KiB -q";

/// A device in memory.
const MEM: &str = "--device mem: --zone 256KiB";

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn the_json_has_the_fields_of_a_run_and_those_of_a_database() {
    let scratch = Scratch::new();
    let report = scratch.json(&format!("{TPCC} {MEM} --transactions 2000 --json -"));
    let run = &report["runs"][0];
    assert_eq!((&run["scheme"], &run["victim"]), (&"frostline".into(), &"survival".into()));
    assert_eq!(run["trigger"]["gp"], 0.15);
    assert!((0.0..=1.0).contains(&run["far"].as_f64().unwrap()), "{run}");
    assert_eq!(number(&run["transactions"]), 2000);
    for field in ["tpmc", "ops_per_second", "waf", "waf_with_log", "process_cpu_seconds"] {
        assert!(run[field].as_f64().unwrap() > 0.0, "{field}: {run}");
    }
    for field in
        ["user_writes", "wal_pages", "header_pages", "pages_read", "device_reads", "pages_evicted"]
    {
        assert!(number(&run[field]) > 0, "{field}: {run}");
    }
    let (accesses, hits) = (number(&run["page_accesses"]), run["cache_hits"].as_f64().unwrap());
    let missed = number(&run["pages_read"]) as f64 / accesses as f64;
    assert!((hits + missed - 1.0).abs() < 1e-9 && 0.5 < hits && hits < 1.0, "{run}");
    for field in ["checkpoint_pages", "relocations", "conflicts", "zones_reclaimed"] {
        number(&run[field]);
    }
    let by_cause = run["bytes_by_cause"].as_object().unwrap().values().map(number).sum::<u64>();
    let over_updated = by_cause as f64 / number(&run["updated_bytes"]) as f64;
    assert_eq!(run["device_bytes_per_updated_byte"], over_updated);
    let (space, data) = (number(&run["space_bytes"]), number(&run["data_bytes"]));
    assert_eq!(run["space_over_data"], space as f64 / data as f64);
    // Pages are not full, and some of the device is garbage.
    let pages = number(&run["pages_after"]) * 4096;
    assert!(data > pages / 3 && data < pages && pages < space, "{run}");
    for quantile in ["p50", "p95", "p99", "p999", "max"] {
        assert!(run["latency_us"][quantile].as_f64().unwrap() > 0.0, "{quantile}");
    }
    let kinds = run["kinds"].as_array().unwrap();
    let of = |kind: &Value| number(&kind["committed"]) + number(&kind["rolled_back"]);
    assert_eq!(kinds.iter().map(of).sum::<u64>(), 2000);
    assert_eq!(kinds[0]["kind"], "new-order");
    let conditions = run["conditions"].as_array().unwrap();
    assert!(conditions.len() >= 12 && conditions.iter().all(|c| c["ok"] == true));
}

/// Records a bench, and checks that the command which it prints makes the same decisions. Returns
/// the run.
fn replayed_exactly(scratch: &Scratch, line: &str) -> Value {
    let table = scratch.quiet(&format!(
        "{line} --cleaning inline --in-order --record run.parquet --json run.json"
    ));
    assert!(table.ends_with("relocates the same pages\n"), "{table}");
    let command = table.lines().find_map(|line| line.strip_prefix("frostline sim ")).unwrap();
    let replayed = scratch.json(&format!("sim {command} --no-gain --json - -q"));
    let run: Value =
        serde_json::from_slice(&std::fs::read(scratch.path("run.json")).unwrap()).unwrap();
    let run = run["runs"][0].clone();
    for field in [
        "user_writes",
        "relocations",
        "far",
        "zones_reclaimed",
        "victim_gp",
        "classes",
        "user_bytes",
        "device_bytes",
        "delta_writes",
        "merges",
    ] {
        assert_eq!(run[field], replayed["runs"][0][field], "{field}: {line}");
    }
    assert!(run["far"].as_f64().unwrap() > 0.1, "{run}");
    assert_eq!(run["replay"]["exact"], true);
    run
}

#[test]
fn a_recorded_run_of_whole_pages_is_replayed_with_the_relocations_that_it_had() {
    let scratch = Scratch::new();
    for scheme in ["nosep", "sepbit", "frostline"] {
        // The log is so large, and so many zones are spare, that no sync ends a zone early; only
        // the last scheme does.
        let run = replayed_exactly(
            &scratch,
            &format!(
                "{TPCC} --device mem: --zone 256KiB --unit 4096 --size 512MiB --log 32MiB --spare 400 \
                 --scheme {scheme} --transactions 3000"
            ),
        );
        assert!(number(&run["relocations"]) > 1000);
        assert_eq!(run["replay"]["store"].is_null(), scheme != "frostline", "{scheme}: {run}");
    }
    let head = scratch.quiet("trace head run.parquet -n 5 --json");
    assert!(head.contains("origin"), "the trace has hotness records: {head}");
}

/// Tails in the last recording.
fn recorded_tails(scratch: &Scratch) -> u64 {
    let path = scratch.path("run.parquet");
    let mut recorded = load(&path, &LoadOptions::default(), &mut |_| ()).unwrap();
    recorded.volumes.remove(0).kinds.unwrap().tails().count_ones()
}

#[test]
fn a_recorded_run_of_a_store_with_deltas_is_replayed_with_its_deltas_tails_merges_and_chunks() {
    let scratch = Scratch::new();
    for scheme in ["sepbit", "frostline"] {
        let small = format!("--device mem: --zone 256KiB --scheme {scheme}");
        let run =
            replayed_exactly(&scratch, &format!("{TPCC} {small} --log 32MiB --transactions 3000"));
        assert!(number(&run["relocations"]) > 1000 && number(&run["merges"]) > 100, "{run}");
        let ycsb = "bench ycsb --records 24000 --buffer 512KiB --transactions 60000 -q";
        let run = replayed_exactly(&scratch, &format!("{ycsb} {small}"));
        assert!(number(&run["relocations"]) > 1000 && number(&run["merges"]) > 100, "{run}");
        assert_eq!(number(&run["merges"]), number(&run["deltas"]["merged"]));
        // This load changes a page often enough for tails.
        let tails = recorded_tails(&scratch);
        assert!(tails > 100, "{tails}");
    }
    // The same trace without the store: deltas and merges are there, headers are not.
    let replayed =
        scratch.json("sim run.parquet --in-units 64 --scheme nosep --no-gain --json - -q");
    let run = &replayed["runs"][0];
    assert!(number(&run["merges"]) > 100 && number(&run["delta_writes"]) > 1000, "{run}");
    let said = scratch.fails(
        2,
        "sim run.parquet --in-units 64 --zones 90 --as-store pages=9,whole=9,zone=8KiB,spare=1,hotness=true",
    );
    assert!(said.contains("the store's zones have"), "{said}");
    for scheme in ["nosep", "oracle-rate"] {
        let small = "--as-store pages=9,whole=9,zone=256KiB,spare=1,hotness=true";
        let line = format!("sim run.parquet --in-units 64 --zones 90 --scheme {scheme} --no-gain");
        let said = scratch.fails(2, &format!("{line} --zone 240KiB {small}"));
        assert!(said.contains("is beyond the volume's last, 8"), "{said}");
        // A scheme that knows means has a table of all pages, which is not made for this.
        let large = "--zone 240KiB --as-store pages=715000000,whole=715000000,zone=256KiB,spare=1,hotness=true";
        let limited = format!("ulimit -v 4000000; exec \"$0\" {line} {large}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &limited, env!("CARGO_BIN_EXE_frostline")]);
        let ran = shell.current_dir(scratch.path(".")).output().unwrap();
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(2), "{said}");
        assert!(said.contains("91 zones are too few for") && said.contains("hint: "), "{said}");
    }
}

#[test]
fn several_schemes_run_one_after_the_other_on_fresh_databases() {
    let scratch = Scratch::new();
    let line = format!("{TPCC} --device file:d --size 30MiB --scheme nosep,dac --transactions 500");
    let report = scratch.json(&format!("{line} --json -"));
    let schemes: Vec<_> =
        report["runs"].as_array().unwrap().iter().map(|run| &run["scheme"]).collect();
    assert_eq!(schemes, ["nosep", "dac"]);
    let said = scratch.fails(2, &line);
    assert!(said.starts_with("frostline: file:d: the device is not empty"), "{said}");
    assert!(said.contains("hint: --force"), "{said}");
    let said = scratch.fails(2, &line.replace("--size 30MiB", "--force --zone 1MiB"));
    assert!(said.contains("with zones of its own\nhint: leave out --zone"), "{said}");
    let said = scratch.fails(
        2,
        &line.replace("--warehouses 1", "--force --warehouses 50").replace("--size 30MiB", ""),
    );
    assert!(said.contains("120 zones of 256 KiB: ") && said.contains("hint: remove it"), "{said}");
    let table = scratch.quiet(&format!("{line} --force"));
    assert!(table.lines().nth(3).unwrap().split_whitespace().eq(["nosep", "dac"]), "{table}");
}

#[test]
fn small_devices_take_long_and_short_values_with_little_memory() {
    for (size, value_bytes, records) in [
        ("16MiB", 100, 20_000),
        ("16MiB", 1000, 4000),
        ("64MiB", 1000, 20_000),
        ("64MiB", 8000, 2000),
    ] {
        let scratch = Scratch::new();
        let device = format!("--device mem: --size {size} --buffer 256KiB");
        let load = format!("--records {records} --value-bytes {value_bytes} --transactions 500");
        scratch.quiet(&format!("bench ycsb {device} {load}"));
    }
}

#[test]
fn tenants_share_the_store_and_are_told_apart() {
    let scratch = Scratch::new();
    let line = format!("{TPCC} {MEM} --tenants 2 --threads 2 --transactions 600");
    let report = scratch.json(&format!("{line} --json -"));
    let run = &report["runs"][0];
    assert_eq!((number(&run["transactions"]), number(&report["tenants"])), (1200, 2));
    let tenants = run["tenants"].as_array().unwrap();
    assert_eq!(tenants.iter().map(|t| number(&t["transactions"])).collect::<Vec<_>>(), [600, 600]);
    let of_second = |c: &&Value| c["tenant"] == 2;
    assert!(run["conditions"].as_array().unwrap().iter().filter(of_second).count() >= 12);
}

#[test]
fn databases_are_kept_and_gone_on_with() {
    let scratch = Scratch::new();
    let line = format!("{TPCC} --device file:d --transactions 300 --json -");
    scratch.json(&format!("{line} --zone 256KiB --tenants 2 --steady"));
    let kept = scratch.json(&format!("{line} --keep --steady"));
    assert_eq!((number(&kept["runs"][0]["transactions"]), number(&kept["tenants"])), (600, 2));
    let said = scratch.fails(2, &format!("{TPCC} --device file:none --keep"));
    assert_eq!(said, "frostline: bench tpcc: --keep: there is nothing in file:none\n");
}

#[test]
fn data_of_another_workload_or_scale_are_kept_as_they_are() {
    let scratch = Scratch::new();
    let ycsb = "bench ycsb --value-bytes 50 --device file:d --transactions 10 -q";
    scratch.quiet(&format!("{ycsb} --records 500 --zone 256KiB"));
    let before = scratch.quiet("db check file:d");
    let there = "is wanted, and there is ycsb, 500 records, 50 bytes a value\nhint: the options ";
    for (bench, wanted) in [
        (format!("{ycsb} --records 501"), "ycsb, 501 records, 50 bytes a value"),
        (
            format!("{TPCC} --device file:d"),
            "tpcc, 1 warehouses, 200 items, 20 customers a district",
        ),
        ("bench linkbench --device file:d".to_string(), "linkbench, 500000 nodes"),
    ] {
        let said = scratch.fails(2, &format!("{bench} --keep"));
        assert!(said.contains(&format!(": --keep: file:d: {wanted} {there}")), "{said}");
    }
    assert_eq!(scratch.quiet("db check file:d"), before, "nothing was written");
    scratch.quiet(&format!("{ycsb} --records 500 --keep --seed 7 --workload f"));
}

#[test]
fn a_load_that_was_not_finished_is_told_and_is_no_loss() {
    let scratch = Scratch::new();
    let bench = "bench ycsb --records 4000000 --device file:d --transactions 10 -q";
    let mut child = scratch.command(bench.split(' ')).spawn().unwrap();
    let written =
        || -> u64 { std::fs::metadata(scratch.path("d")).map_or(0, |file| file.blocks() * 512) };
    while written() < 32 << 20 {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let said = scratch.fails(2, &format!("{bench} --keep"));
    let why = "the load of ycsb, 4000000 records, 120 bytes a value was not finished";
    assert!(said.contains(why) && said.contains("\nhint: without --keep "), "{said}");
}

#[test]
fn ycsb_and_linkbench_run_in_the_same_way() {
    let scratch = Scratch::new();
    for (workload, bytes) in [("a", 2000), ("d", 100), ("e", 100), ("100w", 800)] {
        let line = format!(
            "bench ycsb --workload {workload} --records 2000 --value-bytes {bytes} {MEM} \
             --buffer 256KiB"
        );
        let report = scratch.json(&format!("{line} --transactions 1000 -q --json -"));
        let run = &report["runs"][0];
        assert_eq!(number(&run["transactions"]), 1000, "{workload}");
        assert!(run.get("tpmc").is_none() && run["ops_per_second"].as_f64().unwrap() > 0.0);
        assert!(report["workload"].as_str().unwrap().starts_with(&format!("ycsb {workload}, ")));
    }
    let table = scratch.quiet(&format!(
        "bench linkbench --nodes 500 {MEM} --buffer 256KiB --transactions 1000 -q"
    ));
    assert!(table.contains("linkbench, 500 nodes: 1 thread"), "{table}");
    assert!(table.contains(" conditions of its data hold\n") && !table.contains("tpmC"), "{table}");
    assert!(
        table.contains("\ndevice bytes/byte updated ") && table.lines().count() < 12,
        "{table}"
    );
}

/// Runs until `until` appears on standard error, then sends a signal.
fn interrupted(
    scratch: &Scratch,
    line: &str,
    until: &str,
    signal: &str,
) -> (Option<i32>, String, String) {
    let mut command = scratch.command(line.split_whitespace());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains(until) {
        assert_ne!(err.read_line(&mut said).unwrap(), 0, "{said}");
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    err.read_to_string(&mut said).unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap(), said)
}

#[test]
fn a_signal_ends_it_with_its_table_and_each_second_gives_a_line() {
    let scratch = Scratch::new();
    let line = format!("{} {MEM} --seconds 60 --steady", TPCC.replace(" -q", ""));
    let (status, table, said) = interrupted(&scratch, &line, "\n", "-TERM");
    for part in [" s ", " tx/s ", " tpmC ", " WAF ", " hits ", " log ", " GP "] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(
        table.contains("\ntpmC ") && table.contains(" conditions of its data hold\n"),
        "{table}"
    );
    assert_eq!(status, Some(143));
    assert!(said.ends_with("bench tpcc: interrupted: frostline was cut short\n"), "{said}");
}

#[test]
fn an_interrupted_comparison_tells_what_is_missing_and_keeps_what_is_finished() {
    let scratch = Scratch::new();
    let bench = format!("bench linkbench --nodes 200 {MEM} --buffer 256KiB --json a.json");
    let line = format!("{bench} --seconds 2 --scheme nosep,sepbit,dac");
    let second_began = "\nfrostline: bench linkbench: sepbit\n";
    let (status, table, said) = interrupted(&scratch, &line, second_began, "-INT");
    assert_eq!(status, Some(130), "{said}");
    assert!(said.contains("bench linkbench: interrupted: ") && said.ends_with("dac\n"), "{said}");
    assert!(table.contains("nosep") && !table.contains(" dac"), "{table}");
    let json = std::fs::read_to_string(scratch.path("a.json")).unwrap();
    let report: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&report["interrupted"], &report["runs"][0]["interrupted"]),
        (&true.into(), &false.into())
    );
    let whole =
        scratch.json(&format!("bench linkbench --nodes 200 {MEM} --transactions 10 -q --json -"));
    assert_eq!(whole["interrupted"], false);
}

#[test]
fn what_has_no_room_says_what_would_help() {
    let scratch = Scratch::new();
    let small =
        format!("{} --device mem: --zone 256KiB", TPCC.replace("--items 200", "--items 9000"));
    let full = format!("{small} --size 12MiB --log 6MiB --transactions 10 --record full.parquet");
    let said = scratch.fails(1, &full);
    assert_eq!(scratch.names(), [""; 0], "nothing is left of the trace");
    assert!(said.starts_with("frostline: mem:: the database is full with "), "{said}");
    assert!(said.ends_with("hint: a larger --size\n"), "{said}");
    let said = scratch.fails(2, &format!("{small} --size 2MiB"));
    assert!(said.contains("too small") && said.contains("hint: a larger --size"), "{said}");
    let said = scratch.fails(2, &format!("{small} --size 8MiB --log 1GiB"));
    assert!(said.contains("1 logs of 4096 zones need more than the device's 32"), "{said}");
}
