//! `frostline report`: a page without further files.

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
