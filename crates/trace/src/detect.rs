//! Finds the format of a trace by its content.
//!
//! Text is recognised by the shape of its first lines; several are looked at, so that a bad first
//! line is reported as such and not as an unknown format. A file that is neither text nor a known
//! other kind of file has one of two binary formats without a magic number: `oracle-general` if its
//! records make sense as such, else `u32` if its numbers are plausible as pages of a volume.

use std::path::Path;

use crate::bits::Bits;
use crate::error::TraceError;
use crate::foreign::kind_of;
use crate::format::Format;
use crate::formats::csv;
use crate::formats::oracle_general::{OracleRequest, RECORD};
use crate::text::{BYTE_ORDER_MARK, LONGEST_LINE};

/// The most lines that are looked at.
const LINES: usize = 10;

/// The number of records that must all make sense for a file of any name to be `oracle-general`.
const RECORDS: usize = 8;

/// The first bytes of a Parquet file.
const PARQUET: &[u8] = b"PAR1";

/// Endings of the names of files that are recognised by their first bytes.
const KNOWN: [&str; 3] = ["parquet", "zst", "gz"];

/// Endings of the names of text files.
const TEXT: [&str; 4] = ["csv", "txt", "log", "json"];

/// The format that the first bytes of content plausibly have. `compressed` is true if they come
/// from a compressed file.
pub(crate) fn detect(head: &[u8], compressed: bool, path: &Path) -> Result<Format, TraceError> {
    if head.starts_with(PARQUET) {
        return Ok(Format::Parquet);
    }
    if let Some(format) = text_format(head) {
        return Ok(format);
    }
    let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase());
    let name = name.unwrap_or_default();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let file = path.to_owned();
    if let Some(ending) = KNOWN.into_iter().find(|known| *known == ending && !compressed) {
        return Err(TraceError::Misnamed { file, ending });
    }
    if name.contains(".u32") {
        return Ok(Format::U32);
    }
    if let Some((what, hint)) = kind_of(head) {
        return Err(TraceError::Foreign { file, what, hint });
    }
    if is_text(head) || TEXT.contains(&ending) {
        return Err(TraceError::UnknownFormat { file });
    }
    let enough = if name.contains("oraclegeneral") { 1 } else { RECORDS };
    if are_records(head, enough) {
        return Ok(Format::OracleGeneral);
    }
    plausible(head, path).map(|()| Format::U32)
}

/// Accepts numbers that are plausible as pages of a volume: in large volumes, pages lie close
/// together in places, or are written again and again; in other files, numbers lie anywhere.
fn plausible(head: &[u8], path: &Path) -> Result<(), TraceError> {
    /// 4 TiB in pages of 4 KiB. Few volumes are larger, and those are written in few places.
    const LARGE: u32 = 1 << 30;
    /// With fewer numbers nothing can be judged.
    const FEW: usize = 32;
    /// The least numbers per stretch in a plausible trace.
    const PER_STRETCH: u64 = 16;
    let numbers: Vec<u32> = head.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
    let largest = numbers.iter().copied().max().unwrap_or(0);
    if largest < LARGE || numbers.len() < FEW {
        return Ok(());
    }
    let mut stretches = Bits::zeros(1 << 16);
    numbers.iter().for_each(|number| stretches.set((number >> 16) as usize, true));
    let (numbers, stretches) = (numbers.len() as u64, stretches.count_ones());
    if stretches * PER_STRETCH <= numbers {
        return Ok(());
    }
    Err(TraceError::Implausible { file: path.to_owned(), numbers, largest, stretches })
}

fn text_format(head: &[u8]) -> Option<Format> {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    let lines = head.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let lines = lines.filter(|line| !line.is_empty()).take(LINES);
    lines.take_while(|line| line.len() <= LONGEST_LINE).find_map(line_format)
}

/// The format whose lines have this shape. The test is loose, because the reader is strict and
/// names the error.
fn line_format(line: &[u8]) -> Option<Format> {
    if line.starts_with(b"fio version ") {
        return Some(Format::Fio);
    }
    if line.contains(&0) {
        return None;
    }
    let fields: Vec<&[u8]> = csv::split(line).take(8).collect();
    match fields[..] {
        [_, b"R" | b"W" | b"r" | b"w", ..] => return Some(Format::Alibaba),
        [_, _, _, b"0" | b"1", _] => return Some(Format::Tencent),
        [_, _, _, op, ..] if is_one_of(op, &[b"read", b"write"]) => return Some(Format::Msr),
        _ => {}
    }
    is_event(line).then_some(Format::Blkparse)
}

fn is_one_of(word: &[u8], words: &[&[u8]]) -> bool {
    words.iter().any(|w| word.eq_ignore_ascii_case(w))
}

