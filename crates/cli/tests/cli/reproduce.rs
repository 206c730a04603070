//! `frostline reproduce`: at the smallest scale there is a table for each of the paper's figures,
//! and the same seed gives the same numbers.

use crate::run::Scratch;
use serde_json::Value;

/// All tables without measured times.
const SMALLEST: &str = "reproduce sepfrozen --scale 0.01 --no-timing -q";

/// The tables, with their number of rows.
const TABLES: [(&str, usize); 13] = [
    ("workloads", 3),
    ("overall", 15),
    ("claims", 9),
    ("mixing", 16),
    ("frozen-share", 10),
    ("quarters", 15),
    ("steps", 11),
    ("victims", 10),
    ("zones", 10),
    ("thresholds", 10),
    ("models", 19),
    ("history", 4),
    ("features", 7),
];

#[test]
fn every_figure_has_its_table_with_numbers_and_the_same_ones_again() {
    let (scratch, other) = (Scratch::new(), Scratch::new());
    let (report, again) = std::thread::scope(|scope| {
        let again = scope.spawn(|| other.quiet(SMALLEST));
        let report = scratch.json(&format!("{SMALLEST} --out tables --json -"));
        (report, again.join().unwrap())
    });
    let tables = report["tables"].as_array().unwrap();
    let rows = |table: &Value| table["rows"].as_array().unwrap().len();
    let found: Vec<_> = tables.iter().map(|t| (t["name"].as_str().unwrap(), rows(t))).collect();
    assert_eq!(found, TABLES);
    for run in tables[1]["rows"].as_array().unwrap() {
        let wafs =
            ["WAF TPC-C", "WAF YCSB-100W", "WAF YCSB-50W"].map(|column| run[column].as_f64());
        assert!(wafs.iter().all(|waf| waf.is_some_and(|waf| waf >= 1.0)), "{run}");
    }
    let read = |name: &str| std::fs::read_to_string(scratch.path(name)).unwrap();
    let markdown = read("tables/sepfrozen.md");
    assert_eq!(markdown.matches("\n## ").count(), TABLES.len());
    assert_eq!(serde_json::from_str::<Value>(&read("tables/sepfrozen.json")).unwrap(), report);
    assert_eq!(again, markdown, "the same seed");
    assert_eq!((scratch.names(), other.names()), (vec!["tables".to_string()], Vec::new()));
}

#[test]
fn a_scale_that_is_none_and_a_paper_that_nobody_knows_are_refused() {
    let scratch = Scratch::new();
    let said = scratch.fails(2, "reproduce sepfrozen --scale 0");
    assert!(said.contains("--scale 0: must be from 0.01 to 100"), "{said}");
    let said = scratch.fails(2, "reproduce nothing");
    assert!(said.contains("unknown \"nothing\" (known: sepbit"), "{said}");
    scratch.fails(2, "reproduce sepfrozen --quick --scale 2");
    let said = scratch.fails(2, "reproduce 2r --only op,ops");
    assert!(said.contains("2r has no experiment \"ops\" (known: running-waf"), "{said}");
    scratch.fails(2, "reproduce sepfrozen absent.u32");
}

#[test]
fn an_experiment_alone_is_one_table() {
    let report = Scratch::new().json("reproduce sepbit --only top-shares --json - -q");
    let tables = report["tables"].as_array().unwrap();
    assert_eq!((tables.len(), &tables[0]["rows"][5]["paper"]), (1, &"89.5 %".into()));
}
