//! `frostline schemes`: the registry as a table, JSON or Markdown.

use frostline_lab::{Catalogue, ParamRow};

use crate::args::SchemesArgs;
use crate::failure::Failure;
use crate::{output, table};

/// Lists all schemes and victim policies.
pub fn run(args: &SchemesArgs) -> Result<String, Failure> {
    let all = Catalogue::published()?;
    if args.json {
        return output::json("schemes", &all);
    }
    Ok(if args.markdown { markdown(&all) } else { text(&all) })
}

fn text(all: &Catalogue) -> String {
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

fn markdown(all: &Catalogue) -> String {
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
