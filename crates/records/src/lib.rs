//! Results and randomness of runs, replays and the live data plane.
//!
//! | file | contents |
//! |---|---|
//! | `table.rs`, `string_column.rs` | tables of named columns |
//! | `series.rs` | time series |
//! | `warning.rs` | warnings about a result |
//! | `histogram.rs` | histograms of delays |
//! | `random.rs` | a random stream for each component |
//! | `pcapng.rs`, `pcapng/` | packet traces |
//! | `run_file.rs`, `table_file.rs` | Parquet files of a run and of a growing table, behind the feature `parquet` |

mod histogram;
pub mod pcapng;
pub mod random;
#[cfg(feature = "parquet")]
pub mod run_file;
mod series;
mod string_column;
mod table;
#[cfg(feature = "parquet")]
pub mod table_file;
mod warning;

pub use histogram::DelayHistogram;
pub use series::Series;
pub use string_column::StringColumn;
pub use table::{Column, Table};
pub use warning::Warning;
