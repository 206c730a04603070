//! The help of every command, compared with `snapshots`.

use crate::run::Scratch;

const COMMANDS: [&str; 44] = [
    "",
    "sim",
    "schemes",
    "gen",
    "trace",
    "trace info",
    "trace convert",
    "trace split",
    "trace head",
    "store",
    "store format",
    "store info",
    "store zones",
    "store check",
    "store scrub",
    "store rebuild",
    "store backup",
    "store restore",
    "serve",
    "serve nbd",
    "serve ublk",
    "top",
    "bench",
    "bench store",
    "bench tpcc",
    "bench ycsb",
    "bench linkbench",
    "db",
    "db check",
    "db stats",
    "db dump",
    "db copy",
    "db backup",
    "db restore",
    "train",
    "model",
    "model eval",
    "model compare",
    "model histories",
    "model features",
    "reproduce",
    "report",
    "completions",
    "man",
];

#[test]
fn every_command_has_its_help() {
    let scratch = Scratch::new();
    for command in COMMANDS {
        let name = format!("frostline {command}").trim().replace(' ', "-");
        insta::assert_snapshot!(name, scratch.quiet(&format!("{command} --help")));
    }
}
