//! The effect of single differences between the two readings of SepBIT: the log's, the scheme's and
//! the victim policy's reading can be chosen separately here, which the command does not offer.
//!
//!     cargo run --release -p frostline-sim --example readings -- TRACE PAGES_IN_A_ZONE SCHEME...

use std::path::Path;

use frostline_log::{Options, PageReplay, Writes};
use frostline_placement::{
    Foresight, SchemeSpec, Semantics, Setup, VictimPolicy, ZoneView, victims,
};
use frostline_sim::{Machine, fast22};
use frostline_trace::{Bits, LoadOptions, Prepared, load, mean_lifespans, prepare};

use Semantics::{Published, SepbitFast22};

type Error = Box<dyn std::error::Error>;

/// One combination of readings.
struct Reading {
    name: &'static str,
    log: Semantics,
    scheme: Semantics,
    root: bool,
    /// The least share of garbage of a victim, if it differs from the log's.
    filter: Option<f64>,
}

const GP: f64 = 0.15;

#[rustfmt::skip]
const READINGS: &[Reading] = &[
    Reading { name: "published", log: Published, scheme: Published, root: false, filter: None },
    Reading { name: "root", log: Published, scheme: Published, root: true, filter: None },
    Reading { name: "filter", log: Published, scheme: Published, root: false, filter: Some(GP) },
    Reading { name: "scheme", log: Published, scheme: SepbitFast22, root: false, filter: None },
    Reading { name: "log-filter", log: SepbitFast22, scheme: Published, root: false, filter: Some(0.0) },
    Reading { name: "log", log: SepbitFast22, scheme: Published, root: false, filter: None },
    Reading { name: "log+root", log: SepbitFast22, scheme: Published, root: true, filter: None },
    Reading { name: "fast22", log: SepbitFast22, scheme: SepbitFast22, root: true, filter: None },
];

/// A policy that sees another set of candidates.
struct Filtered {
    policy: Box<dyn VictimPolicy>,
    least: f64,
}

impl VictimPolicy for Filtered {
    fn pick(&mut self, zones: &ZoneView<'_>) -> Option<u32> {
        let least = (self.least * f64::from(zones.zone_pages())).ceil();
        self.policy.pick(&zones.with_least_garbage(least as u32))
    }
}

/// The reading of the log, and the choice of victims in it.
enum Make {
    Published(Options, Box<dyn VictimPolicy>),
    Fast22(fast22::Fast22Options, fast22::Policy),
}

fn waf(
    trace: &Prepared,
    means: &[f32],
    zone_pages: u32,
    spec: &SchemeSpec,
    greedy: bool,
    reading: &Reading,
) -> Result<f64, Error> {
    let name = match reading.root {
        _ if greedy => "greedy",
        true => "cost-benefit-sqrt",
        false => "cost-benefit",
    };
    let make = match reading.log {
        Published | Semantics::MidasFast24 => {
            let mut policy = victims::build(name, 1)?;
            if let Some(least) = reading.filter {
                policy = Box::new(Filtered { policy, least });
            }
            let options = Options {
                logical_pages: u64::from(trace.unique),
                ..Options::elastic(zone_pages, trace.space, GP)
            };
            Make::Published(options, policy)
        }
        SepbitFast22 => {
            let policy = match name {
                "cost-benefit-sqrt" => fast22::Policy::CostBenefit,
                _ => fast22::Policy::Other(victims::build(name, 1)?),
            };
            let least_gp = reading.filter.unwrap_or(GP);
            let (space, max_open) = (trace.space, None);
            Make::Fast22(
                fast22::Fast22Options { zone_pages, space, gp: GP, max_open, least_gp },
                policy,
            )
        }
    };
    let setup = Setup {
        semantics: reading.scheme,
        seed: 1,
        mean_lifespans: (spec.entry.foresight == Foresight::Rates).then_some(means),
        lifespans: trace.lifespans.as_deref(),
        ..Setup::new(zone_pages, trace.space)
    };
    let scheme = spec.build_any(&setup)?;
    let mut log: Box<dyn Machine> = match make {
        Make::Published(options, policy) => Box::new(PageReplay::new(options, scheme, policy)?),
        Make::Fast22(options, policy) => {
            Box::new(fast22::Fast22Log::new(options, scheme, policy, trace.times.as_deref())?)
        }
    };
    let writes = Writes {
        starts: trace.starts.as_ref().map(Bits::words),
        lifespans: trace.lifespans.as_deref(),
        ..Writes::new(&trace.words)
    };
    log.write(&writes, 0..trace.words.len())?;
    Ok(log.counts().waf())
}

fn main() -> Result<(), Error> {
    let mut args = std::env::args().skip(1);
    let usage = "readings TRACE PAGES_IN_A_ZONE SCHEME...";
    let path = args.next().ok_or(usage)?;
    let zone_pages: u32 = args.next().ok_or(usage)?.parse()?;
    let options = LoadOptions { times: true, ..LoadOptions::default() };
    let mut loaded = load(Path::new(&path), &options, &mut |_| ())?;
    let trace = prepare(None, loaded.volumes.remove(0), true)?;
    let means = mean_lifespans(&trace.words, &trace.trims, trace.space);
    let heads: Vec<_> = READINGS.iter().map(|r| format!("{:>10}", r.name)).collect();
    println!("{:<14} {:<12} {}", "scheme", "victim", heads.join(" "));
    for text in args {
        let spec = SchemeSpec::parse(&text)?;
        for (greedy, victim) in [(true, "greedy"), (false, "cost-benefit")] {
            print!("{text:<14} {victim:<12}");
            for reading in READINGS {
                print!(" {:>10.4}", waf(&trace, &means, zone_pages, &spec, greedy, reading)?);
            }
            println!();
        }
    }
    Ok(())
}
