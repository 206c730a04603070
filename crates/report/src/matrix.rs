//! Runs as a matrix: rows are schemes in the order of write amplification, columns are victim
//! policies.

use std::cmp::Ordering;

use frostline_results::RunReport;

/// The runs over one volume, or over all together, by scheme and victim policy.
#[derive(Clone, Debug)]
pub struct Matrix<'a> {
    /// The victim policies that schemes are crossed with.
    pub victims: Vec<&'a str>,
    /// True if there is a last column, for victim policies that come with schemes.
    pub own: bool,
    /// The schemes, setting by setting: first those that could run on a device, then the oracles;
    /// each in order of the best WAF.
    pub rows: Vec<MatrixRow<'a>>,
}

/// A scheme.
#[derive(Clone, Debug)]
pub struct MatrixRow<'a> {
    /// The number of the setting, in the order of the runs; see [`RunReport::setting`].
    pub setting: usize,
    /// The scheme as it was asked for.
    pub scheme: &'a str,
    /// Its runs by column; `None` if there is no such run.
    pub cells: Vec<Option<MatrixCell<'a>>>,
}

/// A scheme with a victim policy.
#[derive(Clone, Copy, Debug)]
pub struct MatrixCell<'a> {
    /// The run.
    pub run: &'a RunReport,
    /// True if no scheme that could run on a device has a lower WAF in the column with the same
    /// setting.
    pub best: bool,
}

impl<'a> Matrix<'a> {
    /// Arranges runs in a matrix. A run that equals another under a second name is left out.
    pub fn of(runs: impl IntoIterator<Item = &'a RunReport>) -> Matrix<'a> {
        let mut kept: Vec<&RunReport> = Vec::new();
        for run in runs {
            if !kept.iter().any(|other| is_same(other, run)) {
                kept.push(run);
            }
        }
        let mut victims = Vec::new();
        for run in kept.iter().filter(|run| !run.own_victim) {
            if !victims.contains(&run.victim.as_str()) {
                victims.push(run.victim.as_str());
            }
        }
        let own = kept.iter().any(|run| run.own_victim);
        let (mut rows, mut settings): (Vec<MatrixRow<'_>>, Vec<_>) = (Vec::new(), Vec::new());
        for run in kept {
            let setting = settings.iter().position(|one| *one == run.setting());
            let setting = setting.unwrap_or_else(|| {
                settings.push(run.setting());
                settings.len() - 1
            });
            let of_policy = || victims.iter().position(|victim| *victim == run.victim);
            let column = if run.own_victim { None } else { of_policy() };
            let row = match rows
                .iter()
                .position(|row| (row.setting, row.scheme) == (setting, &run.scheme))
            {
                Some(row) => row,
                None => {
                    let cells = vec![None; victims.len() + usize::from(own)];
                    rows.push(MatrixRow { setting, scheme: &run.scheme, cells });
                    rows.len() - 1
                }
            };
            rows[row].cells[column.unwrap_or(victims.len())] =
                Some(MatrixCell { run, best: false });
        }
        let mut matrix = Matrix { victims, own, rows };
        for setting in 0..settings.len() {
            matrix.mark_best(setting);
        }
        let order =
            |row: &MatrixRow<'_>| row.best_run().map(|run| (row.setting, run.oracle, run.waf));
        matrix.rows.sort_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(Ordering::Equal));
        matrix
    }

    fn mark_best(&mut self, setting: usize) {
        for column in 0..self.victims.len() + usize::from(self.own) {
            let rows = self.rows.iter_mut().filter(|row| row.setting == setting);
            let cells = rows.filter_map(|row| row.cells[column].as_mut());
            let could_run = cells.filter(|cell| !cell.run.oracle);
            if let Some(cell) = could_run.min_by(|a, b| a.run.waf.total_cmp(&b.run.waf)) {
                cell.best = true;
            }
        }
    }
}

impl<'a> MatrixRow<'a> {
    /// The run with the lowest WAF.
    pub fn best_run(&self) -> Option<&'a RunReport> {
        let runs = self.cells.iter().flatten().map(|cell| cell.run);
        runs.min_by(|a, b| a.waf.total_cmp(&b.waf))
    }

    /// True if the scheme knows the future.
    pub fn is_oracle(&self) -> bool {
        self.best_run().is_some_and(|run| run.oracle)
    }
}

/// True if both are the same run under two names. In a bench, which has no parameters, only the
/// scheme's name can show it. Schemes around others, such as `frozen:X`, may have equal parameters
/// and differ, so the WAF must be equal as well.
fn is_same(a: &RunReport, b: &RunReport) -> bool {
    let same_method = match a.method.is_empty() {
        true => a.scheme == b.scheme,
        false => a.method == b.method && a.parameters == b.parameters,
    };
    same_method && a.victim == b.victim && a.setting() == b.setting() && a.waf == b.waf
}

#[cfg(test)]
mod tests {
    use frostline_results::RunReport;

    use super::*;

    fn run(scheme: &str, victim: &str, waf: f64) -> RunReport {
        let of = RunReport::of(&Default::default());
        RunReport { scheme: scheme.into(), method: scheme.into(), victim: victim.into(), waf, ..of }
    }

    #[test]
    fn schemes_come_by_their_best_waf_and_oracles_last() {
        let oracle = RunReport { oracle: true, ..run("oracle", "greedy", 1.0) };
        let own = RunReport { own_victim: true, ..run("own", "own", 2.5) };
        let runs = [
            run("a", "greedy", 3.0),
            run("a", "fifo", 4.0),
            run("b", "greedy", 3.5),
            run("b", "fifo", 2.0),
            oracle,
            own,
        ];
        let matrix = Matrix::of(&runs);
        assert_eq!((matrix.victims.as_slice(), matrix.own), (&["greedy", "fifo"][..], true));
        let order: Vec<_> = matrix.rows.iter().map(|row| row.scheme).collect();
        assert_eq!(order, ["b", "own", "a", "oracle"]);
        let best = |row: usize| {
            let cells = matrix.rows[row].cells.iter();
            cells.map(|cell| cell.is_some_and(|cell| cell.best)).collect::<Vec<_>>()
        };
        assert_eq!(best(0), [false, true, false], "fifo");
        assert_eq!(best(1), [false, false, true], "its own");
        assert_eq!(best(2), [true, false, false], "greedy");
        assert_eq!(best(3), [false, false, false], "an oracle is no candidate");
    }

    #[test]
    fn a_run_under_a_second_name_is_left_out() {
        let again = RunReport {
            scheme: "1r-greedy".to_string(),
            own_victim: true,
            ..run("nosep", "greedy", 3.0)
        };
        let runs = [run("nosep", "greedy", 3.0), again];
        let matrix = Matrix::of(&runs);
        assert_eq!(matrix.rows.len(), 1);
        assert!(!matrix.own);
    }

    #[test]
    fn schemes_around_others_with_equal_parameters_have_a_row_each() {
        let around = |scheme: &str, waf| RunReport {
            method: "frozen".into(),
            ..run(scheme, "cost-benefit", waf)
        };
        let runs = [around("frozen:survival", 1.963), around("frozen:frostline", 1.9)];
        assert_eq!(Matrix::of(&runs).rows.len(), 2);
    }
}
