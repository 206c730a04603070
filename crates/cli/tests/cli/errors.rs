//! The command reports any fault in one line, with a hint if one helps. Its exit status
//! distinguishes wrong usage and unreadable input (2) from a failed job (1).

use std::os::unix::ffi::OsStrExt;

use crate::run::Scratch;
use insta::assert_snapshot;

/// Checks that every reading command refuses the trace `t` with this content, and prints `message`.
fn unreadable(content: &[u8], message: &str) {
    let scratch = Scratch::new();
    scratch.file("t", content);
    for command in ["sim t", "trace info t", "trace convert t -o out.u32", "trace head t"] {
        let said = scratch.fails(2, command);
        assert_eq!(said.lines().next(), Some(format!("frostline: {message}").as_str()));
        assert!(said.lines().count() <= 2, "{said}");
        assert_eq!(scratch.names(), ["t"], "{command} leaves nothing behind");
    }
}

/// Checks that these lines are refused as wrong usage, before the trace `absent` is opened.
fn refused<L: AsRef<str>>(lines: impl IntoIterator<Item = L>) -> String {
    let scratch = Scratch::new();
    let transcript = scratch.transcript(lines);
    assert_eq!(scratch.names(), [""; 0], "nothing is left behind");
    without_schemes(&transcript)
}

/// A transcript with lists of all schemes shortened, because each new scheme would change them.
fn without_schemes(transcript: &str) -> String {
    let cut = |line: &str| match line.split_once(" (known: nosep ") {
        Some((begin, _)) => format!("{begin} (known: nosep ...)\n"),
        None => line.to_string(),
    };
    transcript.split_inclusive('\n').map(cut).collect()
}

/// Lines with the same beginning and these ends.
fn each(begin: &str, ends: &[&str]) -> Vec<String> {
    ends.iter().map(|end| format!("{begin} {end}")).collect()
}

#[test]
fn unknown_words_list_the_known_ones() {
    assert_snapshot!(
        "unknown-words",
        refused([
            "",
            "play",
            "-v play",
            "trace",
            "trace tail",
            "store wipe",
            "bench",
            "schemes --xml",
            "gen zip",
            "sim absent --format csv",
            "sim absent --semantics exact",
            "sim absent --victim gready",
            "sim absent --scheme nosep,sepbits",
            "bench tpcc --warehouse 4",
            "bench tpcc --replacement lru",
            "bench tpcc --scheme sepbits",
            "bench store --device mem: --drive floppy",
            "bench store --device mem: --workload zip",
            "bench ycsb --workload g",
            "bench ycsb --distribution x",
            "reproduce nothing",
            "store info disk",
        ])
    );
}

#[test]
fn parameters_of_schemes_and_victim_policies_are_checked() {
    assert_snapshot!(
        "parameters",
        refused(each(
            "sim absent",
            &[
                "--scheme dac:class=4",
                "--scheme dac:classes=1",
                "--scheme dac:classes",
                "--scheme nosep:classes=4",
                "--victim d-choices:d=0",
                // This holds also for a policy that no run would use.
                "--scheme 2r-fifo --victim fifo:d=1",
                "--scheme 2r-fifo --semantics sepbit-fast22",
            ]
        ))
    );
}

#[test]
fn missing_and_superfluous_arguments_are_named() {
    assert_snapshot!(
        "arguments",
        refused([
            "sim",
            "gen zipf --pages 9",
            "trace convert absent",
            "trace info a b",
            "sim absent --gp",
            "sim absent --seed 1 --seed 2",
            "sim absent here absent",
            "store info",
            "bench store",
            "bench store --device mem:",
            "store format file:new",
        ])
    );
}

