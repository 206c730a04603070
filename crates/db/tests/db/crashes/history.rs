//! The expected content of a database: every version of every record, by the number of its commit.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeBounds;
use std::sync::Arc;

pub(crate) type Value = Arc<[u8]>;
/// All records of all tables.
pub(crate) type Content = BTreeMap<&'static str, BTreeMap<Vec<u8>, Value>>;
/// Table and key.
pub(crate) type Place = (&'static str, Vec<u8>);

/// In place of a table: the names of all tables.
pub(crate) const TABLES: &str = "the names of all tables";

/// The effect of a commit on a record.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub value: Option<Value>,
    /// True if it was surely written: a patch of an absent record may write nothing.
    pub is_certain: bool,
}

/// The writes of a record, by the number of their commit.
type RecordWrites = Vec<(u64, Written)>;

/// Commits that may have happened, in their order.
#[derive(Default)]
pub(crate) struct History {
    tables: BTreeMap<&'static str, BTreeMap<Vec<u8>, RecordWrites>>,
    /// The writes of each commit since the last opening.
    commits: Vec<(u64, Vec<Place>)>,
    /// Number of the last commit.
    pub now: u64,
}

impl History {
    /// The value of a record that a snapshot sees.
    pub(crate) fn at(&self, place: &Place, snapshot: u64) -> Option<&Value> {
        visible(self.versions(place)?, snapshot)
    }

    fn versions(&self, (name, key): &Place) -> Option<&RecordWrites> {
        self.tables.get(name)?.get(key)
    }

    /// The records of a table in a range of keys that a snapshot sees, in the order of their keys.
    pub(crate) fn range(
        &self,
        name: &'static str,
        keys: impl RangeBounds<Vec<u8>>,
        snapshot: u64,
    ) -> impl DoubleEndedIterator<Item = (&Vec<u8>, &Value)> {
        let in_range = self.tables.get(name).map(|records| records.range(keys));
        in_range
            .into_iter()
            .flatten()
            .filter_map(move |(key, versions)| Some((key, visible(versions, snapshot)?)))
    }

    /// The versions of a record that came after a snapshot.
    pub(crate) fn since(&self, place: &Place, snapshot: u64) -> impl Iterator<Item = &Written> {
        let versions = self.versions(place).map_or(&[][..], Vec::as_slice);
        let later = versions.iter().rev().take_while(move |(number, _)| *number > snapshot);
        later.map(|(_, written)| written)
    }

    /// A commit happened, or may have; its number.
    pub(crate) fn commit(&mut self, writes: BTreeMap<Place, Written>) -> u64 {
        self.now += 1;
        self.commits.push((self.now, writes.keys().cloned().collect()));
        for (place, mut written) in writes {
            if !written.is_certain {
                // A patch of an absent record changes nothing.
                written.value = self.at(&place, self.now - 1).cloned();
            }
            let (name, key) = place;
            let versions = self.tables.entry(name).or_default().entry(key).or_default();
            versions.push((self.now, written));
        }
        self.now
    }

    /// The database was opened again and holds this: all commits up to one of them, which is
    /// `least` or later. The others never happened.
    pub(crate) fn opened_again(&mut self, found: &Content, least: u64) {
        let mut different = self.differences(found, least);
        let mut number = least;
        let mut later = self.commits.iter().filter(|(number, _)| *number > least);
        while !different.is_empty() {
            let Some((next, places)) = later.next() else {
                self.show_differences(found, least);
                panic!("no commit from {least} to {} gives what was found", self.now);
            };
            number = *next;
            for place in places {
                match self.at(place, number) == value_in(found, place) {
                    true => different.remove(place),
                    false => different.insert(place.clone()),
                };
            }
        }
        for records in self.tables.values_mut() {
            records.retain(|_, versions| {
                versions.retain(|(n, _)| *n <= number);
                versions.drain(..versions.len().saturating_sub(1));
                versions.iter().any(|(_, w)| w.value.is_some())
            });
        }
        self.commits.clear();
        self.now = number;
    }

    fn show_differences(&self, found: &Content, number: u64) {
        for place in self.differences(found, number) {
            let versions = self.versions(&place).into_iter().flatten();
            let known: Vec<_> =
                versions.map(|(n, w)| (n, w.value.as_ref().map(|v| v.len()))).collect();
            let found = value_in(found, &place).map(|value| value.len());
            let key = place.1.escape_ascii();
            eprintln!("{} {key}: found {found:?} bytes; commits and bytes: {known:?}", place.0);
        }
    }

    /// The records whose value is another than the one that commits up to a number gave.
    fn differences(&self, found: &Content, number: u64) -> BTreeSet<Place> {
        let (none, mut different) = (BTreeMap::new(), BTreeSet::new());
        let names: BTreeSet<_> = found.keys().chain(self.tables.keys()).copied().collect();
        for name in names {
            let mut found = found.get(name).unwrap_or(&none).iter().peekable();
            let known = self.tables.get(name).into_iter().flatten();
            let mut known = known
                .filter_map(|(key, versions)| Some((key, visible(versions, number)?)))
                .peekable();
            // Both are in the order of their keys.
            loop {
                let order = match (found.peek(), known.peek()) {
                    (None, None) => break,
                    (Some(_), None) => Ordering::Less,
                    (None, Some(_)) => Ordering::Greater,
                    (Some((found, _)), Some((known, _))) => found.cmp(known),
                };
                let one = if order.is_le() { found.next() } else { None };
                let other = if order.is_ge() { known.next() } else { None };
                let key = one.or(other).map(|(key, _)| key);
                if one.map(|(_, value)| value) != other.map(|(_, value)| value) {
                    different.extend(key.map(|key| (name, key.clone())));
                }
            }
        }
        different
    }
}

fn visible(versions: &[(u64, Written)], snapshot: u64) -> Option<&Value> {
    let (_, last) = versions.iter().rfind(|(number, _)| *number <= snapshot)?;
    last.value.as_ref()
}

fn value_in<'a>(content: &'a Content, place: &Place) -> Option<&'a Value> {
    content.get(place.0)?.get(&place.1)
}
