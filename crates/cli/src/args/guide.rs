//! The help shows the commands in groups, and an example of each.

use clap::builder::Styles;
use clap::{Command, CommandFactory};

use super::Arguments;

/// The groups of commands.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Simulate", &["sim", "schemes", "gen", "trace", "reproduce", "report"]),
    ("Recognise frozen pages", &["train", "model"]),
    ("Run on a device", &["store", "bench"]),
    ("Look", &["top", "db"]),
    ("Serve to other programs", &["serve"]),
    ("This command", &["completions", "man", "help"]),
];

/// An example of each command that does something, without the program's name.
const EXAMPLES: &[&str] = &[
    "sim trace.u32.zst --scheme sepbit,frostline --victim greedy,cost-benefit",
    "schemes --json",
    "gen zipf --pages 100000 --writes 1000000 --fill -o trace.u32.zst",
    "trace info trace.u32.zst",
    "trace convert trace.csv --format alibaba -o trace.parquet",
    "trace split volumes.csv --format tencent -o volumes",
    "trace head trace.parquet -n 5",
    "reproduce sepbit --quick",
    "report results.json -o report.html",
    "train trace.u32.zst -o model.json",
    "model eval model.json trace.u32.zst",
    "model compare trace.u32.zst",
    "model histories trace.u32.zst",
    "model features trace.u32.zst",
    "store format file:disk --size 1GiB --scheme sepbit",
    "store format block:/dev/sdb --zone 256MiB --size 900GiB",
    "store info file:disk",
    "store zones file:disk",
    "store check file:disk",
    "store scrub file:disk --rate 200MB",
    "store rebuild file:disk --dry-run",
    "store backup file:disk backup",
    "store restore backup file:again",
    "bench store --device mem: --size 1GiB --live",
    "bench tpcc --warehouses 4 --seconds 60",
    "bench ycsb --workload a --device file:database",
    "bench linkbench --nodes 100000 --seconds 30",
    "top 127.0.0.1:9464",
    "db check file:database",
    "db stats file:database",
    "db dump file:database",
    "db copy file:database file:copy --scheme sepbit",
    "db backup file:database backup",
    "db restore backup file:again",
    "serve nbd file:disk --create --size 1GiB --listen ./disk.sock",
    #[cfg(target_os = "linux")]
    "serve ublk file:disk --create --size 1GiB",
    "completions bash",
    "man --out man",
];

/// The command with all that its help shows.
pub(crate) fn command() -> Command {
    let command = Arguments::command();
    let template = template(&command);
    with_examples(command, "").help_template(template)
}

/// The help of the whole: the list of commands stands in groups.
fn template(command: &Command) -> String {
    let styles = Styles::styled();
    let (head, word) = (styles.get_header(), styles.get_literal());
    let line = |name: &&str| {
        let about = command.find_subcommand(name).and_then(Command::get_about);
        let about = about.map_or("Print the help of a command".to_string(), ToString::to_string);
        format!("  {word}{name:11}{word:#}  {about}\n")
    };
    let group = |(title, names): &(&str, &[&str])| {
        format!("{head}{title}:{head:#}\n{}\n", names.iter().map(line).collect::<String>())
    };
    let groups: String = GROUPS.iter().map(group).collect();
    format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{groups}{head}Options:{head:#}\n{{options}}{{after-help}}"
    )
}

/// Puts the examples of a command, or of those below it, under its help.
fn with_examples(command: Command, path: &str) -> Command {
    let names: Vec<_> =
        command.get_subcommands().map(|inner| inner.get_name().to_string()).collect();
    let below = |name: &str| format!("{path} {name}").trim().to_string();
    let command = names.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |inner| with_examples(inner, &below(name)))
    });
    let of_path = |example: &&&str| {
        let rest = example.strip_prefix(path);
        !path.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let examples: Vec<_> = EXAMPLES.iter().filter(of_path).collect();
    if examples.is_empty() {
        return command;
    }
    let head = *Styles::styled().get_header();
    let title = if examples.len() == 1 { "Example" } else { "Examples" };
    let lines = examples.iter().map(|example| format!("\n  frostline {example}"));
    let lines: String = lines.collect();
    command.after_help(format!("{head}{title}:{head:#}{lines}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paths of all commands that do something, like `trace info`.
    fn paths(command: &Command, path: &str) -> Vec<String> {
        let names = command.get_subcommands().map(|inner| (inner, inner.get_name()));
        let below = names.flat_map(|(inner, name)| paths(inner, format!("{path} {name}").trim()));
        let below: Vec<_> = below.collect();
        if below.is_empty() { vec![path.to_string()] } else { below }
    }

    #[test]
    fn every_command_is_in_one_group() {
        let command = Arguments::command();
        let mut all: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
        let mut grouped: Vec<_> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        all.push("help");
        all.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(all, grouped);
    }

    #[test]
    fn every_command_has_an_example_that_it_takes() {
        for path in paths(&Arguments::command(), "") {
            let has = |example: &&str| format!("{example} ").starts_with(&format!("{path} "));
            assert!(EXAMPLES.iter().any(has), "{path}");
        }
        for example in EXAMPLES {
            let words = ["frostline"].into_iter().chain(example.split(' '));
            let taken = command().try_get_matches_from(words);
            assert!(taken.is_ok(), "{example}: {}", taken.unwrap_err());
        }
    }
}
