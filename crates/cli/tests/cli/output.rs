//! Results go to standard output, all else to standard error, and files appear completely or not at
//! all.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use crate::run::{Scratch, without_command};
use serde_json::Value;

/// A trace with which every scheme must clean.
fn zipf() -> Scratch {
    let scratch = Scratch::new();
    scratch.quiet("gen zipf --pages 4096 --writes 40000 --fill --seed 3 -q -o z.u32");
    scratch
}

#[test]
fn the_table_shows_what_was_asked_for_and_nothing_else() {
    assert_eq!(
        zipf().quiet("sim z.u32 --zone 256KiB --scheme nosep,sepbit,2r-fifo --no-timing"),
        "\
z.u32: 44096 user writes to 4096 pages (u32, requests guessed)
zones of 256 KiB (64 pages), cleaned above a garbage proportion of 15 %

WAF by scheme, each with its victims, * the best
scheme   victim            WAF  frozen    gain  reclaimed  victim GP
sepbit   cost-benefit  *2.3560  33.4 %  71.8 %       1548      0.297
2r-fifo  2r-fifo        2.7508  32.4 %  56.7 %       1820      0.250
nosep    cost-benefit   4.2396  37.8 %   0.0 %       2846      0.219
"
    );
}

#[test]
fn the_table_of_victim_policies_has_a_column_for_each_and_one_for_those_of_schemes() {
    let sim = "sim z.u32 --zone 256KiB --scheme nosep,sepbit,2r-fifo --no-timing";
    let table = zipf().quiet(&format!("{sim} --victim cost-benefit"));
    let matrix = "
WAF by victim policy, * the best of each; what follows is of a scheme's best
scheme   cost-benefit  its own  frozen    gain  reclaimed  victim GP
sepbit        *2.3560           33.4 %  71.8 %       1548      0.297
2r-fifo                *2.7508  32.4 %  56.7 %       1820      0.250
nosep          4.2396           37.8 %   0.0 %       2846      0.219
";
    assert!(table.ends_with(matrix), "{table}");
}

#[test]
fn the_table_of_a_fixed_capacity_tells_it_in_both_conventions() {
    assert_eq!(
        zipf().quiet("sim z.u32 --zone 256KiB --scheme nosep --op 0.2 --no-gain --no-timing"),
        "\
z.u32: 44096 user writes to 4096 pages (u32, requests guessed)
zones of 256 KiB (64 pages), over-provisioned by 20 % of the logical pages \
         (20.31 % with whole zones, 16.88 % of the physical)

WAF by scheme, each with its victims, * the best
scheme  victim            WAF  frozen  reclaimed  victim GP
nosep   cost-benefit  *4.2712  37.9 %       2868      0.203
"
    );
}

#[test]
fn timing_adds_a_column() {
    let table = zipf().quiet("sim z.u32 --scheme nosep");
    assert!(table.contains("victim GP  M writes/s\n"), "{table}");
}

/// A report without the program's commit, which is known only in a checkout.
fn without_commit(mut report: Value) -> Value {
    report.as_object_mut().unwrap().remove("commit");
    report
}

/// The names of a JSON object's fields, sorted, `?` after those that are null.
fn fields(value: &Value) -> String {
    let name = |(name, value): (&String, &Value)| match value.is_null() {
        true => format!("{name}?"),
        false => name.clone(),
    };
    value.as_object().unwrap().iter().map(name).collect::<Vec<_>>().join(" ")
}

#[test]
fn json_has_the_fields_of_the_contract() {
    let report = zipf().json("sim z.u32 --zone 256KiB --scheme sepbit --window 30000 --json -");
    let report = without_commit(report);
    assert_eq!(fields(&report), "command frostline runs setup trace");
    assert_eq!(
        fields(&report["trace"]),
        "bytes format path requests_guessed sha256 unique_pages user_writes"
    );
    let run = &report["runs"][0];
    assert_eq!(
        fields(run),
        "classes cleanings extra far gain method parameters peak_bytes relocations scheme seconds spilled stalls trigger \
         user_writes victim victim_gp victim_gp_histogram waf windows writes_per_second zone_pages zones_reclaimed"
    );
    assert_eq!(fields(&run["trigger"]), "gp");
    assert_eq!(fields(&run["victim_gp"]), "p25 p50 p75");
    assert_eq!(fields(&run["classes"][0]), "class relocations user_writes");
    assert_eq!(fields(&run["windows"][0]), "relocations user_writes waf");
}

