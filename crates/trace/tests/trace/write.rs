//! A written trace is read back unchanged, and a failure leaves no file.

use std::sync::Arc;

use crate::scratch::{Scratch, load_with, requests};
use frostline_placement::Hotness;
use frostline_trace::{
    Converted, Format, LoadOptions, Loaded, MergeAt, PageWriter, ReaderOptions, RecordKind,
    VersionMerge, Writes, convert, load, prepare, write_lbas,
};
use parquet::data_type::Int32Type;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

const TEXT: &str = "3,W,0,4096,1\n3,R,8192,512,2\n5,W,5000,9000,3\n3,W,4096,0,4\n5,W,0,1,5\n";

fn convert_all(from: &std::path::Path, to: &std::path::Path) -> Converted {
    convert(from, &LoadOptions::default(), to, &mut |_| ()).unwrap()
}

#[test]
fn parquet_keeps_every_request() {
    let scratch = Scratch::new();
    let (from, to) = (scratch.file("t", TEXT.as_bytes()), scratch.path("t.parquet"));
    assert_eq!(
        convert_all(&from, &to),
        Converted { format: Format::Alibaba, requests: 5, pages: 5 }
    );
    let options = ReaderOptions::default();
    let (format, found) = requests(&to, &options).unwrap();
    assert_eq!(format, Format::Parquet);
    assert_eq!(found, requests(&from, &options).unwrap().1);
}

#[test]
fn parquet_of_several_row_groups_is_read_whole() {
    let scratch = Scratch::new();
    let to = scratch.path("t.parquet");
    let lbas: Vec<u32> = (0..600_000u32).map(|i| i.wrapping_mul(2_654_435_761) >> 8).collect();
    assert_eq!(write_lbas(&to, 512, lbas.iter().copied()).unwrap(), 600_000);
    let options = LoadOptions { page_size: 512, times: true, ..LoadOptions::default() };
    let volume = load_with(&to, &options).volumes.remove(0);
    assert!(volume.lbas == lbas);
    assert!(volume.times.unwrap().into_iter().eq(1..=600_000));
}

#[test]
fn page_numbers_are_written_plain_and_compressed() {
    let scratch = Scratch::new();
    let from = scratch.file("t", TEXT.as_bytes());
    for name in ["p.u32", "p.u32.zst"] {
        let to = scratch.path(name);
        let options = LoadOptions { volume: Some("5".into()), ..LoadOptions::default() };
        let converted = convert(&from, &options, &to, &mut |_| ()).unwrap();
        assert_eq!((converted.requests, converted.pages), (4, 4));
        let loaded = load_with(&to, &LoadOptions::default());
        assert_eq!((loaded.format, &loaded.volumes[0].lbas), (Format::U32, &vec![1, 2, 3, 0]));
        let again = scratch.path("again.u32");
        write_lbas(&again, 4096, loaded.volumes[0].lbas.iter().copied()).unwrap();
        assert!(load_with(&again, &LoadOptions::default()).volumes[0].lbas == [1, 2, 3, 0]);
    }
}

#[test]
fn a_limit_ends_a_conversion() {
    let scratch = Scratch::new();
    let (from, to) = (scratch.file("t", b"1,W,0,409600,1\n1,R,0,1,1\n"), scratch.path("t.u32"));
    let options = LoadOptions { limit: Some(7), ..LoadOptions::default() };
    assert_eq!(convert(&from, &options, &to, &mut |_| ()).unwrap().pages, 7);
    assert_eq!(std::fs::metadata(&to).unwrap().len(), 28);
}

#[test]
fn failures_leave_no_file_and_keep_the_old_one() {
    let scratch = Scratch::new();
    let to = scratch.file("out.u32", b"old!");
    let bad = scratch.file("bad", b"1,W,0,4096,1\n1,W,x,4096,1\n");
    let two = scratch.file("two", TEXT.as_bytes());
    let run = |from| {
        let error = convert(from, &LoadOptions::default(), &to, &mut |_| ()).unwrap_err();
        scratch.told(error)
    };
    assert_eq!(run(&bad), "bad:2: offset \"x\" is not a number");
    assert_eq!(run(&two), "two: has several volumes (3 5) where one is needed");
    assert_eq!(std::fs::read(&to).unwrap(), b"old!");
    let left = std::fs::read_dir(to.parent().unwrap()).unwrap().count();
    assert_eq!(left, 3, "only the three files of the test are there");
    let error = write_lbas(&scratch.path("no/such.u32"), 4096, [1]).unwrap_err();
    let missing = std::io::Error::from_raw_os_error(2);
    assert_eq!(scratch.told(error), format!("no/such.u32: cannot be written: {missing}"));
}

