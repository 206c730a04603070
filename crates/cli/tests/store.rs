//! A store as its users make it, look into it and check it.

mod run;

use std::os::unix::fs::FileExt;

use run::Scratch;
use serde_json::Value;

/// A device of 24 zones, filled and overwritten: `file:d`.
fn used() -> Scratch {
    let scratch = Scratch::new();
    scratch.quiet(
        "bench store --device file:d --size 6MiB --zone 256KiB --scheme sepbit --workload uniform \
         --writes 2000 --cleaning inline -q",
    );
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
    let zones = scratch.json("store zones file:d --json");
    let share = |zone: &Value| zone["valid_share"].as_f64().unwrap_or(0.0);
    let zones = zones.as_array().unwrap();
    let best = zones.iter().max_by(|a, b| share(a).total_cmp(&share(b))).unwrap();
    best["zone"].as_u64().unwrap()
}

#[test]
fn format_makes_a_device_and_a_store_on_it() {
    let scratch = Scratch::new();
    let line = "store format file:d --size 16MiB --zone 512KiB --scheme dac:classes=4 --pages 1000";
    let ran = scratch.run(line);
    assert_eq!((ran.status, ran.out.as_str()), (0, ""), "{}", ran.err);
    let said = "frostline: file:d: 32 zones of 512 KiB for 1000 pages, dac:classes=4, cost-benefit";
    assert_eq!(ran.err.trim_end(), said);
    let info = scratch.json("store info file:d --json");
    assert_eq!(info["scheme"], "dac:classes=4");
    assert_eq!((&info["logical_pages"], &info["valid_pages"]), (&1000.into(), &0.into()));
    let text = scratch.quiet("store info file:d");
    assert!(text.starts_with("file:d\n") && text.contains("memory for the map of 1 TiB"), "{text}");
}

#[test]
fn format_refuses_what_is_not_empty_unless_forced() {
    let scratch = used();
    let said = scratch.fails(2, "store format file:d");
    assert!(said.starts_with("frostline: file:d: the device is not empty: zone "), "{said}");
    assert!(said.contains("hint: --force"), "{said}");
    scratch.quiet("store format file:d --force -q --scheme nosep");
    let info = scratch.json("store info file:d --json");
    assert_eq!((&info["scheme"], &info["valid_pages"]), (&"nosep".into(), &0.into()));
    scratch.quiet("store format file:d --force -q --size 6MiB");
    let said = scratch.fails(2, "store format file:d --force --size 8MiB");
    assert!(said.contains("file:d is there already, with 24 zones of 256 KiB"), "{said}");
}

#[test]
fn wrong_usage_is_told_in_one_line() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("other")).unwrap();
    scratch.file("other/letter", "Dear");
    for (line, said) in [
        ("store", "store: no command given (known: format info zones check scrub)"),
        ("store wipe", "store: unknown command \"wipe\" (known: format info zones check scrub)"),
        ("store info", "store info: missing: <URI>"),
        ("store info disk", "disk: not mem:, file:DIR, zonefs:MOUNT or zbd:DEVICE"),
        ("store check mem:", "mem:: nothing is in memory yet: it can only be created"),
        (
            "store format mem: --size 1GiB",
            "store format: mem: ends with the command, and the \
          store with it",
        ),
        (
            "store format file:new",
            "store format: file:new does not exist yet, and no --size is \
          given to make it",
        ),
        (
            "store format file:new --size 4KiB",
            "file:new: device size of 4096: must hold from 1 to \
          2^32 - 1 zones",
        ),
        (
            "store format file:new --size 1GiB --gp 2",
            "store format: --gp 2: must be from 0.0001 \
          to 0.9",
        ),
        ("store scrub file:new --rate 0", "store scrub: --rate 0: nothing would be read"),
    ] {
        let err = scratch.fails(2, line);
        assert_eq!(err.lines().next(), Some(format!("frostline: {said}").as_str()), "{line}");
    }
    assert!(scratch.fails(2, "store format file:other").starts_with("frostline: other/geometry: "));
    assert!(scratch.fails(2, "store zones file:absent").starts_with("frostline: absent"));
    let said = scratch.fails(2, "store format file:s --size 64MiB --scheme sepbits");
    assert!(said.contains("unknown scheme \"sepbits\" (known: nosep "), "{said}");
    let said = scratch.fails(2, "store info file:s");
    assert!(said.starts_with("frostline: file:s: no store"), "{said}");
    let said = scratch.fails(2, "store format file:t --size 2MiB -q");
    assert!(said.contains("device too small") && said.contains("hint: a larger --size"), "{said}");
}

