//! The contents of a database, and the note that they were loaded completely. The note is a record
//! in a table of its own, so that a later run never uses other data, or incomplete data, by
//! mistake.

use std::fmt;

use crate::attempt::{End, attempt};
use crate::error::{Error, Result};
use crate::loading::Loading;
use crate::{Access, Engine, Transaction, TransactionOutcome};

/// The table's name; below, the key of its one record.
const TABLE: &str = "workload.contents";
const KEY: &[u8] = b"loaded";

/// The state at the beginning of the record's value; the seed and the contents follow.
const BEGUN: &str = "begun";
const COMPLETE: &str = "complete";

/// The data that a workload loads: its name, the version of its rows, and the amount of everything.
/// A run can use a database that has equal contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents(String);

impl Contents {
    pub(crate) fn new(workload: &str, version: u32, numbers: &[(&str, u64)]) -> Contents {
        let mut text = workload.to_string();
        numbers.iter().for_each(|(what, number)| text += &format!(", {number} {what}"));
        assert!(!text.contains('\n'), "the contents are a line of the record");
        // The first version is not mentioned.
        Contents(if version == 1 { text } else { format!("{text}, version {version}") })
    }

    /// Checks that a database has these contents, loaded completely. Writes nothing.
    ///
    /// # Errors
    /// [`Error::Unfinished`], [`Error::OtherContents`]; errors of the engine.
    pub fn verify<E: Engine>(&self, engine: &E) -> Result<(), E> {
        let found = record(engine)?;
        let told = found.as_deref().map(parse);
        match told {
            Some((COMPLETE, found)) if found == self.0 => Ok(()),
            Some((BEGUN, found)) => Err(Error::Unfinished { contents: found.to_string() }),
            other => Err(Error::OtherContents {
                wanted: self.0.clone(),
                found: other.map(|(_, found)| found.to_string()),
            }),
        }
    }

    /// Notes that these contents are being loaded. No load of the database may have begun before.
    pub(crate) fn begin<E: Engine>(&self, engine: &E, loading: Loading) -> Result<(), E> {
        match record(engine)? {
            None => self.note(engine, BEGUN, loading),
            Some(found) => Err(Error::OtherContents {
                wanted: self.0.clone(),
                found: Some(parse(&found).1.to_string()),
            }),
        }
    }

    /// Notes that these contents are loaded completely, and durable.
    pub(crate) fn complete<E: Engine>(&self, engine: &E, loading: Loading) -> Result<(), E> {
        self.note(engine, COMPLETE, loading)
    }

    fn note<E: Engine>(&self, engine: &E, state: &str, loading: Loading) -> Result<(), E> {
        let table = engine.table(TABLE)?;
        let value = format!("{state}\nseed {}\n{}", loading.seed, self.0);
        let (outcome, _) = attempt(engine, Access::ReadWrite, |transaction| {
            transaction.put(table, KEY, value.as_bytes())?;
            Ok(End::Commit)
        })?;
        match outcome {
            TransactionOutcome::Committed(ticket) => Ok(engine.wait(ticket)?),
            _ => Err(Error::Options { what: "load", why: "conflicts with other transactions" }),
        }
    }
}

impl fmt::Display for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The record, if a database has one.
fn record<E: Engine>(engine: &E) -> Result<Option<String>, E> {
    let Some(table) = engine.existing(TABLE)? else { return Ok(None) };
    let (mut value, mut found) = (Vec::new(), false);
    attempt(engine, Access::ReadOnly, |transaction| {
        found = transaction.get(table, KEY, &mut value)?;
        Ok(End::Commit)
    })?;
    Ok(found.then(|| String::from_utf8_lossy(&value).into_owned()))
}

/// The state and the contents in a record.
fn parse(record: &str) -> (&str, &str) {
    let mut lines = record.splitn(3, '\n');
    let (state, _seed) = (lines.next().unwrap_or_default(), lines.next());
    (state, lines.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryEngine;

    fn told(contents: &Contents, engine: &MemoryEngine) -> String {
        contents.verify(engine).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn contents_are_verified_only_when_they_are_complete_and_equal() {
        let (engine, loading) = (MemoryEngine::new(), Loading::default());
        let (small, large) =
            (Contents::new("w", 1, &[("rows", 2)]), Contents::new("w", 1, &[("rows", 3)]));
        assert_eq!(told(&small, &engine), "w, 2 rows is wanted, and there is no workload's data");
        assert!(engine.contents().is_empty(), "to verify writes nothing");
        small.begin(&engine, loading).unwrap();
        assert_eq!(told(&small, &engine), "the load of w, 2 rows was not finished");
        assert!(small.begin(&engine, loading).is_err(), "it was begun");
        small.complete(&engine, loading).unwrap();
        small.verify(&engine).unwrap();
        assert_eq!(told(&large, &engine), "w, 3 rows is wanted, and there is w, 2 rows");
        assert_eq!(Contents::new("w", 2, &[("rows", 2)]).to_string(), "w, 2 rows, version 2");
    }
}