#[test]
fn json_names_what_was_run() {
    let report = zipf().json("sim z.u32 --zone 256KiB --scheme sepbit --gp 0.2 --json -");
    assert_eq!(report["frostline"], env!("CARGO_PKG_VERSION"));
    let trace = &report["trace"];
    assert_eq!((&trace["path"], &trace["format"]), (&"z.u32".into(), &"u32".into()));
    assert_eq!((&trace["user_writes"], &trace["unique_pages"]), (&44096.into(), &4096.into()));
    assert_eq!(trace["bytes"], 4 * 44096);
    let run = &report["runs"][0];
    assert_eq!((&run["scheme"], &run["victim"]), (&"sepbit".into(), &"cost-benefit".into()));
    assert_eq!((&run["zone_pages"], &run["trigger"]["gp"]), (&64.into(), &0.2.into()));
    assert_eq!(run["classes"].as_array().unwrap().len(), 6);
}

#[test]
fn json_of_a_fixed_capacity_has_it_in_both_conventions() {
    let report = zipf().json("sim z.u32 --zone 256KiB --scheme nosep --op 0.2 --json -");
    let trigger = &report["runs"][0]["trigger"];
    assert_eq!(fields(trigger), "op op_of_logical op_of_physical");
    let zones = (4096.0 * 1.2 / 64.0_f64).ceil();
    let physical = zones * 64.0;
    assert_eq!(trigger["op_of_logical"], (physical - 4096.0) / 4096.0);
    assert_eq!(trigger["op_of_physical"], (physical - 4096.0) / physical);
}

#[test]
fn json_without_timing_keeps_its_fields() {
    let report = zipf().json("sim z.u32 --scheme nosep --no-timing --json -");
    let run = &report["runs"][0];
    assert_eq!((&run["seconds"], &run["writes_per_second"]), (&0.0.into(), &0.0.into()));
}

#[test]
fn json_in_a_file_comes_beside_the_table() {
    let scratch = zipf();
    let sim = "sim z.u32 --scheme nosep --no-timing";
    let table = scratch.quiet(&format!("{sim} --json r.json"));
    assert_eq!(table, scratch.quiet(sim));
    let written = std::fs::read_to_string(scratch.path("r.json")).unwrap();
    let printed = scratch.quiet(&format!("{sim} --json -"));
    assert_eq!(without_command(&written), without_command(&printed));
    assert_eq!(scratch.names(), ["r.json", "z.u32"]);
}

#[test]
fn an_unwritable_result_fails_the_job_and_leaves_no_file() {
    let scratch = zipf();
    std::fs::create_dir(scratch.path("d")).unwrap();
    for file in ["d", "no/r.json"] {
        let said = scratch.fails(1, &format!("sim z.u32 --scheme nosep --json {file}"));
        assert!(said.starts_with(&format!("frostline: {file}: cannot be written: ")), "{said}");
    }
    for command in ["gen zipf --pages 9 --writes 9", "trace convert z.u32"] {
        for file in ["d", "no/t.u32", "/dev/full"] {
            let said = scratch.fails(1, &format!("{command} -o {file}"));
            assert!(said.starts_with(&format!("frostline: {file}: cannot be written: ")), "{said}");
        }
    }
    assert_eq!(scratch.names(), ["d", "z.u32"]);
}

