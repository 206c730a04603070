//! Placement schemes compared on a write trace.
//!
//! `cargo run --release -p frostline --example schemes traces/mariadb-tpcc.u32.zst`

use frostline::sim::{Settings, Trace, replay};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: schemes TRACE")?;
    let trace = Trace::open(path)?;
    for scheme in ["nosep", "sepbit", "dac", "frostline"] {
        let outcome = replay(&trace, scheme, "cost-benefit", &Settings::default())?;
        println!("{scheme:10} WAF {:.3}", outcome.counts.waf());
    }
    Ok(())
}
