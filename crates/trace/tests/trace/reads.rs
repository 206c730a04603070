//! Reads are loaded on request, each with its place among the writes of its volume.

use std::fmt::Write;

use frostline_random::SplitMix;
use frostline_trace::{LoadOptions, Read, load, prepare};

use crate::scratch::{Scratch, load_with};

/// A request of one of three volumes: (volume, is a read, offset, length).
type Line = (u32, bool, u64, u64);

fn lines(chance: &mut SplitMix) -> Vec<Line> {
    let line = |_| {
        let length = [0, 1, 512, 4096, 40_000][chance.below(5) as usize];
        (chance.below(3), chance.below(3) > 0, u64::from(chance.below(1 << 20)), length)
    };
    (0..200).map(line).collect()
}

/// The requests in the formats that volumes tell apart, as their publishers write them.
fn texts(lines: &[Line]) -> [(&'static str, String); 3] {
    let mut texts =
        [("alibaba", String::new()), ("tencent", String::new()), ("msr", String::new())];
    for (time, &(volume, is_read, offset, length)) in lines.iter().enumerate() {
        let [alibaba, tencent, msr] = &mut texts;
        let letter = if is_read { 'R' } else { 'W' };
        writeln!(alibaba.1, "{volume},{letter},{offset},{length},{time}").unwrap();
        let (sector, sectors) = (offset / 512, length / 512);
        writeln!(tencent.1, "{time},{sector},{sectors},{},{volume}", u8::from(!is_read)).unwrap();
        let word = if is_read { "Read" } else { "Write" };
        let ticks = 128_166_372_000_000_000 + 10 * time as u64;
        writeln!(msr.1, "{ticks},src,{volume},{word},{offset},{length},9").unwrap();
    }
    texts
}

/// The reads of a volume, one line after the other.
fn naive(lines: &[Line], wanted: u32) -> Vec<Read> {
    let (mut at, mut reads) = (0, Vec::new());
    for &(volume, is_read, offset, length) in lines.iter().filter(|line| line.3 > 0) {
        let (first, last) = (offset / 4096, (offset + length - 1) / 4096);
        let pages = (last - first + 1) as usize;
        if volume == wanted && is_read {
            reads.push(Read { at, first: first as u32, pages: pages as u32 });
        } else if volume == wanted {
            at += pages;
        }
    }
    reads
}

#[test]
fn reads_are_where_a_naive_count_of_lines_has_them() {
    let (scratch, mut chance) = (Scratch::new(), SplitMix::new(1));
    for round in 0..20 {
        let lines = lines(&mut chance);
        for (format, text) in texts(&lines) {
            // Tencent counts in sectors.
            let in_sectors = |&(volume, is_read, offset, length): &Line| {
                (volume, is_read, offset / 512 * 512, length / 512 * 512)
            };
            let seen: Vec<Line> = match format {
                "tencent" => lines.iter().map(in_sectors).collect(),
                _ => lines.clone(),
            };
            let path = scratch.file(&format!("{format}{round}"), text.as_bytes());
            let options = LoadOptions {
                format: Some(format.parse().unwrap()),
                reads: true,
                ..LoadOptions::default()
            };
            let loaded = load_with(&path, &options);
            assert_eq!(loaded.volumes.len(), 3);
            for volume in &loaded.volumes {
                let number = volume.name.trim_start_matches(|c: char| !c.is_ascii_digit());
                let reads = naive(&seen, number.parse().unwrap());
                assert_eq!(volume.reads, reads, "{format}, {}", volume.name);
            }
            let without = load_with(&path, &LoadOptions { reads: false, ..options });
            assert!(without.volumes.iter().all(|volume| volume.reads.is_empty()));
            for (with, without) in loaded.volumes.iter().zip(&without.volumes) {
                assert_eq!((&with.lbas, &with.starts), (&without.lbas, &without.starts));
            }
        }
    }
}

#[test]
fn reads_stay_behind_the_writes_of_a_preload_and_take_memory() {
    let scratch = Scratch::new();
    let path = scratch.file("t", b"1,R,4096,8192,1\n1,W,0,8192,2\n1,R,0,1,3\n1,W,0,1,4\n");
    let options = LoadOptions { reads: true, ..LoadOptions::default() };
    let loaded = load_with(&path, &options);
    let (writes, before) = (loaded.volumes[0].clone(), loaded.volumes[0].clone());
    let prepared = prepare(Some(before), writes, false).unwrap();
    let read = |at, first, pages| Read { at, first, pages };
    let expected = [read(0, 1, 2), read(2, 0, 1), read(3, 1, 2), read(5, 0, 1)];
    assert_eq!(prepared.reads, expected);
    assert_eq!(loaded.bytes(), 3 * 4 + 2 * size_of::<Read>() as u64);
    let too_little = LoadOptions { memory: Some(loaded.bytes() - 1), ..options };
    assert!(load(&path, &too_little, &mut |_| ()).is_err());
}