#[test]
fn a_result_for_which_the_disk_has_no_room_is_still_shown() {
    let scratch = zipf();
    let sim = "sim z.u32 --scheme nosep --no-timing";
    let table = scratch.quiet(sim);
    for form in ["json", "ndjson", "csv"] {
        std::os::unix::fs::symlink("/dev/full", scratch.path(&format!("r.{form}"))).unwrap();
    }
    for output in ["--json /dev/full", "-o r.json", "-o r.ndjson", "-o r.csv"] {
        let ran = scratch.run(&format!("{sim} {output}"));
        assert_eq!((ran.status, &ran.out), (1, &table), "{output}");
        assert!(ran.err.contains(": cannot be written: No space left"), "{}", ran.err);
    }
}

#[test]
fn an_unwritable_result_is_told_before_the_trace_is_read() {
    let said = Scratch::new().fails(1, "sim absent --json no/r.json");
    assert!(said.starts_with("frostline: no/r.json: cannot be written: "), "{said}");
}

#[test]
fn a_run_that_fails_keeps_the_old_result() {
    let scratch = Scratch::new();
    scratch.file("r.json", "old");
    scratch.fails(2, "sim absent --json r.json");
    assert_eq!(std::fs::read_to_string(scratch.path("r.json")).unwrap(), "old");
    assert_eq!(scratch.names(), ["r.json"]);
}

#[test]
fn names_that_promise_another_format_are_refused() {
    let scratch = zipf();
    for command in ["gen zipf --pages 9 --writes 9", "trace convert z.u32"] {
        for name in ["t.csv", "t.u32.gz", "T.JSON", "-"] {
            scratch.fails(2, &format!("{command} -o {name}"));
        }
    }
    assert_eq!(scratch.names(), ["z.u32"]);
}

#[test]
fn a_signal_leaves_no_half_written_file() {
    let scratch = Scratch::new();
    let line = "gen uniform --pages 1000 --writes 100000000000 -o t.u32";
    let mut child = scratch.command(line.split(' ')).stderr(Stdio::null()).spawn().unwrap();
    while scratch.names().is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let kill = std::process::Command::new("kill").arg(child.id().to_string()).status();
    assert!(kill.unwrap().success());
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    assert_eq!(scratch.names(), [""; 0]);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let scratch = zipf();
    let head = "trace head z.u32 -n 40000";
    for line in [head, "schemes", "--help", "sim z.u32 --scheme nosep --json -"] {
        let mut command = scratch.command(line.split(' '));
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command.stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{line}");
    }
}

#[test]
fn a_full_disk_behind_standard_output_fails_the_job() {
    let scratch = zipf();
    for line in ["schemes", "--help", "sim z.u32 --scheme nosep"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = scratch.command(line.split(' ')).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with("frostline: standard output: No space left"), "{line}: {said}");
    }
}

#[test]
fn a_pipe_given_for_the_json_gets_all_of_it() {
    let scratch = zipf();
    let sim = "sim z.u32 --scheme nosep --no-timing";
    let made = std::process::Command::new("mkfifo").arg(scratch.path("pipe")).status();
    assert!(made.unwrap().success());
    let pipe = scratch.path("pipe");
    let reader = std::thread::spawn(move || std::fs::read_to_string(pipe).unwrap());
    scratch.quiet(&format!("{sim} --json pipe"));
    let whole = scratch.quiet(&format!("{sim} --json -"));
    assert_eq!(without_command(&reader.join().unwrap()), without_command(&whole));
}

#[test]
fn warnings_are_on_standard_error_and_quiet_silences_them() {
    let scratch = Scratch::new();
    scratch.pages("t.u32", 0..100);
    let told = scratch.run("sim t.u32 --scheme nosep --no-timing");
    assert_eq!(told.status, 0);
    assert_eq!(
        told.err,
        "frostline: sim: warning: no zone was cleaned, so nothing can be told of the schemes\n\
         hint: a longer trace, smaller zones (--zone) or a --preload\n"
    );
    assert_eq!(scratch.quiet("sim t.u32 --scheme nosep --no-timing -q"), told.out);
}

