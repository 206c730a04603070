//! Stores are made, inspected and checked by their users.

use std::fs::Permissions;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::sync::LazyLock;

use crate::run::{Kept, Scratch};
use serde_json::Value;

/// A filled and overwritten store on the device `dir:d`, which has 24 zones. It is made once: that
/// takes two thousand flushes.
fn used() -> Scratch {
    static MADE: LazyLock<Kept> = LazyLock::new(|| used_in_units(64).keep());
    Scratch::of(&MADE)
}

/// One that is made anew, in units of so many bytes.
fn used_in_units(unit: u32) -> Scratch {
    let scratch = Scratch::new();
    scratch.quiet(&format!(
        "bench store --device dir:d --size 6MiB --zone 256KiB --scheme sepbit --workload uniform \
         --writes 2000 --cleaning inline --unit {unit} -q",
    ));
    scratch
}

/// Changes a byte of a zone.
fn flip(scratch: &Scratch, zone: u64, at: u64) {
    let path = scratch.path("d/seq").join(zone.to_string());
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 1], at).unwrap();
}

/// The first data zone that holds valid pages only.
fn full_zone(scratch: &Scratch) -> u64 {
    let zones = scratch.json("store zones dir:d --json");
    let share = |zone: &Value| zone["valid_share"].as_f64().unwrap_or(0.0);
    let zones = zones.as_array().unwrap();
    let best = zones.iter().max_by(|a, b| share(a).total_cmp(&share(b))).unwrap();
    best["zone"].as_u64().unwrap()
}

#[test]
fn format_makes_a_device_and_a_store_on_it() {
    let scratch = Scratch::new();
    let line = "store format dir:d --size 16MiB --zone 512KiB --scheme dac:classes=4 --pages 1000";
    let ran = scratch.run(line);
    assert_eq!((ran.status, ran.out.as_str()), (0, ""), "{}", ran.err);
    let said = "frostline: dir:d: 32 zones of 512 KiB for 1000 pages, scheme dac:classes=4, victims by cost-benefit";
    assert_eq!(ran.err.trim_end(), said);
    let info = scratch.json("store info dir:d --json");
    assert_eq!(info["scheme"], "dac:classes=4");
    assert_eq!((&info["logical_pages"], &info["valid_pages"]), (&1000.into(), &0.into()));
}

#[test]
fn a_format_that_is_refused_leaves_nothing_behind() {
    let scratch = Scratch::new();
    for line in [
        "store format dir:d --size 64KiB --zone 16KiB",
        "store format dir:d --size 16MiB --scheme dac:classes=1",
        "store format dir:d --size 16MiB --zone 4000",
        "store format dir:d --size 16MiB --pages 99999999",
        "store format dir:d --size 1152921504606846976",
        "bench store --device dir:d --size 16MiB --zone 512KiB --bandwidth 0",
        "bench store --device dir:d --size 16MiB --zone 512KiB --keep",
        "bench ycsb --device dir:d --size 1MiB --records 1000",
    ] {
        scratch.fails(2, line);
        assert_eq!(scratch.names(), [""; 0], "{line}");
    }
    let said = scratch.fails(2, "store format dir:d --size 1152921504606846976");
    assert!(said.contains("must not hold more than 131072 zones"), "{said}");
    scratch.quiet("store format dir:d --size 16MiB --zone 512KiB -q");
}

#[test]
fn a_device_that_was_not_finished_is_made_anew() {
    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.path("d/seq")).unwrap();
    scratch.file("d/geometry.new", "frostline zones 1\nzones");
    scratch.file("d/seq/0", "");
    let said = scratch.fails(2, "store info dir:d");
    assert!(said.contains("it was not finished when it was made"), "{said}");
    scratch.quiet("store format dir:d --size 16MiB --zone 512KiB -q");
    scratch.quiet("store check dir:d");
}

