//! What the documentation copies from the program is what the program prints.

use std::path::Path;
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
