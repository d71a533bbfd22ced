//! The Parquet file of a finished run: one row, with a list of rows for each table.
//!
//! The writer of a data frame is made for large tables and wakes a pool of threads. A sweep writes a small file after
//! each run, so this writer works on the caller's thread.

use std::sync::Arc;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
pub use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use crate::string_column::StringColumn;

/// A value of the row itself.
pub enum Fact<'a> {
    /// A number that is never missing.
    Count(u64),
    /// Text, or null.
    Text(Option<&'a str>),
}

/// A column of a table, with a value for each of its rows.
pub enum Values<'a> {
    /// Numbers; NaN for none.
    Floats(&'a [f64]),
    /// Counts and their differences.
    Integers(&'a [i64]),
    /// Names.
    Texts(&'a StringColumn),
    /// Each value is a list, such as the samples of a time series.
    Samples(Vec<&'a [f64]>),
}

/// A table within the row.
pub struct NestedTable<'a> {
    /// Its name.
    pub name: &'a str,
    /// Names and values, of equal length.
    pub columns: Vec<(&'a str, Values<'a>)>,
}

/// The reason why there is no file.
#[derive(Debug, thiserror::Error)]
pub enum RunFileError {
    /// A table that is none.
    #[error("columns of {table} differ in length")]
    Lengths {
        /// Its name.
        table: String,
    },
    /// An error of the format's library.
    #[error(transparent)]
    Parquet(#[from] ParquetError),
}

/// The bytes of the file: `facts` are its plain columns, `tables` its lists of structs.
///
/// # Errors
/// Columns of one table that differ in length; an error of the format's library.
pub fn write(facts: &[(&str, Fact<'_>)], tables: &[NestedTable<'_>]) -> Result<Vec<u8>, RunFileError> {
    for NestedTable { name, columns } in tables {
        if columns.iter().any(|(_, values)| values.rows() != columns[0].1.rows()) {
            return Err(RunFileError::Lengths { table: (*name).to_owned() });
        }
    }
    let properties = WriterProperties::builder()
        .set_compression(Compression::LZ4_RAW)
        // Long lists of samples then take a quarter of the time: their levels stay outside the compressed part, and no
        // column is cut into batches.
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_write_batch_size(usize::MAX)
        .set_encoding(Encoding::PLAIN)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .build();
    let mut file = SerializedFileWriter::new(Vec::new(), schema(facts, tables)?, Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    let mut next = |write: &dyn Fn(&mut ColumnWriter<'_>) -> Result<usize, ParquetError>| {
        let mut column = group.next_column()?.expect("the schema has a leaf for each fact and column");
        write(column.untyped())?;
        column.close()
    };
    for (_, fact) in facts {
        next(&|column| fact.write(column))?;
    }
    for (_, values) in tables.iter().flat_map(|table| &table.columns) {
        next(&|column| values.write(column))?;
    }
    group.close()?;
    Ok(file.into_inner()?)
}

fn schema(facts: &[(&str, Fact<'_>)], tables: &[NestedTable<'_>]) -> Result<TypePtr, ParquetError> {
    let mut fields = Vec::with_capacity(facts.len() + tables.len());
    for (name, fact) in facts {
        fields.push(fact.schema(name)?);
    }
    for NestedTable { name, columns } in tables {
        let columns = columns.iter().map(|(name, values)| values.schema(name)).collect::<Result<_, _>>()?;
        let row = Type::group_type_builder("element").with_repetition(Repetition::REQUIRED).with_fields(columns);
        fields.push(list(name, row.build()?)?);
    }
    Ok(Arc::new(Type::group_type_builder("run").with_fields(fields).build()?))
}

/// The three levels in which the format wraps a list.
fn list(name: &str, element: Type) -> Result<TypePtr, ParquetError> {
    let repeated = Type::group_type_builder("list").with_repetition(Repetition::REPEATED);
    let repeated = repeated.with_fields(vec![Arc::new(element)]).build()?;
    let list = Type::group_type_builder(name).with_repetition(Repetition::REQUIRED);
    let list = list.with_logical_type(Some(LogicalType::List)).with_fields(vec![Arc::new(repeated)]);
    Ok(Arc::new(list.build()?))
}

fn leaf(name: &str, kind: Physical, repetition: Repetition) -> Result<Type, ParquetError> {
    let logical = match kind {
        Physical::BYTE_ARRAY => Some(LogicalType::String),
        _ => None,
    };
    Type::primitive_type_builder(name, kind).with_repetition(repetition).with_logical_type(logical).build()
}

impl Fact<'_> {
    fn schema(&self, name: &str) -> Result<TypePtr, ParquetError> {
        Ok(Arc::new(match self {
            Self::Count(_) => Type::primitive_type_builder(name, Physical::INT64)
                .with_repetition(Repetition::REQUIRED)
                .with_logical_type(Some(LogicalType::integer(64, false)))
                .build()?,
            Self::Text(_) => leaf(name, Physical::BYTE_ARRAY, Repetition::OPTIONAL)?,
        }))
    }

    fn write(&self, column: &mut ColumnWriter<'_>) -> Result<usize, ParquetError> {
        match (self, column) {
            // The bits of an unsigned number, as the format has them.
            (Self::Count(count), ColumnWriter::Int64ColumnWriter(column)) => {
                column.write_batch(&[count.cast_signed()], None, None)
            }
            (Self::Text(text), ColumnWriter::ByteArrayColumnWriter(column)) => {
                let values: Vec<ByteArray> = text.iter().map(|text| ByteArray::from(*text)).collect();
                column.write_batch(&values, Some(&[i16::from(text.is_some())]), None)
            }
            _ => unreachable!("the schema is made of these facts"),
        }
    }
}

impl Values<'_> {
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::Floats(values) => values.len(),
            Self::Integers(values) => values.len(),
            Self::Texts(values) => values.len(),
            Self::Samples(values) => values.len(),
        }
    }

    pub(crate) fn schema(&self, name: &str) -> Result<TypePtr, ParquetError> {
        let required = |name, kind| leaf(name, kind, Repetition::REQUIRED);
        match self {
            Self::Floats(_) => required(name, Physical::DOUBLE).map(Arc::new),
            Self::Integers(_) => required(name, Physical::INT64).map(Arc::new),
            Self::Texts(_) => required(name, Physical::BYTE_ARRAY).map(Arc::new),
            Self::Samples(_) => list(name, required("element", Physical::DOUBLE)?),
        }
    }

    fn write(&self, column: &mut ColumnWriter<'_>) -> Result<usize, ParquetError> {
        let levels = match self {
            Self::Samples(rows) => Levels::of_samples(rows.iter().map(|row| row.len())),
            _ => Levels::of_rows(self.rows()),
        };
        let (definition, repetition) = (Some(&levels.definition[..]), Some(&levels.repetition[..]));
        match (self, column) {
            (Self::Floats(values), ColumnWriter::DoubleColumnWriter(column)) => {
                column.write_batch(values, definition, repetition)
            }
            (Self::Integers(values), ColumnWriter::Int64ColumnWriter(column)) => {
                column.write_batch(values, definition, repetition)
            }
            (Self::Texts(values), ColumnWriter::ByteArrayColumnWriter(column)) => {
                let values: Vec<ByteArray> = values.iter().map(ByteArray::from).collect();
                column.write_batch(&values, definition, repetition)
            }
            (Self::Samples(rows), ColumnWriter::DoubleColumnWriter(column)) => {
                column.write_batch(&rows.concat(), definition, repetition)
            }
            _ => unreachable!("the schema is made of these values"),
        }
    }
}

/// Where lists begin and which are empty, in the format's terms (Dremel's levels).
struct Levels {
    definition: Vec<i16>,
    repetition: Vec<i16>,
}

impl Levels {
    /// The levels of one list with that many values.
    fn of_rows(rows: usize) -> Self {
        let mut levels = Self { definition: vec![1; rows], repetition: vec![1; rows] };
        levels.begin(rows == 0);
        levels
    }

    /// The levels of one list of lists with those lengths.
    fn of_samples(lengths: impl Iterator<Item = usize>) -> Self {
        let mut levels = Self { definition: Vec::new(), repetition: Vec::new() };
        for length in lengths {
            // The first entry of a list continues the list around it; an empty list has an entry of its own.
            levels.repetition.push(1);
            levels.definition.push(if length == 0 { 1 } else { 2 });
            levels.repetition.resize(levels.repetition.len() + length.saturating_sub(1), 2);
            levels.definition.resize(levels.repetition.len(), 2);
        }
        let empty = levels.repetition.is_empty();
        levels.begin(empty);
        levels
    }

    /// The first entry begins the row; an empty list has an entry without a value.
    fn begin(&mut self, empty: bool) {
        if empty {
            self.definition.push(0);
            self.repetition.push(0);
        } else {
            self.repetition[0] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    use super::*;

    #[test]
    fn a_table_is_a_list_of_rows() {
        let names: StringColumn = ["a", "b"].into_iter().collect();
        let samples = Values::Samples(vec![&[1.0, 2.0][..], &[]]);
        let columns =
            vec![("name", Values::Texts(&names)), ("packets", Values::Integers(&[1, -1])), ("values", samples)];
        let facts = [("seed", Fact::Count(u64::MAX)), ("error", Fact::Text(None))];
        let file = write(&facts, &[NestedTable { name: "flows", columns }]).unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
        let row = reader.get_row_iter(None).unwrap().next().unwrap().unwrap();
        assert_eq!(row.get_ulong(0).unwrap(), u64::MAX);
        assert_eq!(
            row.get_list(2).unwrap().elements().iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["{name: \"a\", packets: 1, values: [1.0, 2.0]}", "{name: \"b\", packets: -1, values: []}"]
        );
    }

    #[test]
    fn columns_that_differ_in_length_are_refused() {
        let columns = vec![("a", Values::Integers(&[1])), ("b", Values::Floats(&[]))];
        let error = write(&[], &[NestedTable { name: "flows", columns }]).unwrap_err();
        assert_eq!(error.to_string(), "columns of flows differ in length");
    }
}
