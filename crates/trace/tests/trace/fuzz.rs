//! No input makes a reader panic or take much memory: arbitrary bytes, damaged samples, and a
//! corpus.

use std::path::{Path, PathBuf};

use crate::scratch::{Scratch, gzip, record, u32s, zstd};
use frostline_placement::Hotness;
use frostline_trace::{Format, LoadOptions, PageWriter, convert, load};
use proptest::prelude::*;

const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
const GZIP: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\x03";

/// The largest memory of this process so far, in KiB, if the system tells it.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// Reads a file as the format that is found, and as each format; errors must have one line.
fn read_in_every_way(path: &Path) {
    let formats = Format::ALL.map(Some);
    for format in formats.into_iter().chain([None]) {
        let limit = Some(100_000);
        let hotness = true;
        let options = LoadOptions { format, times: true, hotness, limit, ..LoadOptions::default() };
        match load(path, &options, &mut |_| ()) {
            Ok(loaded) => {
                for volume in loaded.volumes {
                    assert!(volume.lbas.len() <= 100_000);
                    assert_eq!(volume.times.map(|times| times.len()), Some(volume.lbas.len()));
                    assert!(volume.hotness.is_none_or(|all| all.len() == volume.lbas.len()));
                    assert!(volume.starts.is_none_or(|bits| bits.len() == volume.lbas.len()));
                }
            }
            Err(error) => {
                let text = error.to_string();
                assert!(!text.contains(['\n', '\r', '\0', '\x1b']), "{text:?}");
                assert!(text.len() < 1000, "{text}");
            }
        }
    }
    let peak = peak_memory().unwrap_or(0);
    assert!(peak < 512 << 10, "{peak} KiB for {} bytes", path.metadata().unwrap().len());
}

/// A valid file of each format.
fn samples() -> Vec<Vec<u8>> {
    let alibaba = b"device,op,offset,length,time\n3,W,8192,4096,1577808000000000\n3,R,0,512,9\n";
    let texts: [&[u8]; 6] = [
        alibaba,
        b"1538323200,16,8,1,1063\n1538323201,8,16,0,1063\n",
        b"128166372003061629,usr,1,Write,7014609920,24576,41286\n1,hm,0,Read,0,8192,1\n",
        b"fio version 2 iolog\n/dev/sda add\n/dev/sda write 4096 8192\n/dev/sda wait 250 0\n",
        b"fio version 3 iolog\n0 f open\n2 f write 0 4096\n3 f trim 0 8192\n",
        b"8,0 3 1 0.000002197 697 Q W 8 + 8 [x]\n8,0 3 2 0.1 0 C WS 8 + 8 [0]\nCPU0 (8,0):\n",
    ];
    let mut samples: Vec<Vec<u8>> = texts.iter().map(|text| text.to_vec()).collect();
    samples.push(u32s(&[1, 2, 3, 500, 4_000_000_000]));
    samples.push((0..10).flat_map(|i| record(i, u64::from(i), 4096, -1)).collect());
    let packed: Vec<Vec<u8>> =
        samples.iter().flat_map(|sample| [zstd(sample), gzip(sample)]).collect();
    samples.extend(packed);
    let scratch = Scratch::new();
    let (from, to) = (scratch.file("t", alibaba), scratch.path("t.parquet"));
    convert(&from, &LoadOptions::default(), &to, &mut |_| ()).unwrap();
    samples.push(std::fs::read(&to).unwrap());
    let mut trace = PageWriter::create(&to, 4096, true).unwrap();
    trace.write(3, &Hotness { origin: 4, ..Hotness::default() }, 99).unwrap();
    trace.trim(3, 1).unwrap();
    trace.finish().unwrap();
    samples.push(std::fs::read(&to).unwrap());
    samples
}

/// One way to damage a file.
#[derive(Debug, Clone)]
enum Damage {
    Cut(u16),
    Set(u16, u8),
    Insert(u16, Vec<u8>),
    Repeat(u16, u16, u8),
}

fn damage() -> impl Strategy<Value = Damage> {
    let piece = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..8),
        Just(b"18446744073709551615".to_vec()),
        Just(b"1152921504606846976".to_vec()),
        Just(b",".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\0".to_vec()),
        Just(vec![0xff; 8]),
    ];
    prop_oneof![
        any::<u16>().prop_map(Damage::Cut),
        (any::<u16>(), any::<u8>()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        (any::<u16>(), piece).prop_map(|(at, piece)| Damage::Insert(at, piece)),
        (any::<u16>(), any::<u16>(), any::<u8>()).prop_map(|(a, b, n)| Damage::Repeat(a, b, n)),
    ]
}

fn apply(file: &mut Vec<u8>, damage: &Damage) {
    let place = |at: u16| usize::from(at) % (file.len() + 1);
    match *damage {
        Damage::Cut(at) => file.truncate(place(at)),
        Damage::Set(at, byte) => {
            let at = place(at);
            if let Some(old) = file.get_mut(at) {
                *old = byte;
            }
        }
        Damage::Insert(at, ref piece) => {
            let at = place(at);
            file.splice(at..at, piece.iter().copied());
        }
        Damage::Repeat(a, b, n) => {
            let (a, b) = (place(a).min(place(b)), place(a).max(place(b)));
            let piece = file[a..b].repeat(usize::from(n % 4));
            file.splice(b..b, piece);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn arbitrary_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let scratch = Scratch::new();
        read_in_every_way(&scratch.file("t", &bytes));
        let magic: [&[u8]; 4] =
            [ZSTD, GZIP, b"PAR1", b"fio version 3 iolog\n"];
        for magic in magic {
            let mut bytes = [magic, &bytes].concat();
            read_in_every_way(&scratch.file("t", &bytes));
            bytes.extend(b"PAR1");
            read_in_every_way(&scratch.file("t", &bytes));
        }
    }

    #[test]
    fn arbitrary_lines_do_no_harm(text in "([0-9RWw,. +\n-]{0,30}[,\n ]){0,20}") {
        let scratch = Scratch::new();
        read_in_every_way(&scratch.file("t", text.as_bytes()));
    }

    #[test]
    fn damaged_samples_do_no_harm(
        which in any::<proptest::sample::Index>(),
        damages in proptest::collection::vec(damage(), 1..4),
    ) {
        let scratch = Scratch::new();
        let samples = samples();
        let mut file = samples[which.index(samples.len())].clone();
        damages.iter().for_each(|damage| apply(&mut file, damage));
        read_in_every_way(&scratch.file("t", &file));
    }

    #[test]
    fn damaged_parquet_does_no_harm(damages in proptest::collection::vec(damage(), 1..4)) {
        let scratch = Scratch::new();
        for mut file in samples().into_iter().rev().take(2) {
            damages.iter().for_each(|damage| apply(&mut file, damage));
            read_in_every_way(&scratch.file("t", &file));
        }
    }
}

#[test]
fn the_corpus_does_no_harm() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let entries = std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<PathBuf> = entries.collect();
    assert!(files.len() >= 24, "the corpus is there");
    files.iter().for_each(|file| read_in_every_way(file));
}
