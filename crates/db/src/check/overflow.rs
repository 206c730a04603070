//! Long values, and the pieces or pages that they are kept in.

use std::collections::BTreeMap;

use super::Finding;
use super::tree::Seen;
use crate::DbError;
use crate::layout::IN_PAGES;
use crate::mvcc::Lookup;
use crate::overflow::{
    DeletedTree, HEAD, Owner, PAGE_DATA, PIECE, Run, ValueReader, parse_overflow, piece_number,
    reference_to,
};
use crate::pages::Used;
use crate::tree::Trees;
use crate::view::View;

/// The long values of all tables, and how far their pieces were found.
#[derive(Default)]
pub(super) struct LongValues {
    by_number: BTreeMap<u64, LongValue>,
    /// Pages of values, by the number of the value.
    runs: Vec<(u64, Run)>,
    /// Of a deleted table some leaves are free: the others are not walked, and their values seem to
    /// have no record.
    has_half_freed: bool,
}

struct LongValue {
    /// The page that names it; none if no record does.
    page: Option<u32>,
    bytes: usize,
    /// Pieces or pages that were found, which come in order.
    found: usize,
    /// Number and length of a value in pages, by its head.
    owner: Option<Owner>,
}

impl LongValues {
    /// No values yet.
    pub(super) fn new(has_half_freed: bool) -> Self {
        LongValues { has_half_freed, ..Default::default() }
    }

    /// The number of long values.
    pub(super) fn count(&self) -> u64 {
        self.by_number.values().filter(|value| value.page.is_some()).count() as u64
    }

    /// Pages that values have for themselves.
    pub(super) fn pages(&self) -> u64 {
        self.runs.iter().map(|(_, run)| u64::from(run.count)).sum()
    }

    /// Notes a table's record, if its value is a long one.
    pub(super) fn note(&mut self, page: u32, record: &Seen<'_>) -> Option<Finding> {
        if !record.is_overflow {
            return None;
        }
        let Ok((number, bytes)) = parse_overflow(record.value) else {
            return Some(Finding::at(page, "a long value does not say where its pieces are"));
        };
        let value = LongValue { page: Some(page), bytes, found: 0, owner: None };
        let before = self.by_number.insert(number, value);
        before.map(|_| Finding::at(page, format!("long value {number} is another record's too")))
    }

    /// Counts a piece for its value, or pages, or takes the owner from a head.
    pub(super) fn take_piece(&mut self, page: u32, record: &Seen<'_>) -> Option<Finding> {
        let Some((number, n)) = piece_number(record.key) else {
            return Some(Finding::at(page, "a piece has no number"));
        };
        if number & HEAD != 0 && DeletedTree::parse(record.value).is_some() {
            return None;
        }
        if number & HEAD != 0 {
            let owner = Owner::parse(record.value);
            let value = self.in_pages(number & !HEAD);
            value.owner = owner;
            return owner.is_none().then(|| Finding::at(page, "the head of a value says nothing"));
        }
        let wrong = |what| Some(Finding::at(page, format!("piece {n} of {number}: {what}")));
        if number & IN_PAGES != 0 {
            let Some(runs) = Run::parse(record.value) else { return wrong("it names no pages") };
            let value = self.in_pages(number);
            if value.found != n {
                return wrong("it is not the one that the value needs next");
            }
            value.found += runs.iter().map(|run| run.count as usize).sum::<usize>();
            self.runs.extend(runs.into_iter().map(|run| (number, run)));
            return None;
        }
        let Some(value) = self.by_number.get_mut(&number) else {
            return if self.has_half_freed { None } else { wrong("no record has this value") };
        };
        let rest = value.bytes.saturating_sub(n * PIECE).min(PIECE);
        if n != value.found || record.value.len() != rest || record.is_overflow {
            return wrong("it is not the one that the value needs next");
        }
        value.found += 1;
        None
    }

    /// A value in pages, which may have no record: one that is being written, or that older
    /// snapshots see.
    fn in_pages(&mut self, number: u64) -> &mut LongValue {
        let unnamed = LongValue { page: None, bytes: 0, found: 0, owner: None };
        self.by_number.entry(number).or_insert(unnamed)
    }

    /// Marks the pages of values as reached.
    pub(super) fn reach(&self, reached: &mut Used) -> Result<Vec<Finding>, DbError> {
        let mut findings = Vec::new();
        for &(number, run) in &self.runs {
            for page in run.pages() {
                if reached.has(page) {
                    let what = format!("long value {number} has it, and another");
                    findings.push(Finding::at(page, what));
                } else if reached.set(page, true).is_err() {
                    let what = format!("long value {number} has it, and it is beyond the database");
                    findings.push(Finding::at(page, what));
                    break;
                }
            }
        }
        Ok(findings)
    }

    /// Marks the pages of values that have no record yet, or were given up: not all were written.
    pub(super) fn mark_under_way(&self, marked: &mut Used) {
        let is_under_way = |number: &u64| {
            self.by_number.get(number).is_some_and(|value| value.owner == Some(Owner::UnderWay))
        };
        let runs = self.runs.iter().filter(|(number, _)| is_under_way(number));
        for page in runs.flat_map(|(_, run)| run.pages()) {
            // Pages beyond the database are findings already.
            let _ = marked.set(page, true);
        }
    }

    /// The values with missing pieces, and pages without an owner.
    pub(super) fn left_over(&self) -> impl Iterator<Item = Finding> {
        self.by_number.iter().filter_map(|(number, value)| {
            let is_in_pages = number & IN_PAGES != 0;
            let needed = value.bytes.div_ceil(if is_in_pages { PAGE_DATA } else { PIECE });
            let what = match (value.page, value.owner) {
                (Some(_), owner) if is_in_pages && owner != Some(Owner::Record) => {
                    "is named by a record, and its head does not say so".to_string()
                }
                (Some(_), _) if value.found != needed => {
                    format!("has {} pieces of {needed}", value.found)
                }
                (None, None | Some(Owner::Record)) => "has pages, and no record".to_string(),
                _ => return None,
            };
            Some(Finding { page: value.page, what: format!("long value {number} {what}") })
        })
    }

    /// Reads the values in pages, and finds those that can't be.
    pub(super) fn read(&self, trees: &Trees) -> Result<Vec<Finding>, DbError> {
        let (view, mut findings) = (View::begin(trees, None, false), Vec::new());
        for (&number, value) in self.by_number.range(IN_PAGES..) {
            let Some(page) = value.page else { continue };
            let reference = reference_to(number, value.bytes).to_vec();
            let Some(mut reader) = ValueReader::new(&view, Lookup::Overflow, reference)? else {
                continue;
            };
            loop {
                match reader.next_part().map(<[u8]>::len) {
                    Ok(0) => break,
                    Ok(bytes) => reader.pass(bytes as u64),
                    Err(error) => {
                        findings.push(Finding::of(page, error)?);
                        break;
                    }
                }
            }
        }
        Ok(findings)
    }
}
