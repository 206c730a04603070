//! Each kind of bad input ends in one line with file, place and cause.

use crate::scratch::{Scratch, gzip, record, u32s, zstd};
use frostline_trace::{Format, LoadOptions, Reader, ReaderOptions, TraceError, load, write_lbas};

/// Checks that `content`, as file `t`, gives `error`.
fn ends_in(content: &[u8], error: &str) {
    assert_eq!(Scratch::new().error_of("t", content, None), error);
}

#[test]
fn files_that_are_none() {
    let scratch = Scratch::new();
    let open = |name: &str| scratch.told(Reader::open(&scratch.path(name), None).err().unwrap());
    assert_eq!(open("absent"), "absent: no such file");
    std::fs::create_dir(scratch.path("d")).unwrap();
    assert_eq!(open("d"), "d: is a directory, not a trace");
}

#[test]
fn files_without_writes() {
    ends_in(b"", "t: is empty");
    ends_in(&zstd(b""), "t: is empty");
    ends_in(&gzip(b""), "t: is empty");
    ends_in(b"1,R,0,4096,5\n", "t: has no page writes (read as alibaba)");
    ends_in(b"1,W,0,0,5\n", "t: has no page writes (read as alibaba)");
}

#[test]
fn files_cut_short() {
    ends_in(
        &u32s(&[1, 2, 3])[..10],
        "t:byte 10: is cut short: its length is not a multiple of 4 bytes",
    );
    let pages: Vec<u32> = (0..5000).map(|i| i * 7919 % 4096).collect();
    let packed = zstd(&u32s(&pages));
    let half = &packed[..packed.len() / 2];
    let n = half.len();
    ends_in(half, &format!("t:byte {n}: is cut short: the compressed stream ends early"));
    let packed = gzip(b"1,W,0,4096,5\n1,W,0,4096,5\n");
    let n = packed.len() - 5;
    ends_in(&packed[..n], &format!("t:byte {n}: is cut short: the compressed stream ends early"));
    let mut records = record(1, 2, 4096, -1).repeat(9);
    records.truncate(9 * 24 - 1);
    ends_in(&records, "t:record 9: is cut short: a record has 24 bytes");
    ends_in(b"1,W,0,4096,5\n1,W,40", "t:2: line has 3 fields, not 5");
}

#[test]
fn parquet_cut_short() {
    let scratch = Scratch::new();
    let path = scratch.path("t.parquet");
    write_lbas(&path, 4096, 0..1000).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let n = whole.len() / 2;
    let error = scratch.error_of("t.parquet", &whole[..n], None);
    assert_eq!(error, format!("t.parquet:byte {n}: is cut short: the footer is missing"));
}

#[test]
fn compressed_files_that_are_damaged() {
    let mut packed = zstd(&u32s(&(0..9000).map(|i| i * 7919 % 4096).collect::<Vec<_>>()));
    packed.iter_mut().skip(20).step_by(3).for_each(|byte| *byte ^= 0xa5);
    let error = Scratch::new().error_of("t", &packed, None);
    assert!(error.contains("is damaged") || error.contains("cut short"), "{error}");
}

#[test]
fn letters_where_numbers_belong() {
    let good = "1,W,0,4096,5\n";
    ends_in(format!("{good}1,W,x,4096,5\n").as_bytes(), "t:2: offset \"x\" is not a number");
    ends_in(format!("{good}1,W,0,abc,5\n").as_bytes(), "t:2: length \"abc\" is not a number");
    ends_in(format!("{good}\r\n\n1,W,0,,5\n").as_bytes(), "t:4: length is missing");
    ends_in(format!("{good}1,X,0,4096,5\n").as_bytes(), "t:2: opcode \"X\" is not R or W");
    ends_in(format!("{good}one,W,0,4096,5\n").as_bytes(), "t:2: device \"one\" is not a number");
    ends_in(format!("{good}1,W,-4,4096,5\n").as_bytes(), "t:2: offset \"-4\" is not a number");
    ends_in(
        format!("{good}1,W,99999999999999999999,4096,5\n").as_bytes(),
        "t:2: offset \"99999999999999999999\" is too large",
    );
    ends_in(b"a,W,b,c,d\n", "t:1: device \"a\" is not a number");
    ends_in(
        b"1,W,0,4096,5\n\xff\xfe,W,0,4096,5\n",
        "t:2: device \"\u{fffd}\u{fffd}\" is not a number",
    );
    ends_in(b"1,W,0,4096,5\n\0\x1b[2J\n", "t:2: line has 1 field, not 5");
}

