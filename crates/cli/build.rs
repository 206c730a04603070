//! Passes the commit of this checkout to the program. Outside a git checkout the program is built
//! without a commit.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=FROSTLINE_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    let commit = std::env::var("FROSTLINE_COMMIT").ok().or_else(of_checkout).unwrap_or_default();
    let version = env!("CARGO_PKG_VERSION");
    let shown =
        if commit.is_empty() { version.to_string() } else { format!("{version} ({commit})") };
    println!("cargo::rustc-env=FROSTLINE_VERSION={shown}");
    println!("cargo::rustc-env=FROSTLINE_COMMIT={commit}");
}

/// The commit that is checked out here; `None` if it is not known.
fn of_checkout() -> Option<String> {
    // If this workspace only lies inside the checkout of another project, its commit says nothing.
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().ok()?;
    let top = Path::new(&git(&["rev-parse", "--show-toplevel"])?).canonicalize().ok()?;
    if top != workspace {
        return None;
    }
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    // Git writes this file whenever another commit is checked out or made.
    let log = workspace.join(git(&["rev-parse", "--git-path", "logs/HEAD"])?);
    println!("cargo::rerun-if-changed={}", log.display());
    Some(commit)
}

fn git(arguments: &[&str]) -> Option<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new("git").arg("-C").arg(directory).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    Some(text.trim().to_string()).filter(|text| !text.is_empty())
}