#[test]
fn format_refuses_what_is_not_empty_unless_forced() {
    let scratch = used();
    let said = scratch.fails(2, "store format dir:d");
    assert!(said.starts_with("frostline: dir:d: the device is not empty: zone "), "{said}");
    assert!(said.contains("hint: --force"), "{said}");
    scratch.quiet("store format dir:d --force -q --scheme nosep");
    let info = scratch.json("store info dir:d --json");
    assert_eq!((&info["scheme"], &info["valid_pages"]), (&"nosep".into(), &0.into()));
    scratch.quiet("store format dir:d --force -q --size 6MiB");
    let said = scratch.fails(2, "store format dir:d --force --size 8MiB");
    assert!(said.contains("dir:d is there already, with 24 zones of 256 KiB"), "{said}");
}

#[test]
fn a_sound_store_is_called_sound() {
    let scratch = used();
    let said = scratch.quiet("store check dir:d");
    assert!(said.starts_with("dir:d: sound: "), "{said}");
    let checked = scratch.json("store check dir:d --json");
    assert_eq!(checked["findings"], Value::Array(vec![]));
    let scrubbed = scratch.json("store scrub dir:d --json --rate 1GB");
    assert_eq!(scrubbed["pages"], checked["pages"]);
    assert!(scratch.quiet("store scrub dir:d").ends_with(" pages are what was written\n"));
}

/// The commands that only inspect.
const LOOKING: [&str; 4] = ["info", "zones", "check", "scrub"];

/// The bytes of every zone, and its permissions.
fn all(scratch: &Scratch) -> Vec<(Vec<u8>, u32)> {
    let paths = (0..24).map(|zone| scratch.path("d/seq").join(zone.to_string()));
    let zone = |path: std::path::PathBuf| {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        // Only root can read a file without permissions.
        (std::fs::read(path).unwrap_or_default(), mode)
    };
    paths.map(zone).collect()
}

fn set_mode(scratch: &Scratch, name: &str, mode: u32) {
    std::fs::set_permissions(scratch.path(name), Permissions::from_mode(mode)).unwrap();
}

#[test]
fn looking_into_a_store_changes_nothing() {
    let scratch = used();
    let before = all(&scratch);
    for command in LOOKING {
        scratch.quiet(&format!("store {command} dir:d"));
        assert!(all(&scratch) == before, "{command}");
    }
}

#[test]
fn looking_into_a_store_needs_no_right_to_write_and_no_room() {
    let scratch = used();
    let names = (0..24).map(|zone| format!("d/seq/{zone}")).collect::<Vec<_>>();
    names.iter().for_each(|name| set_mode(&scratch, name, 0o444));
    ["d/seq", "d/geometry", "d"].iter().for_each(|name| set_mode(&scratch, name, 0o555));
    for command in LOOKING {
        scratch.quiet(&format!("store {command} dir:d"));
    }
    ["d", "d/seq"].iter().for_each(|name| set_mode(&scratch, name, 0o755));
    names.iter().for_each(|name| set_mode(&scratch, name, 0o644));
    for command in LOOKING {
        // With this limit, a file that grows ends the process.
        let line = format!("ulimit -f 0; exec \"$0\" store {command} dir:d");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &line, env!("CARGO_BIN_EXE_frostline")]).current_dir(scratch.path("."));
        let ran = shell.output().unwrap();
        assert!(ran.status.success() && ran.stderr.is_empty(), "{command}: {ran:?}");
    }
}

