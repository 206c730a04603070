//! The figures of a dataset.

use frostline_results::RunReport;

use super::charts::{ChartRow, bars, dots, lines};
use super::dataset::Dataset;
use super::drawing::{COLOURS, Drawings, short};

/// A figure with its data.
pub(super) struct Section {
    pub title: &'static str,
    pub note: String,
    pub wide: String,
    pub narrow: String,
    /// The meaning of each colour.
    pub key: Vec<String>,
    pub headings: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// Every figure for which the runs have data.
pub(super) fn all(dataset: &Dataset<'_>) -> askama::Result<Vec<Section>> {
    let sections = [
        waf(dataset)?,
        gain(dataset)?,
        over_time(dataset)?,
        by_class(dataset)?,
        by_lifespan(dataset)?,
        victims(dataset)?,
        frozen(dataset)?,
        memory(dataset)?,
        speed(dataset)?,
    ];
    Ok(sections.into_iter().flatten().collect())
}

/// The name of a run: scheme, and victim policy if it is not the scheme's own.
fn name(run: &RunReport) -> String {
    if run.own_victim { run.scheme.clone() } else { format!("{}, {}", run.scheme, run.victim) }
}

/// A row of a figure for the best run of each scheme.
fn row(run: &RunReport, apart: bool, values: Vec<Option<f64>>) -> ChartRow {
    ChartRow { label: run.scheme.clone(), values, apart }
}

/// True for the first oracle after other schemes.
fn is_apart(runs: &[&RunReport], number: usize) -> bool {
    number > 0 && runs[number].oracle && !runs[number - 1].oracle
}

fn section(
    title: &'static str,
    note: impl Into<String>,
    drawings: Drawings,
    key: Vec<String>,
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
) -> Section {
    let Drawings { wide, narrow } = drawings;
    Section { title, note: note.into(), wide, narrow, key, headings, rows }
}

fn texts(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

fn waf(dataset: &Dataset<'_>) -> askama::Result<Option<Section>> {
    let matrix = &dataset.matrix;
    let mut victims = texts(&matrix.victims);
    if matrix.own {
        victims.push("its own".to_string());
    }
    let best = dataset.best();
    let rows = matrix.rows.iter().enumerate().map(|(number, row)| ChartRow {
        label: row.scheme.to_string(),
        values: row.cells.iter().map(|cell| cell.map(|cell| cell.run.waf)).collect(),
        apart: is_apart(&best, number),
    });
    let rows: Vec<_> = rows.collect();
    let drawings = dots("WAF by scheme and victim policy", &victims, &rows, 1.0)?;
    let cells = |row: &ChartRow| {
        let value = |value: &Option<f64>| value.map_or(String::new(), |waf| format!("{waf:.4}"));
        [row.label.clone()].into_iter().chain(row.values.iter().map(value)).collect()
    };
    let data = rows.iter().map(cells).collect();
    let headings = ["scheme".to_string()].into_iter().chain(victims.iter().cloned()).collect();
    let note = "Pages written to the device over pages written by the user, the best scheme first; those \
                that know the future stand below the line.";
    Ok(Some(section("WAF by scheme and victim policy", note, drawings, victims, headings, data)))
}

/// A figure with one value for the best run of each scheme that has the value.
fn one_value(
    dataset: &Dataset<'_>,
    (title, note, heading): (&'static str, &str, &str),
    value: impl Fn(&RunReport) -> Option<f64>,
    shown: impl Fn(f64) -> String,
) -> askama::Result<Option<Section>> {
    let best = dataset.best();
    let with: Vec<_> = best.iter().copied().filter(|run| value(run).is_some()).collect();
    if with.is_empty() {
        return Ok(None);
    }
    let rows = with.iter().enumerate();
    let rows: Vec<_> =
        rows.map(|(i, run)| row(run, is_apart(&with, i), vec![value(run)])).collect();
    let drawings = bars(title, &[], &rows, &shown)?;
    let data = with.iter().map(|run| {
        let shown = value(run).map(&shown).unwrap_or_default();
        vec![run.scheme.clone(), run.victim.clone(), shown]
    });
    let headings = texts(&["scheme", "victim policy", heading]);
    Ok(Some(section(title, note, drawings, Vec::new(), headings, data.collect())))
}

/// The sum of counts, which may come from a file that holds any numbers.
fn sum<'a>(counts: impl IntoIterator<Item = &'a u64>) -> f64 {
    counts.into_iter().map(|&count| count as f64).sum()
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn gain(dataset: &Dataset<'_>) -> askama::Result<Option<Section>> {
    let possible = dataset.best().iter().any(|run| run.possible_gain.is_some());
    if possible {
        let note = "The way from no separation, cleaned by cost-benefit, to a plan that knows when every \
                    page is written again: how much of it the scheme goes, with its best victim policy.";
        let title = ("Share of the possible gain", note, "possible gain");
        return one_value(dataset, title, |run| run.possible_gain, percent);
    }
    let note = "The way from no separation to an oracle that knows every page's rate and which versions \
                are frozen, with the same victim policy: how much of it the scheme goes.";
    one_value(dataset, ("Share of the gain", note, "gain"), |run| run.gain, percent)
}

fn frozen(dataset: &Dataset<'_>) -> askama::Result<Option<Section>> {
    let note = "Of the pages that cleaning copied, those that were never written again.";
    one_value(dataset, ("Copies of frozen pages (FAR)", note, "FAR"), |run| run.far, percent)
}

fn memory(dataset: &Dataset<'_>) -> askama::Result<Option<Section>> {
    let value = |run: &RunReport| Some(run.peak_bytes as f64).filter(|bytes| *bytes > 0.0);
    let note = "Peak memory of the run, the trace not included.";
    let shown = |bytes: f64| format!("{:.2} MB", bytes / 1e6);
    one_value(dataset, ("Memory", note, "memory"), value, shown)
}

fn speed(dataset: &Dataset<'_>) -> askama::Result<Option<Section>> {
    let value = |run: &RunReport| Some(run.writes_per_second / 1e6).filter(|rate| *rate > 0.0);
    let note = "Millions of user writes in a second.";
    let shown = |rate: f64| format!("{rate:.2}");
    one_value(dataset, ("Speed", note, "M writes/s"), value, shown)
}

/// As many runs as there are colours: the best schemes, and always the first oracle and `nosep`.
fn few<'a>(runs: &[&'a RunReport]) -> Vec<&'a RunReport> {
    let must = |run: &&&RunReport| run.scheme == "nosep";
    let oracle = runs.iter().find(|run| run.oracle);
    let kept: Vec<_> = runs.iter().filter(must).chain(oracle).map(|run| &run.scheme).collect();
    let mut room = COLOURS - kept.len().min(COLOURS);
    let mut chosen = Vec::new();
    for run in runs {
        let wanted = kept.contains(&&run.scheme);
        if wanted || (room > 0 && !run.oracle) {
            room -= usize::from(!wanted);
            chosen.push(*run);
        }
    }
    chosen
}

