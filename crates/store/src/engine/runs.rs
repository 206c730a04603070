//! Places of the device that lie side by side, or share pages, are read at once.

use crate::format::PAGE;
use crate::format::records::Span;

/// Pages of a zone that are read at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The zone.
    pub zone: u32,
    /// The first page.
    pub first: u32,
    /// The first page behind them.
    pub end: u32,
}

impl Run {
    /// Their bytes.
    pub(crate) fn bytes(self) -> usize {
        (self.end - self.first) as usize * PAGE
    }
}

/// A record that is to be read, and where the pages that it touches begin in memory.
pub(crate) struct ToRead<'a> {
    /// The zone.
    pub zone: u32,
    /// Where the record lies in it.
    pub span: Span,
    /// Where the first of its pages will be.
    pub at: &'a mut usize,
}

/// Finds the runs of pages that hold these records, which follow each other in memory, and says of
/// each record where it will be.
pub(crate) fn runs_of(mut records: Vec<ToRead<'_>>) -> Vec<Run> {
    records.sort_unstable_by_key(|record| (record.zone, record.span.page));
    let mut runs: Vec<Run> = Vec::new();
    let mut begin = 0;
    for ToRead { zone, span, at } in records {
        match runs.last_mut().filter(|run| run.zone == zone && span.page <= run.end) {
            Some(run) => run.end = run.end.max(span.end()),
            None => {
                begin += runs.last().map_or(0, |run| run.bytes());
                runs.push(Run { zone, first: span.page, end: span.end() });
            }
        }
        let first = runs.last().map_or(span.page, |run| run.first);
        *at = begin + (span.page - first) as usize * PAGE;
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_whose_pages_touch_are_in_one_run_each_where_it_lies() {
        let lie = [
            (1, 9, 0, 4096),
            (0, 7, 100, 4000),
            (0, 9, 4, 300),
            (0, 5, 96, 8000),
            (0, 6, 4000, 96),
            (0, 12, 0, 10),
        ];
        let mut at = [usize::MAX; 6];
        let records = lie.iter().zip(&mut at).map(|(&(zone, page, skip, bytes), at)| ToRead {
            zone,
            span: Span { page, skip, bytes },
            at,
        });
        let runs = runs_of(records.collect());
        let run = |zone, first, end| Run { zone, first, end };
        assert_eq!(runs, [run(0, 5, 10), run(0, 12, 13), run(1, 9, 10)]);
        assert_eq!(at.map(|at| at / PAGE), [6, 2, 4, 0, 1, 5]);
        assert!(at.iter().all(|at| at % PAGE == 0));
    }
}
