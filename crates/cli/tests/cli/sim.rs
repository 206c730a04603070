//! `frostline sim`: its replays, its counts, and its results.

use std::path::Path;

use crate::run::{Scratch, without_command};
use serde_json::Value;

/// A trace of three volumes with these numbers of writes.
fn volumes(writes: [u64; 3]) -> Scratch {
    let scratch = Scratch::new();
    let line = |i: u64, volume: usize| {
        let page = i * i * 7919 % 509;
        format!("{volume},W,{},4096,{i}\n", page * 4096)
    };
    let most = writes.into_iter().max().unwrap();
    let lines = (0..most).flat_map(|i| (0..3).filter(move |&v| i < writes[v]).map(move |v| (i, v)));
    scratch.file("v.csv", lines.map(|(i, v)| line(i, v)).collect::<String>());
    scratch
}

fn zipf() -> Scratch {
    let scratch = Scratch::new();
    scratch.quiet("gen zipf --pages 4096 --writes 40000 --seed 3 -q -o z.u32");
    scratch
}

fn runs(report: &Value) -> &Vec<Value> {
    report["runs"].as_array().unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

/// The sum of a field over the elements of an array.
fn sum(array: &Value, field: &str) -> u64 {
    array.as_array().unwrap().iter().map(|element| number(&element[field])).sum()
}

/// Scheme and victim of each run.
fn names(report: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap().to_string();
    runs(report).iter().map(|r| text(&r["scheme"]) + " " + &text(&r["victim"])).collect()
}

#[test]
fn sepbits_own_simulator_counts_the_same_blocks() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data");
    let reference = std::fs::read_to_string(data.join("sepbit_blocks.csv")).unwrap();
    let row = reference.lines().find(|line| line.starts_with("tiny_zipf10,SepBIT,CostBenefit,"));
    let row: Vec<_> = row.unwrap().split(',').collect();
    let (user, total, cleanings) = (row[6], row[7], row[8]);
    let report = Scratch::new().json(&format!(
        "sim {} --scheme sepbit --semantics sepbit-fast22 --zone 1MiB --no-gain --json -",
        data.join("tiny_zipf10.u32.zst").display()
    ));
    let run = &report["runs"][0];
    let written = number(&run["user_writes"]) + number(&run["relocations"]);
    assert_eq!(run["user_writes"].to_string(), user);
    assert_eq!(written.to_string(), total);
    assert_eq!(run["cleanings"].to_string(), cleanings);
}

#[test]
fn counts_add_up_over_classes_and_windows() {
    let report = zipf()
        .json("sim z.u32 --zone 128KiB --scheme sepbit --warmup 1234 --window 10000 --json -");
    let run = &report["runs"][0];
    let (user, copied) = (number(&run["user_writes"]), number(&run["relocations"]));
    assert_eq!(user, 40_000 - 1234);
    assert!(copied > 0);
    for parts in ["classes", "windows"] {
        assert_eq!(sum(&run[parts], "user_writes"), user, "{parts}");
        assert_eq!(sum(&run[parts], "relocations"), copied, "{parts}");
    }
    let lengths: Vec<_> =
        run["windows"].as_array().unwrap().iter().map(|w| number(&w["user_writes"])).collect();
    assert_eq!(lengths, [10_000, 10_000, 10_000, 8766]);
    assert_eq!(run["waf"], (user + copied) as f64 / user as f64);
}

#[test]
fn a_preload_is_replayed_but_not_counted() {
    let scratch = zipf();
    let whole = std::fs::read(scratch.path("z.u32")).unwrap();
    let (first, second) = whole.split_at(4 * 15_000);
    scratch.file("a.u32", first);
    scratch.file("b.u32", second);
    let sim = "--zone 128KiB --scheme sepbit --no-timing --json -";
    let warmed = scratch.json(&format!("sim z.u32 --warmup 15000 {sim}"));
    let preloaded = scratch.json(&format!("sim b.u32 --preload a.u32 {sim}"));
    assert_eq!(warmed["runs"], preloaded["runs"]);
    assert_eq!(number(&preloaded["trace"]["user_writes"]), 25_000);
    let both = scratch.json(&format!("sim b.u32 --preload a.u32 --warmup 5000 {sim}"));
    assert_eq!(number(&both["runs"][0]["user_writes"]), 20_000);
}

