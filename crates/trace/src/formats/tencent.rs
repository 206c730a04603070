//! `tencent`: the block traces of Tencent Cloud, CSV.
//!
//! `timestamp,offset,size,io_type,volume_id`: seconds, 512-byte sectors, sectors, 0 to read or 1 to
//! write, and a number.

use crate::cause::Cause;
use crate::digits::{number, number_at, short_number_at};
use crate::error::quoted;
use crate::formats::csv;
use crate::request::{Op, Request};
use crate::sink::Sink;
use crate::text::Lines;
use crate::volumes::Volumes;

/// Bytes in a sector.
const SECTOR: u64 = 512;

/// Reads lines of Tencent's format.
pub(crate) struct Tencent;

impl Lines for Tencent {
    fn line(
        &mut self,
        line: &[u8],
        first: bool,
        volumes: &mut Volumes,
    ) -> Result<Option<Request>, Cause> {
        if first && csv::is_header(line) {
            return Ok(None);
        }
        let [time, offset, size, op, volume] = csv::fields(line)?;
        let time_us = csv::scaled(time, "timestamp", 1_000_000)?;
        let offset = csv::scaled(offset, "offset", SECTOR)?;
        let length = csv::scaled(size, "size", SECTOR)?;
        let op = match op {
            b"0" => Op::Read,
            b"1" => Op::Write,
            _ => return Err(Cause::bad(format!("I/O type {} is not 0 or 1", quoted(op)))),
        };
        number(volume, "volume")?;
        let volume = volumes.number(volume)?;
        Ok(Some(Request { time_us, offset, length, volume, op }))
    }

    fn ordinary(&mut self, text: &[u8], end: usize, sink: &mut Sink<'_>) -> (usize, u64) {
        csv::ordinary(text, end, sink, ordinary_line)
    }
}

/// The request of the ordinary line at `at`, and where the next line begins; `None` if the line is
/// unusual.
#[inline(always)]
fn ordinary_line(text: &[u8], at: usize, sink: &mut Sink<'_>) -> Option<(Request, usize)> {
    let (time, at) = number_at(text, at)?;
    let at = csv::after(text, at, b',')?;
    let (offset, at) = number_at(text, at)?;
    let at = csv::after(text, at, b',')?;
    let (size, at) = short_number_at(text, at)?;
    let (op, at) = csv::one_of(text, at, [b'0', b'1'])?;
    let (volume, at) = csv::known_volume(text, at, sink.volumes)?;
    let at = csv::after_line(text, at)?;
    let time_us = time.checked_mul(1_000_000)?;
    let (offset, length) = (offset.checked_mul(SECTOR)?, size.checked_mul(SECTOR)?);
    let request = Request { time_us, offset, length, volume, op };
    sink.bounds.holds(&request).then_some((request, at))
}
