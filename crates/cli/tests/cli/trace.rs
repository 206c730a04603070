//! `frostline trace`: the content of traces, and their conversion.

use crate::run::Scratch;
use frostline_placement::{Activity, Hotness};
use frostline_trace::PageWriter;
use serde_json::Value;

const CSV: &str = "3,W,0,4096,1000000\n3,R,8192,512,2000000\n5,W,5000,9000,3000000\n\
                   3,W,0,8192,4500000\n";

fn csv() -> Scratch {
    let scratch = Scratch::new();
    scratch.file("t.csv", CSV);
    scratch
}

#[test]
fn info_tells_each_volume() {
    assert_eq!(
        csv().quiet("trace info t.csv"),
        "\
t.csv: alibaba, pages of 4096 bytes

volume 3
  user writes                      3
  requests                         2
  unique pages                     2
  largest LBA                      1
  writes to the top 20 % of pages  66.7 %
  frozen at 50 % of the trace      0.0 %
  frozen at 80 % of the trace      100.0 %
  writes never rewritten           66.7 %
  lifespan p5 p25 p50 p75 p95      1 1 1 1 1
  time span                        3.5 s

volume 5
  user writes                      3
  requests                         1
  unique pages                     3
  largest LBA                      3
  writes to the top 20 % of pages  33.3 %
  frozen at 50 % of the trace      100.0 %
  frozen at 80 % of the trace      100.0 %
  writes never rewritten           100.0 %
  time span                        0.0 s
"
    );
}

#[test]
fn info_in_json_has_the_same_figures() {
    let info = csv().json("trace info t.csv --json --volume 3");
    assert_eq!(
        info,
        serde_json::json!({
            "path": "t.csv", "format": "alibaba", "page_size": 4096, "volumes": [{
                "name": "3", "writes": 3, "requests": 2, "unique_pages": 2, "largest_lba": 1,
                "top20_share": 2.0 / 3.0, "frozen_at_50": 0.0, "frozen_at_80": 1.0,
                "lifespans": {"p5": 1, "p25": 1, "p50": 1, "p75": 1, "p95": 1},
                "never_rewritten": 2.0 / 3.0, "span_us": 3_500_000
            }]
        })
    );
}

#[test]
fn page_numbers_have_no_time_span() {
    let scratch = Scratch::new();
    scratch.pages("t.u32", 0..100);
    assert_eq!(scratch.json("trace info t.u32 --json")["volumes"][0]["span_us"], Value::Null);
    assert!(!scratch.quiet("trace info t.u32").contains("time span"));
}

#[test]
fn the_page_size_decides_into_how_many_pages_a_request_is_split() {
    let scratch = csv();
    let writes = |page: &str| {
        let info = scratch.json(&format!("trace info t.csv --volume 5 --json --page {page}"));
        info["volumes"][0]["writes"].as_u64().unwrap()
    };
    assert_eq!(["512", "4096", "1MiB"].map(writes), [19, 3, 1]);
}

#[test]
fn head_shows_requests_as_they_are() {
    assert_eq!(
        csv().quiet("trace head t.csv -n 3"),
        "\
volume  op     time us  offset  length
3       write  1000000       0    4096
3       read   2000000    8192     512
5       write  3000000    5000    9000
"
    );
}

#[test]
fn head_in_json_is_of_the_volume_that_is_picked() {
    let rows = csv().json("trace head t.csv -n 1 --volume 5 --json");
    assert_eq!(
        rows,
        serde_json::json!([
            {"time_us": 3_000_000, "op": "write", "offset": 5000, "length": 9000, "volume": "5"}
        ])
    );
}

#[test]
fn a_format_that_is_named_is_not_looked_for() {
    let scratch = Scratch::new();
    scratch.file("digits", "12345678");
    assert!(scratch.fails(2, "trace head digits").contains("is of no known trace format"));
    let head = scratch.quiet("trace head digits --format u32");
    assert_eq!(head.lines().count(), 3, "{head}");
}

#[test]
fn converted_traces_replay_alike() {
    let scratch = csv();
    let info = |file: &str| scratch.json(&format!("trace info {file} --json"))["volumes"].clone();
    for to in ["t.parquet", "T.PARQUET"] {
        let ran = scratch.run(&format!("trace convert t.csv -o {to}"));
        assert_eq!((ran.status, ran.out.as_str()), (0, ""));
        assert_eq!(ran.err, format!("frostline: {to}: 4 requests, 6 page writes\n"));
        assert_eq!(info(to), info("t.csv"));
    }
    for to in ["t.u32", "t.u32.zst"] {
        scratch.quiet(&format!("trace convert t.csv --volume 5 -q -o {to}"));
        let pages = scratch.quiet(&format!("trace head {to}"));
        let offsets: Vec<_> = pages.lines().skip(1).map(|l| l.split_whitespace().nth(3)).collect();
        assert_eq!(offsets, [Some("4096"), Some("8192"), Some("12288")], "{to}");
    }
}

