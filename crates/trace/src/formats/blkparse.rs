//! `blkparse`: the default text output of blkparse.
//!
//! `major,minor cpu sequence seconds pid action rwbs sector + sectors [process]`, sectors of 512
//! bytes. A request goes through several actions, and one kind of them is counted: `C` (completed),
//! or, if the first [`HEAD`](crate::source::HEAD) bytes have no `C` with a sector, `Q` (queued).
//! `rwbs` with a `D` is a trim, else with `W` a write, else with `R` a read; otherwise (a flush) it
//! is ignored. The summary that blkparse prints at the end of a run is skipped. Another run may
//! follow; its times are added to the end of the run before. `major,minor` is a volume.

use crate::cause::Cause;
use crate::digits::number;
use crate::error::quoted;
use crate::formats::csv;
use crate::request::{Op, Request};
use crate::text::Lines;
use crate::volumes::Volumes;

/// Bytes in a sector.
const SECTOR: u64 = 512;

/// Beginnings of lines that are not events: blkparse's summary, and its notes on its input.
const SUMMARY: [&[u8]; 6] = [b"CPU", b"Total", b"Events", b"Throughput", b"Skips", b"Input file"];

/// Reads lines of blkparse's output.
pub(crate) struct Blkparse {
    action: &'static [u8],
    in_summary: bool,
    /// The start of the run that is being read, on the clock of the trace.
    began_us: u64,
    /// The latest time so far.
    latest_us: u64,
}

impl Blkparse {
    /// A reader that counts the action that the first part of the text has.
    pub(crate) fn new(head: &[u8]) -> Blkparse {
        let completed = head.split(|&byte| byte == b'\n').any(|line| {
            event(line).is_some_and(|event| event.action == b"C" && event.extent.is_some())
        });
        let action = if completed { b"C" } else { b"Q" };
        Blkparse { action, in_summary: false, began_us: 0, latest_us: 0 }
    }
}

impl Lines for Blkparse {
    fn line(
        &mut self,
        line: &[u8],
        _first: bool,
        volumes: &mut Volumes,
    ) -> Result<Option<Request>, Cause> {
        let Some(event) = event(line) else {
            return self.other(line).map(|()| None);
        };
        if self.in_summary {
            self.in_summary = false;
            self.began_us = self.latest_us;
        }
        let (Some(op), Some((sector, sectors))) = (op(event.rwbs), event.extent) else {
            return Ok(None);
        };
        if event.action != self.action {
            return Ok(None);
        }
        let time_us = self.began_us.saturating_add(microseconds(event.time)?);
        self.latest_us = self.latest_us.max(time_us);
        let offset = csv::scaled(sector, "sector", SECTOR)?;
        let length = csv::scaled(sectors, "count of sectors", SECTOR)?;
        let volume = volumes.number(event.device)?;
        Ok(Some(Request { time_us, offset, length, volume, op }))
    }
}

impl Blkparse {
    /// Skips a line that is not an event but part of the summary, or a note on the input.
    fn other(&mut self, line: &[u8]) -> Result<(), Cause> {
        let known = SUMMARY.iter().any(|word| line.starts_with(word));
        if !known && !self.in_summary {
            return Err(Cause::bad(format!("{} is not an event of blkparse", quoted(line))));
        }
        self.in_summary |= !line.starts_with(b"Input file");
        Ok(())
    }
}

/// The words of one event that the reader needs.
struct ReportedEvent<'a> {
    device: &'a [u8],
    time: &'a [u8],
    action: &'a [u8],
    rwbs: &'a [u8],
    /// First sector and number of sectors, if the event has a `+`.
    extent: Option<(&'a [u8], &'a [u8])>,
}

/// The event of a line; `None` if the line does not begin like one of blkparse.
fn event(line: &[u8]) -> Option<ReportedEvent<'_>> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let device = words.next()?;
    let (major, minor) = device.split_at(memchr::memchr(b',', device)?);
    let is_number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    if !is_number(major) || !is_number(&minor[1..]) {
        return None;
    }
    let (_cpu, _sequence) = (words.next()?, words.next()?);
    let time = words.next()?;
    let _pid = words.next()?;
    let action = words.next()?;
    let rwbs = words.next().unwrap_or_default();
    let extent = match (words.next(), words.next(), words.next()) {
        (Some(sector), Some(b"+"), sectors) => Some((sector, sectors.unwrap_or_default())),
        _ => None,
    };
    Some(ReportedEvent { device, time, action, rwbs, extent })
}

fn op(rwbs: &[u8]) -> Option<Op> {
    let has = |letter: u8| rwbs.contains(&letter);
    match () {
        () if has(b'D') => Some(Op::Trim),
        () if has(b'W') => Some(Op::Write),
        () if has(b'R') => Some(Op::Read),
        () => None,
    }
}

/// `seconds.nanoseconds` in microseconds.
fn microseconds(time: &[u8]) -> Result<u64, Cause> {
    let dot = memchr::memchr(b'.', time).unwrap_or(time.len());
    let seconds = number(&time[..dot], "time")?;
    let mut micros = 0;
    for i in 0..6 {
        let digit = time.get(dot + 1 + i).copied().unwrap_or(b'0');
        if !digit.is_ascii_digit() {
            return Err(Cause::not_a_number("time", time));
        }
        micros = micros * 10 + u64::from(digit - b'0');
    }
    let whole = seconds.checked_mul(1_000_000).and_then(|us| us.checked_add(micros));
    whole.ok_or_else(|| Cause::too_large("time", time))
}
