//! `alibaba`: the block traces of Alibaba Cloud, CSV.
//!
//! `device_id,opcode,offset,length,timestamp`: a number, `R` or `W`, bytes, bytes, microseconds. A
//! device is a volume.

use crate::cause::Cause;
use crate::digits::{number, number_at, short_number_at};
use crate::error::quoted;
use crate::formats::csv;
use crate::request::{Op, Request};
use crate::sink::Sink;
use crate::text::Lines;
use crate::volumes::Volumes;

/// Reads lines of Alibaba's format.
pub(crate) struct Alibaba;

impl Lines for Alibaba {
    fn line(
        &mut self,
        line: &[u8],
        first: bool,
        volumes: &mut Volumes,
    ) -> Result<Option<Request>, Cause> {
        if first && csv::is_header(line) {
            return Ok(None);
        }
        let [device, opcode, offset, length, time] = csv::fields(line)?;
        number(device, "device")?;
        let op = match opcode {
            b"R" | b"r" => Op::Read,
            b"W" | b"w" => Op::Write,
            _ => return Err(Cause::bad(format!("opcode {} is not R or W", quoted(opcode)))),
        };
        let offset = number(offset, "offset")?;
        let length = number(length, "length")?;
        let time_us = number(time, "timestamp")?;
        let volume = volumes.number(device)?;
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
    let (volume, at) = csv::known_volume(text, at, sink.volumes)?;
    let (op, at) = csv::one_of(text, at, [b'R', b'W'])?;
    let (offset, at) = number_at(text, at)?;
    let at = csv::after(text, at, b',')?;
    let (length, at) = short_number_at(text, at)?;
    let at = csv::after(text, at, b',')?;
    let (time_us, at) = number_at(text, at)?;
    let at = csv::after_line(text, at)?;
    let request = Request { time_us, offset, length, volume, op };
    sink.bounds.holds(&request).then_some((request, at))
}
