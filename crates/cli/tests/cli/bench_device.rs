//! Each bench makes its default device anew; anything else in its place is left alone.

use crate::run::Scratch;

const TPCC: &str =
    "bench tpcc --warehouses 1 --items 200 --customers 20 --buffer 256KiB --transactions 50 -q";

#[test]
fn benches_without_a_device_of_their_own_follow_each_other() {
    let scratch = Scratch::new();
    scratch.quiet(TPCC);
    scratch.quiet("bench ycsb --workload a --records 500 --transactions 50 -q");
    scratch.quiet("bench linkbench --nodes 500 --transactions 50 -q --zone 256KiB");
    scratch.quiet(TPCC);
    scratch.quiet("db check file:frostline-bench");
    scratch.quiet(&format!("{TPCC} --keep"));
    assert_eq!(scratch.names(), ["frostline-bench"]);
}

#[test]
fn a_file_that_is_no_device_is_not_removed() {
    let scratch = Scratch::new();
    scratch.file("frostline-bench", "mine");
    let said = scratch.fails(2, TPCC);
    assert!(said.contains("frostline-bench: holds data"), "{said}");
    assert_eq!(std::fs::read(scratch.path("frostline-bench")).unwrap(), b"mine");
}

#[test]
fn a_directory_is_not_removed() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("frostline-bench")).unwrap();
    scratch.file("frostline-bench/notes", "mine");
    let said = scratch.fails(2, TPCC);
    assert!(said.starts_with("frostline: "), "{said}");
    assert_eq!(std::fs::read(scratch.path("frostline-bench/notes")).unwrap(), b"mine");
}
