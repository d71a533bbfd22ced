//! The extension module `forebay._core`: bindings only. Everything it exposes has its types in `_core.pyi` and its
//! users in the Python package.

mod catalogue;
mod column;
mod cost;
mod custom_classes;
mod error;
mod fit;
mod hashing;
mod htsim;
mod json;
mod plan;
mod portable;
mod progress;
mod replay;
mod results;
mod run_file;
mod scenario;
mod tc;
mod traces;

use pyo3::prelude::*;

/// The compiled core of Forebay. Not for use by hand: the package `forebay` is the interface.
#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::catalogue::{choices, remedy_for_name};
    #[pymodule_export]
    use crate::column::Column;
    #[pymodule_export]
    use crate::cost::queue_cost;
    #[pymodule_export]
    use crate::custom_classes::{Component, Connection, ControllerError, DisciplineError};
    #[pymodule_export]
    use crate::error::{CaptureError, InternalError, ScenarioError, error_in_toml};
    #[pymodule_export]
    use crate::fit::{fitted_queue, slowest_rate};
    #[pymodule_export]
    use crate::hashing::{flow_table_entries, sfb_bins};
    #[pymodule_export]
    use crate::htsim::scenario_from_htsim;
    #[pymodule_export]
    use crate::json::json_rows;
    #[pymodule_export]
    use crate::plan::plan;
    #[pymodule_export]
    use crate::portable::{draw_address, exponential, logarithm, power};
    #[pymodule_export]
    use crate::progress::_end_runs;
    #[pymodule_export]
    use crate::replay::replay;
    #[pymodule_export]
    use crate::results::RawResult;
    #[pymodule_export]
    use crate::run_file::run_file;
    #[pymodule_export]
    use crate::scenario::{check, expanded_toml, flow_and_link_names, json_schema, run};
    #[pymodule_export]
    use crate::tc::{described_queues, link_from_tc, tc_commands};
    #[pymodule_export]
    use crate::traces::read_trace;

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.py().import("atexit")?.call_method1("register", (module.getattr("_end_runs")?,))?;
        module.py().get_type::<ScenarioError>().setattr(crate::error::COLOURED, "")
    }
}
