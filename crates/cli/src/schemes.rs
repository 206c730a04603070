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
    Ok(if args.markdown { markdown(&all) } else { text(&all, table::width()) })
}

/// The tables in so many columns of the terminal.
fn text(all: &Catalogue, width: u16) -> String {
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
            s.default_victim.into(),
            classes,
            format!("{} B", s.bytes_per_page),
        ]
    });
    let heads =
        ["scheme", "what it does", "source", "parameters", "victims", "classes", "state/page"];
    let schemes = table::wrapped(&heads, 5, rows.collect(), width);
    let rows = all
        .victims
        .iter()
        .map(|v| vec![v.name.into(), v.summary.into(), v.source.into(), short(&v.params)]);
    let heads = ["victim", "what is cleaned next", "source", "parameters"];
    format!("{schemes}\n{}", table::wrapped(&heads, 4, rows.collect(), width))
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