#[test]
fn parquet_volumes_are_picked_by_name() {
    let scratch = Scratch::new();
    let (from, to) = (scratch.file("t", TEXT.as_bytes()), scratch.path("t.parquet"));
    convert_all(&from, &to);
    let options = LoadOptions { volume: Some("5".into()), ..LoadOptions::default() };
    assert_eq!(load_with(&to, &options).volumes[0].lbas, [1, 2, 3, 0]);
    let options = LoadOptions { volume: Some("6".into()), ..LoadOptions::default() };
    let error = scratch.told(load(&to, &options, &mut |_| ()).unwrap_err());
    assert_eq!(error, "t.parquet: has no volume \"6\" (it has: 3 5)");
}

/// Flips bits of `file`, one at a time, and checks that reading it gives `right` or an error. With
/// FROSTLINE_ALL_BITS set it flips all bits, else every 37th in files that are not short.
fn no_flipped_bit_is_read_as_data(name: &str, file: &[u8], hotness: bool, right: &Loaded) {
    let scratch = Scratch::new();
    let options = LoadOptions { times: true, hotness, ..LoadOptions::default() };
    let all = std::env::var_os("FROSTLINE_ALL_BITS").is_some() || file.len() < 512;
    let step = if all { 1 } else { 37 };
    let (mut noticed, mut flipped) = (0, 0);
    for bit in (0..file.len() * 8).step_by(step) {
        flipped += 1;
        let mut damaged = file.to_vec();
        damaged[bit / 8] ^= 1 << (bit % 8);
        match load(&scratch.file(name, &damaged), &options, &mut |_| ()) {
            Ok(loaded) => assert!(loaded.volumes == right.volumes, "{name}: bit {bit}"),
            Err(_) => noticed += 1,
        }
    }
    assert!(noticed * 8 > flipped, "only {noticed} of {flipped} bits");
}

#[test]
fn flipped_bits_of_compressed_page_numbers_are_noticed() {
    let scratch = Scratch::new();
    let to = scratch.path("t.u32.zst");
    write_lbas(&to, 4096, (0..60).map(|i| i * i)).unwrap();
    let right = load_with(&to, &LoadOptions { times: true, ..LoadOptions::default() });
    no_flipped_bit_is_read_as_data("t.u32.zst", &std::fs::read(&to).unwrap(), false, &right);
}

#[test]
fn flipped_bits_of_parquet_are_noticed() {
    let scratch = Scratch::new();
    let to = scratch.path("t.parquet");
    convert_all(&scratch.file("t", TEXT.as_bytes()), &to);
    let right = load_with(&to, &LoadOptions { times: true, ..LoadOptions::default() });
    no_flipped_bit_is_read_as_data("t.parquet", &std::fs::read(&to).unwrap(), false, &right);
}

#[test]
fn flipped_bits_of_hotness_records_are_noticed_where_they_are_read() {
    let scratch = Scratch::new();
    let to = scratch.path("t.parquet");
    let mut trace = PageWriter::create(&to, 4096, true).unwrap();
    for i in 1..9 {
        trace.write(i, &Hotness { origin: i * 7, ..Hotness::default() }, 100 + i as u16).unwrap();
    }
    trace.finish().unwrap();
    let options = LoadOptions { times: true, hotness: true, ..LoadOptions::default() };
    let right = load_with(&to, &options);
    no_flipped_bit_is_read_as_data("t.parquet", &std::fs::read(&to).unwrap(), true, &right);
}

