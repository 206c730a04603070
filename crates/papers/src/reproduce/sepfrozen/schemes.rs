//! Tables of the schemes: the paper's figures 11, 12 and 15 to 17, and its claims.

use frostline_results::RunReport;

use super::matrix::{GP, Matrix, OFF_LINE, SCHEMES, SEVEN, STEPS, VICTIM, of};
use super::models::Models;
use super::paper::{self, PaperFigure};
use crate::Result;
use crate::reproduce::tables::{Cell, ReportTable, headings};

/// Victim policies (figure 15).
const VICTIMS: [&str; 2] = ["greedy", VICTIM];
/// Sizes of zones (figure 16): the paper's 64 MiB to 1 GiB are a quarter to four times its own.
const ZONES: [(&str, f64); 5] =
    [("x1/4", 0.25), ("x1/2", 0.5), ("x1", 1.0), ("x2", 2.0), ("x4", 4.0)];
/// Thresholds (figure 17).
const GPS: [(&str, f64); 4] = [("10 %", 0.10), ("15 %", 0.15), ("20 %", 0.20), ("25 %", 0.25)];

/// The runs of all schemes on a workload.
pub(super) struct OfWorkload {
    /// Its name.
    pub(super) workload: &'static str,
    /// The runs of [`SCHEMES`].
    pub(super) runs: Vec<RunReport>,
}

/// WAF and FAR of all schemes on all workloads (figures 11 and 12).
pub(super) fn overall(all: &[OfWorkload]) -> ReportTable {
    let mut columns = vec!["scheme", "WAF TPC-C", "paper"];
    columns.extend(["WAF YCSB-100W", "WAF YCSB-50W", "FAR TPC-C", "paper's"]);
    columns.extend(["FAR YCSB-100W", "FAR YCSB-50W"]);
    let row = |scheme: &&str| {
        let runs: Vec<_> = all.iter().filter_map(|each| of(&each.runs, scheme)).collect();
        let mut row = vec![Cell::text(*scheme)];
        row.extend(runs.iter().map(|run| Cell::waf(run.waf)));
        row.extend(runs.iter().map(|run| Cell::share(run.far)));
        row.insert(2, Cell::text(paper::of(paper::WAF_TPCC, scheme)));
        row.insert(6, Cell::text(paper::of(paper::FAR, scheme)));
        row
    };
    ReportTable {
        name: "overall",
        title: "WAF and FAR (figures 11 and 12)".to_string(),
        note: "`sepgc` is what the paper describes as 2R, `fk-kmeans` what it describes as FK. \
               `frozen:` is Frostline's arrangement, `frozen-perfect:` its bound with a perfect \
               recogniser. The paper: sections 3 and 5.2; derived: SepFrozenBIT's 1.60 is 30.2 % \
               less."
            .to_string(),
        columns: headings(columns),
        rows: SCHEMES.iter().map(row).collect(),
    }
}

/// WAF in quarters of the run: it shows how far from a steady state the run is.
pub(super) fn quarters(of_workload: &OfWorkload) -> ReportTable {
    let row = |run: &RunReport| {
        let each = run.windows.iter().map(|window| Cell::waf(window.waf));
        [Cell::text(&run.scheme)].into_iter().chain(each).collect()
    };
    let shown = of_workload.runs.iter().filter(|run| run.windows.len() == 4);
    ReportTable {
        name: "quarters",
        title: "WAF by quarters of the run".to_string(),
        note: format!(
            "{}. Where they differ, there is no steady state: the data grow.",
            of_workload.workload
        ),
        columns: headings(["scheme", "first", "second", "third", "fourth"]),
        rows: shown.map(row).collect(),
    }
}