/// Makes a zone of valid pages unreadable or shorter, and later restores it.
fn missing_for_a_while(spoil: impl Fn(&Scratch, &str), mend: impl Fn(&Scratch, &str, &[u8])) {
    let scratch = used();
    let zone = full_zone(&scratch);
    let name = format!("d/seq/{zone}");
    let content = std::fs::read(scratch.path(&name)).unwrap();
    let sound = scratch.quiet("store scrub dir:d");
    let before = all(&scratch);

    spoil(&scratch, &name);
    let spoilt = all(&scratch);
    for command in LOOKING {
        let ran = scratch.run(&format!("store {command} dir:d"));
        let finds = matches!(command, "check" | "scrub");
        assert_eq!(ran.status, i32::from(finds), "{command}: {}", ran.err);
        assert!(all(&scratch) == spoilt, "{command} changed the device");
    }
    let named = format!("zone {zone} ");
    assert!(scratch.quiet("store info dir:d").contains(&named));
    let bench = "bench store --device dir:d --keep --writes 50 --cleaning inline -q";
    let said = scratch.fails(1, bench);
    assert!(said.starts_with("frostline: dir:d: synced pages are missing: zone "), "{said}");
    assert!(said.contains(&named) && said.contains(" pages (LBA "), "{said}");
    assert!(said.contains("hint: ") && said.contains("--accept-loss"), "{said}");
    assert!(all(&scratch) == spoilt, "a refused opening changed the device");

    mend(&scratch, &name, &content);
    assert!(all(&scratch) == before);
    assert_eq!(scratch.quiet("store scrub dir:d"), sound, "nothing was lost meanwhile");

    spoil(&scratch, &name);
    scratch.run(&format!("{bench} --accept-loss"));
    mend(&scratch, &name, &content);
    let lost = scratch.run("store scrub dir:d");
    assert!(lost.status == 1 && lost.out.contains("it is lost"), "{}", lost.out);
    assert_eq!(scratch.run(bench).status, 0, "what was accepted is not asked again");
}

#[test]
fn a_zone_that_cannot_be_read_for_a_while_costs_nothing_unless_that_is_accepted() {
    missing_for_a_while(
        |scratch, name| set_mode(scratch, name, 0),
        |scratch, name, _| set_mode(scratch, name, 0o644),
    );
}

#[test]
fn a_zone_that_is_cut_for_a_while_costs_nothing_unless_that_is_accepted() {
    missing_for_a_while(
        |scratch, name| {
            let file = std::fs::File::options().write(true).open(scratch.path(name)).unwrap();
            file.set_len(8192).unwrap();
        },
        |scratch, name, content| std::fs::write(scratch.path(name), content).unwrap(),
    );
}

#[test]
fn a_file_that_was_cut_short_is_refused_in_a_line_unless_that_is_accepted() {
    let scratch = Scratch::new();
    let bench = "bench store --device file:f --writes 50 --cleaning inline -q";
    scratch.quiet(&format!("{bench} --size 16MiB --zone 256KiB"));
    let whole = std::fs::read(scratch.path("f")).unwrap();
    // The end alone may be what the last flush wrote, which the next opening compares.
    scratch.file("f", &whole[..whole.len() / 2]);
    let cut = std::fs::read(scratch.path("f")).unwrap();
    let others = ["db dump file:f", "store rebuild file:f"].map(str::to_string);
    let looks = LOOKING.iter().map(|command| format!("store {command} file:f"));
    for line in looks.chain(others).chain([format!("{bench} --keep")]) {
        let said = scratch.fails(1, &line);
        assert!(said.starts_with("frostline: f: was cut short: it lacks bytes of zone "), "{said}");
        assert!(said.contains("hint: restore a backup"), "{said}");
    }
    assert!(std::fs::read(scratch.path("f")).unwrap() == cut, "a refused opening changed it");
    scratch.quiet("store rebuild file:f --accept-loss --force --dry-run");
    scratch.quiet(&format!("{bench} --keep --accept-loss"));
    scratch.quiet("store check file:f");
}

#[test]
fn a_zone_without_valid_pages_is_not_missed() {
    let scratch = used();
    let zones = scratch.json("store zones dir:d --json");
    let empty = zones.as_array().unwrap().iter().find(|zone| zone["role"] == "empty").unwrap();
    set_mode(&scratch, &format!("d/seq/{}", empty["zone"]), 0);
    scratch.quiet("bench store --device dir:d --keep --writes 50 --cleaning inline -q");
}

/// The metadata zones that have content.
fn begun_meta(scratch: &Scratch) -> Vec<u64> {
    let zones = scratch.json("store zones dir:d --json");
    let begun = |zone: &&Value| zone["role"] == "meta" && zone["written"] != 0;
    let begun: Vec<_> = zones.as_array().unwrap().iter().filter(begun).cloned().collect();
    begun.iter().map(|zone| zone["zone"].as_u64().unwrap()).collect()
}

