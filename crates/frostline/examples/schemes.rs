//! Placement schemes compared on a write trace.
//!
//! `cargo run --release -p frostline --example schemes traces/mariadb-tpcc.u32.zst`

use frostline::sim::{Settings, Trace, sweep};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: schemes TRACE")?;
    let trace = Trace::open(path)?;
    let schemes = ["nosep", "sepbit", "dac", "frostline"];
    for run in sweep(&trace, &schemes, &["cost-benefit"], &Settings::default())? {
        println!("{:10} {:13} WAF {:.3}", run.scheme, run.victim, run.outcome.counts.waf());
    }
    Ok(())
}