fn over_time(dataset: &Dataset<'_>) -> askama::Result<Option<Section>> {
    let with: Vec<_> = dataset.best().into_iter().filter(|run| run.windows.len() > 1).collect();
    let shown = few(&with);
    if shown.is_empty() {
        return Ok(None);
    }
    let line = |run: &&RunReport| {
        let mut written = 0u64;
        let points = run.windows.iter().map(|window| {
            written = written.saturating_add(window.user_writes);
            (written as f64 / 1e6, window.waf)
        });
        points.collect::<Vec<_>>()
    };
    let names: Vec<_> = shown.iter().map(|run| name(run)).collect();
    let curves: Vec<_> = shown.iter().map(line).collect();
    let drawings = lines("WAF over time", &names, &curves, "million user writes")?;
    let mut data = Vec::new();
    for run in &with {
        let mut written = 0u64;
        for window in &run.windows {
            written = written.saturating_add(window.user_writes);
            let waf = format!("{:.4}", window.waf);
            data.push(vec![run.scheme.clone(), run.victim.clone(), written.to_string(), waf]);
        }
    }
    let headings = texts(&["scheme", "victim policy", "user writes", "WAF"]);
    let note = "WAF in windows of the run. The figure has the best schemes, the data all.";
    Ok(Some(section("WAF over time", note, drawings, names, headings, data)))
}

fn by_class(dataset: &Dataset<'_>) -> askama::Result<Option<Section>> {
    let best = dataset.best();
    let with: Vec<_> = best.iter().copied().filter(|run| !run.classes.is_empty()).collect();
    let classes = with.iter().map(|run| run.classes.len()).max().unwrap_or(0);
    if classes == 0 {
        return Ok(None);
    }
    let series: Vec<_> = (1..=classes).map(|class| format!("class {class}")).collect();
    let rows = with.iter().enumerate().map(|(i, run)| {
        let share = |relocations: u64| relocations as f64 / (run.user_writes.max(1)) as f64;
        let values = run.classes.iter().map(|class| Some(share(class.relocations))).collect();
        row(run, is_apart(&with, i), values)
    });
    let rows: Vec<_> = rows.collect();
    let drawings = bars("Relocations by class", &series, &rows, |value| format!("{value:.3}"))?;
    let data = with.iter().flat_map(|run| {
        run.classes.iter().map(|class| {
            let (writes, copies) = (class.user_writes.to_string(), class.relocations.to_string());
            vec![run.scheme.clone(), run.victim.clone(), class.class.to_string(), writes, copies]
        })
    });
    let headings = texts(&["scheme", "victim policy", "class", "user writes", "relocations"]);
    let note = "Pages copied for each page written by the user, by the class that they were copied to. \
                Colours repeat after eight classes.";
    let key = series.iter().take(COLOURS).cloned().collect();
    Ok(Some(section("Relocations by class", note, drawings, key, headings, data.collect())))
}

