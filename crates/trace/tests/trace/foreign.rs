//! Files that are not traces are refused by the name of their kind, and none is read as page
//! numbers.

use crate::scratch::{Scratch, gzip, load_with, record, u32s, zstd};
use frostline_trace::{Format, LoadOptions, load};

/// Checks that `content`, padded to whole words, is refused as `what`, compressed or not.
fn is_refused(content: &[u8], what: &str) {
    let mut content = content.to_vec();
    content.resize(content.len().next_multiple_of(4), 0);
    let scratch = Scratch::new();
    for bytes in [content.clone(), gzip(&content), zstd(&content)] {
        let error = load(&scratch.file("t", &bytes), &LoadOptions::default(), &mut |_| ());
        let error = error.unwrap_err();
        assert!(error.hint().is_some());
        assert_eq!(scratch.told(error), format!("t: is {what}, not a trace"));
    }
    let options = LoadOptions { format: Some(Format::U32), ..LoadOptions::default() };
    assert!(load(&scratch.file("t", &content), &options, &mut |_| ()).is_ok(), "named, it is read");
}

#[test]
fn files_are_known_by_their_first_bytes() {
    is_refused(b"\x7fELF\x02\x01\x01\0", "a program (ELF)");
    is_refused(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a picture (PNG)");
    is_refused(b"PK\x03\x04\x14\0\x08\0", "a zip archive");
    is_refused(b"SQLite format 3\0\x10\0\x01\x01", "an SQLite database");
    is_refused(b"\xfd7zXZ\0\0\x04", "compressed with xz");
    is_refused(b"BZh91AY&SY", "compressed with bzip2");
    is_refused(b"\x04\x22\x4d\x18\x64\x40\xa7\0", "compressed with lz4");
    is_refused(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n\0", "a PDF document");
    let mut tar = vec![0; 512];
    tar[..5].copy_from_slice(b"a.csv");
    tar[257..262].copy_from_slice(b"ustar");
    is_refused(&tar, "a tar archive");
}

#[test]
fn recordings_of_other_tools_are_refused_by_name() {
    // struct blk_io_trace: magic and version, sequence, time, sector, bytes, action, ...
    let mut blktrace = 0x6561_7407u32.to_le_bytes().to_vec();
    blktrace.extend([0; 44]);
    is_refused(&blktrace.repeat(3), "a binary recording of blktrace");
    let lcs = [0x1234_5678_9abc_def0u64.to_le_bytes().to_vec(), b"<IQI".to_vec()].concat();
    is_refused(&lcs, "an lcs trace of libCacheSim");
}

/// A record of VMware's vscsi traces, version 1: number, length, segments, command, version, block,
/// time.
fn vscsi1(i: u32) -> Vec<u8> {
    let mut record = u32s(&[i, 4096, 1]);
    record.extend([0x2a, 0, 7, 1]);
    record.extend((u64::from(i) * 77).to_le_bytes());
    record.extend((u64::from(i) * 1000).to_le_bytes());
    record
}

/// The same record in version 2, which has another order and the time of the response.
fn vscsi2(i: u32) -> Vec<u8> {
    let mut record = vec![if i.is_multiple_of(2) { 0x28 } else { 0x8a }, 0, 7, 2];
    record.extend(u32s(&[i, 4096, 1]));
    record.extend((u64::from(i) * 77).to_le_bytes());
    record.extend((u64::from(i) * 1000).to_le_bytes());
    record.extend(5u64.to_le_bytes());
    record
}

#[test]
fn vscsi_traces_are_known_by_their_records() {
    is_refused(&(0..20).flat_map(vscsi1).collect::<Vec<_>>(), "a vscsi trace");
    is_refused(&(0..20).flat_map(vscsi2).collect::<Vec<_>>(), "a vscsi trace");
}

#[test]
fn text_in_utf_16_is_refused_with_a_byte_order_mark_or_without() {
    let text = "\u{feff}1,W,0,4096,5\n1,W,4096,4096,6\n";
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for bytes in [&little[..], &little[2..], &big[..], &big[2..]] {
        is_refused(bytes, "text in UTF-16");
    }
}

#[test]
fn text_in_other_alphabets_is_no_page_numbers() {
    let text = "\u{c81c}\u{baa9}: \u{b370}\u{c774}\u{d130}\n".repeat(40);
    let error = Scratch::new().error_of("t", text.as_bytes(), None);
    assert!(error.starts_with("t: is of no known trace format"), "{error}");
}

/// Random words, like those of compressed or encrypted files.
fn noise(n: u32) -> Vec<u8> {
    let word = |i: u32| {
        let mut z = u64::from(i).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (z >> 32) as u32
    };
    u32s(&(1..=n).map(word).collect::<Vec<_>>())
}

#[test]
fn noise_is_no_page_numbers_unless_the_format_is_named() {
    let scratch = Scratch::new();
    for n in [32, 1000, 400_000] {
        let content = noise(n);
        let error = load(&scratch.file("t", &content), &LoadOptions::default(), &mut |_| ());
        let error = error.unwrap_err();
        assert!(error.hint().unwrap().contains("--format u32"));
        let error = scratch.told(error);
        assert!(
            error.starts_with("t: is of no known trace format, and not plausible as"),
            "{error}"
        );
        let options = LoadOptions { format: Some(Format::U32), ..LoadOptions::default() };
        assert_eq!(load_with(&scratch.path("t"), &options).volumes[0].lbas.len(), n as usize);
        let named = scratch.file("t.u32", &content);
        assert_eq!(load_with(&named, &LoadOptions::default()).volumes[0].lbas.len(), n as usize);
    }
}

#[test]
fn sparse_page_numbers_of_large_volumes_are_read() {
    let scratch = Scratch::new();
    let read = |name: &str, lbas: Vec<u32>| {
        let path = scratch.file(name, &u32s(&lbas));
        assert_eq!(load_with(&path, &LoadOptions::default()).format, Format::U32, "{name}");
    };
    let scattered = |i: u32, bits: u32| i.wrapping_mul(2_654_435_761) >> (32 - bits);
    read("uniform over 4 TiB", (0..300_000).map(|i| scattered(i, 30)).collect());
    read("uniform over 1 TiB, briefly", (0..1000).map(|i| scattered(i, 28)).collect());
    let stretches = |i: u32| scattered(i / 64, 32) + i % 64;
    read("stretches anywhere in 16 TiB", (0..10_000).map(stretches).collect());
    let hot = |i: u32| scattered(i % 500, 32);
    read("500 pages anywhere in 16 TiB", (0..20_000).map(hot).collect());
    read("a few numbers", vec![7, 0, u32::MAX]);
    read("in order", (0..100_000).map(|i| 3_000_000_000 + i).collect());
}

#[test]
fn records_of_oracle_general_are_still_known() {
    let scratch = Scratch::new();
    let records: Vec<u8> = (0..20).flat_map(|i| record(i, u64::from(i), 4096, -1)).collect();
    let path = scratch.file("t", &records);
    assert_eq!(load_with(&path, &LoadOptions::default()).format, Format::OracleGeneral);
}