#[test]
fn options_that_would_have_no_effect_are_refused() {
    assert_snapshot!(
        "without-effect",
        refused([
            "sim absent --gp 0.1 --op 0.1",
            "sim absent --free-zones 3",
            "sim absent --gp 0.1 --free-zones 3",
            "sim absent --op 0.1 --zones 30",
            "sim absent --window 1000",
            "sim absent --scheme frozen:dac --model absent",
            "sim absent --op 0.1 --semantics sepbit-fast22",
            "gen uniform --alpha 1 --pages 9 --writes 9 -o x",
            "schemes --json --markdown",
            "bench store --device mem: --keep --force",
            "bench store --device mem: --keep --zone 1MiB",
            "bench store --device mem: --live --quiet",
            "bench store --device mem: --size 64MiB --live",
            "bench tpcc --keep --size 1GiB",
            "bench tpcc --record a.u32",
            "bench tpcc --scheme dac,sepbit --record a.parquet",
            "bench ycsb --bandwidth 0 --device mem:",
            "store format mem: --size 1GiB",
            "store check mem:",
            "store scrub file:new --rate 0",
            "serve nbd file:disk --scheme dac",
        ])
    );
}

#[test]
fn numbers_out_of_range_tell_the_range() {
    let sim = each(
        "sim absent",
        &[
            "--gp 0",
            "--gp -1",
            "--gp 1",
            "--gp 0.99999999999",
            "--gp NaN",
            "--gp inf",
            "--gp much",
            "--op 0",
            "--op -0.1",
            "--gp 15",
            "--gp 0.1,7.5",
            "--op 10",
            "--op 0.07,0.1,12",
            "--op 101",
            "--op inf",
            "--threads 0",
            "--threads 1025",
            "--max-open 0",
            "--seed -1",
            "--warmup 1.5",
            "--warmup 99999999999999999999",
        ],
    );
    let synthetic = each(
        "gen zipf -o x",
        &[
            "--writes 9 --pages 0",
            "--writes 9 --pages 2147483649",
            "--pages 9 --writes 0",
            "--pages 9 --writes 9 --alpha -1",
            "--pages 9 --writes 9 --alpha NaN",
        ],
    );
    let devices = each(
        "bench",
        &[
            "tpcc --items 3",
            "tpcc --gp 0.95",
            "tpcc --gp 15",
            "store --device mem: --gp NaN",
            "store --device mem: --metrics 0.0.0.0:80",
            "tpcc --metrics here",
            "linkbench --nodes 0",
        ],
    );
    let lines = sim.into_iter().chain(synthetic).chain(devices);
    let others = ["store format file:s --gp 2", "top here", "top here:9464:1", "top file:absent"];
    let others = others.iter().chain(&["top a:1 --interval 0"]).map(ToString::to_string);
    assert_snapshot!("ranges", refused(lines.chain(others)));
}

#[test]
fn sizes_that_make_no_zone_are_refused() {
    let sim = each(
        "sim absent",
        &[
            "--page 0",
            "--page 256",
            "--page 4095",
            "--page 4GiB",
            "--page 4xB",
            "--zone -5",
            "--zone 1.5B",
            "--zone 9999999999TB",
            "--zone 70000",
            "--zone 32KiB",
            "--zone 8TiB",
        ],
    );
    let devices = [
        "bench tpcc --buffer 1XiB",
        "store format file:new --size 4KiB",
        "store format file:new --size 2MiB -q",
        "store format file:new --size 64KiB --zone 16KiB",
        "bench store --device mem: --size 256KiB",
    ];
    assert_snapshot!("sizes", refused(sim.iter().map(String::as_str).chain(devices)));
}

#[test]
fn schemes_that_a_store_can_not_run_are_refused() {
    assert_snapshot!(
        "schemes-of-stores",
        refused([
            "bench store --device mem: --size 64MiB --scheme oracle-death",
            "store format file:s --size 64MiB --scheme sepbits",
            "store info file:s",
            "store zones file:absent",
        ])
    );
}

