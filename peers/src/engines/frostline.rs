//! Frostline's own database, on emulated zones in ordinary files.

use std::time::Duration;

use frostline_db::{Create, Db, Options};
use frostline_store::Format;
use frostline_zone::{OpenOptions, Shape, default_zone_bytes};

use super::{Failure, Peer};
use crate::conditions::Conditions;

/// Memory beside the pages: a twenty-fourth of it for the frames' heads, the words that changed,
/// the map and the zones, and so much for chunks that are being written.
const HEADS: u64 = 24;
const CHUNKS: u64 = 2 << 20;

/// The longest time that a commit may stay in memory if no thread waits for it: longer than any run
/// leaves it there.
const COMMIT_DELAY: Duration = Duration::from_secs(10);

impl Peer for Db {
    fn open(conditions: &Conditions) -> Result<(Self, String), Failure> {
        let (bytes, zone_bytes) = (device_bytes(conditions), zone_bytes(conditions));
        let shape = Shape { bytes, zone_bytes: Some(zone_bytes), ..Shape::default() };
        let zones = conditions.directory.join("zones");
        let uri = format!("file:{}", zones.display());
        let open = OpenOptions { direct: conditions.direct, ..OpenOptions::default() };
        let is_made = zones.exists();
        let device = match is_made {
            true => frostline_zone::open(&uri, &open)?,
            false => frostline_zone::create(&uri, &shape, &open)?,
        };
        let placement = &conditions.placement;
        if !is_made {
            let store = Format {
                scheme: placement.scheme.clone(),
                gp: placement.gp,
                unit: placement.unit,
                ..Format::default()
            };
            let log_bytes = Some(conditions.log);
            Db::create(&device, &Create { store, log_bytes, ..Create::default() })?;
        }
        let pages = page_bytes(conditions.memory);
        let options = Options {
            buffer_bytes: pages as usize,
            space: placement.space,
            commit_delay: COMMIT_DELAY,
            ..Options::default()
        };
        Ok((Db::open(&device, &options)?, describe(conditions, pages)))
    }

    fn durable_points(&self) -> Result<u64, Failure> {
        Ok(self.stats()?.log.flushes)
    }

    fn own_counters(&self) -> Result<Vec<(&'static str, u64)>, Failure> {
        let stats = self.stats()?;
        let written = stats.store.written;
        Ok(vec![
            ("pages of trees", written.user_bytes),
            ("relocations", written.relocated_bytes),
            ("padding", written.padding_bytes),
            ("headers", written.headers << 12),
            ("checkpoints", written.checkpoints << 12),
            ("log", stats.log.pages << 12),
        ])
    }

    fn close(self) -> Result<(), Failure> {
        Ok(Db::close(self)?)
    }
}

/// So large that the garbage proportion decides when zones are cleaned, and never the lack of
/// free ones.
fn device_bytes(conditions: &Conditions) -> u64 {
    4 * conditions.expected + 2 * conditions.log + (64 << 20)
}

/// As for a device that is just large enough for the data.
fn zone_bytes(conditions: &Conditions) -> u64 {
    default_zone_bytes(conditions.expected)
}

fn page_bytes(memory: u64) -> u64 {
    (memory - memory / HEADS).saturating_sub(CHUNKS)
}

fn describe(conditions: &Conditions, pages: u64) -> String {
    let placement = &conditions.placement;
    format!(
        "frostline {}: {} KiB of pages, the rest for frames' heads, map and chunks, and on top \
         of it two log buffers of 4 MiB, which can't be set; emulated zones of {} MiB in files, {}; scheme {}, cleaned above {}; {}; log of {} MiB",
        env!("CARGO_PKG_VERSION"),
        pages >> 10,
        zone_bytes(conditions) >> 20,
        if conditions.direct { "O_DIRECT" } else { "page cache" },
        placement.scheme,
        match placement.space {
            Some(space) => format!("{space} times the space of its data"),
            None => format!(
                "a garbage proportion of {} (over-provisioning {:.1} %)",
                placement.gp,
                100.0 * placement.gp / (1.0 - placement.gp)
            ),
        },
        match placement.unit {
            4096 => "whole pages".to_string(),
            unit => format!("units of {unit} bytes, with deltas, images compressed"),
        },
        conditions.log >> 20,
    )
}
