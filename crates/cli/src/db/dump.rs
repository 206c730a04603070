//! `frostline db dump`: writes all records, one per line.

use std::io::{self, BufWriter, StdoutLock, Write};

use frostline_db::{Db, DbError, Direction, Table};
use serde::Serialize;

use crate::args::DumpArgs;
use crate::cause::db_failure;
use crate::failure::{Failure, printed};

/// Writes the records while they are read: there may be more than memory can hold.
pub(super) fn run(args: &DumpArgs) -> Result<String, Failure> {
    let instances = super::open(&args.uri)?;
    let failed = |error| db_failure(&args.uri, error);
    let all = instances.all.len();
    let chosen = match args.tenant {
        Some(tenant) if tenant as usize > all => {
            let why = format!("--tenant {tenant}: {} databases share {}", all, args.uri);
            return Err(Failure::usage("db dump", &why));
        }
        Some(tenant) => tenant as usize - 1..tenant as usize,
        None => 0..all,
    };
    let mut dump = Dump { out: BufWriter::new(io::stdout().lock()), args, tenant: None };
    for number in chosen {
        let db = &instances.all[number];
        dump.tenant = (all > 1).then_some(number + 1);
        let tables = tables(args, db).map_err(failed)?;
        for (name, table) in tables {
            match dump.table(db, &name, table).map_err(failed)? {
                Ok(()) => {}
                Err(error) => return printed(Err(error)).map(|()| String::new()),
            }
        }
    }
    printed(dump.out.flush()).map(|()| String::new())
}

/// The wanted tables.
fn tables(args: &DumpArgs, db: &Db) -> Result<Vec<(String, Table)>, DbError> {
    match &args.table {
        Some(name) => Ok(vec![(name.clone(), db.table(name)?)]),
        None => Ok(db.tables()),
    }
}

#[derive(Serialize)]
struct DumpedRow<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<usize>,
    table: &'a str,
    key: String,
    value: String,
}

struct Dump<'a> {
    out: BufWriter<StdoutLock<'static>>,
    args: &'a DumpArgs,
    /// The number of the database, if there are several.
    tenant: Option<usize>,
}

impl Dump<'_> {
    /// Writes the records of a table. The inner error is that of standard output.
    fn table(&mut self, db: &Db, name: &str, table: Table) -> Result<io::Result<()>, DbError> {
        let look = db.begin_read()?;
        let mut records = look.scan_all(table, Direction::Forward);
        while let Some((key, value)) = records.next()? {
            let written = match self.args.json {
                true => self.json(name, key, value),
                false => self.text(name, key, value),
            };
            if written.is_err() {
                return Ok(written);
            }
        }
        Ok(Ok(()))
    }

    fn text(&mut self, name: &str, key: &[u8], value: &[u8]) -> io::Result<()> {
        if let Some(tenant) = self.tenant {
            write!(self.out, "{tenant}\t")?;
        }
        let name = name.as_bytes().escape_ascii();
        writeln!(self.out, "{name}\t{}\t{}", key.escape_ascii(), value.escape_ascii())
    }

    fn json(&mut self, name: &str, key: &[u8], value: &[u8]) -> io::Result<()> {
        let row = DumpedRow { tenant: self.tenant, table: name, key: hex(key), value: hex(value) };
        serde_json::to_writer(&mut self.out, &row)?;
        writeln!(self.out)
    }
}

/// Bytes as hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| DIGITS[usize::from(digit)]).collect()
}
