//! One column of a Parquet row group, as optional integers or texts.

use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::basic::ConvertedType;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::RowGroupReader;
use parquet::schema::types::SchemaDescriptor;

/// The position of a column in a file.
pub(crate) fn place_of(schema: &SchemaDescriptor, name: &str) -> Option<usize> {
    schema.columns().iter().position(|column| column.path().string() == name)
}

/// A column of the row group that is being read.
pub(crate) struct StoredColumn {
    reader: Typed,
    /// True if integers are stored as signed but mean unsigned ones.
    unsigned: bool,
    /// The definition level of a value that is present; 0 if all are.
    defined: i16,
}

enum Typed {
    Int32(ColumnReaderImpl<Int32Type>),
    Int64(ColumnReaderImpl<Int64Type>),
    Bytes(ColumnReaderImpl<ByteArrayType>),
}

/// Some values of a column, one a row.
pub(crate) enum Values {
    /// Values of an integer column.
    Integers(Vec<Option<i128>>),
    /// Values of a text column.
    Texts(Vec<Option<ByteArray>>),
}

impl StoredColumn {
    /// Opens column `i` of a row group.
    pub(crate) fn open(group: &dyn RowGroupReader, i: usize) -> Result<StoredColumn, ParquetError> {
        let about = group.metadata().column(i).column_descr_ptr();
        let name = about.name();
        if about.max_rep_level() > 0 {
            return Err(ParquetError::General(format!("column {name:?} is one of lists")));
        }
        let reader = match group.get_column_reader(i)? {
            ColumnReader::Int32ColumnReader(reader) => Typed::Int32(reader),
            ColumnReader::Int64ColumnReader(reader) => Typed::Int64(reader),
            ColumnReader::ByteArrayColumnReader(reader) => Typed::Bytes(reader),
            _ => {
                let cause = format!("column {name:?} is neither of integers nor of text");
                return Err(ParquetError::General(cause));
            }
        };
        let unsigned =
            matches!(about.converted_type(), ConvertedType::UINT_32 | ConvertedType::UINT_64);
        Ok(StoredColumn { reader, unsigned, defined: about.max_def_level() })
    }

    /// The next `n` values.
    pub(crate) fn read(&mut self, n: usize) -> Result<Values, ParquetError> {
        let (unsigned, defined) = (self.unsigned, self.defined);
        Ok(match &mut self.reader {
            Typed::Int32(reader) => Values::Integers(read(reader, n, defined, |value| {
                i128::from(value) & if unsigned { i128::from(u32::MAX) } else { -1 }
            })?),
            Typed::Int64(reader) => Values::Integers(read(reader, n, defined, |value| {
                i128::from(value) & if unsigned { i128::from(u64::MAX) } else { -1 }
            })?),
            Typed::Bytes(reader) => Values::Texts(read(reader, n, defined, |value| value)?),
        })
    }
}

fn read<T: DataType, V>(
    reader: &mut ColumnReaderImpl<T>,
    n: usize,
    defined: i16,
    convert: impl Fn(T::T) -> V,
) -> Result<Vec<Option<V>>, ParquetError> {
    let (mut values, mut levels) = (Vec::with_capacity(n), Vec::new());
    let levels_wanted = (defined > 0).then_some(&mut levels);
    let (rows, _, _) = reader.read_records(n, levels_wanted, None, &mut values)?;
    if rows != n {
        return Err(ParquetError::General("a column has too few rows".to_owned()));
    }
    let mut values = values.into_iter().map(convert);
    if defined == 0 {
        return Ok(values.map(Some).collect());
    }
    Ok(levels.iter().map(|&level| if level == defined { values.next() } else { None }).collect())
}

/// Runs code of the Parquet library, and returns its error as one line.
///
/// The library intends to return errors but still asserts some properties of the content, so its
/// panics count as errors too.
pub(crate) fn guarded<T>(run: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, String> {
    let cause = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "the Parquet library gave up on it".to_owned(),
    };
    Err(cause.split_whitespace().collect::<Vec<_>>().join(" "))
}