/// Schemes that are shown by lifespan: each has a row a class.
const BY_LIFESPAN: usize = 4;

/// Intervals of lifespans, in zones' worth of user writes.
const INTERVALS: [&str; 8] = [
    "below 1 zone",
    "below 4",
    "below 16",
    "below 64",
    "below 256",
    "below 1,024",
    "longer",
    "frozen",
];

fn by_lifespan(dataset: &Dataset<'_>) -> askama::Result<Option<Section>> {
    let has = |run: &&RunReport| run.classes.iter().any(|class| !class.lifespans.is_empty());
    let with: Vec<_> = dataset.best().into_iter().filter(has).collect();
    let shown: Vec<_> = few(&with).into_iter().take(BY_LIFESPAN).collect();
    if shown.is_empty() {
        return Ok(None);
    }
    let rows = shown.iter().enumerate().flat_map(|(place, run)| {
        let all = sum(run.classes.iter().flat_map(|class| &class.lifespans)).max(1.0);
        let written = run.classes.iter().filter(|class| class.lifespans.iter().any(|n| *n > 0));
        written.enumerate().map(move |(number, class)| ChartRow {
            label: format!("{} {}", run.scheme, class.class),
            values: class.lifespans.iter().map(|&n| Some(n as f64 / all)).collect(),
            apart: place > 0 && number == 0,
        })
    });
    let rows: Vec<_> = rows.collect();
    let title = "Pages by lifespan and class";
    let series = texts(&INTERVALS);
    let drawings = bars(title, &series, &rows, percent)?;
    let data = with.iter().flat_map(|run| {
        run.classes.iter().map(|class| {
            let head = [run.scheme.clone(), run.victim.clone(), class.class.to_string()];
            head.into_iter().chain(class.lifespans.iter().map(u64::to_string)).collect()
        })
    });
    let headings = texts(&["scheme", "victim policy", "class"]);
    let headings = headings.into_iter().chain(series.iter().cloned()).collect();
    let note = "A sample of the user writes by the class that they were given and by how long the page then \
                lived, in zones' worth of user writes: a class does well if its pages live alike. The \
                figure has the best schemes, the data all.";
    Ok(Some(section(title, note, drawings, series, headings, data.collect())))
}

fn victims(dataset: &Dataset<'_>) -> askama::Result<Option<Section>> {
    let has = |run: &&RunReport| run.victim_gp_histogram.iter().any(|zones| *zones > 0);
    let with: Vec<_> = dataset.best().into_iter().filter(has).collect();
    let shown = few(&with);
    if shown.is_empty() {
        return Ok(None);
    }
    let middle = |run: &RunReport, step: usize| {
        (step as f64 + 0.5) / run.victim_gp_histogram.len().max(1) as f64
    };
    let line = |run: &&RunReport| {
        let all = sum(&run.victim_gp_histogram);
        let steps = run.victim_gp_histogram.iter().enumerate();
        let point = |(step, zones): (usize, &u64)| (middle(run, step), *zones as f64 / all);
        steps.map(point).collect::<Vec<_>>()
    };
    let names: Vec<_> = shown.iter().map(|run| name(run)).collect();
    let curves: Vec<_> = shown.iter().map(line).collect();
    let title = "Garbage proportion of victims";
    let drawings = lines(title, &names, &curves, "garbage proportion")?;
    let data = with.iter().map(|run| {
        let zones = run.victim_gp_histogram.iter().map(u64::to_string);
        [run.scheme.clone(), run.victim.clone()].into_iter().chain(zones).collect()
    });
    let steps = with[0].victim_gp_histogram.len();
    let upto = (0..steps).map(|step| format!("from {}", short(step as f64 / steps as f64)));
    let headings = texts(&["scheme", "victim policy"]).into_iter().chain(upto).collect();
    let note = "Share of the zones that were cleaned by how much of them was garbage: the further to the \
                right, the fewer pages were copied. The figure has the best schemes, the data all.";
    Ok(Some(section(title, note, drawings, names, headings, data.collect())))
}