#[test]
fn volumes_are_summed_first_and_then_shown_one_by_one() {
    let scratch = volumes([9000, 9000, 300]);
    let report = scratch.json("sim v.csv --zone 64KiB --scheme nosep,sepgc --json -");
    let named: Vec<_> = runs(&report).iter().map(|r| &r["volume"]).zip(names(&report)).collect();
    let named: Vec<_> = named.iter().map(|(v, s)| format!("{} {s}", v.as_str().unwrap())).collect();
    let each = ["nosep cost-benefit", "sepgc cost-benefit"];
    let expected = ["all", "0", "1", "2"].iter().flat_map(|v| each.map(|s| format!("{v} {s}")));
    assert_eq!(named, expected.collect::<Vec<_>>());
    for (scheme, total) in runs(&report)[..2].iter().enumerate() {
        for field in ["user_writes", "relocations", "zones_reclaimed", "cleanings"] {
            let parts: u64 =
                runs(&report)[2..].iter().skip(scheme).step_by(2).map(|r| number(&r[field])).sum();
            assert_eq!(number(&total[field]), parts, "{field}");
        }
    }
    assert_eq!(number(&report["trace"]["user_writes"]), 18_300);
}

#[test]
fn a_volume_that_is_picked_runs_as_if_it_were_alone() {
    let scratch = volumes([9000, 9000, 300]);
    let sim = "sim v.csv --zone 64KiB --scheme sepbit --no-timing --json -";
    let alone = scratch.json(&format!("{sim} --volume 1"));
    assert_eq!(runs(&alone).len(), 1);
    assert_eq!(alone["runs"][0]["volume"], Value::Null);
    let mut among = scratch.json(sim)["runs"][2].clone();
    among.as_object_mut().unwrap().remove("volume");
    assert_eq!(alone["runs"][0], among);
}

#[test]
fn a_warm_up_longer_than_a_volume_counts_nothing_of_it() {
    let report = volumes([9000, 9000, 300])
        .json("sim v.csv --zone 64KiB --scheme nosep --warmup 1000 --json -");
    let counted: Vec<_> = runs(&report).iter().map(|r| number(&r["user_writes"])).collect();
    assert_eq!(counted, [16_000, 8000, 8000, 0]);
    assert_eq!(report["runs"][3]["waf"], 1.0);
}

#[test]
fn several_traces_are_named_by_their_files() {
    let scratch = volumes([600, 0, 0]);
    scratch.pages("p.u32", (0..500).chain(0..500));
    let report = scratch.json("sim v.csv p.u32 --zone 64KiB --scheme nosep --json -");
    let named: Vec<_> = runs(&report).iter().map(|r| r["volume"].as_str().unwrap()).collect();
    assert_eq!(named, ["all", "v.csv", "p.u32"]);
    assert_eq!(report["trace"]["path"], "v.csv p.u32");
    assert_eq!(report["trace"]["format"], "alibaba u32");
    assert_eq!(number(&report["trace"]["user_writes"]), 1600);
    let each: Vec<_> = report["traces"].as_array().unwrap().iter().map(|t| &t["path"]).collect();
    assert_eq!(each, ["v.csv", "p.u32"]);
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let scratch = volumes([3000, 2000, 300]);
    let sim =
        "sim v.csv --zone 64KiB --victim all --window 700 --gp 0.1,0.3 --no-timing -q --json -";
    let run = |threads: &str| without_command(&scratch.quiet(&format!("{sim} {threads}")));
    let one = run("--threads 1");
    assert!(one == run("--threads 2"));
    assert!(one == run(""));
}

#[test]
fn the_seed_is_what_chance_depends_on() {
    let scratch = zipf();
    let sim = "sim z.u32 --zone 128KiB --scheme nosep --victim random --no-timing --no-gain";
    let table = |seed: u32| scratch.quiet(&format!("{sim} --seed {seed}"));
    assert_eq!(table(1), table(1));
    assert_ne!(table(1), table(2));
}

#[test]
fn all_schemes_are_those_that_the_registry_lists() {
    let scratch = zipf();
    let registry = scratch.json("schemes --json");
    let listed: Vec<_> =
        registry["schemes"].as_array().unwrap().iter().map(|s| s["name"].clone()).collect();
    let report = scratch.json("sim z.u32 --zone 128KiB --json -");
    let run: Vec<_> = runs(&report).iter().map(|r| r["scheme"].clone()).collect();
    // `lfs-cb` equals `nosep` with cost-benefit, which is in the list.
    let once: Vec<_> = listed.into_iter().filter(|name| name != "lfs-cb").collect();
    assert_eq!(run, once);
}