/// Writes a trace as a store with deltas is recorded.
fn write_records(to: &std::path::Path) {
    let mut trace = PageWriter::create_with_deltas(to, 4096).unwrap();
    trace.write(7, &Hotness::default(), 2900).unwrap();
    trace.write(8, &Hotness::default(), 4096).unwrap();
    trace.sync().unwrap();
    trace.write_record(7, RecordKind::Delta, &Hotness::default(), 120, 0).unwrap();
    trace.merge(7, 2950).unwrap();
    trace.merge(8, 3000).unwrap();
    trace.trim(8, 1).unwrap();
    trace.sync().unwrap();
    trace.write_record(7, RecordKind::Tail, &Hotness::default(), 90, 2).unwrap();
    assert_eq!(trace.finish().unwrap(), 4);
}

#[test]
fn deltas_tails_merges_and_syncs_are_read_as_they_were_written_and_kept_by_a_conversion() {
    let scratch = Scratch::new();
    let (path, converted) = (scratch.path("t.parquet"), scratch.path("u.parquet"));
    write_records(&path);
    convert_all(&path, &converted);
    for path in [path, converted] {
        let writes = load_with(&path, &LoadOptions::default()).volumes.remove(0);
        assert_eq!((&writes.lbas[..], &writes.syncs[..]), (&[7, 8, 7, 7][..], &[2, 3][..]));
        assert_eq!(writes.bytes.as_deref(), Some(&[2900, 4096, 120, 90][..]));
        let kinds = writes.kinds.as_ref().unwrap();
        assert_eq!((kinds.deltas().words(), kinds.tails().words()), (&[0b1100][..], &[0b1000][..]));
        let following = writes.following.as_ref().unwrap();
        assert_eq!([0, 1, 2, 3].map(|i| following.get(i)), [0, 0, 0, 2]);
        let merge = |lba, bytes| MergeAt { at: 3, lba, bytes };
        assert_eq!(writes.merges, [merge(7, 2950), merge(8, 3000)]);
        // Behind a preload all places are later.
        let preload = Writes { lbas: vec![1, 2], ..Writes::default() };
        let prepared = prepare(Some(preload), writes, false).unwrap();
        let version = |write, bytes| VersionMerge { write, bytes };
        assert_eq!(prepared.merges, [version(3, 3000), version(4, 2950)]);
        assert_eq!(prepared.syncs, [4, 5]);
        let kinds = prepared.kinds.unwrap();
        assert_eq!(kinds.deltas().words(), [0b11_0000]);
        assert_eq!(kinds.tails().words(), [0b10_0000]);
    }
}

/// Writes a trace with these operations and numbers in the column `delta`, without checksums.
fn write_kinds(to: &std::path::Path, ops: &[i32], kinds: &[i32]) {
    let schema = "message trace { REQUIRED INT32 time; REQUIRED INT32 op; REQUIRED INT32 offset;
        REQUIRED INT32 length; REQUIRED INT32 delta; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = std::fs::File::create(to).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let all = |value: i32| vec![value; ops.len()];
    for values in [all(1), ops.to_vec(), all(0), all(4096), kinds.to_vec()] {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int32Type>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn a_number_that_is_of_no_kind_of_record_is_an_error_where_a_write_has_it() {
    let scratch = Scratch::new();
    let path = scratch.path("t.parquet");
    // The last row is a trim: what it has in the column does not matter.
    write_kinds(&path, &[1, 1, 1, 2], &[0, 1, 2, 9]);
    let kinds = load_with(&path, &LoadOptions::default()).volumes.remove(0).kinds.unwrap();
    assert_eq!((kinds.deltas().words(), kinds.tails().words()), (&[0b110][..], &[0b100][..]));
    for other in [3, -1, i32::MAX] {
        write_kinds(&path, &[1, 1], &[1, other]);
        let error = scratch.told(load(&path, &LoadOptions::default(), &mut |_| ()).unwrap_err());
        assert_eq!(error, format!("t.parquet:record 2: delta {other} is not 0, 1 or 2"));
    }
}

#[test]
fn flipped_bits_of_recorded_deltas_and_merges_are_noticed() {
    let scratch = Scratch::new();
    let to = scratch.path("t.parquet");
    write_records(&to);
    let right = load_with(&to, &LoadOptions { times: true, ..LoadOptions::default() });
    no_flipped_bit_is_read_as_data("t.parquet", &std::fs::read(&to).unwrap(), false, &right);
}