/// `file` under other names: by a longer path, a symbolic link and a hard link.
fn aliases(scratch: &Scratch, file: &str) -> [String; 4] {
    let [symbolic, hard] = ["symbolic", "hard"].map(|kind| format!("{kind}-{file}"));
    std::os::unix::fs::symlink(file, scratch.path(&symbolic)).unwrap();
    std::fs::hard_link(scratch.path(file), scratch.path(&hard)).unwrap();
    [file.to_string(), format!("./{file}"), symbolic, hard]
}

#[test]
fn no_command_writes_over_what_it_reads() {
    let scratch = zipf();
    scratch.quiet("train z.u32 -o m.u32 -q --json frozen");
    let (trace, model) = (aliases(&scratch, "z.u32"), aliases(&scratch, "m.u32"));
    let before = scratch.names();
    let content = ["z.u32", "m.u32"].map(|file| std::fs::read(scratch.path(file)).unwrap());
    let refused = |line: &str| {
        let said = scratch.fails(2, line);
        assert!(said.contains(" would be written over "), "{line}: {said}");
    };
    for z in &trace {
        refused(&format!("sim z.u32 --json {z}"));
        refused(&format!("sim {z} --json z.u32"));
        refused(&format!("sim absent --preload z.u32 --json {z}"));
        refused(&format!("trace convert z.u32 -o {z}"));
        refused(&format!("train z.u32 -o {z}"));
        refused(&format!("train z.u32 -o new --json {z}"));
        refused(&format!("model compare z.u32 --json {z}"));
        refused(&format!("model eval m.u32 z.u32 --json {z}"));
        refused(&format!("bench store --device mem: --workload trace:z.u32 --json {z}"));
        refused(&format!("bench store --device mem: --workload trace:z.u32 --record {z}"));
    }
    for m in &model {
        refused(&format!("model eval m.u32 z.u32 --json {m}"));
        refused(&format!(
            "sim z.u32 --scheme frozen:sepbit:recogniser=model --model m.u32 --json {m}"
        ));
    }
    assert_eq!(scratch.names(), before);
    assert!(content == ["z.u32", "m.u32"].map(|file| std::fs::read(scratch.path(file)).unwrap()));
}

#[test]
fn no_command_writes_two_results_to_one_file() {
    let scratch = zipf();
    for line in [
        "train z.u32 -o m --json m",
        "train z.u32 -o m --json ./m",
        "bench store --device mem: --json r --record r",
        "bench tpcc --device mem: --json r.parquet --record r.parquet --scheme nosep",
    ] {
        let said = scratch.fails(2, line);
        assert!(said.contains(" would be written over "), "{line}: {said}");
    }
    assert_eq!(scratch.names(), ["z.u32"]);
}

#[test]
fn results_have_the_permissions_of_new_files() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = zipf();
    scratch.file("plain", "");
    scratch.quiet("sim z.u32 --scheme nosep --json r.json");
    let mode = |name| std::fs::metadata(scratch.path(name)).unwrap().permissions().mode();
    assert_eq!((mode("r.json"), mode("z.u32")), (mode("plain"), mode("plain")));
}

#[test]
fn ctrl_c_ends_a_sweep_with_what_is_finished() {
    let scratch = Scratch::new();
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/mariadb-tpcc.u32.zst");
    // With one victim policy the table has a row a run.
    let line = format!(
        "sim {trace} --zone 4MiB --scheme nosep,sepbit,dac,midas,frostline --victim greedy --no-gain --json r.json"
    );
    let mut command = scratch.command(line.split(' '));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The replay begins as soon as the program waits for signals.
    let waits = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() & 0b10 != 0
    };
    while !waits() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains(" runs are finished"), "{said}");
    let report = std::fs::read_to_string(scratch.path("r.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["interrupted"], true);
    let table = String::from_utf8(output.stdout).unwrap();
    let rows = table.lines().skip_while(|line| !line.starts_with("scheme")).skip(1);
    let rows = rows.take_while(|line| !line.is_empty()).count();
    assert_eq!(rows, report["runs"].as_array().unwrap().len(), "{table}");
}
