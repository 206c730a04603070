//! Loading splits requests into pages, volume by volume.

use crate::scratch::{Scratch, load_with, u32s, zstd};
use frostline_trace::{Format, LoadOptions, TraceError, Trim, VolumeInfo, load};

fn bits(starts: &Option<frostline_trace::Bits>) -> Option<Vec<bool>> {
    starts.as_ref().map(|bits| (0..bits.len()).map(|i| bits.get(i)).collect())
}

#[test]
fn unaligned_requests_touch_every_page_they_overlap() {
    let text = "1,W,4096,4096,1\n1,W,4095,2,2\n1,W,100,1,3\n1,W,8191,8194,4\n1,W,0,8192,5\n";
    let scratch = Scratch::new();
    let path = scratch.file("t", text.as_bytes());
    let options = LoadOptions { times: true, ..LoadOptions::default() };
    let volume = &load_with(&path, &options).volumes[0];
    assert_eq!(volume.lbas, [1, 0, 1, 0, 1, 2, 3, 4, 0, 1]);
}

#[test]
fn starts_mark_first_pages_and_are_absent_when_all_are() {
    let scratch = Scratch::new();
    let single = scratch.file("s", b"1,W,0,4096,1\n1,W,4096,4096,2\n");
    assert_eq!(load_with(&single, &LoadOptions::default()).volumes[0].starts, None);
    let several = scratch.file("t", b"1,W,0,4096,1\n1,W,0,12288,2\n1,W,0,1,3\n");
    let options = LoadOptions { times: true, ..LoadOptions::default() };
    let volume = &load_with(&several, &options).volumes[0];
    assert_eq!(bits(&volume.starts), Some(vec![true, true, false, false, true]));
    assert_eq!(volume.times, Some(vec![1, 2, 2, 2, 3]));
}

fn following(volume: &frostline_trace::Writes) -> Option<Vec<u8>> {
    let following = volume.following.as_ref()?;
    Some((0..following.len()).map(|i| following.get(i)).collect())
}

#[test]
fn requests_tell_what_follows_a_page_and_page_numbers_do_not() {
    let scratch = Scratch::new();
    let (text, parquet) = (scratch.path("t"), scratch.path("t.parquet"));
    std::fs::write(&text, b"1,W,0,4096,1\n1,W,0,20480,2\n1,W,4096,4096,3\n").unwrap();
    frostline_trace::convert(&text, &LoadOptions::default(), &parquet, &mut |_| ()).unwrap();
    for path in [text, parquet] {
        let volume = &load_with(&path, &LoadOptions::default()).volumes[0];
        assert_eq!(following(volume), Some(vec![0, 3, 3, 2, 1, 0, 0]), "{path:?}");
    }
    let numbers = scratch.file("t.u32", &u32s(&[4, 5, 6]));
    assert_eq!(following(&load_with(&numbers, &LoadOptions::default()).volumes[0]), None);
}

#[test]
fn pages_have_the_size_asked_for() {
    let scratch = Scratch::new();
    let path = scratch.file("t", b"1,W,1024,2048,1\n");
    for (page_size, lbas) in [(512, vec![2, 3, 4, 5]), (1024, vec![1, 2]), (65536, vec![0])] {
        let options = LoadOptions { page_size, ..LoadOptions::default() };
        assert_eq!(load_with(&path, &options).volumes[0].lbas, lbas);
    }
}

#[test]
fn the_last_page_of_all_is_reached() {
    let scratch = Scratch::new();
    let path = scratch.file("t", b"1,W,17592186040319,4097,1\n");
    let loaded = load_with(&path, &LoadOptions::default());
    assert_eq!(loaded.volumes[0].lbas, [u32::MAX - 1, u32::MAX]);
}

#[test]
fn volumes_come_in_order_of_their_first_write() {
    let text = "7,R,0,4096,1\n3,W,0,4096,1\n9,R,0,4096,1\n7,W,4096,4096,1\n3,W,8192,4096,1\n";
    let scratch = Scratch::new();
    let path = scratch.file("t", text.as_bytes());
    let loaded = load_with(&path, &LoadOptions::default());
    let all: Vec<_> = loaded.volumes.iter().map(|v| (v.name.as_str(), v.lbas.clone())).collect();
    assert_eq!(all, [("3", vec![0, 2]), ("7", vec![1])]);
    let options = LoadOptions { volume: Some("7".into()), ..LoadOptions::default() };
    let loaded = load_with(&path, &options);
    assert_eq!((loaded.volumes.len(), &loaded.volumes[0].lbas), (1, &vec![1]));
    let reads_only = LoadOptions { volume: Some("9".into()), ..LoadOptions::default() };
    let error = scratch.told(load(&path, &reads_only, &mut |_| ()).unwrap_err());
    assert_eq!(error, "t: has no page writes (read as alibaba)");
}

#[test]
fn trims_keep_their_place_among_the_writes_and_are_of_whole_pages() {
    let text = "fio version 2 iolog\n\
        b trim 0 4096\na write 0 8192\na trim 1 8190\na trim 4095 8194\nb write 0 1\n\
        a trim 0 12287\na write 0 4096\nb trim 8192 17592186036224\nc trim 0 4096\n";
    let scratch = Scratch::new();
    let path = scratch.file("t", text.as_bytes());
    let loaded = load_with(&path, &LoadOptions::default());
    let trim = |at, first, last| Trim { at, first, last };
    let all: Vec<_> = loaded.volumes.iter().map(|v| (v.name.as_str(), v.trims.clone())).collect();
    assert_eq!(
        all,
        [
            ("a", vec![trim(2, 1, 2), trim(2, 0, 1)]),
            ("b", vec![trim(0, 0, 0), trim(1, 2, u32::MAX)]),
        ]
    );
    let none = load_with(&path, &LoadOptions { trims: false, ..LoadOptions::default() });
    assert!(none.volumes.iter().all(|volume| volume.trims.is_empty()));
}

