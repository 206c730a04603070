//! The traces that evaluations share; each is made when it is first needed.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use frostline_benches::{Event, Monitor};
use frostline_sim::TraceVolume;
use frostline_trace::{AccessPattern, FINAL, LoadOptions, Spec, Writes, generate, load, prepare};

use super::derived;
use super::finished::FinishedRuns;
use super::inputs::{Recorded, Workload, record};
use super::reproduction::Reproduction;
use super::scale::Scale;
use crate::{Error, Result};

/// Pages of a generated volume at scale 1; below, writes per page.
const PAGES: f64 = 200_000.0;
const TIMES: u64 = 20;

/// Page writes between the starts of two copies of a recording.
const STEP: usize = 997;

/// The fewest pages of a generated volume.
const LEAST_PAGES: f64 = 2048.0;

/// The origin of traces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TraceSource {
    /// The traces that were given on the command line.
    Given,
    /// A workload, run on the database and recorded.
    Recorded(Workload),
    /// Page popularity by Zipf's law with this exponent, on a full volume.
    Zipf(f64),
    /// This many recordings of TPC-C, each with LBAs of its own, which take turns.
    Tenants(u32),
    /// A recording without its first page writes: 997 times this number are skipped.
    Later(Workload, u32),
    /// A recording in pages four times as large.
    Large(Workload),
    /// Like [`TraceSource::Zipf`], with this number added to the seed.
    Seeded(f64, u64),
}

/// Volumes of Zipf's law, from uniform writes on.
pub(super) const SKEWS: &[TraceSource] = &[
    TraceSource::Zipf(0.0),
    TraceSource::Zipf(0.2),
    TraceSource::Zipf(0.4),
    TraceSource::Zipf(0.6),
    TraceSource::Zipf(0.8),
    TraceSource::Zipf(1.0),
];

/// A session: evaluations that run one after the other on the same traces.
pub struct Session<'a> {
    /// The size, the seed, and the wanted experiments.
    pub(super) how: &'a Reproduction,
    /// The monitor that follows the evaluations.
    pub(super) monitor: &'a dyn Monitor,
    recorded: RefCell<Vec<(Workload, Rc<Recorded>)>>,
    traces: RefCell<Vec<(TraceSource, Vec<Rc<Trace>>)>>,
}

/// A trace, ready for replay.
pub(super) struct Trace {
    /// Its name in tables.
    pub(super) name: String,
    /// The volume.
    pub(super) volume: TraceVolume,
    /// The number of its first writes that belong to loading and are not counted.
    pub(super) loading: u64,
    /// The command that makes the same trace, if there is one.
    pub(super) command: String,
    /// The runs over it that were done so far.
    pub(super) finished: FinishedRuns,
}

impl<'a> Session<'a> {
    /// A session without traces yet.
    pub fn new(how: &'a Reproduction, monitor: &'a dyn Monitor) -> Self {
        Session { how, monitor, recorded: RefCell::default(), traces: RefCell::default() }
    }

    /// Tells the monitor that a part begins.
    pub(super) fn begin(&self, part: &str) {
        self.monitor.on(Event::Step(part));
    }

    /// The page writes of a workload on the database.
    pub(super) fn recorded(&self, workload: Workload) -> Result<Rc<Recorded>> {
        if let Some((_, found)) = self.recorded.borrow().iter().find(|(w, _)| *w == workload) {
            return Ok(found.clone());
        }
        self.begin(&format!("{}: the engine at work", workload.name()));
        let temporary = |source| Error::Io { what: "a temporary directory".to_string(), source };
        let scratch = tempfile::tempdir().map_err(temporary)?;
        let Reproduction { scale, seed, .. } = *self.how;
        let made = record(workload, Scale(scale), seed, scratch.path(), self.monitor)?;
        let made = Rc::new(made);
        self.recorded.borrow_mut().push((workload, made.clone()));
        Ok(made)
    }

    /// The traces of these sources, in their order.
    pub(super) fn traces(&self, sources: &[TraceSource]) -> Result<Vec<Rc<Trace>>> {
        let each = sources.iter().map(|&source| self.of(source)).collect::<Result<Vec<_>>>()?;
        Ok(each.concat())
    }