#[test]
fn a_limit_counts_page_writes() {
    let scratch = csv();
    scratch.quiet("trace convert t.csv --volume 5 --limit 2 -q -o t.u32");
    assert_eq!(std::fs::metadata(scratch.path("t.u32")).unwrap().len(), 8);
    scratch.fails(2, "trace convert t.csv --volume 5 --limit 0 -q -o u.u32");
}

#[test]
fn page_numbers_of_several_volumes_are_not_mixed() {
    let said = csv().fails(2, "trace convert t.csv -o t.u32");
    assert_eq!(
        said,
        "frostline: t.csv: has several volumes (3 5) where one is needed\n\
         hint: pick one with --volume\n"
    );
}

#[test]
fn hotness_records_are_told_shown_and_kept() {
    let scratch = Scratch::new();
    let mut trace = PageWriter::create(&scratch.path("t.parquet"), 4096, true).unwrap();
    let current = Activity { valid_bytes: 3000, accesses: 12, ..Activity::default() };
    let record = Hotness { origin: 9, lifespan: 44, current, ..Hotness::default() };
    trace.write(2, &record, 3100).unwrap();
    trace.trim(2, 3).unwrap();
    trace.finish().unwrap();
    scratch.quiet("trace convert t.parquet -q -o again.parquet");
    for file in ["t.parquet", "again.parquet"] {
        let info = scratch.quiet(&format!("trace info {file}"));
        let head = format!("{file}: parquet, pages of 4096 bytes, with hotness records\n");
        assert!(info.starts_with(&head), "{info}");
        assert_eq!(scratch.json(&format!("trace info {file} --json"))["hotness"], true);
        let rows = scratch.json(&format!("trace head {file} --json"));
        assert_eq!((&rows[0]["time_us"], &rows[1]["time_us"]), (&1.into(), &1.into()));
        let (hotness, trim) = (&rows[0]["hotness"], &rows[1]);
        assert_eq!(hotness.as_object().unwrap().len(), 12);
        assert_eq!((&hotness["origin"], &hotness["accesses"]), (&9.into(), &12.into()));
        assert_eq!((&trim["op"], &trim["hotness"]), (&"trim".into(), &Value::Null));
    }
    let head = scratch.quiet("trace head t.parquet");
    let cells: Vec<Vec<_>> = head.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(cells[0][6..9], ["origin", "lifespan", "valid_bytes"], "after two words of time us");
    assert_eq!(cells[1][5..9], ["9", "44", "3000", "12"]);
    assert_eq!(cells[2][4..7], ["12288", "-", "-"]);
}

/// Twenty records of libCacheSim, for objects 0 to 19.
fn records() -> Vec<u8> {
    let record = |i: u32| {
        let (object, next) = (u64::from(i).to_le_bytes(), (-1i64).to_le_bytes());
        [&i.to_le_bytes()[..], &object, &512u32.to_le_bytes(), &next].concat()
    };
    (0..20).flat_map(record).collect()
}

#[test]
fn that_reads_are_taken_for_writes_is_said() {
    let scratch = Scratch::new();
    scratch.file("t.bin", records());
    for command in ["trace info t.bin", "trace head t.bin", "trace convert t.bin -o t.u32"] {
        let ran = scratch.run(command);
        let first = ran.err.lines().next().unwrap_or_default();
        assert_eq!(
            first,
            "frostline: t.bin: warning: oracle-general does not tell reads: \
             all requests are taken for writes",
            "{command}"
        );
    }
    scratch.quiet("trace info t.bin -q");
}

#[test]
fn objects_of_libcachesim_may_be_sectors() {
    let scratch = Scratch::new();
    scratch.file("t.bin", records());
    let pages = |options: &str| {
        let info = scratch.json(&format!("trace info t.bin --json -q {options}"));
        info["volumes"][0]["unique_pages"].as_u64().unwrap()
    };
    assert_eq!((pages(""), pages("--unit 512"), pages("--unit 2KiB")), (20, 3, 10));
    scratch.fails(2, "trace info t.bin --unit 0");
    scratch.pages("p.u32", [1, 2]);
    assert_eq!(
        scratch.fails(2, "trace info p.u32 --unit 512").lines().next(),
        Some("frostline: p.u32: u32 has a unit of its own, and takes no other")
    );
}