#[test]
fn a_sound_store_is_called_sound() {
    let scratch = used();
    let said = scratch.quiet("store check file:d");
    assert!(said.starts_with("file:d: sound: "), "{said}");
    let checked = scratch.json("store check file:d --json");
    assert_eq!(checked["findings"], Value::Array(vec![]));
    let scrubbed = scratch.json("store scrub file:d --json --rate 1GB");
    assert_eq!(scrubbed["pages"], checked["pages"]);
    assert!(scratch.quiet("store scrub file:d").ends_with(" pages are what was written\n"));
}

#[test]
fn looking_into_a_store_changes_nothing() {
    let scratch = used();
    // Opening it resets the zones that waited for that when it was closed.
    scratch.quiet("store info file:d");
    let all = || {
        let zones = (0..24).map(|zone| scratch.path("d/seq").join(zone.to_string()));
        zones.map(|path| std::fs::read(path).unwrap()).collect::<Vec<_>>()
    };
    let before = all();
    for command in ["info", "zones", "check", "scrub"] {
        scratch.quiet(&format!("store {command} file:d"));
        assert!(all() == before, "{command}");
    }
}

#[test]
fn zones_are_drawn_with_state_class_and_valid_share() {
    let scratch = used();
    let drawn = scratch.quiet("store zones file:d");
    let head = drawn.lines().next().unwrap();
    assert!(head.starts_with("file:d: 24 zones: ") && head.contains(" data"), "{drawn}");
    assert_eq!(drawn.lines().count(), 2 + 1 + 24);
    assert!(drawn.contains('█') && drawn.contains('░') && drawn.contains('·'), "{drawn}");
    let zones = scratch.json("store zones file:d --json");
    let valid: u64 = zones.as_array().unwrap().iter().filter_map(|z| z["valid"].as_u64()).sum();
    assert_eq!(scratch.json("store info file:d --json")["valid_pages"], valid);
}

#[test]
fn a_damaged_page_is_found_by_scrub_with_its_lba() {
    let scratch = used();
    let zone = full_zone(&scratch);
    flip(&scratch, zone, 4096 + 77);
    let ran = scratch.run("store scrub file:d");
    assert_eq!(ran.status, 1);
    let place = format!("zone {zone}, page 1, LBA ");
    assert!(ran.out.starts_with(&place) && ran.out.lines().count() == 1, "{}", ran.out);
    assert_eq!(ran.err, "frostline: file:d: 1 thing is damaged\n");
    let ran = scratch.run("store scrub file:d --json");
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.status, &report["findings"][0]["zone"]), (1, &zone.into()));
    assert!(report["findings"][0]["lba"].is_u64());
}

#[test]
fn a_damaged_header_is_found_by_check() {
    let scratch = used();
    let zone = full_zone(&scratch);
    flip(&scratch, zone, 99);
    let ran = scratch.run("store check file:d");
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
        let said = scratch.fails(2, &format!("store {command} file:d"));
        assert!(
            said.contains("a store of format 99: this program knows formats up to 1"),
            "{said}"
        );
    }
}

#[test]
fn a_device_in_use_is_refused_even_if_forced() {
    let scratch = used();
    let uri = format!("file:{}", scratch.path("d").display());
    let _held = frostline_zone::open(&uri, &Default::default()).unwrap();
    for command in
        ["store info file:d", "store format file:d --force", "bench store --device file:d"]
    {
        assert_eq!(scratch.fails(2, command), "frostline: d: is in use\n", "{command}");
    }
}
