//! The file of the transfers that arrive during a run: a row for each that is completed.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use forebay_engine::{RunError, Transfer, TransferTable};
use forebay_qdisc::Time;
use forebay_records::StringColumn;
use forebay_records::run_file::{RunFileError, Values};
use forebay_records::table_file::TableFile;

/// Its name in the folder of a result.
pub(crate) const FILE: &str = "completions.parquet";

/// Rows that are written together.
const ROWS: usize = 1 << 16;

/// The open file, and rows that are still to be written.
pub(super) struct Completions {
    path: PathBuf,
    file: Option<TableFile>,
    flows: StringColumn,
    numbers: Vec<i64>,
    times: [Vec<f64>; 3],
    bytes: Vec<i64>,
    retransmitted: Vec<i64>,
}

impl Completions {
    /// Creates the file.
    pub fn create(path: PathBuf) -> Result<Self, RunError> {
        let empty = [(); 3].map(|()| Vec::new());
        let mut completions = Self {
            path,
            file: None,
            flows: StringColumn::new(),
            numbers: Vec::new(),
            times: empty,
            bytes: Vec::new(),
            retransmitted: Vec::new(),
        };
        let file = File::create(&completions.path).map_err(|error| completions.failed(error))?;
        let names = ["flow", "number", "arrived_s", "started_s", "finished_s", "bytes", "segments_retransmitted"];
        let columns: Vec<_> = names.into_iter().zip(completions.columns()).collect();
        let opened = TableFile::new(file, &columns).map_err(|error| completions.failed(io_error(error)))?;
        completions.file = Some(opened);
        Ok(completions)
    }

    fn columns(&self) -> [Values<'_>; 7] {
        let [arrived, started, finished] = &self.times;
        [
            Values::Texts(&self.flows),
            Values::Integers(&self.numbers),
            Values::Floats(arrived),
            Values::Floats(started),
            Values::Floats(finished),
            Values::Integers(&self.bytes),
            Values::Integers(&self.retransmitted),
        ]
    }

    fn flush(&mut self) -> Result<(), RunError> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        file.add(&self.columns()).map_err(|error| self.failed(io_error(error)))?;
        self.file = Some(file);
        self.flows = StringColumn::new();
        self.times.iter_mut().for_each(Vec::clear);
        for column in [&mut self.numbers, &mut self.bytes, &mut self.retransmitted] {
            column.clear();
        }
        Ok(())
    }

    fn failed(&self, reason: io::Error) -> RunError {
        RunError::Write { path: self.path.display().to_string(), reason }
    }
}

impl TransferTable for Completions {
    fn add(&mut self, flow: &str, transfers: &[Transfer]) -> Result<(), RunError> {
        for transfer in transfers {
            self.flows.push(flow);
            self.numbers.push(transfer.number.cast_signed());
            let times: [Time; 3] = [transfer.arrived, transfer.started, transfer.finished];
            self.times.iter_mut().zip(times).for_each(|(column, time)| column.push(time.seconds()));
            self.bytes.push(transfer.bytes.cast_signed());
            self.retransmitted.push(transfer.retransmitted.cast_signed());
        }
        if self.numbers.len() >= ROWS { self.flush() } else { Ok(()) }
    }

    fn close(&mut self) -> Result<(), RunError> {
        if !self.numbers.is_empty() {
            self.flush()?;
        }
        let Some(file) = self.file.take() else { return Ok(()) };
        file.close().map_err(|error| self.failed(io_error(error)))
    }
}

/// The system's error, if it is one: a full disk has a message of its own.
fn io_error(error: RunFileError) -> io::Error {
    match error {
        RunFileError::Parquet(parquet) => match parquet {
            forebay_records::run_file::ParquetError::External(inner) => match inner.downcast::<io::Error>() {
                Ok(error) => *error,
                Err(other) => io::Error::other(other),
            },
            other => io::Error::other(other),
        },
        other @ RunFileError::Lengths { .. } => io::Error::other(other),
    }
}
