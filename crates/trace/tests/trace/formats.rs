//! A sample of each format is read with the right meaning, plain or compressed, with its format
//! named or found.

use std::num::NonZeroU32;

use crate::scratch::{Named, Scratch, gzip, record, requests, u32s, zstd};
use frostline_trace::{Format, Op, ReaderOptions};

use Op::{Read, Trim, Write};

fn named(expected: &[(u64, Op, u64, u64, &str)]) -> Named {
    expected.iter().map(|&(time, op, at, length, v)| (time, op, at, length, v.into())).collect()
}

/// Checks that `content` is read as `expected`, plain and compressed, with the format named and
/// found.
fn reads_as(format: Format, content: &[u8], expected: &[(u64, Op, u64, u64, &str)]) {
    let scratch = Scratch::new();
    let two_members = [gzip(&content[..5]), gzip(&content[5..])].concat();
    let two_frames = [zstd(&content[..5]), zstd(&content[5..])].concat();
    for (ending, bytes) in [
        ("bin", content.to_vec()),
        ("zst", zstd(content)),
        ("gz", gzip(content)),
        ("gz", two_members),
        ("zst", two_frames),
    ] {
        let path = scratch.file(&format!("sample.{ending}"), &bytes);
        for asked in [None, Some(format)] {
            let options = ReaderOptions { format: asked, ..ReaderOptions::default() };
            let (found, all) = requests(&path, &options).unwrap();
            assert_eq!((found, all), (format, named(expected)), "{ending} {asked:?}");
        }
    }
}

#[test]
fn u32_is_page_numbers() {
    let expected = [
        (1, Write, 7 * 4096, 4096, "sample"),
        (2, Write, 0, 4096, "sample"),
        (3, Write, 4096 * u64::from(u32::MAX), 4096, "sample"),
    ];
    reads_as(Format::U32, &u32s(&[7, 0, u32::MAX]), &expected);
}

#[test]
fn alibaba_has_bytes_and_microseconds() {
    let text = b"device_id,opcode,offset,length,timestamp\n\
        419,W,8792731648,16384,1577808144360767\r\n\
        \n  3,R,0,512,1577808144360768\n\
        419,w,4096,0,7\n\
        12345678901,W,1,2,3";
    let expected = [
        (1_577_808_144_360_767, Write, 8_792_731_648, 16384, "419"),
        (1_577_808_144_360_768, Read, 0, 512, "3"),
        (7, Write, 4096, 0, "419"),
        (3, Write, 1, 2, "12345678901"),
    ];
    reads_as(Format::Alibaba, text, &expected);
}

#[test]
fn alibaba_is_read_alike_on_the_fast_and_the_slow_path() {
    let scratch = Scratch::new();
    let line = |i: u64, blank: &str| {
        let offset = i * i * 4096 % (1 << 40);
        format!("{blank}{},{},{offset},{},{}\n", i % 3000, ["R", "W"][i as usize % 2], i, i * 99)
    };
    // A blank in front makes a line unusual: only the slow path reads it.
    let fast: String = (0..20_000).map(|i| line(i, "")).collect();
    let slow: String = (0..20_000).map(|i| line(i, " ")).collect();
    let options = ReaderOptions::default();
    let fast = requests(&scratch.file("fast", fast.as_bytes()), &options).unwrap();
    let slow = requests(&scratch.file("slow", slow.as_bytes()), &options).unwrap();
    assert_eq!(fast.1.len(), 20_000);
    assert!(fast == slow);
}

#[test]
fn tencent_has_sectors_and_seconds() {
    let text = b"1538323200,12910952,128,0,1063\n1538323201,8,16,1,1063\n1538323201,9,1,1,7\n";
    let expected = [
        (1_538_323_200_000_000, Read, 12_910_952 * 512, 65536, "1063"),
        (1_538_323_201_000_000, Write, 4096, 8192, "1063"),
        (1_538_323_201_000_000, Write, 4608, 512, "7"),
    ];
    reads_as(Format::Tencent, text, &expected);
}

#[test]
fn msr_volumes_are_host_and_disk() {
    let text = b"128166372003061629,usr,1,Write,7014609920,24576,41286\n\
        128166372016382155,hm,0,Read,1317441536,8192,1963\n\
        128166372016382165,usr,1,Write,512,1024\n";
    let expected = [
        (12_816_637_200_306_162, Write, 7_014_609_920, 24576, "usr_1"),
        (12_816_637_201_638_215, Read, 1_317_441_536, 8192, "hm_0"),
        (12_816_637_201_638_216, Write, 512, 1024, "usr_1"),
    ];
    reads_as(Format::Msr, text, &expected);
}