#[test]
fn what_does_not_fit_is_told_with_what_would_help() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("other")).unwrap();
    scratch.file("other/letter", "Dear");
    scratch.pages("far.u32", [1, 1_000_000]);
    scratch.file("two.csv", "3,W,0,4096,1\n5,W,0,4096,1\n");
    assert_snapshot!(
        "no-fit",
        scratch.transcript([
            "store format file:other",
            "bench store --device mem: --size 64MiB --workload trace:far.u32",
            "bench store --device mem: --size 64MiB --workload trace:two.csv",
            "bench store --device file:absent --keep",
            "bench tpcc --device file:absent --keep",
            "train far.u32 --output m",
            "model eval far.u32 far.u32",
        ])
    );
}

#[test]
fn too_few_open_zones_are_refused_before_the_trace_is_read() {
    let said = Scratch::new().fails(2, "sim absent --scheme sepbit --max-open 3");
    assert_eq!(
        said,
        "frostline: sim: sepbit: the scheme has 6 classes, but only 3 zones may be open\n\
         hint: --max-open 6, or fewer classes where the scheme has that parameter\n"
    );
}

#[test]
fn too_little_over_provisioning_names_what_would_do_and_it_does() {
    let scratch = Scratch::new();
    scratch.pages("t.u32", (0..16384).chain(0..16384));
    let said = scratch.fails(2, "sim t.u32 --scheme nosep --op 0.001");
    assert_eq!(
        said,
        "frostline: sim: nosep: over-provisioning by 0.001 makes 65 zones: 64 for the pages and \
         3 to clean are needed\nhint: --op 0.0469 would do, or smaller zones\n"
    );
    scratch.quiet("sim t.u32 --scheme nosep --op 0.0469");
    let said = scratch.fails(2, "sim t.u32 --scheme nosep --op 0.001 --zone 1TiB");
    assert!(said.ends_with("\nhint: smaller zones\n"), "what would do is more than is taken");
}

#[test]
fn a_warm_up_that_leaves_nothing_to_count_is_refused() {
    let scratch = Scratch::new();
    scratch.pages("t.u32", 0..100);
    for warmup in ["100", "18446744073709551615"] {
        let said = scratch.fails(2, &format!("sim t.u32 --warmup {warmup}"));
        let message = format!("frostline: sim: --warmup {warmup}: the trace has only 100 user ");
        assert!(said.starts_with(&message), "{said}");
    }
}

#[test]
fn a_trace_that_can_not_be_read_leaves_one_line_and_no_file() {
    unreadable(b"", "t: is empty");
    unreadable(b"1,W,0,4096,5\n1,W,x,4096,5\n", "t:2: offset \"x\" is not a number");
    unreadable(
        b"1,W,0,1152921504606846976,5\n",
        "t:1: request of 1152921504606846976 bytes is too long (at most 4294967296)",
    );
    unreadable(
        b"1,W,17592186044416,4096,5\n",
        "t:1: request at byte 17592186044416 of 4096 bytes ends beyond LBA 4294967295 \
         (pages of 4096 bytes)",
    );
    unreadable(
        b"Once upon a time.\n",
        "t: is of no known trace format \
         (known: u32 alibaba tencent msr fio blkparse oracle-general parquet)",
    );
}

#[test]
fn a_path_that_is_no_file_is_told() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("d")).unwrap();
    for command in ["sim", "trace info", "trace head", "trace convert -o out.u32"] {
        let said = |path: &str| scratch.fails(2, &format!("{command} {path}"));
        assert_eq!(said("absent"), "frostline: absent: no such file\n");
        assert_eq!(
            said("d"),
            "frostline: d: is a directory, not a trace\nhint: name a file in it\n"
        );
    }
    assert_eq!(scratch.names(), ["d"]);
}

#[test]
fn a_compressed_trace_cut_short_is_told() {
    let scratch = Scratch::new();
    for (name, unit) in [("t.u32.zst", "compressed stream ends early"), ("t.parquet", "footer")] {
        scratch.quiet(&format!("gen zipf --pages 1000 --writes 9000 -q -o {name}"));
        let whole = std::fs::read(scratch.path(name)).unwrap();
        scratch.file(name, &whole[..whole.len() / 2]);
        let said = scratch.fails(2, &format!("trace info {name}"));
        let place = format!("frostline: {name}:byte {}: is cut short: the {unit}", whole.len() / 2);
        assert!(said.starts_with(&place), "{said}");
        assert!(said.ends_with("hint: was the file copied or downloaded completely?\n"));
    }
}

