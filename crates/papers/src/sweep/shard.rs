//! A part of a sweep, written like `3/16`.

use std::fmt;
use std::str::FromStr;

/// Part `part` of `of` parts of a sweep: every `of`-th of its runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// The number of the part, from 1.
    part: usize,
    /// The number of all parts.
    of: usize,
}

impl Shard {
    /// True if the run with this number belongs to the part.
    pub fn has(self, cell: usize) -> bool {
        cell % self.of == self.part - 1
    }
}

/// The text is not a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be PART/PARTS, as 1/16 to 16/16")]
pub struct ParseShardError;

impl FromStr for Shard {
    type Err = ParseShardError;

    fn from_str(text: &str) -> Result<Self, ParseShardError> {
        let parsed = text
            .split_once('/')
            .and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        let (part, of) = parsed.ok_or(ParseShardError)?;
        match (1..=of).contains(&part) {
            true => Ok(Shard { part, of }),
            false => Err(ParseShardError),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_in_one_shard() {
        let shards: Vec<Shard> = (1..=3).map(|part| format!("{part}/3").parse().unwrap()).collect();
        for cell in 0..20 {
            assert_eq!(shards.iter().filter(|shard| shard.has(cell)).count(), 1);
        }
        assert_eq!(shards[2].to_string(), "3/3");
    }

    #[test]
    fn what_is_no_part_is_refused() {
        for text in ["", "1", "0/3", "4/3", "1/0", "a/b", "1/2/3"] {
            assert_eq!(text.parse::<Shard>(), Err(ParseShardError), "{text}");
        }
    }
}