#[test]
fn fields_of_csv_may_be_quoted() {
    let alibaba = b"\"device_id\",\"opcode\",\"offset\",\"length\",\"timestamp\"\n\
        \"419\",\"W\",\"4096\",\"8192\",\"7\"\n419,W,0,4096,8\n";
    let expected = [(7, Write, 4096, 8192, "419"), (8, Write, 0, 4096, "419")];
    reads_as(Format::Alibaba, alibaba, &expected);
    let tencent = b"1,8,16,\"1\",\"1063\"\n";
    reads_as(Format::Tencent, tencent, &[(1_000_000, Write, 4096, 8192, "1063")]);
    let msr = b"10,\"usr, old\",\"1\",\"Write\",0,512,\"9\"\n20,usr,1,Write,0,512\n";
    let expected = [(1, Write, 0, 512, "usr, old_1"), (2, Write, 0, 512, "usr_1")];
    reads_as(Format::Msr, msr, &expected);
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let mark = "\u{feff}";
    let write = [(5, Write, 0, 4096, "1")];
    reads_as(Format::Alibaba, format!("{mark}1,W,0,4096,5\n").as_bytes(), &write);
    let header = format!("{mark}device,op,offset,length,time\n1,W,0,4096,5\n");
    reads_as(Format::Alibaba, header.as_bytes(), &write);
    let fio = format!("{mark}fio version 3 iolog\n5 f write 0 4096\n");
    reads_as(Format::Fio, fio.as_bytes(), &[(5, Write, 0, 4096, "f")]);
}

#[test]
fn fio_version_2_has_no_times_but_waits() {
    let text = b"fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda write 4096 8192\n\
        /dev/sda wait 250 0\n/dev/sdb read 0 512\n/dev/sda sync\n/dev/sda trim 0 99328\n\
        /dev/sda close\n";
    let expected = [
        (0, Write, 4096, 8192, "/dev/sda"),
        (250, Read, 0, 512, "/dev/sdb"),
        (250, Trim, 0, 99328, "/dev/sda"),
    ];
    reads_as(Format::Fio, text, &expected);
}

#[test]
fn fio_version_3_has_microseconds() {
    // Written by fio 3.33 with `--rate_iops=100 --fsync=1`, and shortened.
    let text = b"fio version 3 iolog\n13 f0 add\n125 f0 open\n129 f0 write 0 4096\n\
        10116 f0 write 45056 4096\n10130 f0 sync 45056 0\n20169 f0 close\n";
    let expected = [(129, Write, 0, 4096, "f0"), (10_116, Write, 45_056, 4096, "f0")];
    reads_as(Format::Fio, text, &expected);
}

#[test]
fn fio_actions_that_move_no_data_are_ignored() {
    let text = b"fio version 3 iolog\n1 f write 0 4096\n2 f sync 0 0\n3 f datasync 0 0\n\
        4 f sync_file_range 12288 0\n5 f syncfs 0 0\n6 f file_operation 0 4096\n7 f wait 9 0\n\
        8 f unlink\n9 f write 4096 4096\n";
    let expected = [(1, Write, 0, 4096, "f"), (9, Write, 4096, 4096, "f")];
    reads_as(Format::Fio, text, &expected);
}

#[test]
fn blkparse_counts_completed_requests() {
    let text = b"  8,0    3        1     0.000000000   697  G   W 223490 + 8 [kjournald]\n\
        8,0    3        2     0.000001829   697  P   N [kjournald]\n\
        8,0    3        3     0.000002197   697  Q   W 223490 + 8 [kjournald]\n\
        8,0    1        4     0.009507758     0  C  WS 223490 + 8 [0]\n\
        8,0    1        5     0.010000000     0  C   R 16 + 16 [0]\n\
        8,16   1        6     1.500000999     0  C  FWFS 32 + 8 [0]\n\
        8,0    1        7     2.000000000     0  C   DS 0 + 2048 [0]\n\
        8,0    1        8     3.000000000     0  C  FN [0]\n\
        8,0    1        9     3.000000000     0  m   N cfq workload slice:100\n\
        CPU0 (8,0):\n Reads Queued:      0,        0KiB\t Writes Queued:          7,   128KiB\n\
        \n Total (8,0):\nThroughput (R/W): 0KiB/s / 34KiB/s\nEvents (8,0): 40 entries\n\
        Skips: 0 forward (0 -   0.0%)\n";
    let expected = [
        (9507, Write, 223_490 * 512, 4096, "8,0"),
        (10000, Read, 8192, 8192, "8,0"),
        (1_500_000, Write, 16384, 4096, "8,16"),
        (2_000_000, Trim, 0, 1 << 20, "8,0"),
    ];
    reads_as(Format::Blkparse, text, &expected);
}

