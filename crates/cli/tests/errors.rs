//! Whatever is wrong, the command says it in one line, with a hint if one helps, and its exit
//! status tells wrong usage and unreadable input (2) from a job that failed (1).

mod run;

use std::os::unix::ffi::OsStrExt;

use run::Scratch;

/// `frostline ARGS` is refused with `message`, before the trace `absent` is looked for.
fn refused(args: &str, message: &str) {
    let said = Scratch::new().fails(2, args);
    let line = said.lines().next().unwrap_or_default();
    assert_eq!(line, format!("frostline: {message}"), "{args}");
    let hints: Vec<_> = said.lines().skip(1).collect();
    assert!(hints.len() <= 1 && hints.iter().all(|hint| hint.starts_with("hint: ")), "{said}");
}

/// The trace `t` with this content is refused with `message` by every command that reads it.
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

#[test]
fn unknown_words_list_the_known_ones() {
    refused(
        "",
        "usage: no command given (known: sim schemes gen trace store bench db train model reproduce)",
    );
    refused(
        "play",
        "usage: unknown command \"play\" (known: sim schemes gen trace store bench db train model reproduce)",
    );
    refused("trace", "trace: no command given (known: info convert head)");
    refused("trace tail", "trace: unknown command \"tail\" (known: info convert head)");
    refused("schemes --xml", "schemes: unknown option --xml (known: --json --markdown --help)");
    refused("gen zip", "gen: <KIND>: unknown \"zip\" (known: zipf uniform oltp)");
    refused(
        "sim absent --format csv",
        "sim: --format csv: \"csv\" is not a trace format \
         (known: u32 alibaba tencent msr fio blkparse oracle-general parquet)",
    );
    refused(
        "sim absent --semantics exact",
        "sim: --semantics: unknown \"exact\" (known: published sepbit-fast22)",
    );
    refused(
        "sim absent --victim gready",
        "sim: unknown victim policy \"gready\" (known: greedy cost-benefit cost-benefit-sqrt \
         fifo windowed-greedy d-choices random cost-age-times)",
    );
    let said = Scratch::new().fails(2, "sim absent --scheme nosep,sepbits");
    let listed = "frostline: sim: unknown scheme \"sepbits\" (known: nosep sepgc sepbit ";
    assert!(said.starts_with(listed), "{said}");
}

#[test]
fn parameters_of_schemes_and_victim_policies_are_checked() {
    let sim = |option: &str, message: &str| {
        refused(&format!("sim absent {option}"), &format!("sim: {message}"));
    };
    sim("--scheme dac:class=4", "dac has no parameter \"class\" (known: classes)");
    sim("--scheme dac:classes=1", "dac: classes=1: must be a number from 2 to 64");
    sim("--scheme dac:classes", "\"classes\" in \"dac:classes\" is not key=value");
    sim("--scheme nosep:classes=4", "nosep has no parameter \"classes\", as it has none");
    sim("--victim d-choices:d=0", "d-choices: d=0: must be a number from 1 to 1000000");
    // Also of a policy that no run would use.
    sim("--scheme 2r-fifo --victim fifo:d=1", "fifo has no parameter \"d\", as it has none");
    sim(
        "--scheme 2r-fifo --semantics sepbit-fast22",
        "2r-fifo is not part of the semantics sepbit-fast22",
    );
}

#[test]
fn missing_and_superfluous_arguments_are_named() {
    refused("sim", "sim: missing: <TRACE>...");
    refused("gen zipf --pages 9", "gen: missing: --writes <M> --output <FILE>");
    refused("trace convert absent", "trace convert: missing: --output <FILE>");
    refused("trace info a b", "trace info: \"b\" is one argument too many");
    refused("sim absent --gp", "sim: --gp needs a value");
    refused("sim absent --seed 1 --seed 2", "sim: --seed is given twice");
    refused("sim absent here absent", "sim: absent is given twice");
}

#[test]
fn options_that_would_have_no_effect_are_refused() {
    refused("sim absent --gp 0.1 --op 0.1", "sim: --gp and --op exclude each other");
    let missing = "sim: missing: --op <SHARE> or --zones <N>";
    refused("sim absent --free-zones 3", missing);
    refused("sim absent --gp 0.1 --free-zones 3", missing);
    refused("sim absent --op 0.1 --zones 30", "sim: --op and --zones exclude each other");
    refused("sim absent --window 1000", "sim: missing: --json <-|FILE>");
    refused(
        "sim absent --op 0.1 --semantics sepbit-fast22",
        "sim: --op is not part of the semantics sepbit-fast22, which has only --gp",
    );
    refused("gen uniform --alpha 1 --pages 9 --writes 9 -o x", "gen: uniform has no --alpha");
    refused("schemes --json --markdown", "schemes: --json and --markdown exclude each other");
}

#[test]
fn numbers_out_of_range_tell_the_range() {
    let sim = |option: &str, message: &str| {
        refused(&format!("sim absent {option}"), &format!("sim: {option}: {message}"));
    };
    for share in ["0", "-1", "1", "0.99999999999", "NaN", "inf"] {
        sim(&format!("--gp {share}"), "must be from 0.0001 to 0.9999");
    }
    for share in ["0", "-0.1", "101", "inf"] {
        sim(&format!("--op {share}"), "must be from 0.0001 to 100");
    }
    sim("--gp much", "must be a number");
    sim("--threads 0", "must be from 1 to 1024");
    sim("--threads 1025", "must be from 1 to 1024");
    sim("--max-open 0", "must be from 1 to 4294967295");
    sim("--seed -1", "must be a whole number, 0 or more");
    sim("--warmup 1.5", "must be a whole number, 0 or more");
    sim("--warmup 99999999999999999999", "is too large");
    let pages = "must be from 1 to 2147483648";
    refused("gen zipf --writes 9 -o x --pages 0", &format!("gen: --pages 0: {pages}"));
    refused(
        "gen zipf --writes 9 -o x --pages 2147483649",
        &format!("gen: --pages 2147483649: {pages}"),
    );
    let gen_zipf = |options: &str, message: &str| {
        refused(&format!("gen zipf --pages 9 -o x {options}"), &format!("gen: {message}"));
    };
    gen_zipf("--writes 0", "--writes 0: nothing would be written");
    gen_zipf("--writes 9 --alpha -1", "alpha -1 is not from 0 to 100");
    gen_zipf("--writes 9 --alpha NaN", "alpha NaN is not from 0 to 100");
}

#[test]
fn sizes_that_make_no_zone_are_refused() {
    let sim = |option: &str, message: &str| {
        refused(&format!("sim absent {option}"), &format!("sim: {message}"));
    };
    for page in ["0", "256", "4095", "4GiB"] {
        let message = format!("--page {page}: must be a power of two from 512 to 2GiB");
        sim(&format!("--page {page}"), &message);
    }
    sim("--page 4xB", "--page 4xB: \"4xB\" is not a size such as 4096, 16MiB or 1GB");
    sim("--zone -5", "--zone -5: \"-5\" is not a size such as 4096, 16MiB or 1GB");
    sim("--zone 9999999999TB", "--zone 9999999999TB: \"9999999999TB\" is too large");
    sim("--zone 70000", "a zone of 70000 bytes is not a whole number of pages of 4096 bytes");
    let pages = "must have from 16 to 1073741824 pages";
    sim("--zone 32KiB", &format!("a zone of 32768 bytes: {pages}, not 8"));
    sim("--zone 8TiB", &format!("a zone of 8796093022208 bytes: {pages}, not 2147483648"));
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