#[test]
fn without_victims_each_scheme_has_the_default_that_the_registry_lists() {
    let scratch = zipf();
    let registry = scratch.json("schemes --json");
    let victim = |row: &Value| (row["name"].clone(), row["default_victim"].clone());
    let listed: Vec<_> = registry["schemes"].as_array().unwrap().iter().map(victim).collect();
    let sim = "sim z.u32 --zone 128KiB --no-timing --json -";
    let report = scratch.json(sim);
    for run in runs(&report) {
        let default = listed.iter().find(|(name, _)| *name == run["scheme"]).unwrap();
        assert_eq!(run["victim"], default.1, "{}", run["scheme"]);
    }
    let alone = |options: &str| scratch.json(&format!("{sim} --scheme {options}"))["runs"].clone();
    assert_eq!(alone("survival"), alone("survival --victim survival"));
    assert_eq!(
        names(&scratch.json(&format!("{sim} --scheme frozen:survival"))),
        ["frozen:survival survival"]
    );
    let fast22 = scratch.json(&format!("{sim} --semantics sepbit-fast22"));
    assert!(runs(&fast22).iter().all(|run| run["victim"] == "cost-benefit"));
}

#[test]
fn a_second_name_of_a_run_is_run_only_if_it_is_asked_for() {
    let scratch = zipf();
    let ran = |schemes: &str, victims: &str| {
        let line =
            format!("sim z.u32 --zone 128KiB --no-gain --json - {schemes} --victim {victims}");
        names(&scratch.json(&line))
            .into_iter()
            .filter(|name| !name.contains("oracle"))
            .collect::<Vec<_>>()
    };
    let all = ran("--scheme all", "greedy");
    assert!(!all.contains(&"1r-greedy greedy".to_string()));
    assert!(all.contains(&"lfs-cb cost-benefit".to_string()), "nosep is run with greedy only");
    assert_eq!(ran("--scheme nosep,1r-greedy", "greedy"), ["nosep greedy", "1r-greedy greedy"]);
}

#[test]
fn several_volumes_are_shown_as_a_sum_and_as_percentiles() {
    let scratch = volumes([3000, 2000, 300]);
    let sim = "sim v.csv --zone 64KiB --scheme nosep,sepbit --no-timing --no-gain -q";
    let table = scratch.quiet(sim);
    assert!(table.contains("\nWAF over 3 volumes\n"), "{table}");
    assert_eq!(table.matches("nosep ").count(), 2, "once in the sum, once over volumes: {table}");
    let ran = scratch.run(&format!("{sim} -v"));
    assert_eq!(ran.out.matches("nosep ").count(), 2 + 1 + 3, "and each volume by itself");
}

#[test]
fn a_combination_named_twice_runs_once() {
    let report = zipf().json(
        "sim z.u32 --zone 128KiB --scheme nosep,sepgc,nosep --scheme sepgc,2r-fifo \
         --victim greedy,fifo,greedy --json -",
    );
    let expected = ["nosep greedy", "nosep fifo", "sepgc greedy", "sepgc fifo", "2r-fifo 2r-fifo"];
    assert_eq!(names(&report), expected);
}

#[test]
fn lists_of_settings_have_a_run_for_each_combination() {
    let scratch = zipf();
    let sim = "sim z.u32 --scheme nosep,sepgc --victim greedy,fifo --no-timing --json -";
    for shares in ["--gp 0.1,0.3,0.1", "--op 0.2,0.4", "--zones 300 --gp 0.3,0.2"] {
        let together = scratch.json(&format!("{sim} {shares} --zone 128KiB,256KiB"));
        let (option, list) = shares.rsplit_once(' ').unwrap();
        let mut alone = Vec::new();
        for zone in ["128KiB", "256KiB"] {
            let each: Vec<_> = list.split(',').collect();
            for share in &each[..2] {
                let one = scratch.json(&format!("{sim} {option} {share} --zone {zone}"));
                alone.extend(runs(&one).clone());
            }
        }
        assert_eq!(alone.len(), 16);
        assert!(runs(&together) == &alone, "{shares}");
    }
}

