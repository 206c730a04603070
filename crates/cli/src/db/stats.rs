//! `frostline db stats`: what the databases of a store are like.

use frostline_db::{Db, DbError, Direction, Table};
use frostline_store::{Info, Stats};
use serde::Serialize;

use crate::args::LookDbArgs;
use crate::device::{db_failure, store_failure};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::size::binary;
use crate::table::columns;

const COMMAND: &str = "db stats";

/// Records after which a signal is looked for.
const STRIDE: u64 = 1 << 12;

#[derive(Serialize)]
struct Report<'a> {
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
    valid_pages: u64,
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
    /// Commits that had to be made again when it was opened.
    recovered_commits: u64,
    tables: Vec<TableReport>,
}

#[derive(Serialize)]
struct TableReport {
    table: String,
    records: u64,
    key_bytes: u64,
    value_bytes: u64,
}

/// Tells what the databases of a store are like. Every record is read.
pub fn run(args: &LookDbArgs) -> Result<String, Failure> {
    let interrupt = Interrupt::watch().map_err(|e| Failure::job(COMMAND, &e.to_string()))?;
    let instances = super::open(&args.uri)?;
    let failed = |error| db_failure(&args.uri, error);
    let databases = instances.all.iter().map(|db| database(db, &interrupt));
    let store = &instances.store;
    let stats = || Ok((store.info()?, store.stats()?));
    let (info, stats) = stats().map_err(|error| store_failure(&args.uri, error))?;
    let report = Report {
        device: &args.uri,
        databases: databases.collect::<Result<_, _>>().map_err(failed)?,
        store: of_store(info, &stats),
    };
    match args.json {
        true => super::json(&report),
        false => Ok(text(&report)),
    }
}

fn of_store(info: Info, stats: &Stats) -> StoreReport {
    StoreReport {
        scheme: info.scheme,
        victim: info.victim,
        gp: info.gp,
        logical_pages: info.logical_pages,
        valid_pages: info.valid_pages,
        garbage_proportion: info.garbage_proportion,
        user_writes: stats.written.user,
        relocations: stats.written.relocations,
        header_pages: stats.written.headers,
        checkpoint_pages: stats.written.checkpoints,
        waf: stats.written.waf(),
    }
}

fn database(db: &Db, interrupt: &Interrupt) -> Result<DatabaseReport, DbError> {
    let tables = db.tables();
    let tables = tables.into_iter().map(|(name, table)| count(db, name, table, interrupt));
    let tables = tables.collect::<Result<_, _>>()?;
    let stats = db.stats()?;
    Ok(DatabaseReport {
        pages: stats.pages,
        most_pages: stats.most_pages,
        log_bytes: stats.log_used.0,
        log_capacity_bytes: stats.log_used.1,
        recovered_commits: db.recovered().commits,
        tables,
    })
}

fn count(
    db: &Db,
    name: String,
    table: Table,
    interrupt: &Interrupt,
) -> Result<TableReport, DbError> {
    let mut report = TableReport { table: name, records: 0, key_bytes: 0, value_bytes: 0 };
    let look = db.begin_read()?;
    let mut records = look.scan_all(table, Direction::Forward);
    while let Some((key, value)) = records.next()? {
        report.records += 1;
        report.key_bytes += key.len() as u64;
        report.value_bytes += value.len() as u64;
        if report.records.is_multiple_of(STRIDE) {
            interrupt.check();
        }
    }
    Ok(report)
}

fn text(report: &Report) -> String {
    let store = &report.store;
    let rows = [
        ("scheme", store.scheme.clone()),
        ("victim policy", store.victim.clone()),
        ("cleaned above a GP of", format!("{} %", store.gp * 100.0)),
        ("pages it can hold", store.logical_pages.to_string()),
        ("valid pages", store.valid_pages.to_string()),
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
        text += &format!("\n{}", of_database(number, report.databases.len(), database));
    }
    text
}

fn of_database(number: usize, of: usize, database: &DatabaseReport) -> String {
    let DatabaseReport { pages, most_pages, log_bytes, log_capacity_bytes, .. } = database;
    let name = match of {
        1 => String::new(),
        of => format!("tenant {number} of {of}: "),
    };
    let recovered = match database.recovered_commits {
        0 => String::new(),
        commits => format!(", {commits} commits recovered"),
    };
    let log = format!("{} of {}", binary(*log_bytes), binary(*log_capacity_bytes));
    let rows = database.tables.iter().map(|table| {
        let TableReport { table, records, key_bytes, value_bytes } = table;
        let mut row = vec![table.clone()];
        row.extend([records, key_bytes, value_bytes].map(u64::to_string));
        row
    });
    let heads = ["table", "records", "bytes of keys", "of values"];
    format!(
        "{name}{pages} of {most_pages} pages, {log} of log in use{recovered}\n\n{}",
        columns(&heads, 1, rows.collect())
    )
}
