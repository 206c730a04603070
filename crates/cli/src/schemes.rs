//! `frostline schemes`: the registry as a table, JSON or Markdown.

use frostline_placement::SchemeSpec;
use frostline_placement::registry::{Entry, PAIRINGS, SCHEMES};
use frostline_placement::victims::POLICIES;
use frostline_placement::{Param, Semantics};
use frostline_sim::fast22::READINGS;
use serde::Serialize;

use crate::args::SchemesArgs;
use crate::failure::Failure;
use crate::{output, table};

#[derive(Serialize)]
struct Row {
    name: &'static str,
    summary: &'static str,
    classes: usize,
    bytes_per_page: usize,
    victim: Option<&'static str>,
    source: &'static str,
    params: Vec<ParamRow>,
    #[serde(skip_serializing_if = "str::is_empty")]
    sepbit_fast22: &'static str,
}

#[derive(Serialize)]
struct ParamRow {
    key: &'static str,
    default: &'static str,
    help: &'static str,
}

#[derive(Serialize)]
struct PolicyRow {
    name: &'static str,
    summary: &'static str,
    source: &'static str,
    params: Vec<ParamRow>,
}

#[derive(Serialize)]
struct All {
    schemes: Vec<Row>,
    victims: Vec<PolicyRow>,
}

/// The scheme's difference under `--semantics sepbit-fast22`; empty if there is none.
fn reading(scheme: &str) -> &'static str {
    let known = READINGS.iter().find(|(name, _)| *name == scheme);
    known.map_or("", |(_, reading)| reading)
}

/// Lists all schemes and victim policies.
pub fn run(args: &SchemesArgs) -> Result<String, Failure> {
    let all = all()?;
    if args.json {
        return output::json("schemes", &all);
    }
    Ok(if args.markdown { markdown(&all) } else { text(&all) })
}

fn all() -> Result<All, Failure> {
    let params = |params: &'static [Param]| {
        let rows = params.iter();
        rows.map(|p| ParamRow { key: p.key, default: p.default, help: p.help }).collect()
    };
    let row = |entry: &Entry, name: &'static str, victim| -> Result<Row, Failure> {
        Ok(Row {
            name,
            summary: entry.info.summary,
            classes: SchemeSpec::parse(name)?.classes(Semantics::Published)?,
            bytes_per_page: entry.page_bytes,
            victim,
            source: entry.info.source,
            params: params(entry.info.params),
            sepbit_fast22: reading(entry.info.name),
        })
    };
    let mut schemes = Vec::new();
    for entry in SCHEMES {
        schemes.push(row(entry, entry.info.name, entry.own_victim)?);
    }
    for pairing in PAIRINGS {
        let spec = SchemeSpec::parse(pairing.name)?;
        let mut base = row(spec.entry, pairing.name, spec.victim)?;
        for param in &mut base.params {
            let fixed = pairing.params.iter().find(|(key, _)| *key == param.key);
            param.default = fixed.map_or(param.default, |(_, value)| value);
        }
        schemes.push(Row { summary: pairing.summary, source: pairing.source, ..base });
    }
    let policies = POLICIES.iter().map(|policy| PolicyRow {
        name: policy.name,
        summary: policy.summary,
        source: policy.source,
        params: params(policy.params),
    });
    Ok(All { schemes, victims: policies.collect() })
}

fn text(all: &All) -> String {
    let short = |params: &[ParamRow]| {
        let all: Vec<_> = params.iter().map(|p| format!("{}={}", p.key, p.default)).collect();
        all.join(" ")
    };
    let rows = all.schemes.iter().map(|s| {
        let (name, classes) = (s.name.to_string(), s.classes.to_string());
        vec![
            name,
            s.summary.into(),
            s.source.into(),
            short(&s.params),
            classes,
            format!("{} B", s.bytes_per_page),
        ]
    });
    let schemes = table::columns(
        &["scheme", "what it does", "source", "parameters", "classes", "state/page"],
        4,
        rows.collect(),
    );
    let rows = all
        .victims
        .iter()
        .map(|v| vec![v.name.into(), v.summary.into(), v.source.into(), short(&v.params)]);
    let heads = ["victim", "what is cleaned next", "source", "parameters"];
    format!("{schemes}\n{}", table::columns(&heads, 4, rows.collect()))
}

fn markdown(all: &All) -> String {
    let short = |params: &[ParamRow]| {
        let all: Vec<_> =
            params.iter().map(|p| format!("`{}={}`: {}", p.key, p.default, p.help)).collect();
        all.join("<br>")
    };
    let mut text = String::from(
        "| scheme | what it does | source | parameters and published defaults | classes \
         | bytes a page | own victim side |\n|---|---|---|---|--:|--:|---|\n",
    );
    for s in &all.schemes {
        text += &format!(
            "| `{}` | {} | {} | {} | {} | {} | {} |\n",
            s.name,
            s.summary,
            s.source,
            short(&s.params),
            s.classes,
            s.bytes_per_page,
            s.victim.unwrap_or("")
        );
    }
    text += "\n| victim policy | what is cleaned next | source | parameters |\n|---|---|---|---|\n";
    for v in &all.victims {
        text +=
            &format!("| `{}` | {} | {} | {} |\n", v.name, v.summary, v.source, short(&v.params));
    }
    text += "\n| scheme | under `--semantics sepbit-fast22` |\n|---|---|\n";
    for s in all.schemes.iter().filter(|s| !s.sepbit_fast22.is_empty()) {
        text += &format!("| `{}` | {} |\n", s.name, s.sepbit_fast22);
    }
    text
}
