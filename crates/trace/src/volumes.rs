//! The volumes of a trace, by name and by number.

use std::collections::HashMap;

use crate::cause::Cause;
use crate::error::quoted;

/// The most volumes a trace may have; the largest published traces have some thousands.
pub(crate) const MOST_VOLUMES: usize = 1 << 16;

/// The longest name of a volume, in bytes.
const LONGEST_NAME: usize = 255;

/// Volumes whose name is a number below this are found by a table instead of by hashing.
const TABLE: usize = 1 << 20;
const _: () = assert!(MOST_VOLUMES < u32::MAX as usize, "a volume's number plus one has 32 bits");

/// Volume names, numbered in order of first appearance.
pub(crate) struct Volumes {
    names: Vec<String>,
    numbers: HashMap<Box<[u8]>, u32>,
    /// For each such name: the volume's number plus one, or 0 if there is no such volume. Untouched
    /// memory of the table costs nothing.
    table: Vec<u32>,
}

impl Volumes {
    pub(crate) fn new() -> Volumes {
        Volumes { names: Vec::new(), numbers: HashMap::new(), table: vec![0; TABLE] }
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of a volume whose name is a number without leading zeros; `None` if it is not
    /// known yet.
    #[inline(always)]
    pub(crate) fn numbered(&self, name: u64) -> Option<u32> {
        match self.table.get(name as usize) {
            Some(&number) => number.checked_sub(1),
            None => self.numbers.get(name.to_string().as_bytes()).copied(),
        }
    }

    /// The number of the volume with this name; a new number if the name is new.
    pub(crate) fn number(&mut self, name: &[u8]) -> Result<u32, Cause> {
        match self.numbers.get(name) {
            Some(&number) => Ok(number),
            None => self.add(name),
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
            return Err(Cause::ManyVolumes { limit: MOST_VOLUMES });
        }
        let number = self.names.len() as u32;
        assert_eq!(self.names.len(), self.numbers.len(), "each name has a number");
        if let Some(place) = canonical(text).and_then(|value| self.table.get_mut(value)) {
            *place = number + 1;
        }
        self.names.push(text.to_owned());
        self.numbers.insert(name.into(), number);
        Ok(number)
    }
}

/// The value of a name that is a number without leading zeros.
fn canonical(name: &str) -> Option<usize> {
    let value: usize = name.parse().ok()?;
    (value.to_string() == name).then_some(value)
}
