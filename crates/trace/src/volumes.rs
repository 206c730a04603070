//! The volumes of a trace, by name and by number.

use std::collections::HashMap;

use crate::cause::Cause;
use crate::error::quoted;

/// The most volumes a trace may have; the largest published traces have some thousands.
pub(crate) const MOST_VOLUMES: usize = 1 << 16;

/// The longest name of a volume, in bytes.
const LONGEST_NAME: usize = 255;

const SLOTS: usize = 1024;

/// Volume names, numbered in order of first appearance.
pub(crate) struct Volumes {
    names: Vec<String>,
    numbers: HashMap<Box<[u8]>, u32>,
    /// Names of up to eight bytes, as integers, with their numbers: a direct-mapped cache.
    recent: Box<[(u64, u32); SLOTS]>,
}

impl Volumes {
    pub(crate) fn new() -> Volumes {
        // No name is all zero bytes, so zero marks a free slot.
        Volumes { names: Vec::new(), numbers: HashMap::new(), recent: Box::new([(0, 0); SLOTS]) }
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of a name that is given as an integer: its bytes, little-endian.
    #[inline]
    pub(crate) fn recent(&self, packed: u64) -> Option<u32> {
        let (name, number) = self.recent[slot(packed)];
        (name == packed && packed != 0).then_some(number)
    }

    /// The number of a name that has one.
    #[cold]
    pub(crate) fn known(&mut self, name: &[u8]) -> Option<u32> {
        let number = *self.numbers.get(name)?;
        self.remember(name, number);
        Some(number)
    }

    /// The number of a name, a new one if it is new.
    pub(crate) fn number(&mut self, name: &[u8]) -> Result<u32, Cause> {
        let number = match self.numbers.get(name) {
            Some(&number) => number,
            None => self.add(name)?,
        };
        self.remember(name, number);
        Ok(number)
    }

    fn remember(&mut self, name: &[u8], number: u32) {
        if name.len() <= 8 && !name.contains(&0) {
            let packed = packed(name);
            self.recent[slot(packed)] = (packed, number);
        }
    }

    fn add(&mut self, name: &[u8]) -> Result<u32, Cause> {
        if name.len() > LONGEST_NAME {
            return Err(Cause::bad(format!("volume name {} is too long", quoted(name))));
        }
        let Ok(text) = std::str::from_utf8(name) else {
            return Err(Cause::bad(format!("volume name {} is not UTF-8", quoted(name))));
        };
        if name.is_empty() {
            return Err(Cause::bad("volume name is missing".to_owned()));
        }
        if self.names.len() >= MOST_VOLUMES {
            return Err(Cause::ManyVolumes);
        }
        let number = self.names.len() as u32;
        self.names.push(text.to_owned());
        self.numbers.insert(name.into(), number);
        Ok(number)
    }
}

fn packed(name: &[u8]) -> u64 {
    name.iter().rev().fold(0, |packed, &byte| packed << 8 | u64::from(byte))
}

#[inline]
fn slot(packed: u64) -> usize {
    // Fibonacci hashing: the top bits of the product depend on all of the name.
    (packed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize
}
