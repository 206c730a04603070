//! `frostline report`: a page without further files.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::run::Scratch;

fn read(scratch: &Scratch, name: &str) -> String {
    std::fs::read_to_string(scratch.path(name)).unwrap()
}

fn zipf() -> Scratch {
    let scratch = Scratch::new();
    scratch.quiet("gen zipf --pages 2048 --writes 20000 --fill --seed 3 -q -o z.u32");
    scratch
}

const SIM: &str = "sim z.u32 --zone 256KiB --scheme nosep,sepbit,2r-fifo,oracle-plan \
                   --victim greedy,cost-benefit --window 5000 --lifespans --no-timing -q";

#[test]
fn the_page_is_as_it_was() {
    let scratch = zipf();
    scratch.quiet(&format!("{SIM} -o r.ndjson"));
    scratch.quiet("report r.ndjson -o page.html");
    let page = read(&scratch, "page.html");
    let version = [(r"<p>frostline \d[^<]*</p>", "<p>VERSION</p>")];
    insta::with_settings!({ filters => version }, { insta::assert_snapshot!("page", page) });
}

#[test]
fn the_page_names_no_other_file_and_no_script() {
    let scratch = zipf();
    scratch.quiet(&format!("{SIM} -o r.ndjson"));
    scratch.quiet("report r.ndjson -o page.html");
    let page = read(&scratch, "page.html");
    for other in ["http", "<script", "src=", "@import", "url("] {
        assert!(!page.contains(other), "{other}");
    }
}

#[test]
fn every_figure_has_its_data_beside_it() {
    let scratch = zipf();
    scratch.quiet(&format!("{SIM} -o r.json"));
    scratch.quiet("report r.json -o page.html");
    let page = read(&scratch, "page.html");
    let count = |what: &str| page.matches(what).count();
    assert_eq!(count("<figure>"), 8, "all but speed, which was not measured");
    assert_eq!(count("<table>"), count("<figure>"));
    assert_eq!(count("<svg "), 2 * count("<figure>"), "for wide screens and for narrow ones");
    let waf = scratch.json(&format!("{SIM} --json -"))["runs"][3]["waf"].as_f64().unwrap();
    assert!(page.contains(&format!("<td>{waf:.4}</td>")), "SepBIT with cost-benefit");
}

#[test]
fn results_that_are_cut_or_of_another_form_are_refused_in_a_line() {
    let scratch = zipf();
    scratch.quiet(&format!("{SIM} -o r.json -o r.ndjson -o r.csv -o r.parquet"));
    for (name, why) in [
        ("r.json", "EOF while parsing"),
        ("r.ndjson", "EOF while parsing"),
        ("r.csv", "expected value at line 1 column 1"),
        ("r.parquet", "it is not text"),
    ] {
        let whole = std::fs::read(scratch.path(name)).unwrap();
        scratch.file(name, &whole[..whole.len() / 3 * 2]);
        let said = scratch.fails(2, &format!("report {name} -o page.html"));
        let begin = format!("frostline: {name}: no results of frostline: {why}");
        assert!(said.starts_with(&begin), "{said}");
        assert_eq!(said.lines().count(), 2, "{said}");
    }
    assert!(!scratch.path("page.html").exists());
}

#[test]
fn names_are_text_whatever_they_hold() {
    let scratch = zipf();
    let name = "<b>&.u32";
    std::fs::rename(scratch.path("z.u32"), scratch.path(name)).unwrap();
    scratch.quiet(&format!("{} -o r.json", SIM.replace("z.u32", name)));
    scratch.quiet("report r.json -o page.html --title <i>");
    let page = read(&scratch, "page.html");
    assert!(!page.contains("<b>") && !page.contains("<i>"), "{page}");
}

#[test]
fn results_of_benches_and_of_several_sweeps_share_a_page() {
    let scratch = zipf();
    scratch.quiet(&format!("{SIM} -o r.json"));
    scratch.quiet(&format!("{SIM} --gp 0.3 -o s.ndjson"));
    let bench = "bench store --device mem: --size 8MiB --zone 256KiB --workload zipf:1.0 --writes 3000 \
                 --scheme nosep --cleaning inline -q --json -";
    scratch.file("b.json", scratch.quiet(bench));
    scratch.quiet("report r.json s.ndjson b.json -o page.html");
    let page = read(&scratch, "page.html");
    assert_eq!(page.matches("<h2>").count(), 3);
    assert!(page.contains("gp 0.15") && page.contains("gp 0.3"), "{page}");
}

