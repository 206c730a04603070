//! `frostline schemes`: the registry as a table, JSON or Markdown.

use frostline_sim::{Catalogue, ParamRow};

use crate::args::SchemesArgs;
use crate::failure::Failure;
use crate::{output, table};

/// Lists all schemes and victim policies.
pub(crate) fn run(args: &SchemesArgs) -> Result<String, Failure> {
    let all = Catalogue::published()?;
    if args.json {
        return output::json("schemes", &all);
    }
    Ok(if args.markdown { markdown(&all) } else { text(&all, table::width()) })
}

/// The tables in so many columns of the terminal. What it does, the parameters and the source stand
/// below each other: beside each other they would take 250 columns.
fn text(all: &Catalogue, width: u16) -> String {
    let about = |summary: &str, params: &[ParamRow], source: &str| {
        let params: Vec<_> = params.iter().map(|p| format!("{}={}", p.key, p.default)).collect();
        let lines = [summary.to_string(), params.join(" "), source.to_string()];
        lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
    };
    let rows = all.schemes.iter().map(|s| {
        vec![
            s.name.to_string(),
            about(s.summary, &s.params, s.source),
            s.default_victim.to_string(),
            s.classes.to_string(),
            format!("{} B", s.bytes_per_page),
        ]
    });
    let heads = ["scheme", "what it does, parameters, source", "victims", "classes", "state/page"];
    let schemes = table::wrapped(&heads, 3, rows.collect(), width);
    let rows =
        all.victims.iter().map(|v| vec![v.name.to_string(), about(v.summary, &v.params, v.source)]);
    let heads = ["victim", "what is cleaned next, parameters, source"];
    format!("{schemes}\n{}", table::wrapped(&heads, 2, rows.collect(), width))
}

fn markdown(all: &Catalogue) -> String {
    let short = |params: &[ParamRow]| {
        let all: Vec<_> =
            params.iter().map(|p| format!("`{}={}`: {}", p.key, p.default, p.help)).collect();
        all.join("<br>")
    };
    let mut text = String::from(
        "| scheme | what it does | source | parameters and published defaults | classes \
         | bytes a page | victims |\n|---|---|---|---|--:|--:|---|\n",
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
            match s.victim {
                Some(own) => format!("its own: `{own}`"),
                None => format!("`{}`", s.default_victim),
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_as_wide_as_the_terminal_and_leave_out_nothing() {
        let all = Catalogue::published().unwrap();
        let words = |text: &str| {
            let mut letters: Vec<_> = text.chars().filter(|c| !c.is_whitespace()).collect();
            letters.sort_unstable();
            letters
        };
        let unbroken = text(&all, 400);
        for width in [60, 80, 100, 132, 200] {
            let table = text(&all, width);
            let widest = table.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= usize::from(width), "{widest} in {width}:\n{table}");
            assert_eq!(words(&table), words(&unbroken), "{width}");
            for scheme in &all.schemes {
                let begins = |line: &str| line.split(' ').next() == Some(scheme.name);
                assert!(table.lines().any(begins), "{} in {width}:\n{table}", scheme.name);
            }
        }
    }
}