#[test]
fn a_damaged_superblock_costs_nothing() {
    let scratch = used();
    for zone in begun_meta(&scratch) {
        flip(&scratch, zone, 200);
    }
    for command in LOOKING {
        scratch.quiet(&format!("store {command} dir:d"));
    }
    scratch.quiet("bench store --device dir:d --keep --writes 50 --cleaning inline -q");
}

#[test]
fn a_superblock_that_cannot_be_read_is_not_taken_for_an_empty_device() {
    let scratch = used();
    let meta = begun_meta(&scratch);
    for zone in 0..24 {
        let name = format!("d/seq/{zone}");
        match meta.contains(&zone) {
            true => set_mode(&scratch, &name, 0),
            // An empty file looks like an empty device.
            false => std::fs::write(scratch.path(&name), "").unwrap(),
        }
    }
    let named = format!("zone {} ", meta[0]);
    for command in LOOKING {
        let said = scratch.fails(1, &format!("store {command} dir:d"));
        let why = format!("no superblock was found, and {named}can't be read: ");
        assert!(said.contains(&why) && !said.contains("hint"), "{said}");
    }
    let said = scratch.fails(2, "store format dir:d -q");
    assert!(said.contains(&format!("the device is not empty: {named}is offline")), "{said}");
}

#[test]
fn a_format_that_is_refused_leaves_what_is_there() {
    let scratch = used();
    let before = all(&scratch);
    for wrong in ["--scheme sepbits", "--victim gready", "--pages 9999999", "--scheme oracle-death"]
    {
        scratch.fails(2, &format!("store format dir:d --force {wrong}"));
        assert!(all(&scratch) == before, "{wrong}");
    }
}

#[test]
fn zones_are_drawn_with_state_class_and_valid_share() {
    let scratch = used();
    let drawn = scratch.quiet("store zones dir:d");
    let head = drawn.lines().next().unwrap();
    assert!(head.starts_with("dir:d: 24 zones: ") && head.contains(" data"), "{drawn}");
    assert_eq!(drawn.lines().count(), 2 + 1 + 24);
    assert!(drawn.contains('█') && drawn.contains('░') && drawn.contains('·'), "{drawn}");
    let zones = scratch.json("store zones dir:d --json");
    let valid: u64 = zones.as_array().unwrap().iter().filter_map(|z| z["valid"].as_u64()).sum();
    let pages = scratch.json("store info dir:d --json")["valid_pages"].as_u64().unwrap();
    assert!(valid > 0 && valid <= pages, "records of {pages} pages fill {valid}");
}

#[test]
fn a_damaged_page_is_found_by_scrub_with_its_lba() {
    // So each page of a zone is a page of the user.
    let scratch = used_in_units(4096);
    let zone = full_zone(&scratch);
    flip(&scratch, zone, 4096 + 77);
    let ran = scratch.run("store scrub dir:d");
    assert_eq!(ran.status, 1);
    let place = format!("zone {zone}, page 1, LBA ");
    assert!(ran.out.starts_with(&place) && ran.out.lines().count() == 1, "{}", ran.out);
    assert_eq!(ran.err, "frostline: dir:d: 1 thing is damaged\n");
    let ran = scratch.run("store scrub dir:d --json");
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.status, &report["findings"][0]["zone"]), (1, &zone.into()));
    assert!(report["findings"][0]["lba"].is_u64());
}

#[test]
fn a_damaged_header_is_found_by_check() {
    let scratch = used();
    let zone = full_zone(&scratch);
    flip(&scratch, zone, 99);
    let ran = scratch.run("store check dir:d");
    assert_eq!(ran.status, 1);
    assert!(ran.out.starts_with(&format!("zone {zone}, page 0: the header of ")), "{}", ran.out);
}

#[test]
fn a_store_of_a_newer_format_is_refused() {
    let scratch = used();
    for zone in 0..24 {
        let path = scratch.path("d/seq").join(zone.to_string());
        let mut bytes = std::fs::read(&path).unwrap();
        if bytes.get(..4) == Some(b"FRST") {
            bytes[12..16].copy_from_slice(&99u32.to_le_bytes());
            let crc = crc32c::crc32c(&bytes[8..4096]);
            bytes[4..8].copy_from_slice(&crc.to_le_bytes());
            std::fs::write(&path, bytes).unwrap();
        }
    }
    for command in ["info", "zones", "check", "scrub"] {
        let said = scratch.fails(2, &format!("store {command} dir:d"));
        assert!(
            said.contains("a store of format 99: this program knows formats up to 1"),
            "{said}"
        );
    }
}

