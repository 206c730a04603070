//! `fio`: fio's I/O log, version 2 or 3.
//!
//! The first line is `fio version 2 iolog` or `fio version 3 iolog`. Each other line is `file
//! action` or `file action offset length`, in bytes; version 3 puts microseconds in front. Actions
//! that move no data are ignored, except `wait`: it advances version 2's clock, which otherwise
//! stands still, by the microseconds in place of its offset. A file is a volume.

use crate::cause::Cause;
use crate::digits::number;
use crate::error::quoted;
use crate::request::{Op, Request};
use crate::text::Lines;
use crate::volumes::Volumes;

/// Actions of fio that move no data: those on files, and all kinds of flushes.
const IGNORED: [&[u8]; 9] = [
    b"add",
    b"open",
    b"close",
    b"unlink",
    b"sync",
    b"datasync",
    b"sync_file_range",
    b"syncfs",
    b"file_operation",
];

/// Reads lines of fio's log.
#[derive(Default)]
pub(crate) struct Fio {
    /// Version 3: each line begins with its time.
    timed: bool,
    clock_us: u64,
}

impl Lines for Fio {
    fn line(
        &mut self,
        line: &[u8],
        first: bool,
        volumes: &mut Volumes,
    ) -> Result<Option<Request>, Cause> {
        if first {
            self.timed = version(line)? == 3;
            return Ok(None);
        }
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        if self.timed {
            self.clock_us = number(words.next().unwrap_or_default(), "timestamp")?;
        }
        let file = words.next().unwrap_or_default();
        let action = words.next().unwrap_or_default();
        let op = match action {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"wait" => {
                let wait = number(words.next().unwrap_or_default(), "wait")?;
                if !self.timed {
                    self.clock_us = self.clock_us.saturating_add(wait);
                }
                return Ok(None);
            }
            _ if IGNORED.contains(&action) => return Ok(None),
            b"" => return Err(Cause::bad("action is missing".to_owned())),
            _ => return Err(Cause::bad(format!("action {} is none of fio's", quoted(action)))),
        };
        let offset = number(words.next().unwrap_or_default(), "offset")?;
        let length = number(words.next().unwrap_or_default(), "length")?;
        if let Some(word) = words.next() {
            return Err(Cause::bad(format!("{} follows the length", quoted(word))));
        }
        let volume = volumes.number(file)?;
        Ok(Some(Request { time_us: self.clock_us, offset, length, volume, op }))
    }
}

fn version(line: &[u8]) -> Result<u8, Cause> {
    match line {
        b"fio version 2 iolog" => Ok(2),
        b"fio version 3 iolog" => Ok(3),
        _ => Err(Cause::bad(format!("{} is not \"fio version 2 iolog\" or 3", quoted(line)))),
    }
}
