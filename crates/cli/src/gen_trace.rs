//! `frostline gen`: synthetic traces.

use std::path::Path;

use frostline_trace::{AccessPattern, Oltp, Spec, generate, write_lbas};

use crate::args::{GenArgs, KindArg};
use crate::failure::{Failure, say};
use crate::interrupt::Interrupt;
use crate::output::{self, check_name};
use crate::progress::bar;

/// Generates a trace into a file.
pub(crate) fn run(args: &GenArgs) -> Result<String, Failure> {
    let kind = match (args.kind, args.alpha) {
        (KindArg::Zipf, alpha) => AccessPattern::Zipf { alpha: alpha.unwrap_or(1.0) },
        (KindArg::Uniform, None) => AccessPattern::Uniform,
        (KindArg::Uniform, Some(_)) => {
            return Err(
                Failure::usage("gen", "uniform has no --alpha").hint("zipf and oltp have one")
            );
        }
        (KindArg::Oltp, alpha) => {
            let mut shape = Oltp::default();
            shape.alpha = alpha.unwrap_or(shape.alpha);
            AccessPattern::Oltp(shape)
        }
    };
    let GenArgs { pages, writes, fill, seed, .. } = *args;
    if writes == 0 && !fill {
        return Err(Failure::usage("gen", "--writes 0: nothing would be written")
            .hint("with --fill every page is written once"));
    }
    check_name("gen", &args.output)?;
    // Before the check, which makes a file for a moment.
    let interrupt = Interrupt::watch().map_err(|e| Failure::job("gen", &e.to_string()))?;
    output::check::<Path>("gen", [args.output.as_path()], [])?;
    let spec = Spec { kind, pages, writes, fill, seed };
    let lbas = generate(&spec).map_err(|e| Failure::usage("gen", &e.to_string()))?;
    let total = lbas.size_hint().0 as u64;
    let bar = bar("generating", "writes", total, args.quiet);
    let lbas = lbas.enumerate().map(|(i, lba)| {
        if i % (1 << 20) == 0 {
            interrupt.check();
            bar.set_position(i as u64);
        }
        lba
    });
    let written = write_lbas(&args.output, 4096, lbas);
    bar.finish_and_clear();
    let written = written?;
    if !args.quiet {
        say(&format!("{}: {written} page writes, seed {seed}", args.output.display()), None);
    }
    Ok(String::new())
}