#[test]
fn a_device_in_use_is_refused_even_if_forced() {
    let scratch = used();
    let uri = format!("dir:{}", scratch.path("d").display());
    let _held = frostline_zone::open(&uri, &Default::default()).unwrap();
    for command in ["store info dir:d", "store format dir:d --force", "bench store --device dir:d"]
    {
        let said = scratch.fails(2, command);
        let hint = "hint: begun with --metrics ADDR, it can be looked at by frostline top ADDR\n";
        assert_eq!(said, format!("frostline: d: is in use\n{hint}"), "{command}");
    }
}

#[test]
fn a_plain_drive_that_holds_something_else_is_used_only_if_forced() {
    let scratch = Scratch::new();
    let drive = scratch.path("drive");
    let mut bytes = vec![0; 32 << 20];
    bytes[510..512].copy_from_slice(b"\x55\xaa");
    std::fs::write(&drive, &bytes).unwrap();
    for command in [
        "store info block:drive",
        "store format block:drive",
        "bench store --device block:drive --writes 1000",
        "serve nbd block:drive --create --size 16MiB --listen ./s",
    ] {
        let said = scratch.fails(2, command);
        let what = "frostline: drive: holds a partition table or a FAT file system\n";
        let hint =
            "hint: store format --force makes a store in its place, and what it holds is lost\n";
        assert_eq!(said, format!("{what}{hint}"), "{command}");
        assert!(std::fs::read(&drive).unwrap() == bytes, "{command}");
    }
    scratch.quiet("store format block:drive --force -q");
    scratch.quiet("store check block:drive");
    assert_eq!(std::fs::metadata(&drive).unwrap().len(), 32 << 20);
}

/// Makes all pages that describe the store unreadable in its metadata zones.
fn smash_metadata(scratch: &Scratch, pages: usize) {
    let zones = scratch.json("store zones dir:d --json");
    for zone in zones.as_array().unwrap().iter().filter(|zone| zone["role"] == "meta") {
        let path = scratch.path("d/seq").join(zone["zone"].to_string());
        let mut bytes = std::fs::read(&path).unwrap();
        let end = bytes.len().min(pages * 4096);
        bytes[..end].iter_mut().for_each(|byte| *byte ^= 0x55);
        std::fs::write(path, bytes).unwrap();
    }
}

#[test]
fn a_store_without_metadata_is_rebuilt_from_the_headers_of_its_pages() {
    for pages in [2, 64] {
        let scratch = used();
        let dump = |scratch: &Scratch| {
            let info = scratch.json("store info dir:d --json");
            (info["logical_pages"].clone(), info["valid_pages"].clone(), info["scheme"].clone())
        };
        let before = dump(&scratch);
        smash_metadata(&scratch, pages);
        let said = scratch.fails(1, "store check dir:d");
        assert!(said.contains("no superblock is left\nhint: frostline store rebuild"), "{said}");

        let smashed = all(&scratch);
        let said = scratch.quiet("store rebuild dir:d --dry-run");
        assert!(said.starts_with("dir:d: can be rebuilt: "), "{said}");
        assert!(all(&scratch) == smashed, "a dry run changed the device");

        let said = scratch.quiet("store rebuild dir:d --scheme sepbit");
        assert!(said.contains("no superblock was left") && said.contains("trims"), "{said}");
        assert!(scratch.quiet("store check dir:d").contains(": sound: "));
        scratch.quiet("store scrub dir:d");
        assert_eq!(dump(&scratch), before);
        scratch.quiet("bench store --device dir:d --keep --writes 2000 --cleaning inline -q");
        assert!(scratch.quiet("store check dir:d").contains(": sound: "));
        let before = all(&scratch);
        let said = scratch.fails(2, "store rebuild dir:d");
        assert!(said.contains("the store is sound") && said.contains("hint: --force"), "{said}");
        assert!(all(&scratch) == before);
        let again = scratch.json("store rebuild dir:d --force --json");
        assert_eq!(
            (&again["superblock"], &again["missing"]),
            (&true.into(), &Value::Array(vec![]))
        );
    }
}

