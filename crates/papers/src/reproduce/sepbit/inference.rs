//! The probabilities of figures 9 and 11, measured in traces.

use frostline_trace::{FINAL, NEVER, Prepared};

use crate::Result;
use crate::reproduce::session::{Session, TraceSource};
use crate::reproduce::tables::{Cell, ReportTable};

/// The settings of figure 9, as shares of the written pages: the previous version's lifespan, and
/// this version's.
const USER: [(&str, f64, f64); 4] = [
    ("v0 10 %, u0 10 %", 0.1, 0.1),
    ("v0 40 %, u0 10 %", 0.4, 0.1),
    ("v0 10 %, u0 40 %", 0.1, 0.4),
    ("v0 40 %, u0 40 %", 0.4, 0.4),
];

/// Ages of figure 11. It compares the pages that die within 1.6 times as many writes as there are
/// pages.
const AGES: [(&str, f64); 4] =
    [("g0 x0.8", 0.8), ("g0 x1.6", 1.6), ("g0 x3.2", 3.2), ("g0 x6.4", 6.4)];
const RESIDUAL: f64 = 1.6;

/// A row for each trace.
pub(super) fn tables(session: &Session<'_>, sources: &[TraceSource]) -> Result<Vec<ReportTable>> {
    let mut rows = Vec::new();
    for trace in session.traces(sources)? {
        let versions = VersionLifespans::of(trace.volume.prepared(), trace.loading as usize);
        let user = USER.iter().map(|&(_, v, u)| Cell::share(versions.dies_soon_again(u, v)));
        let aged = AGES.iter().map(|&(_, g)| Cell::share(versions.dies_after_age(g)));
        rows.push([Cell::text(&trace.name)].into_iter().chain(user).chain(aged).collect());
    }
    let names = USER.iter().map(|user| user.0).chain(AGES.iter().map(|age| age.0));
    Ok(vec![ReportTable {
        name: "inference",
        title: "The same probabilities, measured (figures 9 and 11)".to_string(),
        note: "Pr(u <= u0 | v <= v0), and Pr(u <= g0 + r0 | u >= g0) for r0 = 1.6; in pages written. \
               Pages that live to the end of the trace count as long-lived. The paper, over 186 volumes: \
               for v0 = 40 % medians of 77.8 to 90.9 %; for ages from 0.8 to 6.4 the median falls \
               from 90.0 to 14.5 %."
            .to_string(),
        columns: ["trace"].into_iter().chain(names).map(str::to_string).collect(),
        rows,
    }])
}

/// Lifespans of the versions of pages, as shares of the written pages; infinite for last versions.
struct VersionLifespans {
    /// The lifespan of a version, and that of the previous version if there was one.
    pairs: Vec<(f64, Option<f64>)>,
}

impl VersionLifespans {
    /// The versions of the writes from `from` on.
    fn of(volume: &Prepared, from: usize) -> VersionLifespans {
        let pages = f64::from(volume.unique);
        let mut before = vec![None; volume.space as usize];
        let lifespans = volume.lifespans.as_deref().unwrap_or_default();
        let each = volume.words.iter().zip(lifespans).map(|(&word, &lifespan)| {
            let lifespan = match lifespan {
                NEVER => f64::INFINITY,
                lifespan => f64::from(lifespan) / pages,
            };
            (lifespan, before[(word & !FINAL) as usize].replace(lifespan))
        });
        VersionLifespans { pairs: each.skip(from).collect() }
    }

    fn dies_soon_again(&self, lifespan: f64, previous: f64) -> Option<f64> {
        let soon = self.pairs.iter().filter(|(_, v)| v.is_some_and(|v| v <= previous));
        share(soon.map(|(u, _)| *u <= lifespan))
    }

    fn dies_after_age(&self, age: f64) -> Option<f64> {
        let aged = self.pairs.iter().filter(|(u, _)| *u >= age);
        share(aged.map(|(u, _)| *u <= age + RESIDUAL))
    }
}

/// The share of true values; `None` if there are no values.
fn share(each: impl Iterator<Item = bool>) -> Option<f64> {
    let (all, true_ones) =
        each.fold((0u64, 0u64), |(all, true_ones), one| (all + 1, true_ones + u64::from(one)));
    (all > 0).then(|| true_ones as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use frostline_trace::{Writes, prepare};

    use super::*;

    #[test]
    fn a_version_is_paired_with_the_one_before_it() {
        let writes = Writes { lbas: vec![0, 0, 1, 1, 1, 0], ..Writes::default() };
        let versions = VersionLifespans::of(&prepare(None, writes, true).unwrap(), 0);
        let inf = f64::INFINITY;
        let expected = [
            (0.5, None),
            (2.0, Some(0.5)),
            (0.5, None),
            (0.5, Some(0.5)),
            (inf, Some(0.5)),
            (inf, Some(2.0)),
        ];
        assert_eq!(versions.pairs, expected);
        assert_eq!(versions.dies_soon_again(0.5, 0.5), Some(1.0 / 3.0));
        assert_eq!(versions.dies_after_age(0.8), Some(1.0 / 3.0));
        assert_eq!(versions.dies_after_age(f64::NAN), None);
    }
}