#[test]
fn blkparse_runs_in_a_row_are_read_to_the_end() {
    let run = |sector: u32| {
        format!(
            "Input file sda.blktrace.0 added\n\
             8,0 1 1 0.500000000 0 C WS {sector} + 8 [0]\n\
             8,0 1 2 1.500000000 0 C WS {sector} + 16 [0]\n\
             CPU0 (8,0):\n Reads Queued:  0, 0KiB\t Writes Queued: 7, 128KiB\n\n\
             Throughput (R/W): 0KiB/s / 34KiB/s\nSkips: 0 forward (0 -   0.0%)\n"
        )
    };
    // The clock of the second run begins where that of the first ended.
    let expected = [
        (500_000, Write, 4096, 4096, "8,0"),
        (1_500_000, Write, 4096, 8192, "8,0"),
        (2_000_000, Write, 8192, 4096, "8,0"),
        (3_000_000, Write, 8192, 8192, "8,0"),
    ];
    reads_as(Format::Blkparse, (run(8) + &run(16)).as_bytes(), &expected);
}

#[test]
fn blkparse_without_completions_counts_queued_requests() {
    let text = b"Input file t.blktrace.0 added\n\
        8,0    3        3     0.000002197   697  Q   W 8 + 8 [x]\n\
        8,0    3        4     0.000002297   697  I   W 8 + 8 [x]\n";
    reads_as(Format::Blkparse, text, &[(2, Write, 4096, 4096, "8,0")]);
}

#[test]
fn oracle_general_objects_are_pages() {
    let records: Vec<Vec<u8>> =
        (0..9).map(|i| record(i, u64::from(i % 4), 6000, if i < 5 { 8 } else { -1 })).collect();
    let expected: Vec<_> =
        (0..9).map(|i| (i * 1_000_000, Write, i % 4 * 4096, 6000, "sample")).collect();
    reads_as(Format::OracleGeneral, &records.concat(), &expected);
}

#[test]
fn oracle_general_objects_count_in_the_unit_that_is_given() {
    let scratch = Scratch::new();
    let records: Vec<u8> = (0..9).flat_map(|i| record(i, u64::from(i), 512, -1)).collect();
    let path = scratch.file("t", &records);
    let options = ReaderOptions { unit: NonZeroU32::new(512), ..ReaderOptions::default() };
    let (_, all) = requests(&path, &options).unwrap();
    assert!(all.iter().zip(0..).all(|(&(_, _, offset, ..), i)| offset == i * 512));
}

#[test]
fn a_unit_is_refused_where_requests_have_one_of_their_own() {
    let scratch = Scratch::new();
    let path = scratch.file("t", b"1,W,0,4096,5\n");
    let options = ReaderOptions { unit: NonZeroU32::new(512), ..ReaderOptions::default() };
    let error = requests(&path, &options).unwrap_err();
    assert_eq!(scratch.told(error), "t: alibaba has a unit of its own, and takes no other");
}

#[test]
fn fields_at_the_edge_of_the_buffer_are_read_whole() {
    let scratch = Scratch::new();
    let text: String = (0..60_000).map(|i| format!("1,W,{},4096,{i}\n", i * 4096)).collect();
    let path = scratch.file("t", text.as_bytes());
    let (_, all) = requests(&path, &ReaderOptions::default()).unwrap();
    assert_eq!(all.len(), 60_000);
    let right = |(i, (time, _, offset, ..)): (u64, &(u64, Op, u64, u64, String))| {
        *time == i && *offset == i * 4096
    };
    assert!((0..).zip(&all).all(right));
}

#[test]
fn format_names_go_both_ways() {
    for format in Format::ALL {
        assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
    }
    let error = "vscsi".parse::<Format>().unwrap_err().to_string();
    assert_eq!(
        error,
        "\"vscsi\" is not a trace format \
         (known: u32 alibaba tencent msr fio blkparse oracle-general parquet)"
    );
}
