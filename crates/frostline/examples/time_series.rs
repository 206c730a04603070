//! A time series: readings of sensors by time, the newest of one sensor, and the end of what is
//! old.
//!
//! `cargo run -p frostline --example time_series [DIRECTORY]`

use frostline::engine::key;
use frostline::{Options, Result, Typed};

/// Sensor and second, so that the readings of a sensor lie together, in the order of time.
type Readings = Typed<(String, u64), f64>;

fn main() -> Result<()> {
    let directory = std::env::args().nth(1);
    let db =
        Options::new().bound(1 << 30).open(directory.as_deref().unwrap_or("time-series.frost"))?;
    let readings: Readings = db.typed("readings")?;
    let mut last = None;
    for minute in 0..60u64 {
        // One wait at the end makes all of them durable: a crash before it loses the newest.
        let ((), commit) = db.update_soon(|tx| {
            for second in minute * 60..(minute + 1) * 60 {
                let warmth = 20.0 + (second as f64 / 600.0).sin();
                readings.put(tx, &("attic", second), &warmth)?;
                readings.put(tx, &("cellar", second), &(warmth - 8.0))?;
            }
            Ok(())
        })?;
        last = Some(commit);
    }
    last.map_or(Ok(()), |commit| db.wait(commit))?;

    let look = db.read()?;
    let newest = readings.prefix(&look, &("attic",)).next_back().transpose()?;
    println!("newest of the attic: {newest:?}");
    let minute = ("cellar", 1800u64)..("cellar", 1860u64);
    let warmth = readings.range(&look, minute).map(|reading| Ok(reading?.1));
    let warmth = warmth.collect::<Result<Vec<_>>>()?;
    println!("mean of the cellar: {:.2}", warmth.iter().sum::<f64>() / warmth.len() as f64);
    drop(look);

    // As many transactions as it takes: it may be a billion.
    let half_an_hour = key::encode(&("attic", 0u64))..key::encode(&("attic", 1800u64));
    println!("{} old readings are gone", db.delete_range(readings.table(), half_an_hour)?);
    println!("{} readings are left", db.read()?.len(readings.table())?);
    db.close()
}
