//! `frostline train` and `frostline model`: models are made and evaluated, and other files are
//! refused.

use crate::run::Scratch;

/// A trace of an area that is appended to and freezes, and a table that does not.
fn oltp() -> Scratch {
    let scratch = Scratch::new();
    scratch.quiet("gen oltp --pages 2000 --writes 60000 --seed 3 -q -o t.u32");
    scratch
}

#[test]
fn a_model_is_trained_written_and_evaluated_the_same() {
    let scratch = oltp();
    let trained = scratch.json("train t.u32 -o m.json --split time --json - -q");
    let evaluated = scratch.json("model eval m.json t.u32 --split time --json - -q");
    assert_eq!(trained, evaluated);
    let quality = &evaluated["quality"];
    assert!(quality["roc_area"].as_f64().unwrap() > 0.7, "{quality}");
    assert_eq!(evaluated["features"].as_array().unwrap().len(), 7);
    assert_eq!(evaluated["trained_on"]["trace"], "t.u32");
    assert_eq!(scratch.names(), ["m.json", "t.u32"]);
}

#[test]
fn the_same_seed_gives_the_same_file() {
    let scratch = oltp();
    scratch.quiet("train t.u32 -o a.json --json a.txt -q");
    scratch.quiet("train t.u32 -o b.json --json b.txt -q");
    for (a, b) in [("a.json", "b.json"), ("a.txt", "b.txt")] {
        assert_eq!(
            std::fs::read(scratch.path(a)).unwrap(),
            std::fs::read(scratch.path(b)).unwrap()
        );
    }
}

#[test]
fn all_recognisers_are_in_one_table() {
    let compared = oltp().json("model compare t.u32 --age 500 --json -");
    let models = compared["models"].as_array().unwrap();
    let names: Vec<_> = models.iter().map(|row| row["model"].as_str().unwrap()).collect();
    let (trained, rules) = names.split_at(names.len() - 2);
    assert_eq!(trained[..3], ["sgd", "logistic", "svm"]);
    assert_eq!(&trained[3..], if cfg!(feature = "gru") { &["gru"][..] } else { &[] });
    assert_eq!(rules, ["one-bit", "2r"]);
    assert_eq!(models[names.len() - 1]["quality"]["false_positive_rate"], 1.0);
}

#[test]
fn two_rs_rule_is_replayed_where_pages_are_looked_at_when_they_are_written() {
    let scratch = oltp();
    let compared = scratch.json("model compare t.u32 --samples 1000 --json -");
    let two_r = compared["models"].as_array().unwrap().last().unwrap();
    let quality = &two_r["quality"];
    assert_eq!((&two_r["model"], &quality["samples"]), (&"2r".into(), &60_000.into()));
    let alarms = quality["false_positive_rate"].as_f64().unwrap();
    assert!(alarms > 0.0 && alarms < quality["recall"].as_f64().unwrap(), "{quality}");
}

#[cfg(feature = "gru")]
#[test]
fn a_network_is_trained_written_and_evaluated_the_same() {
    let scratch = oltp();
    let trained = scratch.json("train t.u32 -o m.json --model gru --samples 20000 --json - -q");
    let evaluated =
        scratch.json("model eval m.json t.u32 --split random --samples 20000 --json - -q");
    assert_eq!(trained, evaluated);
    assert!(evaluated["quality"]["roc_area"].as_f64().unwrap() > 0.7, "{}", evaluated["quality"]);
    assert!(evaluated["features"][0]["weight"].is_null());
}

#[cfg(not(feature = "gru"))]
#[test]
fn what_trains_a_network_has_to_be_built() {
    let scratch = Scratch::new();
    let said = scratch.fails(2, "train absent.u32 -o m.json --model gru");
    assert!(said.contains("training gru is left out of this build"), "{said}");
    assert!(said.contains("hint: cargo build --release --features gru"), "{said}");
}

#[test]
fn models_are_compared_by_history_and_by_features() {
    let scratch = oltp();
    let compared = scratch.json("model histories t.u32 --model logistic --json -");
    let histories: Vec<_> =
        compared["models"].as_array().unwrap().iter().map(|row| row["history"].clone()).collect();
    assert_eq!(histories, [1, 2, 3, 4]);
    let table = scratch.quiet("model features t.u32 --model logistic --split time");
    let first = |line: &str| line.split("  ").next().map(str::to_string);
    let rows: Vec<_> = table.lines().skip(3).filter_map(first).collect();
    assert_eq!(rows.len(), 4, "{table}");
    assert!(rows[1..].iter().all(|row| row.starts_with("+ ")), "{table}");
}

#[test]
fn features_can_be_left_out() {
    let scratch = oltp();
    let few = scratch.json("train t.u32 -o m.json --features write-time --json - -q");
    let weights = few["features"].as_array().unwrap().iter();
    let used: Vec<_> = weights.filter(|f| f["weight"] != 0.0).map(|f| &f["name"]).collect();
    assert_eq!(used, ["write-time-1"], "the age does not vary");
    let said = scratch.fails(2, "train t.u32 -o m.json --features colour");
    assert!(said.contains("unknown feature \"colour\" (known: writes write-time"), "{said}");
}

#[test]
fn what_is_no_model_is_refused() {
    let scratch = oltp();
    scratch.file("m.json", "{}");
    let said = scratch.fails(2, "model eval m.json t.u32");
    assert!(said.starts_with("frostline: m.json: not a model: missing field"), "{said}");
    scratch.quiet("train t.u32 -o m.json --json m.txt -q");
    scratch.fails(2, "model eval m.json absent");
    let said = scratch.fails(2, "train t.u32 -o n.json --records engine");
    assert!(said.starts_with("frostline: t.u32: the trace has no hotness records"), "{said}");
    scratch.pages("once.u32", 0..100);
    let said = scratch.fails(1, "train once.u32 -o n.json");
    assert!(said.contains("there is nothing to learn"), "{said}");
    assert!(!scratch.path("n.json").exists());
}

#[test]
fn a_model_that_takes_all_pages_alike_is_warned_of() {
    let scratch = oltp();
    for (threshold, why) in [("1000000", "no page"), ("-1000000", "every page")] {
        let train = format!("train t.u32 -o m.json --threshold {threshold}");
        for (command, line) in [("train", &train[..]), ("model eval", "model eval m.json t.u32")] {
            let ran = scratch.run(line);
            let warning = format!(
                "frostline: {command}: warning: with its threshold of {threshold} the model takes \
                 {why} for frozen"
            );
            assert_eq!((ran.status, ran.err.lines().next()), (0, Some(&warning[..])), "{line}");
            assert!(ran.err.contains("\nhint: train it with a "), "{}", ran.err);
            assert_eq!(scratch.quiet(&format!("{line} --quiet")), ran.out);
        }
    }
    let ran = scratch.run("train t.u32 -o m.json --threshold -3");
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "it takes some");
}
