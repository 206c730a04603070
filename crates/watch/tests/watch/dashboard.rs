//! The dashboard for Grafana and the page ask for metrics that there are.

use std::collections::BTreeSet;
use std::path::Path;

use frostline_db::{Create, Db, Options};
use frostline_zone::{Shape, in_memory};
use serde_json::Value;

const DASHBOARD: &str = "../../docs/grafana/frostline.json";

/// All queries of a dashboard.
fn queries(value: &Value) -> Vec<String> {
    match value {
        Value::Array(all) => all.iter().flat_map(queries).collect(),
        Value::Object(fields) => {
            let here = fields.get("expr").and_then(Value::as_str).map(str::to_string);
            here.into_iter().chain(fields.values().flat_map(queries)).collect()
        }
        _ => Vec::new(),
    }
}

/// The metrics that a query names.
fn named(query: &str) -> Vec<&str> {
    let words = query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("frostline_")).collect()
}

/// The names of all metrics of a database.
fn known() -> BTreeSet<String> {
    let device = in_memory(&Shape { bytes: 64 << 20, ..Shape::default() }).unwrap();
    Db::create(&device, &Create::default()).unwrap();
    let db = Db::open(&device, &Options::default()).unwrap();
    let metrics = db.metrics().unwrap();
    let samples = metrics.lines().filter(|line| !line.starts_with('#'));
    let names = samples.filter_map(|line| line.split(['{', ' ']).next());
    names.map(str::to_string).collect()
}

#[test]
fn every_query_of_the_dashboard_names_metrics_that_a_database_has() {
    let known = known();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(DASHBOARD);
    let dashboard: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let queries = queries(&dashboard);
    assert!(queries.len() > 10, "{queries:?}");
    for query in &queries {
        let names = named(query);
        assert!(!names.is_empty(), "{query}");
        for name in names {
            assert!(known.contains(name), "{name}, in {query}, is not in {known:?}");
        }
    }
}

#[test]
fn the_page_shows_metrics_that_a_database_has() {
    let known = known();
    let names: BTreeSet<_> = named(include_str!("../../src/page.html")).into_iter().collect();
    // One is the beginning of a pattern.
    let unknown: Vec<_> = names.iter().filter(|name| !known.contains(**name)).collect();
    assert_eq!(unknown, [&"frostline_"], "{known:?}");
    assert!(names.len() > 8, "{names:?}");
}
