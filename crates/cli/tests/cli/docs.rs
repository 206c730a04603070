//! Copies of the program's output in the documentation equal that output, and the documentation's
//! links lead somewhere.

use std::path::{Path, PathBuf};
use std::process::Command;

const BEGIN: &str = "<!-- registry -->\n";
const END: &str = "<!-- /registry -->";

#[test]
fn docs_schemes_holds_the_registry_as_the_command_prints_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemes.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let region = text.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END));
    let (region, _) = region.expect("docs/schemes.md has lost its markers of the registry");
    let command = Command::new(env!("CARGO_BIN_EXE_frostline"))
        .args(["schemes", "--markdown"])
        .output()
        .unwrap();
    assert!(command.status.success());
    let printed = String::from_utf8(command.stdout).unwrap();
    let differs = printed.lines().zip(region.lines()).find(|(a, b)| a != b);
    assert!(
        printed == region,
        "docs/schemes.md does not show the registry as it is. Put what\n\
         \n    cargo run --release -- schemes --markdown\n\n\
         prints between the lines {} and {END}.\n\
         The first line that differs, printed and in the file: {differs:#?}",
        BEGIN.trim_end()
    );
}

/// Markdown files under a directory.
fn markdown_under(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let each = entries.flat_map(|path| match path.is_dir() {
        true => markdown_under(&path),
        false => Vec::from_iter(path.extension().is_some_and(|e| e == "md").then_some(path)),
    });
    each.collect()
}

/// The targets of a file's links, `[text](target)`, outside code blocks, which are full of other
/// brackets.
fn links(text: &str) -> Vec<&str> {
    let mut in_code = false;
    let prose = text.lines().filter(|line| {
        let fence = line.starts_with("```");
        in_code ^= fence;
        !in_code && !fence && !line.starts_with("    ")
    });
    let targets = prose.flat_map(|line| line.split("](").skip(1));
    targets.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target).collect()
}

/// The anchors of a file's headings, as forges make them.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter_map(|line| Some(line.strip_prefix('#')?.trim_matches('#')));
    let anchor = |heading: &str| {
        let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    headings.map(anchor).collect()
}

#[test]
fn every_relative_link_of_the_documents_resolves() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = markdown_under(&root.join("docs"));
    files.extend(["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root.join(name)));
    let (mut seen, mut dead) = (0, Vec::new());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for link in links(&text).into_iter().filter(|link| !link.contains("://")) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { file.clone() } else { file.with_file_name(path) };
            let found = anchor.is_empty()
                || std::fs::read_to_string(&target)
                    .is_ok_and(|text| anchors(&text).iter().any(|a| a == anchor));
            if !found || !target.exists() {
                dead.push(format!("{}: {link}", file.display()));
            }
            seen += 1;
        }
    }
    assert_eq!(dead, [""; 0]);
    assert!(seen > 20, "only {seen} links were found");
}

#[test]
fn docs_adding_a_scheme_shows_the_code_as_it_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let source = [
        "placement/src/registry.rs",
        "placement/src/schemes/mod.rs",
        "placement/src/schemes/mida.rs",
        "placement/src/schemes/fadac.rs",
        "frostline/examples/own_scheme.rs",
    ];
    let source = source.map(|file| read(&format!("crates/{file}")));
    let page = read("docs/adding-a-scheme.md");
    // Blocks that begin with ```rust,ignore are not excerpts.
    let excerpts = page.split("```rust\n").skip(1).filter_map(|rest| rest.split_once("```"));
    for (excerpt, _) in excerpts {
        assert!(source.iter().any(|text| text.contains(excerpt)), "changed since:\n{excerpt}");
    }
}
