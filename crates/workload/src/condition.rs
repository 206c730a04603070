//! The result of a check.

/// A condition that the data must meet, and whether they do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The condition.
    pub name: &'static str,
    /// The clause of the benchmark's standard that requires it; empty for a condition of our own.
    pub clause: &'static str,
    /// True if it holds.
    pub ok: bool,
    /// The number of checks, the number of failures, and the place of the first failure.
    pub detail: String,
}

/// A condition while it is being checked.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    checked: u64,
    failed: u64,
    first: String,
}

impl Verdict {
    /// Counts one check; `why` says where the condition does not hold.
    pub(crate) fn test(&mut self, holds: bool, why: impl FnOnce() -> String) {
        self.checked += 1;
        if !holds {
            if self.failed == 0 {
                self.first = why();
            }
            self.failed += 1;
        }
    }

    /// The result.
    pub(crate) fn into_condition(self, name: &'static str, clause: &'static str) -> Condition {
        let detail = match self.failed {
            0 => format!("{} checked", self.checked),
            failed => format!("{failed} of {} do not; first: {}", self.checked, self.first),
        };
        Condition { name, clause, ok: self.failed == 0, detail }
    }
}
