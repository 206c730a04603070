//! The simulator: write traces replayed against placement schemes.

use std::path::Path;

use frostline_placement::Foresight;
use frostline_sim::{Combination, Plan, ReplayProgress};
use frostline_trace::{TraceError, Writes, load, prepare, some_of};

pub use frostline_sim::{Outcome, Settings, SimError, Space, TraceVolume, Window, ZoneSize};
pub use frostline_trace::LoadOptions;

/// A write trace in memory, ready to be replayed by any number of threads at once.
#[derive(Debug)]
pub struct Trace {
    volume: TraceVolume,
}

impl Trace {
    /// Reads a trace file in any format that docs/formats.md describes, with its reads and, if
    /// it has them, its hotness records.
    ///
    /// # Errors
    /// Those of [`Trace::load`].
    pub fn open(path: impl AsRef<Path>) -> Result<Trace, TraceError> {
        Trace::load(path, &LoadOptions { reads: true, hotness: true, ..LoadOptions::default() })
    }

    /// Reads one volume of a trace file.
    ///
    /// # Errors
    /// The file can't be read or is damaged; it has several volumes, and the options name none.
    pub fn load(path: impl AsRef<Path>, options: &LoadOptions) -> Result<Trace, TraceError> {
        let path = path.as_ref();
        let mut volumes = load(path, options, &mut |_| {})?.volumes;
        if volumes.len() > 1 {
            let known = some_of(volumes.iter().map(|volume| volume.name.as_str()));
            return Err(TraceError::SeveralVolumes { file: path.to_owned(), known });
        }
        Trace::of_writes(volumes.pop().unwrap_or_default())
    }

    /// A trace of page numbers; each is a page write.
    ///
    /// # Errors
    /// There are more than 2^32 - 2 writes, or more than 2^31 different pages.
    pub fn of_pages(pages: impl IntoIterator<Item = u32>) -> Result<Trace, TraceError> {
        let lbas = pages.into_iter().collect();
        Trace::of_writes(Writes { lbas, ..Writes::default() })
    }

    fn of_writes(writes: Writes) -> Result<Trace, TraceError> {
        // Lifespans are included, so that oracles can be replayed as well.
        Ok(Trace { volume: TraceVolume::new(prepare(None, writes, true)?) })
    }

    /// The trace in the simulator's form.
    pub fn volume(&self) -> &TraceVolume {
        &self.volume
    }
}

/// Replays a trace against a scheme with a victim policy, both named as `frostline schemes` lists
/// them: `sepbit`, `dac:classes=4`; `cost-benefit`, or `None` for the scheme's default. A scheme
/// with its own victim side ignores the policy.
///
/// # Errors
/// The scheme, the policy or a parameter is unknown; sizes contradict each other; the volume is
/// full.
pub fn replay<'a>(
    trace: &Trace,
    scheme: &str,
    victim: impl Into<Option<&'a str>>,
    settings: &Settings,
) -> Result<Outcome, SimError> {
    let volume = &trace.volume;
    let combination = Combination::new(scheme, victim, settings)?;
    let zone_pages = settings.zone_pages(std::slice::from_ref(volume))?;
    frostline_sim::replay(volume, &combination, settings, zone_pages, &ReplayProgress::default())
}

/// A run of a [`sweep`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Run {
    /// The scheme, as it was named.
    pub scheme: String,
    /// The victim policy, or the name of the scheme's own victim side.
    pub victim: String,
    /// True if the scheme knows the future of the trace, so that none can be built that is like it.
    pub is_oracle: bool,
    /// The result.
    pub outcome: Outcome,
}

/// Replays a trace against schemes with victim policies, each with each, on all cores; the runs
/// come in the order of their WAF, the best first. `all` stands for all schemes or all policies. A
/// scheme with its own victim side has one run, with that. Without policies each scheme has its own:
/// that of its paper, or the best measured.
///
/// ```
/// use frostline::sim::{Settings, Trace, sweep};
///
/// let trace = Trace::of_pages((0..100_000).map(|write: u32| write.wrapping_mul(2_654_435_761) >> 22))?;
/// let runs = sweep(&trace, &["nosep", "sepbit", "2r-greedy"], &["greedy"], &Settings::default())?;
/// for run in &runs {
///     println!("{} {} {:.3}", run.scheme, run.victim, run.outcome.counts.waf());
/// }
/// # assert_eq!(runs.len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A scheme, a policy or a parameter is unknown; sizes contradict each other; a run fails.
pub fn sweep(
    trace: &Trace,
    schemes: &[&str],
    victims: &[&str],
    settings: &Settings,
) -> Result<Vec<Run>, SimError> {
    let plan = Plan::named(schemes, victims, false, settings)?;
    let volumes = std::slice::from_ref(&trace.volume);
    let outcomes = frostline_sim::sweep(volumes, &plan, settings, &ReplayProgress::default())?;
    let outcomes = outcomes.into_iter().flat_map(|volume| volume.wanted);
    let run = |(Combination { scheme, victim }, outcome): (_, Option<Outcome>)| {
        let is_oracle = scheme.entry.foresight != Foresight::None;
        Some(Run { is_oracle, scheme: scheme.text, victim, outcome: outcome? })
    };
    let mut runs: Vec<_> = plan.wanted.into_iter().zip(outcomes).filter_map(run).collect();
    // Runs of one WAF stay in the order in which they were named.
    runs.sort_by(|a, b| a.outcome.counts.waf().total_cmp(&b.outcome.counts.waf()));
    Ok(runs)
}