/// True if a line begins like a line of blkparse: device, CPU, sequence, time with a dot.
fn is_event(line: &[u8]) -> bool {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let mut made_of = |also: u8| {
        let word = words.next().unwrap_or_default();
        word.first().is_some_and(u8::is_ascii_digit)
            && word.iter().all(|b| b.is_ascii_digit() || *b == also)
    };
    made_of(b',') && made_of(b'0') && made_of(b'0') && made_of(b'.')
}

/// True if nearly all bytes are printable, in ASCII or any other alphabet, and none is zero.
fn is_text(head: &[u8]) -> bool {
    let in_utf8 = match std::str::from_utf8(head) {
        Ok(_) => true,
        // The head may end in the middle of a character.
        Err(error) => error.error_len().is_none() && error.valid_up_to() > 0,
    };
    let printable =
        |b: &&u8| b.is_ascii_graphic() || b.is_ascii_whitespace() || in_utf8 && !b.is_ascii();
    let others = head.len() - head.iter().filter(printable).count();
    others <= head.len() / 20 && !head.contains(&0)
}

/// True if all whole records make sense, and there are `enough` of them: time never decreases,
/// sizes are plausible for objects, and a next access is none or later. Page numbers hardly ever
/// look like this.
fn are_records(head: &[u8], enough: usize) -> bool {
    let (records, _) = head.as_chunks::<RECORD>();
    let mut time = 0;
    let mut some_bytes = false;
    for (i, record) in records.iter().enumerate() {
        let OracleRequest { seconds, bytes, next, .. } = OracleRequest::new(record);
        let later = next > i as i64 && next <= i64::from(u32::MAX);
        if seconds < time || bytes > 1 << 30 || !(later || next == -1 || next == i64::MAX) {
            return false;
        }
        time = seconds;
        some_bytes |= bytes > 0;
    }
    records.len() >= enough && some_bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(head: &[u8], name: &str) -> Option<Format> {
        detect(head, false, Path::new(name)).ok()
    }

    fn u32s(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
        values.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    fn records(n: u32, next: i64) -> Vec<u8> {
        let record = |i: u32| {
            let head = [i.to_le_bytes(), (i % 7).to_le_bytes(), [0; 4], 4096u32.to_le_bytes()];
            head.concat().into_iter().chain(next.to_le_bytes())
        };
        (0..n).flat_map(record).collect()
    }

    #[test]
    fn lines_are_known_by_their_shape() {
        let cases: [(&str, Format); 7] = [
            ("3,W,8192,4096,1577808000000000\n", Format::Alibaba),
            ("device,op,offset,length,time\n\n3,R,8192,4096,1577808000000000\n", Format::Alibaba),
            ("1538323200,16,8,1,1063\r\n", Format::Tencent),
            ("128166372003061629,usr,1,Write,7014609920,24576,41286\n", Format::Msr),
            ("fio version 3 iolog\n0 /dev/sda add\n", Format::Fio),
            ("  8,0    1        1     0.000000000  1234  Q  WS 16 + 8 [x]\n", Format::Blkparse),
            ("3,W,abc,4096,1577808000000000\n", Format::Alibaba),
        ];
        for (text, format) in cases {
            assert_eq!(found(text.as_bytes(), "t"), Some(format), "{text}");
        }
    }

    #[test]
    fn prose_is_of_no_format() {
        assert_eq!(found(b"It was the best of times, it was the worst of times.\n", "t"), None);
    }

    #[test]
    fn page_numbers_are_told_from_records() {
        assert_eq!(found(&u32s(0..100_000), "t"), Some(Format::U32));
        assert_eq!(found(&u32s(vec![0; 600]), "t"), Some(Format::U32));
        assert_eq!(found(&u32s((0..6000).map(|i| i * 7919 % 1000)), "t"), Some(Format::U32));
        assert_eq!(found(&records(100, -1), "t"), Some(Format::OracleGeneral));
        assert_eq!(found(&records(100, i64::MAX), "t"), Some(Format::OracleGeneral));
        assert_eq!(found(&records(100, 5000), "t"), Some(Format::OracleGeneral));
    }

    #[test]
    fn names_decide_what_content_leaves_open() {
        assert_eq!(found(&records(3, -1), "t"), Some(Format::U32));
        let name = Path::new("w92.oracleGeneral.bin.zst");
        assert_eq!(detect(&records(3, -1), true, name).unwrap(), Format::OracleGeneral);
        assert_eq!(found(&records(100, -1), "t.u32"), Some(Format::U32));
        assert_eq!(found(b"abcdefgh", "t.u32"), Some(Format::U32));
        for name in ["t.u32.zst", "t.u32.gz", "t.parquet", "t.csv", "t.log"] {
            assert_eq!(found(&u32s(0..100), name), None, "{name}");
        }
        assert_eq!(detect(&u32s(0..100), true, Path::new("t.u32.zst")).unwrap(), Format::U32);
    }
}
