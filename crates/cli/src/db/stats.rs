//! `frostline db stats`: describes the databases of a store.

use frostline_db::{Check, Db, DbError, TreeCheck};
use frostline_store::{Space, Stats, StoreInfo};
use serde::Serialize;

use super::{of_tenant, open};
use crate::args::LookDbArgs;
use crate::cause::{db_failure, store_failure};
use crate::failure::{Failure, verdict};
use crate::output::json;
use crate::store::{more_pages, space};
use crate::table::columns;
use frostline_zone::Size;

#[derive(Serialize)]
struct StatsReport<'a> {
    device: &'a str,
    store: StoreReport,
    databases: Vec<DatabaseReport>,
}

#[derive(Serialize)]
struct StoreReport {
    scheme: String,
    victim: String,
    gp: f64,
    logical_pages: u64,
    whole_pages: u64,
    valid_pages: u64,
    space: Space,
    garbage_proportion: f64,
    user_writes: u64,
    relocations: u64,
    header_pages: u64,
    checkpoint_pages: u64,
    waf: f64,
}

#[derive(Serialize)]
struct DatabaseReport {
    pages: u32,
    most_pages: u32,
    log_bytes: u64,
    log_capacity_bytes: u64,
    long_values: u64,
    tables: Vec<TreeCheck>,
    #[serde(skip)]
    damaged: usize,
}

/// Describes the databases of a store. Every page is read.
pub(super) fn run(args: &LookDbArgs) -> Result<String, Failure> {
    let instances = open(&args.uri)?;
    let databases = instances.all.iter().map(database).collect::<Result<Vec<_>, _>>();
    let databases = databases.map_err(|error| db_failure(&args.uri, error))?;
    let store = &instances.store;
    let of_store = || Ok((store.info()?, store.stats()?));
    let (info, stats) = of_store().map_err(|error| store_failure(&args.uri, error))?;
    let report = StatsReport { device: &args.uri, store: StoreReport::of(info, &stats), databases };
    let text = if args.json { json("db stats", &report)? } else { text(&report) };
    verdict(&args.uri, text, report.databases.iter().map(|database| database.damaged).sum())
}

impl StoreReport {
    fn of(info: StoreInfo, stats: &Stats) -> Self {
        StoreReport {
            scheme: info.scheme,
            victim: info.victim,
            gp: info.gp,
            logical_pages: info.logical_pages,
            whole_pages: info.whole_pages,
            valid_pages: info.valid_pages,
            space: info.space,
            garbage_proportion: info.garbage_proportion,
            user_writes: stats.written.user,
            relocations: stats.written.relocations,
            header_pages: stats.written.headers,
            checkpoint_pages: stats.written.checkpoints,
            waf: stats.written.waf(),
        }
    }
}

fn database(db: &Db) -> Result<DatabaseReport, DbError> {
    let Check { findings, trees, long_values, .. } = db.check()?;
    let stats = db.stats()?;
    Ok(DatabaseReport {
        pages: stats.pages,
        most_pages: stats.most_pages,
        log_bytes: stats.log_used.0,
        log_capacity_bytes: stats.log_used.1,
        long_values,
        tables: trees.into_iter().filter(|tree| tree.table.is_some()).collect(),
        damaged: findings.len(),
    })
}

fn text(report: &StatsReport) -> String {
    let store = &report.store;
    let rows = [
        ("scheme", store.scheme.clone()),
        ("victim policy", store.victim.clone()),
        ("cleaned above a GP of", format!("{} %", store.gp * 100.0)),
        (
            "pages it can hold",
            format!("{}, {} if all are whole", store.logical_pages, store.whole_pages),
        ),
        ("valid pages", store.valid_pages.to_string()),
        ("will hold more pages", more_pages(&store.space)),
        ("space for pages", space(&store.space)),
        ("garbage proportion", format!("{:.3}", store.garbage_proportion)),
        ("user writes", store.user_writes.to_string()),
        ("relocations", store.relocations.to_string()),
        ("header pages", store.header_pages.to_string()),
        ("checkpoint pages", store.checkpoint_pages.to_string()),
        ("WAF", format!("{:.4}", store.waf)),
    ];
    let lines = rows.iter().map(|(what, value)| format!("  {what:<28} {value}\n"));
    let mut text = format!("{}\n{}", report.device, lines.collect::<String>());
    for (number, database) in (1..).zip(&report.databases) {
        let tenant = of_tenant(number, report.databases.len());
        text += &format!("\n{tenant}{}", of_database(database));
    }
    text
}

fn of_database(database: &DatabaseReport) -> String {
    let DatabaseReport { pages, most_pages, log_bytes, log_capacity_bytes, .. } = database;
    let log = format!("{} of {}", Size(*log_bytes), Size(*log_capacity_bytes));
    let rows = database.tables.iter().map(|tree| {
        let name = tree.table.clone().unwrap_or_default();
        let counts = [tree.records, tree.ghosts, tree.bytes, tree.leaves, tree.inner];
        let mut row = vec![name];
        row.extend(counts.iter().map(u64::to_string));
        row.extend([tree.levels.to_string(), format!("{:.0} %", tree.fill * 100.0)]);
        row
    });
    let heads = ["table", "records", "deleted", "bytes", "leaves", "inner", "levels", "fill"];
    format!(
        "{pages} of {most_pages} pages, {} long values, {log} of log in use\n\n{}",
        database.long_values,
        columns(&heads, 1, rows.collect())
    )
}
