//! A Parquet file of one table, written part by part during a run.

use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::run_file::{RunFileError, Values};

/// The open file.
pub struct TableFile {
    writer: SerializedFileWriter<BufWriter<File>>,
}

impl TableFile {
    /// Begins the table in `file`. Only names and kinds of `columns` count.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn new(file: File, columns: &[(&str, Values<'_>)]) -> Result<Self, RunFileError> {
        let fields = columns.iter().map(|(name, values)| values.schema(name)).collect::<Result<_, _>>()?;
        let schema = Arc::new(Type::group_type_builder("table").with_fields(fields).build()?);
        let properties = WriterProperties::builder().set_compression(Compression::LZ4_RAW).build();
        Ok(Self { writer: SerializedFileWriter::new(BufWriter::new(file), schema, Arc::new(properties))? })
    }

    /// Writes rows: the values of all columns, in the order of [`TableFile::new`].
    ///
    /// # Errors
    /// If the file cannot be written, or the columns differ in length.
    pub fn add(&mut self, columns: &[Values<'_>]) -> Result<(), RunFileError> {
        if columns.iter().any(|values| values.rows() != columns[0].rows()) {
            return Err(RunFileError::Lengths { table: "the table".to_owned() });
        }
        let mut group = self.writer.next_row_group()?;
        for values in columns {
            let Some(mut column) = group.next_column()? else { break };
            write_flat(values, column.untyped())?;
            column.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Ends the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn close(self) -> Result<(), RunFileError> {
        self.writer.close()?;
        Ok(())
    }
}

/// Writes values that are neither missing nor lists.
fn write_flat(values: &Values<'_>, column: &mut ColumnWriter<'_>) -> Result<usize, ParquetError> {
    match (values, column) {
        (Values::Floats(values), ColumnWriter::DoubleColumnWriter(column)) => column.write_batch(values, None, None),
        (Values::Integers(values), ColumnWriter::Int64ColumnWriter(column)) => column.write_batch(values, None, None),
        (Values::Texts(values), ColumnWriter::ByteArrayColumnWriter(column)) => {
            let values: Vec<ByteArray> = values.iter().map(ByteArray::from).collect();
            column.write_batch(&values, None, None)
        }
        _ => Err(ParquetError::General("the kind of a column has changed".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;
    use crate::string_column::StringColumn;

    #[test]
    fn parts_are_one_table() {
        let path = std::env::temp_dir().join(format!("forebay-table-file-{}.parquet", std::process::id()));
        let names: StringColumn = ["a", "b"].into_iter().collect();
        let columns = || [Values::Texts(&names), Values::Floats(&[0.5, 1.5]), Values::Integers(&[7, 8])];
        let [name, time, count] = columns();
        let mut file =
            TableFile::new(File::create(&path).unwrap(), &[("name", name), ("time_s", time), ("count", count)])
                .unwrap();
        file.add(&columns()).unwrap();
        file.add(&columns()).unwrap();
        assert!(file.add(&[Values::Floats(&[]), Values::Floats(&[1.0])]).is_err());
        file.close().unwrap();
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        assert_eq!((reader.metadata().num_row_groups(), reader.metadata().file_metadata().num_rows()), (2, 4));
        let rows: Vec<String> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        assert_eq!(rows[0], rows[2]);
        assert_eq!(rows[1], r#"{name: "b", time_s: 1.5, count: 8}"#);
        std::fs::remove_file(path).unwrap();
    }
}