    fn of(&self, source: TraceSource) -> Result<Vec<Rc<Trace>>> {
        if let Some((_, found)) = self.traces.borrow().iter().find(|(s, _)| *s == source) {
            return Ok(found.clone());
        }
        let made = match source {
            TraceSource::Given => self.given()?,
            TraceSource::Recorded(workload) => vec![Trace::of(&*self.recorded(workload)?)?],
            TraceSource::Zipf(alpha) => vec![self.zipf(alpha, 0)?],
            TraceSource::Seeded(alpha, more) => vec![self.zipf(alpha, more)?],
            TraceSource::Later(workload, times) => vec![self.later(workload, times)?],
            TraceSource::Large(workload) => vec![self.large(workload)?],
            TraceSource::Tenants(count) => vec![self.tenants(count)?],
        };
        let made: Vec<_> = made.into_iter().map(Rc::new).collect();
        self.traces.borrow_mut().push((source, made.clone()));
        Ok(made)
    }

    fn given(&self) -> Result<Vec<Trace>> {
        let mut traces = Vec::new();
        for path in &self.how.traces {
            self.begin(&path.display().to_string());
            let loaded = load(path, &LoadOptions::default(), &mut |_| {})?;
            let alone = loaded.volumes.len() == 1;
            for writes in loaded.volumes {
                let name = match alone {
                    true => file_name(path),
                    false => format!("{}:{}", file_name(path), writes.name),
                };
                traces.push(Trace::new(name, writes, 0, String::new())?);
            }
        }
        Ok(traces)
    }

    fn zipf(&self, alpha: f64, more: u64) -> Result<Trace> {
        let pages = (PAGES * self.how.scale).max(LEAST_PAGES) as u32;
        let (writes, seed) = (u64::from(pages) * TIMES, self.how.seed + more);
        let spec = Spec { kind: AccessPattern::Zipf { alpha }, pages, writes, fill: true, seed };
        let lbas = generate(&spec)?.collect();
        let command = format!(
            "gen zipf --alpha {alpha} --pages {pages} --writes {writes} --fill --seed {seed}"
        );
        let writes = Writes { lbas, ..Writes::default() };
        let name = match more {
            0 => format!("Zipf {alpha:.1}"),
            _ => format!("Zipf {alpha:.1}, seed {seed}"),
        };
        Trace::new(name, writes, pages.into(), command)
    }

    fn later(&self, workload: Workload, times: u32) -> Result<Trace> {
        let one = self.recorded(workload)?;
        let skipped = (times as usize * STEP).min(one.loading as usize);
        let name = format!("{}, {skipped} writes later", workload.name());
        let writes = derived::without_first(&one.writes, skipped);
        Trace::new(name, writes, one.loading - skipped as u64, String::new())
    }

    fn large(&self, workload: Workload) -> Result<Trace> {
        let one = self.recorded(workload)?;
        let name = format!("{}, 16 KiB", workload.name());
        Trace::new(name, derived::four_as_one(&one.writes), one.loading, String::new())
    }

    fn tenants(&self, count: u32) -> Result<Trace> {
        let one = self.recorded(Workload::Tpcc)?;
        let writes = derived::in_turn(&one.writes, count);
        let name = format!("TPC-C, {count} tenants");
        Trace::new(name, writes, one.loading * u64::from(count), String::new())
    }
}

impl Trace {
    fn new(name: String, writes: Writes, loading: u64, command: String) -> Result<Trace> {
        let volume = TraceVolume::new(prepare(None, writes, true)?);
        Ok(Trace { name, volume, loading, command, finished: FinishedRuns::default() })
    }

    /// The share of the counted writes that go to the most written fifth of the pages.
    pub(super) fn top_share(&self) -> f64 {
        let prepared = self.volume.prepared();
        let mut counts = vec![0u32; prepared.space as usize];
        for &word in &prepared.words[self.loading as usize..] {
            counts[(word & !FINAL) as usize] += 1;
        }
        top_share(counts, prepared.unique)
    }

    fn of(recorded: &Recorded) -> Result<Trace> {
        let Recorded { workload, command, writes, loading, .. } = recorded;
        Trace::new(workload.name().to_string(), writes.clone(), *loading, command.clone())
    }
}

/// The share of the writes that go to the most written fifth of the pages.
fn top_share(mut counts: Vec<u32>, pages: u32) -> f64 {
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let sum = |counts: &[u32]| counts.iter().map(|&count| u64::from(count)).sum::<u64>() as f64;
    let top = (pages as usize / 5).min(counts.len());
    sum(&counts[..top]) / sum(&counts).max(1.0)
}

/// The name of a trace's file up to the first dot.
fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    name.split('.').next().unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_written_fifth_is_by_writes() {
        assert_eq!(top_share(vec![1, 1, 6, 1, 1], 5), 0.6);
        assert_eq!(top_share(Vec::new(), 0), 0.0);
    }

    #[test]
    fn a_trace_is_known_by_its_file_without_endings() {
        assert_eq!(file_name(Path::new("traces/mariadb-tpcc.u32.zst")), "mariadb-tpcc");
    }
}