/// Results in which there is little to draw: one run of one class, no relocations, empty windows,
/// no lifespans.
fn degenerate(scratch: &Scratch) -> [&'static str; 3] {
    scratch.quiet("gen uniform --pages 3000 --writes 0 --fill -q -o once.u32");
    let sim = "--scheme nosep --zone 256KiB --no-gain --no-timing -q";
    scratch.quiet(&format!("sim z.u32 {sim} -o one.json"));
    scratch.quiet(&format!("sim once.u32 {sim} --window 500 --lifespans -o none.json"));
    let mut empty = serde_json::from_str::<serde_json::Value>(&read(scratch, "none.json")).unwrap();
    let run = &mut empty["runs"][0];
    let window = json!({"user_writes": 0, "relocations": 0, "waf": 1.0});
    run["windows"] = json!([window, window]);
    run["user_writes"] = json!(0);
    run["classes"] =
        json!([{"class": 1, "user_writes": 0, "relocations": 0, "lifespans": ([0; 8])}]);
    run["far"] = json!(null);
    empty["trace"]["path"] = json!("empty.u32");
    scratch.file("empty.json", empty.to_string());
    ["one.json", "none.json", "empty.json"]
}

/// The lines that a browser writes to its console when it opens a page; `None` if there is no
/// browser.
fn console(scratch: &Scratch, page: &str) -> Option<Vec<String>> {
    let run = |browser: &str| {
        let options = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"];
        let profile = format!("--user-data-dir={}", scratch.path("profile").display());
        let mut command = Command::new(browser);
        command.args(options).args([&profile, "--window-size=800,600", "--dump-dom"]);
        command.arg(scratch.path(page)).stdin(Stdio::null()).env("HOME", scratch.path(""));
        command.output().ok().filter(|output| output.status.success())
    };
    let output = ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(run)?;
    let said = String::from_utf8_lossy(&output.stderr);
    Some(said.lines().filter(|line| line.contains("CONSOLE")).map(str::to_string).collect())
}

#[test]
fn a_browser_has_nothing_to_complain_of() {
    let scratch = zipf();
    scratch.file("wrong.html", "<!doctype html><svg><line x1=\"NaN\"/></svg>");
    let Some(complaints) = console(&scratch, "wrong.html") else {
        eprintln!("no Chromium is installed: no page is opened");
        return;
    };
    assert_eq!(complaints.len(), 1, "a mistake is seen: {complaints:?}");
    scratch.quiet(&format!("{SIM} -o r.ndjson"));
    let others = degenerate(&scratch).join(" ");
    scratch.quiet(&format!("report r.ndjson {others} -o page.html"));
    assert_eq!(console(&scratch, "page.html"), Some(Vec::new()));
}

#[test]
fn results_with_little_to_draw_have_only_finite_numbers() {
    let scratch = zipf();
    for name in degenerate(&scratch) {
        scratch.quiet(&format!("report {name} -o page.html"));
        let page = read(&scratch, "page.html").to_lowercase();
        assert_eq!(page.matches("<h2>").count(), 1, "{name}");
        let wrong = ["nan", "inf"].map(|word| page.matches(&format!("\"{word}")).count());
        assert_eq!(wrong, [0, 0], "{name}");
        assert!(!page.contains("nan %"), "{name}");
    }
}

#[test]
fn what_is_no_result_is_refused() {
    let scratch = Scratch::new();
    scratch.file("empty.json", "");
    scratch.file("other.json", "{\"a\": 1}");
    scratch.file("none.json", "{\"runs\": []}");
    scratch.file("wrong.json", "{\"runs\": [{\"waf\": \"high\"}]}");
    insta::assert_snapshot!(
        "report-refused",
        scratch.transcript(
            ["empty", "other", "none", "wrong", "absent"]
                .map(|name| format!("report {name}.json -o page.html"))
        )
    );
    assert!(!scratch.path("page.html").exists());
}