#[test]
fn a_limit_counts_page_writes() {
    let scratch = Scratch::new();
    let options = LoadOptions { limit: Some(3), times: true, ..LoadOptions::default() };
    let text = scratch.file("t", b"1,W,0,8192,1\n2,W,0,8192,1\n2,W,0,8192,1\n");
    let loaded = load_with(&text, &options);
    assert_eq!((&loaded.volumes[0].lbas, &loaded.volumes[1].lbas), (&vec![0, 1], &vec![0]));
    let pages = scratch.file("p.u32", &u32s(&[5, 6, 7, 8]));
    let loaded = load_with(&pages, &options);
    assert_eq!(loaded.volumes[0].lbas, [5, 6, 7]);
    assert_eq!(loaded.volumes[0].times, Some(vec![1, 2, 3]));
}

#[test]
fn page_numbers_come_as_they_are_whatever_their_number() {
    let scratch = Scratch::new();
    let lbas: Vec<u32> = (0..300_001u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    for (name, bytes) in [("a.u32", u32s(&lbas)), ("b.u32.zst", zstd(&u32s(&lbas)))] {
        let path = scratch.file(name, &bytes);
        let mut consumed = 0;
        let loaded = load(&path, &LoadOptions::default(), &mut |bytes| consumed = bytes).unwrap();
        assert_eq!(loaded.format, Format::U32);
        assert!(loaded.volumes[0].lbas == lbas);
        assert_eq!(loaded.volumes[0].name, name[..1]);
        assert_eq!(consumed, bytes.len() as u64);
    }
}

#[test]
fn zstd_windows_larger_than_usual_are_read() {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.long_distance_matching(true).unwrap();
    encoder.window_log(28).unwrap();
    std::io::Write::write_all(&mut encoder, &u32s(&[1, 2, 3])).unwrap();
    let scratch = Scratch::new();
    let path = scratch.file("t.u32.zst", &encoder.finish().unwrap());
    assert_eq!(load_with(&path, &LoadOptions::default()).volumes[0].lbas, [1, 2, 3]);
}

#[test]
fn info_counts_what_a_small_trace_has() {
    let scratch = Scratch::new();
    // Pages 0 to 4: page 0 has half of the writes; page 1 is last written in the first half.
    let path = scratch.file("t.u32", &u32s(&[0, 1, 0, 2, 0, 3, 0, 2, 0, 4]));
    let options = LoadOptions { times: true, ..LoadOptions::default() };
    let info = VolumeInfo::of(&load_with(&path, &options).volumes[0]).unwrap();
    assert_eq!((info.writes, info.requests, info.unique_pages, info.largest_lba), (10, 10, 5, 4));
    assert_eq!((info.top20_share, info.never_rewritten), (0.5, 0.5));
    assert_eq!((info.frozen_at_50, info.frozen_at_80), (1.0 / 3.0, 3.0 / 4.0));
    let lifespans = info.lifespans.unwrap();
    assert_eq!((lifespans.p5, lifespans.p50, lifespans.p95), (2, 2, 2));
    assert_eq!(info.span_us, Some(9));
    assert!(serde_json::to_string(&info).unwrap().contains("\"unique_pages\":5"));
}

#[test]
fn a_trace_that_would_take_more_memory_than_allowed_is_refused_before_it_does() {
    let scratch = Scratch::new();
    let lines: String = (0..1000).map(|i| format!("1,W,0,4294967296,{i}\n")).collect();
    let text = scratch.file("t", &zstd(lines.as_bytes()));
    let pages = scratch.file("p.u32", &zstd(&vec![0; 40 << 20]));
    let trims: String = (0..70_000).map(|i| format!("{i} f trim 0 4096\n")).collect();
    let trims = scratch.file("trims", format!("fio version 3 iolog\n{trims}").as_bytes());
    for (path, memory) in [(&text, 8 << 20), (&pages, 8 << 20), (&trims, 1 << 20)] {
        let options = LoadOptions { memory: Some(memory), ..LoadOptions::default() };
        let error = load(path, &options, &mut |_| ()).unwrap_err();
        assert!(matches!(error, TraceError::Memory { limit, .. } if limit == memory), "{error}");
        assert!(error.hint().unwrap().contains("--max-memory"));
    }
    let fits = LoadOptions { memory: Some(40 << 20), ..LoadOptions::default() };
    assert_eq!(load_with(&pages, &fits).volumes[0].lbas.len(), 10 << 20);
}

#[test]
fn times_count_in_the_memory_of_a_trace() {
    let scratch = Scratch::new();
    let path = scratch.file("t.u32", &u32s(&[1; 1000]));
    let options = LoadOptions { memory: Some(4000), ..LoadOptions::default() };
    assert_eq!(load_with(&path, &options).bytes(), 4000);
    let error = load(&path, &LoadOptions { times: true, ..options }, &mut |_| ()).unwrap_err();
    assert!(matches!(error, TraceError::Memory { .. }), "{error}");
}
