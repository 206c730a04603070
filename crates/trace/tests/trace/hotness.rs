//! Hotness records of a Parquet trace come back as they were written.

use std::path::Path;
use std::sync::Arc;

use crate::scratch::{Scratch, load_with};
use frostline_placement::{Activity, Hotness};
use frostline_trace::{
    LoadOptions, Op, PageWriter, Reader, ReaderOptions, Trim, convert, hotness_columns, load,
};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

const WANTED: LoadOptions = LoadOptions {
    format: None,
    page_size: 4096,
    volume: None,
    times: true,
    trims: true,
    reads: false,
    hotness: true,
    limit: None,
    unit: None,
    memory: None,
};

/// A record; records differ in every field, up to the ends of the ranges.
fn record(i: u32) -> Hotness {
    let activity = |k: u32| Activity {
        valid_bytes: (i + k) as u16,
        accesses: u16::MAX - (i * k) as u16,
        modifications: (i >> 16) as u16,
        reserved: 0,
        access_interval: u32::MAX - i,
        modification_interval: i.wrapping_mul(2_654_435_761) ^ k,
    };
    Hotness { origin: i ^ 0x8000_0000, lifespan: i / 7, current: activity(1), last: activity(9) }
}

/// Any number of bytes, both ends included.
fn bytes_of(i: u32) -> u16 {
    if i == 0 { u16::MAX } else { (i % 4097) as u16 }
}

fn write(path: &Path, writes: u32, with_hotness: bool) {
    let mut trace = PageWriter::create(path, 4096, with_hotness).unwrap();
    for i in 0..writes {
        if i % 5 == 2 {
            trace.trim(i, i % 3).unwrap();
        }
        trace.write(i * 31 % 997, &record(i), bytes_of(i)).unwrap();
    }
    trace.trim(u32::MAX - 1, 9).unwrap();
    assert_eq!(trace.finish().unwrap(), u64::from(writes));
}

#[test]
fn what_is_written_page_by_page_comes_back() {
    const WRITES: u32 = 300_000;
    let scratch = Scratch::new();
    let path = scratch.path("t.parquet");
    write(&path, WRITES, true);
    let loaded = load_with(&path, &WANTED);
    assert!(loaded.has_hotness);
    let volume = &loaded.volumes[0];
    assert!(volume.lbas.iter().copied().eq((0..WRITES).map(|i| i * 31 % 997)));
    assert!(volume.times.as_ref().unwrap().iter().copied().eq(1..=u64::from(WRITES)));
    assert!(volume.hotness.as_ref().unwrap().iter().copied().eq((0..WRITES).map(record)));
    assert!(volume.bytes.as_ref().unwrap().iter().copied().eq((0..WRITES).map(bytes_of)));
    let trims = (0..WRITES).filter(|i| i % 5 == 2 && i % 3 > 0);
    let trim = |i: u32| Trim { at: i as usize, first: i, last: i + i % 3 - 1 };
    let end = Trim { at: WRITES as usize, first: u32::MAX - 1, last: u32::MAX };
    assert!(volume.trims.iter().copied().eq(trims.map(trim).chain([end])));
}

#[test]
fn hotness_is_read_on_request_only() {
    let scratch = Scratch::new();
    let (with, without) = (scratch.path("with.parquet"), scratch.path("without.parquet"));
    write(&with, 100, true);
    write(&without, 100, false);
    let (a, b) = (load_with(&with, &LoadOptions::default()), load_with(&without, &WANTED));
    assert_eq!((a.has_hotness, b.has_hotness), (true, false));
    assert_eq!((&a.volumes[0].hotness, &b.volumes[0].hotness), (&None, &None));
    assert_eq!(
        (&a.volumes[0].lbas, &a.volumes[0].trims),
        (&b.volumes[0].lbas, &b.volumes[0].trims)
    );
    assert!(Reader::open(&with, None).unwrap().hotness().is_none());
}

#[test]
fn a_reader_gives_the_records_of_what_it_read_last() {
    let scratch = Scratch::new();
    let path = scratch.path("t.parquet");
    write(&path, 10, true);
    let options = ReaderOptions { hotness: true, ..ReaderOptions::default() };
    let mut reader = Reader::open_with(&path, &options).unwrap();
    let (mut requests, mut next) = (Vec::new(), 0);
    while reader.read(&mut requests, 3).unwrap() > 0 {
        let records = reader.hotness().unwrap();
        assert_eq!(records.len(), requests.len());
        for (request, found) in requests.drain(..).zip(records) {
            let is_write = request.op == Op::Write;
            assert_eq!(*found, if is_write { record(next) } else { Hotness::default() });
            next += u32::from(is_write);
        }
    }
    assert_eq!(next, 10);
}

