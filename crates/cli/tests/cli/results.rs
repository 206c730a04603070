//! Results in files: every format, the schema of records, resumed and divided sweeps; and the
//! commands for shells.

use std::path::Path;

use crate::run::{Scratch, without_command};
use parquet::record::{Field, Row};
use serde_json::Value;

/// A trace of two volumes with which every scheme must clean.
fn volumes() -> Scratch {
    let scratch = Scratch::new();
    let line = |i: u64, volume: u64| {
        let page = (i * i * 7919 + volume * i) % 509;
        format!("{volume},W,{},4096,{i}\n", page * 4096)
    };
    let lines = (0..6000).flat_map(|i| (0..2).map(move |volume| (i, volume)));
    scratch.file("v.csv", lines.map(|(i, volume)| line(i, volume)).collect::<String>());
    scratch
}

const SIM: &str = "sim v.csv --zone 64KiB --scheme nosep,dac:classes=4,oracle-rate-frozen,2r-fifo \
                   --victim greedy,fifo --window 2000 -q";

fn read(scratch: &Scratch, name: &str) -> String {
    std::fs::read_to_string(scratch.path(name)).unwrap()
}

fn records(scratch: &Scratch, name: &str) -> Vec<Value> {
    read(scratch, name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_record_has_all_that_made_the_run() {
    let scratch = volumes();
    scratch.quiet("gen uniform --pages 400 --writes 100 -q -o l.u32");
    scratch.quiet(&format!("{SIM} --volume 1 --preload l.u32 --seed 7 --warmup 5 -o r.ndjson"));
    let records = records(&scratch, "r.ndjson");
    assert_eq!(records.len(), 7);
    let record = &records[2];
    assert_eq!(record["frostline"], env!("CARGO_PKG_VERSION"));
    let command = record["command"].as_array().unwrap();
    assert_eq!((&command[0], &command[1]), (&"frostline".into(), &"sim".into()));
    assert_eq!(command.last().unwrap(), "r.ndjson");
    assert_eq!(record["trace"]["path"], "v.csv");
    assert_eq!(record["trace"]["bytes"], read(&scratch, "v.csv").len());
    assert_eq!(record["trace"]["sha256"].as_str().unwrap().len(), 64);
    let setup = &record["setup"];
    assert_eq!((&setup["seed"], &setup["warmup"]), (&7.into(), &5.into()));
    assert_eq!((&setup["window"], &setup["page_bytes"]), (&2000.into(), &4096.into()));
    assert_eq!(
        (&setup["semantics"], &setup["preload"]["path"]),
        (&"published".into(), &"l.u32".into())
    );
    assert_eq!((&record["scheme"], &record["method"]), (&"dac:classes=4".into(), &"dac".into()));
    assert_eq!(record["parameters"]["classes"], "4");
    assert_eq!((&record["zone_pages"], &record["trigger"]["gp"]), (&16.into(), &0.15.into()));
}

#[test]
fn every_form_has_the_same_runs() {
    let scratch = volumes();
    scratch.quiet(&format!("{SIM} -o r.json -o r.ndjson -o r.csv --output r.parquet"));
    let whole: Value = serde_json::from_str(&read(&scratch, "r.json")).unwrap();
    let runs = whole["runs"].as_array().unwrap();
    let lines = records(&scratch, "r.ndjson");
    assert_eq!(runs.len(), 3 * 7, "the sum and each volume");
    assert_eq!(lines.len(), runs.len());
    let mut table = csv::Reader::from_path(scratch.path("r.csv")).unwrap();
    let headings = table.headers().unwrap().clone();
    let rows: Vec<_> = table.records().map(Result::unwrap).collect();
    let file = std::fs::File::open(scratch.path("r.parquet")).unwrap();
    let parquet = parquet::file::reader::SerializedFileReader::new(file).unwrap();
    let columns: Vec<_> = parquet.into_iter().map(Result::unwrap).collect();
    assert_eq!((rows.len(), columns.len()), (runs.len(), runs.len()));
    for (i, run) in runs.iter().enumerate() {
        let of =
            |name: &str| rows[i].get(headings.iter().position(|h| h == name).unwrap()).unwrap();
        assert_eq!(lines[i]["relocations"], run["relocations"]);
        assert_eq!(of("scheme"), run["scheme"].as_str().unwrap());
        assert_eq!(of("waf").parse::<f64>().unwrap(), run["waf"].as_f64().unwrap());
        assert_eq!(of("trigger_gp"), "0.15");
        for name in ["waf", "victim", "relocations", "gain", "volume"] {
            assert_eq!(column(&columns[i], name), run[name], "{name}");
        }
    }
}

/// A value of a row; null if the row does not have it.
fn column(row: &Row, name: &str) -> Value {
    match row.get_column_iter().find(|(column, _)| *column == name) {
        Some((_, Field::Double(value))) => (*value).into(),
        Some((_, Field::Long(value))) => (*value).into(),
        Some((_, Field::Str(value))) => value.as_str().into(),
        _ => Value::Null,
    }
}

/// Checks values against the schema of the documentation.
fn conforms(values: &[Value]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for value in values {
        let mut errors = Vec::new();
        check(&schema, value, "", &mut errors);
        assert_eq!(errors, [""; 0], "{value:#}");
    }
}

/// Finds where a value breaks a schema. Each rule that the documentation's schema uses is checked;
/// another one is a mistake of the schema.
fn check(schema: &Value, value: &Value, at: &str, errors: &mut Vec<String>) {
    let number = |value: &Value| value.as_f64().unwrap();
    let length = || value.as_array().map_or(0, Vec::len) as f64;
    for (rule, wanted) in schema.as_object().unwrap() {
        let holds = match rule.as_str() {
            "$schema" | "title" | "description" => true,
            "type" => match wanted.as_array() {
                Some(types) => types.iter().any(|name| has_type(value, name)),
                None => has_type(value, wanted),
            },
            "enum" => wanted.as_array().unwrap().contains(value),
            "minimum" => value.as_f64().is_none_or(|found| found >= number(wanted)),
            "maximum" => value.as_f64().is_none_or(|found| found <= number(wanted)),
            "minItems" => !value.is_array() || length() >= number(wanted),
            "maxItems" => !value.is_array() || length() <= number(wanted),
            "pattern" => {
                assert_eq!(wanted, "^[0-9a-f]{64}$", "the one pattern that is known here");
                let is_digit = |c: u8| matches!(c, b'0'..=b'9' | b'a'..=b'f');
                value.as_str().is_none_or(|text| text.len() == 64 && text.bytes().all(is_digit))
            }
            "required" => {
                let names = wanted.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
                value.as_object().is_none_or(|found| names.clone().all(|n| found.contains_key(n)))
            }
            "items" => {
                for (n, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(wanted, item, &format!("{at}/{n}"), errors);
                }
                true
            }
            "properties" => {
                for (name, schema) in wanted.as_object().unwrap() {
                    if let Some(field) = value.get(name) {
                        check(schema, field, &format!("{at}/{name}"), errors);
                    }
                }
                true
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                let is_known = |name: &str| known.is_some_and(|known| known.contains_key(name));
                let others = value.as_object().into_iter().flatten();
                let mut others = others.filter(|(name, _)| !is_known(name));
                match wanted {
                    Value::Bool(is_allowed) => *is_allowed || others.next().is_none(),
                    schema => {
                        for (name, field) in others {
                            check(schema, field, &format!("{at}/{name}"), errors);
                        }
                        true
                    }
                }
            }
            unknown => panic!("{unknown} is no rule of a schema that is known here"),
        };
        if !holds {
            errors.push(format!("{at}: {rule} {wanted}"));
        }
    }
}

fn has_type(value: &Value, name: &Value) -> bool {
    match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        unknown => panic!("{unknown} is no type of JSON"),
    }
}

#[test]
fn records_are_as_their_schema_says() {
    let scratch = volumes();
    scratch.quiet(&format!("{SIM} --scheme oracle-plan,frozen:sepbit -o r.ndjson"));
    scratch.quiet("sim v.csv --volume 0 --zone 64KiB --op 0.2 --scheme survival -q -o op.ndjson");
    // Fields that only some traces and options have.
    scratch.quiet("gen oltp --pages 900 --writes 4000 --fill -q -o o.u32");
    let only = "sim o.u32 --zone 64KiB -q --lifespans --max-open 7 --op 0.3";
    scratch.quiet(&format!("{only} --scheme sepbit --in-units 64 -o o.ndjson"));
    scratch.quiet(&format!("{only} --scheme phftl --preload o.u32 --no-guess -o p.ndjson"));
    let files = ["r.ndjson", "op.ndjson", "o.ndjson", "p.ndjson"];
    conforms(&files.iter().flat_map(|file| records(&scratch, file)).collect::<Vec<_>>());
}

#[test]
fn the_schema_refuses_a_field_that_is_not_documented() {
    let scratch = volumes();
    scratch.quiet(&format!("{SIM} -o r.ndjson"));
    let mut record = records(&scratch, "r.ndjson").remove(0);
    record["wafs"] = 1.into();
    assert!(std::panic::catch_unwind(|| conforms(&[record])).is_err());
}

#[test]
fn the_schema_refuses_values_out_of_bounds_and_of_another_type() {
    let scratch = volumes();
    scratch.quiet(&format!("{SIM} -o r.ndjson"));
    let record = records(&scratch, "r.ndjson").remove(0);
    for (field, wrong) in [("waf", "high".into()), ("user_writes", (-1).into())] {
        let mut record = record.clone();
        record[field] = wrong;
        assert!(std::panic::catch_unwind(|| conforms(&[record])).is_err(), "{field}");
    }
    let mut short = record.clone();
    short["trace"]["sha256"] = "ab".into();
    assert!(std::panic::catch_unwind(|| conforms(&[short])).is_err(), "a digest that is too short");
    let mut less = record;
    less.as_object_mut().unwrap().remove("scheme");
    assert!(std::panic::catch_unwind(|| conforms(&[less])).is_err(), "a record without a scheme");
}

#[test]
fn every_field_of_the_schema_is_in_the_documentation() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let schema = std::fs::read_to_string(docs.join("results.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let page = std::fs::read_to_string(docs.join("results.md")).unwrap();
    let fields = schema["properties"].as_object().unwrap().keys();
    let missing: Vec<_> =
        fields.filter(|field| !page.contains(&format!("| `{field}` |"))).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn a_sweep_that_was_cut_goes_on_where_it_was_and_gives_the_same_bytes() {
    let scratch = volumes();
    let whole = scratch.quiet(&format!("{SIM} --no-timing --json -"));
    let done = scratch.quiet(&format!("{SIM} --no-timing --json - --manifest m.ndjson"));
    assert_eq!(without_command(&done), without_command(&whole));
    // Some of the finished runs are removed, and one is cut.
    let kept = read(&scratch, "m.ndjson");
    let lines: Vec<_> = kept.lines().collect();
    let cut = format!("{}\n{}", lines[..5].join("\n"), &lines[5][..100]);
    scratch.file("m.ndjson", &cut);
    let ran = scratch.run(&SIM.replace(" -q", " --no-timing --json - --manifest m.ndjson"));
    assert_eq!(without_command(&ran.out), without_command(&whole));
    assert!(ran.err.contains("1 lines are no finished runs"), "{}", ran.err);
    let again = read(&scratch, "m.ndjson");
    assert!(again.starts_with(&cut), "what was finished is not run again");
    assert_eq!(again.lines().count(), lines.len() + 1, "all others are, and the cut line stays");
}

#[test]
fn a_file_that_is_no_manifest_is_left_as_it_is() {
    let scratch = volumes();
    let before = std::fs::read(scratch.path("v.csv")).unwrap();
    let said = scratch.fails(2, &format!("{SIM} --json - --manifest v.csv"));
    assert!(said.starts_with("frostline: v.csv: is no manifest, and is left as it is\n"), "{said}");
    assert_eq!(std::fs::read(scratch.path("v.csv")).unwrap(), before);
}

#[test]
fn a_finished_run_is_known_by_all_that_it_depends_on() {
    let scratch = volumes();
    let sim = SIM.replace("--window 2000 ", "");
    let lines = |options: &str| {
        scratch.quiet(&format!("{sim} --manifest m.ndjson {options}"));
        read(&scratch, "m.ndjson").lines().count()
    };
    let first = lines("");
    assert_eq!(lines(""), first);
    assert_eq!(lines("--threads 1 --no-timing"), first, "these change nothing");
    assert_eq!(lines("--gp 0.15,0.4"), 2 * first, "the first of them was done before");
    let mut before = 2 * first;
    for changed in ["--seed 2", "--gp 0.2", "--warmup 10", "--preload v.csv", "--max-open 64"] {
        let now = lines(changed);
        assert_eq!(now, before + first, "{changed}");
        before = now;
    }
}

#[test]
fn shards_put_together_are_the_whole() {
    let scratch = volumes();
    let sim = SIM.replace("--window 2000 ", "--gp 0.15,0.3 --zone 128KiB ");
    let whole = scratch.quiet(&format!("{sim} --no-timing"));
    for part in 1..=3 {
        scratch.quiet(&format!("{sim} --no-timing --shard {part}/3 --manifest m{part}.ndjson"));
    }
    let joined: String = (1..=3).map(|part| read(&scratch, &format!("m{part}.ndjson"))).collect();
    scratch.file("all.ndjson", &joined);
    assert_eq!(scratch.quiet(&format!("{sim} --no-timing --manifest all.ndjson")), whole);
    assert_eq!(read(&scratch, "all.ndjson"), joined, "nothing was run again");
}

#[test]
fn wrong_forms_and_shards_are_refused_before_the_trace_is_read() {
    let scratch = Scratch::new();
    insta::assert_snapshot!(
        "results-refused",
        scratch.transcript(["sim absent -o r.xlsx", "sim absent -o r", "sim absent --shard 4/3"])
    );
}

#[test]
fn completions_and_manual_pages_are_of_every_command() {
    let scratch = Scratch::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(scratch.quiet(&format!("completions {shell}")).contains("linkbench"), "{shell}");
    }
    assert!(scratch.quiet("man").contains("frostline"));
    scratch.quiet("man --out pages");
    let page = read(&scratch, "pages/frostline-trace-info.1");
    assert!(page.contains("frostline\\-trace\\-info"), "{page}");
}

#[test]
fn the_version_is_that_of_the_package_with_the_commit_if_it_is_known() {
    let version = Scratch::new().quiet("--version");
    assert!(version.starts_with(concat!("frostline ", env!("CARGO_PKG_VERSION"))), "{version}");
}