#[test]
fn damaged_parquet_is_never_a_mistake_of_the_program() {
    let scratch = Scratch::new();
    scratch.quiet("gen zipf --pages 100 --writes 500 -q -o t.parquet");
    let whole = std::fs::read(scratch.path("t.parquet")).unwrap();
    for at in (4..whole.len()).step_by(whole.len() / 40) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0xff;
        scratch.file("d.parquet", damaged);
        let ran = scratch.run("trace info d.parquet");
        assert!(matches!(ran.status, 0 | 2), "byte {at}: {ran:?}");
        assert!(ran.err.lines().count() <= 2 && !ran.err.contains("panic"), "{ran:?}");
    }
}

#[test]
fn a_volume_or_preload_that_fits_nothing_lists_what_there_is() {
    let scratch = Scratch::new();
    scratch.file("two.csv", "3,W,0,4096,1\n5,W,0,4096,1\n");
    scratch.pages("p.u32", 0..9);
    for command in ["sim two.csv", "trace info two.csv", "trace head two.csv"] {
        let said = scratch.fails(2, &format!("{command} --volume 4"));
        assert!(said.starts_with("frostline: two.csv: has no volume \"4\" (it has: 3 5)\n"));
    }
    let said = scratch.fails(2, "sim two.csv --preload p.u32");
    assert_eq!(
        said,
        "frostline: p.u32: none of its volumes (p) is in the trace\n\
         hint: a preload goes before the volume of the same name; --volume picks one\n"
    );
}

#[test]
fn control_characters_of_a_name_do_not_reach_the_terminal() {
    let scratch = Scratch::new();
    let weird = std::ffi::OsStr::from_bytes(b"a\x1b[2Jb\n");
    let output = scratch.command(["sim".as_ref(), weird]).output().unwrap();
    assert_eq!(output.stderr, b"frostline: a?[2Jb?: no such file\n");
}

/// The commands that start threads, some of which need them. Each ends by itself.
const WITH_THREADS: [&str; 14] = [
    "gen zipf --pages 2000 --writes 20000 --seed 1 -o t",
    "gen zipf --pages 2000 --writes 20000 --seed 1 -o t.json",
    "trace split t -o parts",
    "sim t --scheme nosep,sepbit",
    "store format file:s --size 64MiB --zone 256KiB",
    "store check file:s",
    "store scrub file:s",
    "store backup file:s copies",
    "store restore copies file:again",
    "bench store --device file:b --size 32MiB --writes 2000 --threads 2 --record r --metrics 127.0.0.1:0",
    "bench ycsb --device file:y --records 500 --transactions 50 --record r.parquet --backup c",
    "bench ycsb --device file:y --records 500 --transactions 50",
    "serve nbd file:s --listen ./socket --metrics 127.0.0.1:0",
    "reproduce sepbit --quick",
];

#[test]
fn a_system_that_gives_no_thread_is_an_error_and_no_panic() {
    let scratch = Scratch::new();
    for line in WITH_THREADS {
        let mut command = scratch.command(line.split_whitespace());
        // Stacks larger than all addresses.
        let out = command.env("RUST_MIN_STACK", "140737488355328").output().unwrap();
        let said = String::from_utf8(out.stderr).unwrap();
        assert!(matches!(out.status.code(), Some(0..=2)), "{line}: {}: {said}", out.status);
        assert!(!said.contains("internal error") && !said.contains("panicked"), "{line}: {said}");
        let is_told = said.lines().any(|line| line.starts_with("frostline: "));
        assert!(out.status.success() || is_told, "{line}: {said}");
    }
}
