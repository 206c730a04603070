//! The columns of hotness records in a Parquet trace.

use frostline_placement::{Activity, Hotness};
use parquet::errors::ParquetError;
use parquet::file::reader::RowGroupReader;
use parquet::schema::types::SchemaDescriptor;

use super::column::{StoredColumn, Values, guarded, place_of};
use crate::cause::Cause;
use crate::hotness::FIELDS;

/// The position of each column of a hotness record in a file.
#[derive(Clone, Copy)]
pub(crate) struct Places([usize; FIELDS.len()]);

impl Places {
    /// True if a file has any of the columns.
    pub(crate) fn any(schema: &SchemaDescriptor) -> bool {
        FIELDS.iter().any(|(name, _)| place_of(schema, name).is_some())
    }

    /// Finds the columns: a file has all of them or none.
    pub(crate) fn find(schema: &SchemaDescriptor) -> Result<Option<Places>, Cause> {
        if !Places::any(schema) {
            return Ok(None);
        }
        let mut places = [0; FIELDS.len()];
        for ((name, _), place) in FIELDS.iter().zip(&mut places) {
            let missing = || Cause::bad(format!("column {name:?} is missing"));
            *place = place_of(schema, name).ok_or_else(missing)?;
        }
        Ok(Some(Places(places)))
    }

    /// Opens the columns of a row group.
    pub(crate) fn open(self, group: &dyn RowGroupReader) -> Result<HotnessColumns, ParquetError> {
        let columns = self.0.iter().map(|&place| StoredColumn::open(group, place));
        Ok(HotnessColumns(columns.collect::<Result<_, _>>()?))
    }
}

/// The columns of hotness records in a row group.
pub(crate) struct HotnessColumns(Vec<StoredColumn>);

impl HotnessColumns {
    /// The next `n` rows, column by column.
    pub(crate) fn read(&mut self, n: usize) -> Result<Vec<Values>, String> {
        self.0.iter_mut().map(|column| guarded(|| column.read(n))).collect()
    }
}

/// Row `i` of a batch as a record.
pub(crate) fn record(batch: &[Values], i: usize) -> Result<Hotness, Cause> {
    let mut values = [0; FIELDS.len()];
    for (((name, most), column), value) in FIELDS.iter().zip(batch).zip(&mut values) {
        let Values::Integers(column) = column else {
            return Err(Cause::bad(format!("column {name:?} is not one of integers")));
        };
        let found = column[i].ok_or_else(|| Cause::bad(format!("{name} is missing")))?;
        let fits = u32::try_from(found).ok().filter(|found| found <= most);
        *value = fits.ok_or_else(|| Cause::bad(format!("{name} is out of range")))?;
    }
    Ok(of_values(&values))
}

/// The record with these values; each value fits its field.
fn of_values(values: &[u32; FIELDS.len()]) -> Hotness {
    let activity = |from: usize| Activity {
        valid_bytes: values[from] as u16,
        accesses: values[from + 1] as u16,
        modifications: values[from + 2] as u16,
        reserved: 0,
        access_interval: values[from + 3],
        modification_interval: values[from + 4],
    };
    Hotness { origin: values[0], lifespan: values[1], current: activity(2), last: activity(7) }
}