/// Runs on TPC-C with different values of one setting.
pub(super) struct Sweep {
    name: &'static str,
    title: &'static str,
    /// The paper's result.
    told: &'static str,
    /// The runs with each value of the setting.
    values: Vec<(&'static str, Vec<RunReport>)>,
}

impl Sweep {
    /// A column of WAFs for each value.
    pub(super) fn table(&self) -> ReportTable {
        let row = |scheme: &&str| {
            let each = self.values.iter().filter_map(|(_, runs)| of(runs, scheme));
            [Cell::text(*scheme)].into_iter().chain(each.map(|run| Cell::waf(run.waf))).collect()
        };
        ReportTable {
            name: self.name,
            title: self.title.to_string(),
            note: format!("WAF on TPC-C. The paper, section 5.2: {}.", self.told),
            columns: headings(["scheme"].into_iter().chain(self.values.iter().map(|v| v.0))),
            rows: SEVEN.iter().map(row).collect(),
        }
    }

    /// The range of changes of the WAF by SepFrozen, over all values and both schemes.
    fn changes(&self) -> String {
        let pairs = [("dac", "sepfrozen-dac"), ("sepbit", "sepfrozen-bit")];
        let all = self.values.iter().flat_map(|(_, runs)| {
            pairs.iter().filter_map(|(from, to)| change(runs, from, to, waf))
        });
        let all: Vec<f64> = all.collect();
        let least = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let most = all.iter().copied().fold(f64::INFINITY, f64::min);
        format!("{:+.1} to {:+.1} %", least * 100.0, most * 100.0)
    }
}

/// Runs with other settings.
pub(super) struct Sweeps {
    /// Figure 15.
    pub(super) victims: Sweep,
    /// Figure 16.
    pub(super) zones: Sweep,
    /// Figure 17.
    pub(super) thresholds: Sweep,
}

/// Replays with other settings; `usual` are the runs with the paper's settings.
pub(super) fn sweeps(matrix: &Matrix<'_>, usual: &[RunReport]) -> Result<Sweeps> {
    let unless = |is_usual: bool, run: &dyn Fn() -> Result<Vec<RunReport>>| {
        if is_usual { Ok(usual.to_vec()) } else { run() }
    };
    let victims = VICTIMS.iter().map(|&victim| {
        let runs = unless(victim == VICTIM, &|| matrix.with_victim(&SEVEN, victim))?;
        Ok((victim, runs))
    });
    let zones = ZONES.iter().map(|&(name, times)| {
        Ok((name, unless(times == 1.0, &|| matrix.with_zones(&SEVEN, times))?))
    });
    let thresholds =
        GPS.iter().map(|&(name, gp)| Ok((name, unless(gp == GP, &|| matrix.with_gp(&SEVEN, gp))?)));
    Ok(Sweeps {
        victims: Sweep {
            name: "victims",
            title: "Victim policies (figure 15)",
            told: "cost-benefit is better than greedy, and with both SepFrozen better than the \
                   scheme it is around",
            values: victims.collect::<Result<_>>()?,
        },
        zones: Sweep {
            name: "zones",
            title: "Size of zones (figure 16)",
            told: "the larger the zones the higher the WAF, SepFrozen 17.5 to 33.9 % below the \
                   scheme it is around",
            values: zones.collect::<Result<_>>()?,
        },
        thresholds: Sweep {
            name: "thresholds",
            title: "Threshold of garbage (figure 17)",
            told: "the higher the threshold the lower the WAF, SepFrozen 14.5 to 30.8 % below the \
                   scheme it is around",
            values: thresholds.collect::<Result<_>>()?,
        },
    })
}

fn waf(run: &RunReport) -> f64 {
    run.waf
}

fn far(run: &RunReport) -> f64 {
    run.far.unwrap_or(f64::NAN)
}

/// The relative change of a figure from one scheme to another.
fn change(runs: &[RunReport], from: &str, to: &str, figure: fn(&RunReport) -> f64) -> Option<f64> {
    Some(figure(of(runs, to)?) / figure(of(runs, from)?) - 1.0)
}

/// The paper's claims, beside our results.
pub(super) fn claims(tpcc: &[RunReport], sweeps: &Sweeps) -> ReportTable {
    let one = |name: &str, told: Option<PaperFigure>, from: &str, to: &str, figure| {
        let found = change(tpcc, from, to, figure).map_or(Cell::None, Cell::change);
        claim(name, found, told)
    };
    let rows = vec![
        one(
            "WAF, SepFrozenBIT against SepBIT",
            Some(paper::WAF_BIT),
            "sepbit",
            "sepfrozen-bit",
            waf,
        ),
        one("WAF, frozen:sepbit against SepBIT", None, "sepbit", "frozen:sepbit", waf),
        one("WAF, SepFrozenDAC against DAC", None, "dac", "sepfrozen-dac", waf),
        one(
            "FAR, SepFrozenBIT against SepBIT",
            Some(paper::FAR_BIT),
            "sepbit",
            "sepfrozen-bit",
            far,
        ),
        one("FAR, SepFrozenDAC against DAC", Some(paper::FAR_DAC), "dac", "sepfrozen-dac", far),
        one("WAF, SepBIT against FK", Some(paper::ABOVE_FK), "fk-kmeans", "sepbit", waf),
        one(
            "WAF, SepFrozenBIT against FK",
            Some(paper::FROZEN_ABOVE_FK),
            "fk-kmeans",
            "sepfrozen-bit",
            waf,
        ),
        claim(
            "WAF, both, all sizes of zones",
            Cell::text(sweeps.zones.changes()),
            Some(paper::WAF_BY_ZONE),
        ),
        claim(
            "WAF, both, all thresholds",
            Cell::text(sweeps.thresholds.changes()),
            Some(paper::WAF_BY_GP),
        ),
    ];
    ReportTable {
        name: "claims",
        title: "What the paper claims, on TPC-C".to_string(),
        note: "Changes from the one to the other. Derived: from 1.60 and 1.49.".to_string(),
        columns: headings(["claim", "here", "paper", "place"]),
        rows,
    }
}

fn claim(name: &str, found: Cell, told: Option<PaperFigure>) -> Vec<Cell> {
    let (text, place) = told.map_or(("", ""), |told| (told.text, told.place));
    vec![Cell::text(name), found, Cell::text(text), Cell::text(place)]
}

/// The gain of each step from SepBIT on.
pub(super) fn steps(matrix: &Matrix<'_>, models: &Models<'_>) -> Result<ReportTable> {
    let mut runs = Vec::new();
    for (cleaned, how) in [
        (false, "trained before, on this very run, as in the paper: on pages as they are written"),
        (true, "the same, on pages as cleaning meets them"),
    ] {
        let run = matrix.with_model(&[OFF_LINE], models.trained(cleaned)?)?;
        runs.extend(run.into_iter().map(|run| (run, how)));
    }
    let on_line = matrix.schemes(&STEPS.map(|(scheme, _)| scheme))?;
    let on_line = on_line.into_iter().zip(STEPS.map(|(_, how)| how));
    // SepBIT comes first, then the recognisers trained beforehand.
    runs.extend(on_line);
    runs.swap(0, 2);
    runs.swap(1, 2);
    let base = runs.first().map_or(f64::NAN, |(run, _)| run.waf);
    let row = |(run, how): &(RunReport, &str)| {
        let against = Cell::change(run.waf / base - 1.0);
        let far = Cell::share(run.far);
        vec![Cell::text(&run.scheme), Cell::text(*how), Cell::waf(run.waf), against, far]
    };
    Ok(ReportTable {
        name: "steps",
        title: "From SepBIT to the bound".to_string(),
        note: "TPC-C. Who recognises frozen pages, above which probability, and where they go."
            .to_string(),
        columns: headings(["scheme", "what it does", "WAF", "against SepBIT", "FAR"]),
        rows: runs.iter().map(row).collect(),
    })
}