#[test]
fn bad_lines_of_each_text_format() {
    ends_in(b"1,8,8,1,7\n1,8,8,2,7\n", "t:2: I/O type \"2\" is not 0 or 1");
    ends_in(b"1,8,8,1,7\n1,8,8x,1,7\n", "t:2: size \"8x\" is not a number");
    ends_in(b"1,36028797018963968,8,1,7\n", "t:1: offset \"36028797018963968\" is too large");
    ends_in(
        b"1,usr,1,Write,0,5,5\n1,usr,1,Wrote,0,5,5\n",
        "t:2: type \"Wrote\" is not Read or Write",
    );
    ends_in(b"1,usr,1,Write,0\n", "t:1: line has 5 fields, not 6");
    ends_in(
        b"fio version 1 iolog\n",
        "t:1: \"fio version 1 iolog\" is not \"fio version 2 iolog\" or 3",
    );
    ends_in(b"fio version 2 iolog\nf wipe 1 2\n", "t:2: action \"wipe\" is none of fio's");
    ends_in(b"fio version 2 iolog\nf write 1\n", "t:2: length is missing");
    ends_in(b"fio version 3 iolog\nf write 1 2\n", "t:2: timestamp \"f\" is not a number");
    let event = "8,0 3 1 0.5 697 C W 8 + 8 [x]\n";
    ends_in(
        format!("{event}8,0 3 1 0.5 697 C W x + 8 [x]\n").as_bytes(),
        "t:2: sector \"x\" is not a number",
    );
    ends_in(
        format!("{event}nonsense\n").as_bytes(),
        "t:2: \"nonsense\" is not an event of blkparse",
    );
}

#[test]
fn requests_that_no_device_takes() {
    ends_in(
        b"1,W,0,1152921504606846976,5\n",
        "t:1: request of 1152921504606846976 bytes is too long (at most 4294967296)",
    );
    ends_in(
        b"1,W,18446744073709551615,4096,5\n",
        "t:1: request at byte 18446744073709551615 of 4096 bytes ends beyond LBA 4294967295 \
         (pages of 4096 bytes)",
    );
    ends_in(
        b"1,W,4096,4096,5\n1,W,17592186044416,1,5\n",
        "t:2: request at byte 17592186044416 of 1 bytes ends beyond LBA 4294967295 \
         (pages of 4096 bytes)",
    );
    let mut records = record(1, 2, 4096, -1).repeat(8);
    records.extend(record(2, u64::MAX, 4096, -1));
    let error = Scratch::new().error_of("t", &records, None);
    assert!(error.starts_with("t:record 9: request at byte 18446744073709551615"), "{error}");
}

#[test]
fn lines_without_end() {
    let mut text = b"1,W,0,4096,5\n".to_vec();
    text.extend(vec![b'1'; 1 << 20]);
    ends_in(&text, "t:2: line is longer than 65536 bytes");
    let mut text = b"1,W,0,4096,5\n".to_vec();
    text.extend(vec![b'1'; 70_000]);
    text.extend(b"\n1,W,0,4096,5\n");
    ends_in(&text, "t:2: line is longer than 65536 bytes");
}

#[test]
fn text_of_no_format() {
    ends_in(
        b"It was the best of times.\n",
        "t: is of no known trace format \
         (known: u32 alibaba tencent msr fio blkparse oracle-general parquet)",
    );
}

#[test]
fn volumes_that_are_not_there() {
    let scratch = Scratch::new();
    let lines: String = (0..25).map(|i| format!("{i},W,0,4096,5\n")).collect();
    let path = scratch.file("t", lines.as_bytes());
    let options = LoadOptions { volume: Some("77".into()), ..LoadOptions::default() };
    let error = load(&path, &options, &mut |_| ()).unwrap_err();
    assert!(error.hint().is_some());
    assert_eq!(
        scratch.told(error),
        "t: has no volume \"77\" (it has: \
         0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 and 5 more)"
    );
}

#[test]
fn volumes_without_end() {
    let lines: String = (0..70_000).map(|i| format!("{i},W,0,4096,5\n")).collect();
    ends_in(lines.as_bytes(), "t:65537: more than 65536 volumes");
}

#[test]
fn page_sizes_that_are_none() {
    let scratch = Scratch::new();
    let path = scratch.file("t", &u32s(&[1]));
    for page_size in [0, 256, 511, 4097, u32::MAX] {
        let options = ReaderOptions { page_size, ..ReaderOptions::default() };
        let error = Reader::open_with(&path, &options).err().unwrap();
        assert!(matches!(error, TraceError::PageSize { bytes } if bytes == page_size));
    }
    for page_size in [512, 1 << 31] {
        assert!(
            Reader::open_with(&path, &ReaderOptions { page_size, ..ReaderOptions::default() })
                .is_ok()
        );
    }
}

#[test]
fn a_format_that_the_file_is_not_of() {
    let scratch = Scratch::new();
    let error = scratch.error_of("t", b"1,W,0,4096,5\n", Some(Format::Fio));
    assert_eq!(error, "t:1: \"1,W,0,4096,5\" is not \"fio version 2 iolog\" or 3");
    let error = scratch.error_of("t", b"1,W,0,4096,5\n", Some(Format::Parquet));
    assert_eq!(error, "t:byte 13: is cut short: the footer is missing");
}
