//! `frostline store info`: describes a store.

use frostline_store::{Space, Store, StoreInfo};
use serde::Serialize;

use crate::args::LookArgs;
use crate::cause::store_failure;
use crate::device::open_store;
use crate::failure::Failure;
use crate::output::json;
use frostline_zone::Size;

#[derive(Serialize)]
struct InfoReport<'a> {
    device: &'a str,
    #[serde(flatten)]
    info: StoreInfo,
    user_writes: u64,
    relocations: u64,
    header_pages: u64,
    checkpoint_pages: u64,
    user_bytes: u64,
    relocated_bytes: u64,
    header_bytes: u64,
    padding_bytes: u64,
    waf: f64,
}

/// Describes a store.
pub(super) fn run(args: &LookArgs) -> Result<String, Failure> {
    let store = open_store(&args.uri)?;
    let report = |store: &Store| {
        let (info, stats) = (store.info()?, store.stats()?);
        let written = stats.written;
        Ok(InfoReport {
            device: &args.uri,
            info,
            user_writes: written.user,
            relocations: written.relocations,
            header_pages: written.headers,
            checkpoint_pages: written.checkpoints,
            user_bytes: written.user_bytes,
            relocated_bytes: written.relocated_bytes,
            header_bytes: written.header_bytes,
            padding_bytes: written.padding_bytes,
            waf: written.waf(),
        })
    };
    let report = report(&store).map_err(|error| store_failure(&args.uri, error))?;
    if args.json { json("store info", &report) } else { Ok(text(&report)) }
}

/// The pages that a store takes yet, as a text.
pub(crate) fn more_pages(space: &Space) -> String {
    match (space.whole_pages, space.like_pages) {
        (whole, like) if whole == like => whole.to_string(),
        (whole, like) => format!("{whole} whatever they are, {like} like those it has"),
    }
}

/// The used, reclaimable and free bytes of a store, as a text.
pub(crate) fn space(space: &Space) -> String {
    let [total, used, reclaimable, free] = [space.total, space.used, space.reclaimable, space.free]
        .map(|bytes| Size(bytes).to_string());
    let over = space.over_data();
    let of_data =
        if space.data == 0 { String::new() } else { format!("; {over:.2} times the data") };
    format!("{total}: {used} used, {reclaimable} reclaimable, {free} free{of_data}")
}

fn text(report: &InfoReport) -> String {
    let info = &report.info;
    let bytes = |pages: u64| Size(pages * u64::from(info.page_bytes));
    let mib = |bytes: u64| format!("{:.2} MiB", bytes as f64 / f64::from(1 << 20));
    let rows = [
        ("format", info.format.to_string()),
        ("unit of records", format!("{} B", info.unit)),
        ("scheme", info.scheme.clone()),
        ("victim policy", info.victim.clone()),
        ("cleaned above a GP of", format!("{} %", info.gp * 100.0)),
        ("or below free zones", info.reserve.to_string()),
        ("seed", info.seed.to_string()),
        ("hotness records", if info.hotness { "yes" } else { "no" }.to_string()),
        (
            "pages it can hold",
            format!(
                "{} of {} B, {} if all are whole",
                info.logical_pages, info.page_bytes, info.whole_pages
            ),
        ),
        ("valid pages", info.valid_pages.to_string()),
        ("will hold more pages", more_pages(&info.space)),
        ("space for pages", space(&info.space)),
        ("garbage proportion", format!("{:.3}", info.garbage_proportion)),
        (
            "zones",
            format!(
                "{} of {}: {} for pages, {} for metadata",
                info.device_zones,
                bytes(u64::from(info.device_pages)),
                info.data_zones,
                info.meta_zones
            ),
        ),
        (
            "parity",
            info.parity
                .map_or("none".to_string(), |data| format!("1 zone of parity for each {data}")),
        ),
        ("pages in a zone", format!("{}, {} with headers", info.zone_pages, info.device_pages)),
        ("pages in a chunk", format!("{} and a header", info.chunk_pages)),
        ("pages between checkpoints", info.checkpoint_writes.to_string()),
        ("leaves of the map", format!("{}, {} in memory", info.map_leaves, info.resident_leaves)),
        ("memory now", mib(info.bytes as u64)),
        ("memory for the map of 1 TiB", mib(info.map_bytes_per_tib)),
        ("user writes", report.user_writes.to_string()),
        ("relocations", report.relocations.to_string()),
        ("header pages", report.header_pages.to_string()),
        ("checkpoint pages", report.checkpoint_pages.to_string()),
        ("bytes of user writes", report.user_bytes.to_string()),
        ("bytes of relocations", report.relocated_bytes.to_string()),
        ("bytes of headers", report.header_bytes.to_string()),
        ("bytes of padding", report.padding_bytes.to_string()),
        ("WAF", format!("{:.4}", report.waf)),
    ];
    let missing = info.missing.iter().map(|loss| ("missing", loss.to_string()));
    let lines = rows.into_iter().chain(missing);
    let lines = lines.map(|(what, value)| format!("  {what:<28} {value}\n"));
    format!("{}\n{}", report.device, lines.collect::<String>())
}