#[test]
fn a_conversion_to_parquet_keeps_hotness() {
    let scratch = Scratch::new();
    let (from, to) = (scratch.path("from.parquet"), scratch.path("to.parquet"));
    write(&from, 5000, true);
    convert(&from, &LoadOptions::default(), &to, &mut |_| ()).unwrap();
    assert_eq!(load_with(&to, &WANTED), load_with(&from, &WANTED));
    let numbers = scratch.path("to.u32");
    convert(&from, &LoadOptions::default(), &numbers, &mut |_| ()).unwrap();
    assert!(!load_with(&numbers, &WANTED).has_hotness);
}

#[test]
fn a_trace_that_is_not_finished_leaves_no_file() {
    let scratch = Scratch::new();
    let path = scratch.path("t.parquet");
    let mut trace = PageWriter::create(&path, 4096, true).unwrap();
    trace.write(1, &Hotness::default(), 4096).unwrap();
    drop(trace);
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
    assert!(PageWriter::create(&path, 4095, true).is_err());
}

/// A column's cell in the only row: its type in the schema, and its value.
#[derive(Clone, Copy)]
enum Cell {
    Int32(i32),
    Int64(i64),
    Null,
    Text,
    Double,
    Absent,
}

/// A file with one write and these hotness columns; all are 7 but the column `odd`.
fn file(path: &Path, odd: &str, cell: Cell) {
    let cells = hotness_columns(&Hotness::default())
        .map(|(name, _)| (name, if name == odd { cell } else { Cell::Int32(7) }));
    let mut schema = "message trace { REQUIRED INT64 time; REQUIRED INT32 op; \
        REQUIRED INT64 offset; REQUIRED INT64 length;"
        .to_string();
    for (name, cell) in cells {
        schema += &match cell {
            Cell::Int32(_) => format!("REQUIRED INT32 {name};"),
            Cell::Int64(_) => format!("REQUIRED INT64 {name};"),
            Cell::Null => format!("OPTIONAL INT32 {name};"),
            Cell::Text => format!("REQUIRED BYTE_ARRAY {name} (STRING);"),
            Cell::Double => format!("REQUIRED DOUBLE {name};"),
            Cell::Absent => String::new(),
        };
    }
    let schema = Arc::new(parse_message_type(&(schema + "}")).unwrap());
    let file = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let whole = [Cell::Int64(1), Cell::Int32(1), Cell::Int64(0), Cell::Int64(4096)];
    for cell in whole.into_iter().chain(cells.map(|(_, cell)| cell)) {
        if matches!(cell, Cell::Absent) {
            continue;
        }
        let mut column = group.next_column().unwrap().unwrap();
        match cell {
            Cell::Int32(value) => column.typed::<Int32Type>().write_batch(&[value], None, None),
            Cell::Int64(value) => column.typed::<Int64Type>().write_batch(&[value], None, None),
            Cell::Null => column.typed::<Int32Type>().write_batch(&[], Some(&[0]), None),
            Cell::Text => {
                let text = [ByteArray::from("7")];
                column.typed::<ByteArrayType>().write_batch(&text, None, None)
            }
            Cell::Double => column.typed::<DoubleType>().write_batch(&[7.0], None, None),
            Cell::Absent => continue,
        }
        .unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn bad_columns_are_errors_that_name_them_and_only_if_hotness_is_wanted() {
    let scratch = Scratch::new();
    let path = scratch.path("t.parquet");
    let cases = [
        ("origin", Cell::Absent, "column \"origin\" is missing"),
        ("last_accesses", Cell::Absent, "column \"last_accesses\" is missing"),
        ("lifespan", Cell::Null, "lifespan is missing"),
        ("valid_bytes", Cell::Int32(65_536), "valid_bytes is out of range"),
        ("access_interval", Cell::Int32(-1), "access_interval is out of range"),
        ("last_access_interval", Cell::Int64(1 << 32), "last_access_interval is out of range"),
        ("modifications", Cell::Text, "column \"modifications\" is not one of integers"),
        ("accesses", Cell::Double, "column \"accesses\" is neither of integers nor of text"),
    ];
    for (name, cell, cause) in cases {
        file(&path, name, cell);
        let error = scratch.told(load(&path, &WANTED, &mut |_| ()).unwrap_err());
        assert!(error.starts_with("t.parquet:") && error.ends_with(cause), "{error}");
        let plain = load_with(&path, &LoadOptions::default());
        assert_eq!((&plain.volumes[0].lbas, plain.has_hotness), (&vec![0], true));
    }
}

#[test]
fn records_in_wider_integers_are_read() {
    let scratch = Scratch::new();
    let path = scratch.path("t.parquet");
    file(&path, "modification_interval", Cell::Int64(u32::MAX.into()));
    let records = load_with(&path, &WANTED).volumes.remove(0).hotness.unwrap();
    assert_eq!(records[0].current.modification_interval, u32::MAX);
    assert_eq!((records[0].origin, records[0].last.accesses), (7, 7));
}
