//! Arguments of `frostline top`.

use clap::Args;

/// `frostline top`
#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    /// The address that a process serves metrics at, as 127.0.0.1:9464, or a device whose store no
    /// process has open: file:PATH, block:PATH, fdp:/dev/..., dir:DIR, zonefs:MOUNT or zbd:/dev/...
    #[arg(value_name = "ADDR|URI")]
    pub target: String,
    /// Seconds from one look to the next
    #[arg(long, value_name = "S", default_value_t = 0.5, value_parser = interval,
        allow_negative_numbers = true)]
    pub interval: f64,
    /// Print it once, as is done anyway if standard output is no terminal
    #[arg(long)]
    pub once: bool,
    /// Print JSON, once
    #[arg(long)]
    pub json: bool,
}

fn interval(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.05..=3600.0).contains(&seconds) => Ok(seconds),
        Ok(_) => Err("must be from 0.05 to 3600".to_string()),
        Err(_) => Err("must be a number".to_string()),
    }
}