#[test]
fn the_table_of_lists_has_a_column_for_each_setting_that_differs() {
    let scratch = zipf();
    let sim = "sim z.u32 --scheme nosep,sepbit,oracle-rate --no-timing --no-gain --victim greedy";
    let heads = |options: &str| {
        let table = scratch.quiet(&format!("{sim} {options}"));
        let head = table.lines().find(|line| line.contains("scheme")).unwrap();
        head.split("greedy").next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(heads("--zone 128KiB"), "scheme");
    assert_eq!(heads("--zone 128KiB --gp 0.1,0.1"), "scheme", "a setting named twice is one");
    assert_eq!(heads("--zone 128KiB --gp 0.1,0.2"), "gp scheme");
    assert_eq!(heads("--zone 128KiB,256KiB --op 0.2"), "zone scheme");
    assert_eq!(heads("--zone 128KiB,256KiB --op 0.2,0.3"), "zone op scheme");
    let table = scratch.quiet(&format!("{sim} --zone 128KiB --op 0.2,0.3"));
    let rows: Vec<_> = table
        .lines()
        .skip(5)
        .map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
        .collect();
    let each = ["0.2 sepbit", "0.2 nosep", "-- knowing", "0.2 oracle-rate", ""];
    assert_eq!(rows[..5], each, "{table}");
    assert_eq!(rows[5..], each.map(|row| row.replace("0.2", "0.3"))[..4], "{table}");
    assert_eq!(table.matches('*').count(), 1 + 2, "one of each setting is the best: {table}");
}

#[test]
fn the_gain_goes_from_0_to_1_under_each_victim_policy() {
    let report = zipf().json(
        "sim z.u32 --zone 128KiB --scheme nosep,sepbit,oracle-rate-frozen \
         --victim greedy,cost-benefit --json -",
    );
    let gain = |i: usize| runs(&report)[i]["gain"].as_f64().unwrap();
    assert_eq!([0, 1, 4, 5].map(gain), [0.0, 0.0, 1.0, 1.0]);
    for (i, (nosep, bound)) in [(2, (0, 4)), (3, (1, 5))] {
        let waf = |i: usize| runs(&report)[i]["waf"].as_f64().unwrap();
        assert_eq!(gain(i), (waf(nosep) - waf(i)) / (waf(nosep) - waf(bound)));
    }
}

#[test]
fn the_possible_gain_goes_from_nosep_to_oracle_plan_whatever_the_victim_policy() {
    let scratch = zipf();
    let sim = "sim z.u32 --zone 128KiB --json - --victim greedy,cost-benefit --scheme sepbit,nosep";
    let report = scratch.json(&format!("{sim},oracle-plan"));
    let waf = |i: usize| runs(&report)[i]["waf"].as_f64().unwrap();
    let (nosep, plan) = (waf(3), waf(4));
    for i in 0..5 {
        let gain = runs(&report)[i]["possible_gain"].as_f64().unwrap();
        assert_eq!(gain, (nosep - waf(i)) / (nosep - plan), "{}", names(&report)[i]);
    }
    assert!((0..4).all(|i| waf(i) > plan), "nothing copies less than the plan");
    assert_eq!(scratch.json(sim)["runs"][0]["possible_gain"], Value::Null);
}

#[test]
fn a_gain_needs_no_scheme_to_be_asked_for_beside_the_one() {
    let scratch = zipf();
    let sim = "sim z.u32 --zone 128KiB --json - --scheme";
    let alone = scratch.json(&format!("{sim} sepbit"));
    let beside = scratch.json(&format!("{sim} nosep,oracle-rate-frozen,sepbit"));
    assert_eq!(names(&alone), ["sepbit cost-benefit"]);
    assert_eq!(alone["runs"][0]["gain"], beside["runs"][2]["gain"]);
    let without = scratch.json(&format!("{sim} sepbit --no-gain"));
    assert_eq!(without["runs"][0]["gain"], Value::Null);
}

#[test]
fn a_gain_whose_ends_can_not_be_run_is_left_out_with_a_warning() {
    let ran = zipf().run("sim z.u32 --zone 128KiB --scheme sepgc --max-open 2 --json -");
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["runs"][0]["gain"], Value::Null);
    assert!(ran.err.starts_with("frostline: sim: warning: no gain is shown"), "{}", ran.err);
}

#[test]
fn a_recogniser_without_its_model_says_what_gives_it_one() {
    let said = zipf().fails(2, "sim z.u32 --scheme frozen:dac:recogniser=model");
    assert!(said.contains("no model was given\nhint: --model FILE"), "{said}");
}

