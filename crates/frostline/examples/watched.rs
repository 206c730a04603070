//! A database at work whose zones can be watched.
//!
//! `cargo run --release -p frostline --example watched [SECONDS]`

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use frostline::engine::key;
use frostline::{Options, watch};

const SENSORS: u64 = 20_000;

fn main() -> Result<(), Box<dyn Error>> {
    let seconds = std::env::args().nth(1).map_or(Ok(60), |text| text.parse())?;
    let db = Arc::new(Options::new().memory(4 << 20).bound(128 << 20).in_memory()?);
    let watching = watch::Server::bind("127.0.0.1:9464".parse()?)?.spawn(db.clone())?;
    println!("zones at http://{0}/, metrics at http://{0}/metrics", watching.address());

    let (latest, log) = (db.table("latest")?, db.table("log")?);
    let (begun, mut number) = (Instant::now(), 0u64);
    while begun.elapsed() < Duration::from_secs(seconds) {
        db.update(|tx| {
            for _ in 0..100 {
                number += 1;
                // Every second reading is of one of a few busy sensors.
                let of = if number % 2 == 0 { SENSORS / 50 } else { SENSORS };
                let sensor = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % of;
                tx.put(latest, key::encode(&sensor), [number as u8; 100])?;
                tx.put(log, key::encode(&(number % 200_000)), [number as u8; 40])?;
            }
            Ok(())
        })?;
    }
    println!("{number} readings");
    Ok(())
}
