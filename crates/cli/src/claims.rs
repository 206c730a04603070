//! `frostline reproduce check`: what the project claims, each with the command that shows it, the
//! value that it gives and how far it may be off. The claims are data, in `claims.json`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::args::ReproduceArgs;
use crate::failure::{Failure, say};
use crate::interrupt::Interrupt;
use crate::{output, table};

const COMMAND: &str = "reproduce check";

/// A claim, as the file has it.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Claim {
    name: String,
    claim: String,
    /// The words after `frostline`. It prints JSON.
    command: String,
    /// Where in the JSON the value is, as a JSON pointer.
    value: String,
    expected: f64,
    /// The share of the expected value by which the found one may differ.
    tolerance: f64,
    /// The paper's figure, if it gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    paper: Option<f64>,
}

/// A claim, and what came of it.
#[derive(Debug, Serialize)]
struct Checked {
    #[serde(flatten)]
    claim: Claim,
    found: Option<f64>,
    /// Why there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    passed: bool,
    seconds: f64,
}

impl Claim {
    fn check(self) -> Checked {
        let begun = Instant::now();
        let (found, why) = match self.found() {
            Ok(found) => (Some(found), None),
            Err(why) => (None, Some(why)),
        };
        let passed = found.is_some_and(|found| self.admits(found));
        Checked { claim: self, found, why, passed, seconds: begun.elapsed().as_secs_f64() }
    }

    fn admits(&self, found: f64) -> bool {
        (found - self.expected).abs() <= self.tolerance * self.expected.abs()
    }

    /// The value that the command gives, or why there is none.
    fn found(&self) -> Result<f64, String> {
        let itself = std::env::current_exe().map_err(|e| e.to_string())?;
        let done = Command::new(itself)
            .args(self.command.split_whitespace())
            .stdin(Stdio::null())
            .output()
            .map_err(|e| e.to_string())?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            return Err(said.lines().next().unwrap_or("it failed and said nothing").to_string());
        }
        let json: Value = serde_json::from_slice(&done.stdout).map_err(|e| e.to_string())?;
        let value = json.pointer(&self.value).and_then(Value::as_f64);
        value.ok_or_else(|| format!("its output has no number at {}", self.value))
    }
}

/// The claims that are asked for.
fn wanted(only: &[String]) -> Result<Vec<Claim>, Failure> {
    let all: Vec<Claim> = serde_json::from_str(include_str!("claims.json"))
        .map_err(|e| Failure::job(COMMAND, &e.to_string()))?;
    if let Some(unknown) = only.iter().find(|name| all.iter().all(|claim| claim.name != **name)) {
        let known: Vec<_> = all.iter().map(|claim| claim.name.as_str()).collect();
        let why = format!("no claim \"{unknown}\" (known: {})", known.join(" "));
        return Err(Failure::usage(COMMAND, &why));
    }
    let is_wanted = |claim: &Claim| only.is_empty() || only.contains(&claim.name);
    Ok(all.into_iter().filter(is_wanted).collect())
}

/// Checks the claims one after the other. It fails if one of them does.
pub(crate) fn run(args: &ReproduceArgs) -> Result<String, Failure> {
    if args.has_evaluation_options() {
        let why = "claims have traces, scales and seeds of their own";
        return Err(Failure::usage(COMMAND, why).hint("--only NAMES picks claims"));
    }
    let claims = wanted(&args.only)?;
    let interrupt = Interrupt::watch().map_err(|e| Failure::job(COMMAND, &e.to_string()))?;
    output::check::<Path>(COMMAND, args.json.as_deref(), [])?;
    let is_there = |word: &&str| Path::new(word).exists();
    let files = claims.iter().flat_map(|claim| claim.command.split_whitespace());
    let mut files = files.filter(|word| word.starts_with("traces/") || word.starts_with("tests/"));
    if let Some(missing) = files.find(|file| !is_there(file)) {
        let failure = Failure::usage(COMMAND, &format!("{missing} is not here"));
        return Err(failure.hint("run it in a checkout or in the container, which have the traces"));
    }
    let mut all = Vec::new();
    for claim in claims {
        if !args.quiet {
            say(&format!("{COMMAND}: {}: frostline {}", claim.name, claim.command), None);
        }
        all.push(claim.check());
        interrupt.check();
    }
    let failed = all.iter().filter(|checked| !checked.passed).count();
    let text = output::emit(COMMAND, args.json.as_deref(), &all, || shown(&all))?;
    match failed {
        0 => Ok(text),
        _ => {
            let why = format!("{failed} of {} claims failed", all.len());
            Err(Failure::job(COMMAND, &why).with_data(text))
        }
    }
}

fn shown(all: &[Checked]) -> String {
    let rows = all.iter().map(|checked| {
        let claim = &checked.claim;
        let tolerance = format!("{:.4} ± {:.1} %", claim.expected, claim.tolerance * 100.0);
        let found = checked.found.map_or("none".to_string(), |found| format!("{found:.4}"));
        let verdict = if checked.passed { "passed" } else { "failed" };
        let paper = claim.paper.map_or(String::new(), |paper| format!("{paper}"));
        vec![
            claim.name.clone(),
            verdict.to_string(),
            tolerance,
            found,
            paper,
            format!("{:.1}", checked.seconds),
        ]
    });
    let headings = ["claim", "", "expected", "found", "paper", "seconds"];
    let mut text = table::columns(&headings, 2, rows.collect());
    for checked in all {
        if let Some(why) = &checked.why {
            text += &format!("{}: {why}\n", checked.claim.name);
        }
    }
    let passed = all.iter().filter(|checked| checked.passed).count();
    let seconds: f64 = all.iter().map(|checked| checked.seconds).sum();
    text + &format!("{passed} of {} claims passed, in {seconds:.0} s\n", all.len())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::wanted;
    use crate::args::Arguments;

    #[test]
    fn each_claim_has_a_name_of_its_own_and_a_command_that_can_be_parsed() {
        let claims = wanted(&[]).unwrap();
        let mut names: Vec<_> = claims.iter().map(|claim| &claim.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), claims.len());
        for claim in &claims {
            let words = ["frostline"].into_iter().chain(claim.command.split_whitespace());
            Arguments::try_parse_from(words).unwrap();
            assert!(claim.command.contains("--json -"), "{}", claim.name);
        }
    }

    #[test]
    fn the_page_for_reviewers_shows_each_claim_with_its_command_and_value() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ARTIFACT.md");
        let Ok(page) = std::fs::read_to_string(page) else { return };
        for claim in wanted(&[]).unwrap() {
            for part in [format!("| `{}` |", claim.name), format!("`frostline {}`", claim.command)]
            {
                assert!(page.contains(&part), "ARTIFACT.md lacks {part}");
            }
            let value = format!("{} ± {} %", claim.expected, claim.tolerance * 100.0);
            assert!(page.contains(&value), "ARTIFACT.md lacks {value} of {}", claim.name);
        }
    }

    #[test]
    fn a_value_passes_within_its_tolerance_only() {
        let mut claim = wanted(&[]).unwrap().remove(0);
        (claim.expected, claim.tolerance) = (2.0, 0.01);
        assert!(claim.admits(2.0) && claim.admits(1.99) && claim.admits(2.015));
        assert!(!claim.admits(2.03) && !claim.admits(1.97) && !claim.admits(f64::NAN));
    }
}
