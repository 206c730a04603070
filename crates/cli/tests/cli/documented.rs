//! Every command line of the documentation runs, in the order of the documentation; a few are only
//! parsed.
//!
//! A document has a directory of its own: its reader needs no file that another document makes.
//! Sizes are reduced; the tables below have all replacements.

use std::path::{Path, PathBuf};

use crate::run::{Kept, Scratch};
use frostline_testkit::side_by_side;

/// Placeholders for the reader's files, with their replacements: traces of [`TRACES`].
const NAMES: [(&str, &str); 6] = [
    ("TRACE", "trace.u32.zst"),
    ("LOAD", "load.u32.zst"),
    ("MODEL", "model.json"),
    ("DIR", "out"),
    ("127.0.0.1:9464", "127.0.0.1:0"),
    // The reader fills in schemes here.
    ("...", "sepbit,frostline"),
];

/// Options that would make a run long, with smaller values. Zones shrink with traces and devices.
const SMALLER: [(&str, &str); 17] = [
    ("--seconds", "1"),
    ("--transactions", "1000"),
    ("--size", "64MiB"),
    ("--zone", "256KiB"),
    ("--buffer", "256KiB"),
    ("--warehouses", "1"),
    ("--threads", "1"),
    ("--records", "2000"),
    ("--nodes", "1000"),
    ("--pages", "2000"),
    ("--writes", "20000"),
    ("--warmup", "100"),
    ("--window", "10000"),
    ("--age", "500"),
    ("--rate", "2GB"),
    ("--scale", "0.01"),
    ("--operations", "300"),
];

/// Options that are added to commands with this beginning, unless the first is already there. What
/// runs for a time ends sooner by a number.
const ADDED: [(&str, &str); 7] = [
    ("bench ycsb", "--records 2000"),
    ("bench tpcc", "--items 200 --customers 20"),
    ("bench ycsb", "--transactions 300"),
    ("bench tpcc", "--transactions 300"),
    ("bench linkbench", "--transactions 300"),
    ("bench store", "--writes 3000"),
    ("reproduce", "--scale 0.01"),
];

/// Options that are removed, because [`ADDED`] has another with the same meaning.
const DROPPED: [&str; 1] = ["--quick"];

/// Commands that are only parsed, with the reason.
const ONLY_PARSED: [(&str, &str); 9] = [
    ("fdp:", "there is no such drive here"),
    ("block:/dev/", "there is no such drive here"),
    ("zbd:", "there is no such drive here"),
    ("zonefs:", "there is no such drive here"),
    ("reproduce ", "evaluations have tests of their own"),
    ("serve ", "it serves until it is ended"),
    ("top ", "it shows until it is ended"),
    ("--live", "there is no terminal here"),
    ("s3:", "there is no such store here"),
];

/// Traces that the documentation uses without a command that makes them. A shorter trace replaces
/// those of the repository.
const TRACES: [(&str, &str); 7] = [
    ("trace.u32.zst", "gen zipf --pages 12000 --writes 6000 --fill"),
    ("load.u32.zst", "gen uniform --pages 4000 --writes 0 --fill"),
    ("tests/data/zipf10.u32.zst", "gen zipf --pages 4000 --writes 8000 --fill"),
    ("tests/data/tiny_zipf10.u32.zst", "gen zipf --pages 4000 --writes 8000 --fill"),
    ("traces/mariadb-tpcc.u32.zst", "gen oltp --pages 4000 --writes 8000 --fill"),
    ("traces/mariadb-tpcc.load.u32.zst", "gen uniform --pages 4000 --writes 0 --fill"),
    ("oltp.u32.zst", "gen oltp --pages 4000 --writes 8000 --fill"),
];

/// Traces like these, recorded from databases by benches.
const RECORDINGS: [(&str, &str); 3] = [
    ("ycsb-50w.parquet", "ycsb --workload 50w --records 4000 --transactions 4000"),
    ("ycsb-100w.parquet", "ycsb --workload 100w --records 4000 --transactions 4000"),
    ("tpcc.parquet", "tpcc --warehouses 1 --items 200 --customers 20 --transactions 1000"),
];

/// A command line of a document.
struct Line {
    number: usize,
    /// The words after `frostline`.
    command: String,
}

/// The command lines of a document; continued lines are joined, comments are removed.
fn command_lines(text: &str) -> Vec<Line> {
    let (mut lines, mut fenced, mut begun) = (Vec::new(), false, None);
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let code = if fenced { line } else { line.strip_prefix("    ").unwrap_or_default() };
        let code = code.split(" # ").next().unwrap_or_default().trim();
        let (first, mut whole) = begun.take().unwrap_or((number, String::new()));
        whole += code.strip_suffix('\\').unwrap_or(code);
        if code.ends_with('\\') {
            begun = Some((first, whole));
        } else if let Some(command) = arguments(&whole) {
            lines.push(Line { number: first, command });
        }
    }
    lines
}

