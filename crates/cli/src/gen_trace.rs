//! `frostline gen`: synthetic traces.

use frostline_trace::{Kind, Oltp, Spec, generate, write_lbas};

use crate::args::{GenArgs, KindArg};
use crate::failure::Failure;
use crate::progress::bar;

/// Generates a trace into a file.
pub fn run(args: &GenArgs) -> Result<String, Failure> {
    let kind = match (args.kind, args.alpha) {
        (KindArg::Zipf, alpha) => Kind::Zipf { alpha: alpha.unwrap_or(1.0) },
        (KindArg::Uniform, None) => Kind::Uniform,
        (KindArg::Uniform, Some(_)) => {
            return Err(Failure::usage("gen", "uniform has no --alpha").hint("that is zipf"));
        }
        (KindArg::Oltp, alpha) => {
            let mut shape = Oltp::default();
            shape.alpha = alpha.unwrap_or(shape.alpha);
            Kind::Oltp(shape)
        }
    };
    let GenArgs { pages, writes, fill, seed, .. } = *args;
    let spec = Spec { kind, pages, writes, fill, seed };
    let lbas = generate(&spec).map_err(|e| Failure::usage("gen", &e.to_string()))?;
    let bar = bar("generating", "writes", writes, args.quiet);
    let lbas = lbas.enumerate().map(|(i, lba)| {
        if i % (1 << 20) == 0 {
            bar.set_position(i as u64);
        }
        lba
    });
    let written = write_lbas(&args.output, 4096, lbas);
    bar.finish_and_clear();
    Ok(format!("{}: {} page writes, seed {seed}\n", args.output.display(), written?))
}
