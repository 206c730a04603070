//! Arguments of `frostline reproduce`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use frostline_papers::{PAPERS, Paper, Reproduction};

/// `frostline reproduce`
#[derive(Debug, Args)]
pub(crate) struct ReproduceArgs {
    /// The paper, or all, or check: what the project claims
    #[arg(value_parser = papers())]
    pub paper: String,
    /// Traces for its experiments in addition to its own; sepfrozen uses only its own
    #[arg(value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// Only these experiments, with their names in the JSON; or these claims
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,
    /// A tenth of the scale: all within ten minutes on two cores
    #[arg(long, conflicts_with = "scale")]
    pub quick: bool,
    /// Scale of databases and runs; at 1, four warehouses of TPC-C and 400 MiB of YCSB, which takes
    /// about 20 minutes for sepfrozen
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = scale,
        allow_negative_numbers = true)]
    pub scale: f64,
    /// Also write the tables to PAPER.md and PAPER.json in this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Seed of all random choices
    #[arg(long, value_name = "S", default_value_t = 1, allow_negative_numbers = true)]
    pub seed: u64,
    /// Leave out everything measured by the clock, so that equal runs give equal bytes
    #[arg(long)]
    pub no_timing: bool,
    /// Print JSON instead of the tables (-), or write it to a file as well
    #[arg(long, value_name = "-|FILE")]
    pub json: Option<PathBuf>,
    /// No progress, no messages
    #[arg(long, short)]
    pub quiet: bool,
}

/// The name that stands for every paper.
const ALL: &str = "all";

/// The name that stands for the claims.
const CHECK: &str = "check";

/// The scale of `--quick`.
const QUICK: f64 = 0.1;

impl ReproduceArgs {
    /// True if claims are checked, in place of papers.
    pub(crate) fn checks_claims(&self) -> bool {
        self.paper == CHECK
    }

    /// True if there are options that only evaluations of papers have.
    pub(crate) fn has_evaluation_options(&self) -> bool {
        let is_other = self.quick || self.no_timing || self.scale != 1.0 || self.seed != 1;
        is_other || self.out.is_some() || !self.traces.is_empty()
    }

    /// The wanted papers.
    pub(crate) fn papers(&self) -> Vec<&'static Paper> {
        PAPERS.iter().filter(|paper| self.paper == ALL || self.paper == paper.name).collect()
    }

    /// The size and the selection of their evaluations.
    pub(crate) fn reproduction(&self) -> Reproduction {
        let scale = if self.quick { QUICK } else { self.scale };
        Reproduction {
            scale,
            seed: self.seed,
            timing: !self.no_timing,
            traces: self.traces.clone(),
            only: self.only.clone(),
        }
    }
}

fn papers() -> PossibleValuesParser {
    let each = PAPERS.iter().map(|paper| {
        PossibleValue::new(paper.name).help(format!("{}: {}", paper.title, paper.about))
    });
    let others = [
        PossibleValue::new(ALL).help("every one of them"),
        PossibleValue::new(CHECK).help("what the project claims: passed or failed, claim by claim"),
    ];
    PossibleValuesParser::new(each.chain(others))
}

fn scale(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(scale) if (0.01..=100.0).contains(&scale) => Ok(scale),
        Ok(_) => Err("must be from 0.01 to 100".to_string()),
        Err(_) => Err("must be a number".to_string()),
    }
}