/// The words after `frostline` in a command line, or those that cargo passes to it.
fn arguments(line: &str) -> Option<String> {
    let of_cargo = line.strip_prefix("cargo run ").filter(|rest| !rest.contains("--manifest-path"));
    let of_cargo = of_cargo.filter(|rest| !rest.contains("--example"));
    let passed = of_cargo.and_then(|rest| rest.split_once("-- ")).map(|(_, passed)| passed);
    line.strip_prefix("frostline ").or(passed).map(|rest| rest.trim().to_string())
}

/// A command in its smaller form.
fn smaller(command: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in command.split_whitespace().filter(|word| !DROPPED.contains(word)) {
        let after = |(option, _): &&(&str, &str)| words.last().is_some_and(|last| last == option);
        let value = SMALLER.iter().find(after).map(|&(_, value)| value);
        let name = NAMES.iter().find(|(name, _)| *name == word).map(|&(_, file)| file);
        words.push(value.or(name).unwrap_or(word).replace(",...", ""));
    }
    for (start, options) in ADDED {
        let has = words.iter().any(|word| options.split(' ').next() == Some(word));
        if command.starts_with(start) && !has {
            words.extend(options.split(' ').map(str::to_string));
        }
    }
    words.join(" ")
}

fn documents(root: &Path) -> Vec<String> {
    let in_docs = |entry: std::io::Result<std::fs::DirEntry>| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        name.ends_with(".md").then(|| format!("docs/{name}"))
    };
    let docs = std::fs::read_dir(root.join("docs")).unwrap();
    let mut files: Vec<_> = docs.filter_map(in_docs).collect();
    files.sort();
    files.insert(0, "README.md".to_string());
    files
}

/// All files that the documentation assumes.
fn prepared() -> Kept {
    let scratch = Scratch::new();
    for directory in ["tests/data", "traces"] {
        std::fs::create_dir_all(scratch.path(directory)).unwrap();
    }
    for (trace, command) in TRACES {
        scratch.quiet(&format!("{command} -q -o {trace}"));
    }
    let line = |i: u64| format!("{},W,{},4096,{i}\n", i % 3, i * i % 509 * 4096);
    scratch.file("volumes.csv", (0..3000).map(line).collect::<String>());
    for (trace, bench) in RECORDINGS {
        let device = "--device mem: --size 64MiB --buffer 256KiB";
        scratch.quiet(&format!("bench {bench} {device} -q --record {trace}"));
    }
    scratch.keep()
}

/// Runs the commands of a document in this directory; how many ran, and which failed.
fn run_all(file: &str, text: &str, scratch: &Scratch) -> (usize, Vec<String>) {
    let (mut ran, mut failed) = (0, Vec::new());
    for Line { number, command } in command_lines(text) {
        let line = smaller(&command);
        let reason = ONLY_PARSED.iter().find(|(part, _)| line.contains(part));
        let done = match reason {
            // The arguments before it are parsed, and refused if they are wrong.
            Some(_) => scratch.run(&format!("{line} --help")),
            None => scratch.run(&line),
        };
        ran += usize::from(reason.is_none());
        if done.status != 0 {
            let what = format!("{file}:{number}: frostline {command}\n  run as: {line}");
            failed.push(format!("{what}\n  exit status {}: {}", done.status, done.err));
        }
    }
    (ran, failed)
}

#[test]
fn every_command_of_the_documentation_runs_in_the_order_in_which_it_stands() {
    let root: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", ".."].iter().collect();
    let prepared = prepared();
    let outcomes = side_by_side::each(documents(&root), |file| {
        let text = std::fs::read_to_string(root.join(&file)).unwrap();
        run_all(&file, &text, &Scratch::of(&prepared))
    });
    let ran: usize = outcomes.iter().map(|(ran, _)| ran).sum();
    let failed: Vec<_> = outcomes.into_iter().flat_map(|(_, failed)| failed).collect();
    assert!(failed.is_empty(), "{} commands fail:\n{}", failed.len(), failed.join("\n"));
    assert!(ran > 40, "only {ran} commands were found");
}

#[test]
fn commands_are_found_in_every_form_that_the_documents_have() {
    let found = |line: &str| arguments(line);
    assert_eq!(found("frostline sim T --op 0.1").as_deref(), Some("sim T --op 0.1"));
    assert_eq!(found("cargo run --release -- gen zipf").as_deref(), Some("gen zipf"));
    assert_eq!(found("cargo run -- schemes").as_deref(), Some("schemes"));
    for other in ["cargo test", "cargo run --release -p x --example y -- T", "valgrind frostline"] {
        assert_eq!(found(other), None);
    }
    assert_eq!(
        smaller("bench tpcc --seconds 60"),
        "bench tpcc --seconds 1 --items 200 --customers 20 --transactions 300"
    );
    assert_eq!(smaller("reproduce sepfrozen --quick"), "reproduce sepfrozen --scale 0.01");
    assert_eq!(smaller("sim TRACE --scheme a,..."), "sim trace.u32.zst --scheme a");
}