#[test]
fn units_without_effect_are_told() {
    let scratch = zipf();
    let sim = "sim z.u32 --scheme nosep --no-gain --no-timing";
    let whole = scratch.quiet(sim);
    scratch.quiet(&format!("{sim} --in-units 4096"));
    let ran = scratch.run(&format!("{sim} --in-units 64"));
    assert_eq!((ran.status, ran.out), (0, whole));
    assert!(
        ran.err.starts_with("frostline: sim: warning: --in-units changes nothing"),
        "{}",
        ran.err
    );
}

#[test]
fn the_options_of_cleaning_and_layout_reach_the_log() {
    let scratch = zipf();
    let relocations = |options: &str| {
        let line = format!("sim z.u32 --scheme sepgc --no-gain --json - {options}");
        number(&scratch.json(&line)["runs"][0]["relocations"])
    };
    let base = relocations("--zone 128KiB");
    assert!(relocations("--zone 128KiB --gp 0.3") < base, "--gp");
    assert_ne!(relocations("--zone 256KiB"), base, "--zone");
    assert_ne!(relocations("--zone 128KiB --victim greedy"), base, "--victim");
    assert_ne!(relocations("--zone 128KiB --semantics sepbit-fast22"), base, "--semantics");
    assert_eq!(relocations("--zone 256KiB --page 8KiB"), base, "the same pages in a zone");
    let fixed = relocations("--zone 128KiB --op 0.2");
    assert_ne!(fixed, base, "--op");
    assert!(relocations("--zone 128KiB --op 0.2 --free-zones 10") > fixed, "--free-zones");
    assert_eq!(relocations("--zone 128KiB --zones 2000"), base, "--zones, more than are needed");
    let wide = relocations("--zone 128KiB --gp 0.3");
    assert!(relocations("--zone 128KiB --gp 0.3 --zones 120") > wide, "--zones");
}

#[test]
fn trims_are_replayed_and_counted_except_under_the_simulators_reading() {
    let scratch = Scratch::new();
    let write = |page: u32| format!("f write {} 4096\n", page * 4096);
    // Half of the pages are trimmed before anything is overwritten.
    let fill: String = (0..2048).map(write).collect();
    let trims: String =
        (0..2048).step_by(2).map(|p| format!("f trim {} 4096\n", p * 4096)).collect();
    let hot: String = (0..8192).map(|i| write(i * 61 % 409 * 2 + 1)).collect();
    scratch.file("t.fio", format!("fio version 2 iolog\n{fill}{trims}{hot}"));
    scratch.file("u.fio", format!("fio version 2 iolog\n{fill}{hot}"));
    let line = |file: &str, more: &str| {
        format!("sim {file}.fio --scheme nosep --zone 256KiB --no-gain --no-timing {more}")
    };
    let sim = |file: &str, more: &str| {
        let report = scratch.json(&line(file, &format!("--json - {more}")));
        (report["trace"]["trims"].as_u64(), number(&runs(&report)[0]["relocations"]))
    };
    let (trimmed, kept) = (sim("t", ""), sim("u", ""));
    assert_eq!((trimmed.0, kept.0), (Some(1024), None));
    assert!(trimmed.1 < kept.1);
    let fast22 = "--semantics sepbit-fast22";
    assert_eq!(sim("t", fast22), sim("u", fast22));
    assert!(
        scratch
            .quiet(&line("t", ""))
            .starts_with("t.fio: 10240 user writes to 2048 pages, 1024 trims (fio)\n")
    );
    assert_eq!(scratch.json("trace info t.fio --json")["volumes"][0]["trims"], 1024);
    assert!(
        scratch.quiet("trace info t.fio").contains("\n  trims                            1024\n")
    );
}

#[test]
fn a_gain_does_not_depend_on_what_else_is_run() {
    let scratch = zipf();
    let gain = |options: &str| {
        let report = scratch.json(&format!("sim z.u32 --zone 128KiB --json - {options}"));
        let runs = runs(&report).iter();
        let of_own = runs.filter(|run| run["scheme"] == "2r-fifo").map(|run| run["gain"].as_f64());
        of_own.collect::<Vec<_>>()
    };
    let alone = gain("--scheme 2r-fifo");
    assert!(matches!(alone[..], [Some(_)]), "{alone:?}");
    for victims in ["greedy", "fifo", "cost-benefit,greedy", "greedy,cost-benefit"] {
        assert_eq!(gain(&format!("--scheme 2r-fifo,nosep --victim {victims}")), alone, "{victims}");
    }
}
