//! A build without the features `parquet` and `zstd` refuses such files, and leaves none behind.

#![cfg(not(feature = "zstd"))]

use frostline_trace::{Format, PageWriter, Reader, TraceError, write_lbas};

fn is_not_built_in<T>(result: Result<T, TraceError>, missing: &str) {
    let error = result.err().expect("the feature is missing");
    assert!(
        matches!(&error, TraceError::NotBuiltIn { feature, .. } if *feature == missing),
        "{error}"
    );
    assert!(error.hint().is_some_and(|hint| hint.contains(missing)));
}

#[test]
fn zstd_is_neither_read_nor_written() {
    let scratch = tempfile::tempdir().unwrap();
    is_not_built_in(write_lbas(&scratch.path().join("t.u32.zst"), 4096, 0..9), "zstd");
    assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0);
    let path = scratch.path().join("t");
    std::fs::write(&path, [0x28, 0xb5, 0x2f, 0xfd, 0, 0, 0, 0]).unwrap();
    is_not_built_in(Reader::open(&path, None), "zstd");
}

#[test]
fn parquet_is_neither_read_nor_written() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("t.parquet");
    is_not_built_in(write_lbas(&path, 4096, 0..9), "parquet");
    is_not_built_in(PageWriter::create(&path, 4096, true), "parquet");
    assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0);
    std::fs::write(&path, b"PAR1 and more").unwrap();
    is_not_built_in(Reader::open(&path, None), "parquet");
    is_not_built_in(Reader::open(&path, Some(Format::Parquet)), "parquet");
}

#[test]
fn page_numbers_are_read_and_written() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("t.u32");
    write_lbas(&path, 4096, 5..9).unwrap();
    let mut requests = Vec::new();
    Reader::open(&path, None).unwrap().read(&mut requests, 100).unwrap();
    let lbas: Vec<u64> = requests.iter().map(|request| request.offset / 4096).collect();
    assert_eq!(lbas, [5, 6, 7, 8]);
}
