//! The parts that the CSV formats share: fields, headers, and pieces of their fast paths.

use crate::cause::Cause;
use crate::digits::{number, short_number_at};
use crate::request::{Op, Request};
use crate::sink::Sink;
use crate::volumes::Volumes;

/// Words of header lines.
const HEADER_WORDS: [&[u8]; 9] =
    [b"time", b"offset", b"size", b"length", b"device", b"volume", b"type", b"op", b"disk"];

/// The fields of a line, without the blanks and the quotes around them.
pub(crate) fn split(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest?;
        let quoted = line.trim_ascii_start().starts_with(b"\"");
        let mut within = false;
        let comma = match quoted {
            false => line.iter().position(|&byte| byte == b','),
            true => line.iter().position(|&byte| {
                within ^= byte == b'"';
                byte == b',' && !within
            }),
        };
        let end = comma.unwrap_or(line.len());
        rest = comma.map(|comma| &line[comma + 1..]);
        let field = line[..end].trim_ascii();
        let inner = || field.strip_prefix(b"\"")?.strip_suffix(b"\"");
        Some(if quoted { inner().unwrap_or(field) } else { field })
    })
}

/// The first `N` fields of a line, and the number of all its fields.
pub(crate) fn first<const N: usize>(line: &[u8]) -> ([&[u8]; N], usize) {
    let mut fields = [&line[..0]; N];
    let mut found = 0;
    for field in split(line) {
        if let Some(place) = fields.get_mut(found) {
            *place = field;
        }
        found += 1;
    }
    (fields, found)
}

/// The `N` fields of a line.
pub(crate) fn fields<const N: usize>(line: &[u8]) -> Result<[&[u8]; N], Cause> {
    let (fields, found) = first(line);
    if found == N { Ok(fields) } else { Err(not_so_many(found, N)) }
}

/// The error for a line with a wrong number of fields.
pub(crate) fn not_so_many(found: usize, wanted: usize) -> Cause {
    let s = if found == 1 { "" } else { "s" };
    Cause::bad(format!("line has {found} field{s}, not {wanted}"))
}

/// True if a line is clearly a header: every field begins with a letter, and two or more contain a
/// word that names a column.
pub(crate) fn is_header(line: &[u8]) -> bool {
    let mut named = 0;
    for field in split(line) {
        if !field.first().is_some_and(u8::is_ascii_alphabetic) {
            return false;
        }
        let lower = field.to_ascii_lowercase();
        let names = |word: &&[u8]| memchr::memmem::find(&lower, word).is_some();
        named += usize::from(HEADER_WORDS.iter().any(names));
    }
    named >= 2
}

/// The number in a field, times `unit`.
pub(crate) fn scaled(field: &[u8], what: &str, unit: u64) -> Result<u64, Cause> {
    number(field, what)?.checked_mul(unit).ok_or_else(|| Cause::too_large(what, field))
}

/// Reads lines while `line` accepts them, see [`Lines::ordinary`](crate::text::Lines::ordinary).
/// `line` returns the request at a place and where the next line begins, or `None` for an unusual
/// line.
#[inline(always)]
pub(crate) fn ordinary(
    text: &[u8],
    end: usize,
    sink: &mut Sink<'_>,
    line: impl Fn(&[u8], usize, &mut Sink<'_>) -> Option<(Request, usize)>,
) -> (usize, u64) {
    let (mut next, mut lines) = (0, 0);
    while next < end && !sink.is_full() {
        let Some((request, after)) = line(text, next, sink) else { break };
        sink.requests.push(request);
        next = after;
        lines += 1;
    }
    (next, lines)
}

/// The volume whose number is the field at `at`, if it is known already, and where the field ends.
#[inline(always)]
pub(crate) fn known_volume(text: &[u8], at: usize, volumes: &Volumes) -> Option<(u32, usize)> {
    let (name, end) = short_number_at(text, at)?;
    let leading_zero = text[at] == b'0' && end - at > 1;
    if leading_zero {
        return None;
    }
    Some((volumes.numbered(name)?, end))
}

/// The read or write that the letter between commas at `at` stands for, and the place behind it.
#[inline(always)]
pub(crate) fn one_of(text: &[u8], at: usize, letters: [u8; 2]) -> Option<(Op, usize)> {
    let [before, letter, behind] = *text.get(at..at + 3)?.as_array()?;
    let is_write = letter == letters[1];
    // Without branches between reads and writes, whose order is unpredictable.
    let known = is_write | (letter == letters[0]);
    let op = if is_write { Op::Write } else { Op::Read };
    (known & (before == b',') & (behind == b',')).then_some((op, at + 3))
}

/// The place behind `byte`, if `byte` stands at `at`.
#[inline(always)]
pub(crate) fn after(text: &[u8], at: usize, byte: u8) -> Option<usize> {
    (*text.get(at)? == byte).then_some(at + 1)
}

/// The place behind the line's end, if the line ends at `at`.
#[inline(always)]
pub(crate) fn after_line(text: &[u8], at: usize) -> Option<usize> {
    match *text.get(at)? {
        b'\n' => Some(at + 1),
        b'\r' => after(text, at + 1, b'\n'),
        _ => None,
    }
}