#[test]
fn a_rebuild_that_cannot_know_says_what_it_needs() {
    let scratch = used();
    let zone = full_zone(&scratch);
    smash_metadata(&scratch, 64);
    let smashed = all(&scratch);
    let said = scratch.fails(2, "store rebuild dir:d --pages 100");
    assert!(said.contains("pages: the store holds LBA ") && said.contains("hint: as "), "{said}");
    let said = scratch.fails(2, "store rebuild dir:d --zones 25");
    assert!(said.contains("--zones 25: dir:d has 24"), "{said}");
    assert!(all(&scratch) == smashed);
    flip(&scratch, zone, 99);
    let said = scratch.fails(1, "store rebuild dir:d");
    assert!(said.contains(&format!("missing: zone {zone} ")), "{said}");
    assert!(said.contains("hint: --accept-loss"), "{said}");
    let said = scratch.quiet("store rebuild dir:d --accept-loss");
    assert!(said.contains("older copies of them may be back"), "{said}");
}

#[test]
fn a_rebuild_names_a_zone_that_a_crash_tore_and_calls_nothing_missing() {
    let scratch = used();
    smash_metadata(&scratch, 2);
    let zones = all(&scratch);
    let is_between = |zone: &usize| zones[*zone].0.is_empty() && !zones[*zone + 1].0.is_empty();
    let zone = (0..23).rfind(is_between).unwrap();
    std::fs::write(scratch.path("d/seq").join(zone.to_string()), [7; 4096]).unwrap();
    let said = scratch.quiet("store rebuild dir:d");
    assert!(
        said.contains(&format!("zone {zone} has a header that can't be read; nothing ")),
        "{said}"
    );
    assert!(!said.contains("older copies"), "{said}");
    assert!(scratch.quiet("store check dir:d").contains(": sound: "));
}

#[test]
fn over_parity_a_lost_zone_and_a_rotten_page_are_read_and_repaired() {
    let scratch = Scratch::new();
    scratch.quiet("store format dir:d --size 16MiB --zone 256KiB --parity 3 --quiet");
    scratch.quiet("bench store --device dir:d --keep --writes 1500 --cleaning inline -q");
    assert!(scratch.quiet("store info dir:d").contains("1 zone of parity for each 3"));
    let sound = scratch.quiet("store scrub dir:d");
    // Three zones of data and one of parity, again and again.
    let length =
        |zone: &u64| std::fs::metadata(scratch.path(&format!("d/seq/{zone}"))).unwrap().len();
    let mut full = (24..180).filter(|zone| zone % 4 < 3 && length(zone) > 80_000);
    let (rotten, lost) = (full.next().unwrap(), full.next_back().unwrap());
    (0..20).for_each(|page| flip(&scratch, rotten, page * 4096 + 99));
    set_mode(&scratch, &format!("d/seq/{lost}"), 0);

    let found = scratch.run("store scrub dir:d");
    assert!(found.status == 1 && found.out.lines().count() > 1, "{}", found.out);
    assert!(found.out.lines().all(|line| line.ends_with("parity has its content")));
    let repaired = scratch.quiet("store scrub dir:d --repair");
    let (lines, last) = repaired.trim_end().rsplit_once('\n').unwrap();
    assert!(lines.lines().all(|line| line.starts_with("repaired: zone ")), "{lines}");
    assert_eq!(format!("{last}\n"), sound);
    for again in ["store scrub dir:d", "store scrub dir:d --repair"] {
        assert_eq!(scratch.quiet(again), sound);
    }
}

#[test]
fn without_parity_a_repair_says_that_it_has_nothing_to_repair_from() {
    let scratch = used();
    let ran = scratch.run("store scrub dir:d --repair");
    assert_eq!(ran.status, 0);
    assert!(
        ran.err.contains("dir:d: keeps no parity, so that no page can be repaired"),
        "{}",
        ran.err
    );
}