#[test]
fn a_trace_that_takes_too_much_memory_is_refused() {
    let scratch = Scratch::new();
    // The file has 64 KiB of text, which stands for 4 TiB of writes.
    scratch.file("t", "1,W,0,4294967296,5\n".repeat(1000));
    scratch.pages("p.u32", 0..10_000);
    for command in ["sim t", "trace info t", "train t -o m", "sim p.u32 t", "sim p.u32 --preload t"]
    {
        let said = scratch.fails(2, &format!("{command} --max-memory 1MiB"));
        let line = said.lines().next().unwrap();
        assert!(line.starts_with("frostline: t: takes more than "), "{line}");
        assert!(line.ends_with(" bytes of memory"), "{line}");
    }
    let half = scratch.fails(2, "sim p.u32 p.u32 --max-memory 60KB --quiet");
    assert!(half.contains("is given twice"), "{half}");
    scratch.quiet("trace convert t --limit 1000 -o t.u32 -q");
}

/// Three volumes whose writes alternate, with reads between them.
fn three_volumes(scratch: &Scratch) {
    let line = |i: u64| {
        let op = if i.is_multiple_of(5) { "R" } else { "W" };
        format!("{},{op},{},8192,{i}\n", i % 3, i * i % 509 * 4096)
    };
    scratch.file("v.csv", (0..9000).map(line).collect::<String>());
}

#[test]
fn a_split_trace_has_of_each_volume_what_its_conversion_has() {
    let scratch = Scratch::new();
    three_volumes(&scratch);
    scratch.quiet("trace split v.csv -o parts -q");
    scratch.quiet("trace split v.csv -o plain --plain -q");
    for volume in 0..3 {
        scratch.quiet(&format!("trace convert v.csv --volume {volume} -o c.u32 -q"));
        scratch.quiet(&format!("trace convert parts/{volume}.u32.zst -o p.u32 -q"));
        let read = |name: &str| std::fs::read(scratch.path(name)).unwrap();
        let converted = read("c.u32");
        assert_eq!(
            converted.len(),
            2 * 4 * 2400,
            "8 KiB are two pages, every fifth request a read"
        );
        assert!(converted == read("p.u32") && converted == read(&format!("plain/{volume}.u32")));
    }
    assert_eq!(
        scratch.names(),
        ["c.u32", "p.u32", "parts", "plain", "v.csv"],
        "nothing else is left"
    );
}

#[test]
fn a_volume_of_more_than_a_part_is_written_in_order() {
    let scratch = Scratch::new();
    // Two parts of 1 MiB, and a little more.
    let line = |i: u32| format!("1,W,{},4096,{i}\n", u64::from(i) * 4096);
    scratch.file("v.csv", (0..600_000).map(line).collect::<String>());
    scratch.quiet("trace split v.csv -o parts -q");
    scratch.quiet("trace convert parts/1.u32.zst -o p.u32 -q");
    let pages = std::fs::read(scratch.path("p.u32")).unwrap();
    let expected: Vec<u8> = (0..600_000u32).flat_map(u32::to_le_bytes).collect();
    assert!(pages == expected);
}

#[test]
fn volumes_have_files_of_their_own_whatever_they_are_called() {
    let scratch = Scratch::new();
    let line = |name: &str| format!("{name} write 0 4096\n");
    let names = ["a/b", "a_b", "A_B", "..", "\u{e4}"];
    scratch.file("v.fio", format!("fio version 2 iolog\n{}", names.map(line).concat()));
    scratch.quiet("trace split v.fio -o parts --plain -q");
    let files = std::fs::read_dir(scratch.path("parts")).unwrap();
    let mut files: Vec<_> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    assert_eq!(files, ["A_B~2.u32", "_...u32", "_.u32", "a_b.u32", "a_b~1.u32"]);
}

#[test]
fn a_trace_that_can_not_be_split_leaves_nothing() {
    let scratch = Scratch::new();
    three_volumes(&scratch);
    scratch.file("bad.csv", "1,W,0,4096,1\n1,W,x,4096,1\n");
    scratch.file("reads.csv", "1,R,0,4096,1\n");
    std::fs::create_dir(scratch.path("there")).unwrap();
    insta::assert_snapshot!(
        "split-refused",
        scratch.transcript([
            "trace split v.csv -o there",
            "trace split v.csv -o parts --volume 7",
            "trace split bad.csv -o parts",
            "trace split reads.csv -o parts",
        ])
    );
    assert_eq!(scratch.names(), ["bad.csv", "reads.csv", "there", "v.csv"]);
}
