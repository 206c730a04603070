//! `msr`: the traces of Microsoft Research Cambridge (SNIA IOTTA 388), CSV.
//!
//! `timestamp,hostname,disk,type,offset,size,latency`: 100 ns since 1601, a name, a number, `Read`
//! or `Write`, bytes, bytes, and 100 ns that are ignored and may be absent. A volume is
//! `hostname_disk`, such as `usr_1`.

use crate::cause::Cause;
use crate::digits::number;
use crate::error::quoted;
use crate::formats::csv;
use crate::request::{Op, Request};
use crate::text::Lines;
use crate::volumes::Volumes;

/// Reads lines of the MSR format.
#[derive(Default)]
pub(crate) struct Msr {
    /// The name of the line's volume; kept to save an allocation per line.
    name: Vec<u8>,
}

impl Lines for Msr {
    fn line(
        &mut self,
        line: &[u8],
        first: bool,
        volumes: &mut Volumes,
    ) -> Result<Option<Request>, Cause> {
        if first && csv::is_header(line) {
            return Ok(None);
        }
        let ([time, host, disk, op, offset, size, _latency], found) = csv::first(line);
        if !matches!(found, 6 | 7) {
            return Err(csv::not_so_many(found, 6));
        }
        let time_us = number(time, "timestamp")? / 10;
        number(disk, "disk")?;
        let op = match op {
            _ if op.eq_ignore_ascii_case(b"read") => Op::Read,
            _ if op.eq_ignore_ascii_case(b"write") => Op::Write,
            _ => return Err(Cause::bad(format!("type {} is not Read or Write", quoted(op)))),
        };
        let offset = number(offset, "offset")?;
        let length = number(size, "size")?;
        self.name.clear();
        self.name.extend_from_slice(host);
        self.name.push(b'_');
        self.name.extend_from_slice(disk);
        let volume = volumes.number(&self.name)?;
        Ok(Some(Request { time_us, offset, length, volume, op }))
    }
}
