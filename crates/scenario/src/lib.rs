//! The scenario: its schema, its validation with source spans, and the way from scenario to results.
//!
//! [`Scenario::load`] takes TOML text to a validated [`Scenario`] or to one [`ScenarioError`] that shows what is wrong
//! and where. The schema is written once, in [`schema`]; [`json_schema`] and [`choices`] are made from it.

mod applications;
mod build;
mod catalogue;
mod collectives;
mod completion;
mod cost;
mod custom_classes;
mod evenness;
mod expand;
mod from_htsim;
mod from_tc;
mod load;
mod memory;
pub mod names;
mod numbers;
mod patterns;
mod plan;
mod port_spec;
mod python_classes;
mod run;
pub mod schema;
mod size_cdf;
mod tc;
mod traces;
mod validate;
mod warnings;
mod watch;

pub use applications::{Application, FixedSize, Transfers, request_response::RequestResponse};
pub use catalogue::{Choice, Parameter, choices, json_schema};
pub use cost::{Cost, Workload, cost, cost_in};
pub use custom_classes::{CustomClasses, Site};
pub use forebay_document::{DocumentError as ScenarioError, PathStep, Words};
pub use from_htsim::{HtsimFile, HtsimRun, scenario_from_htsim};
pub use from_tc::link_from_tc;
pub use load::{Scenario, remedy_for_name};
pub use memory::{memory_estimate, memory_estimate_watched};
pub use patterns::{Pattern, goal::Trace as GoalTrace, matrix::Matrix};
pub use plan::data::{GroupData, LinkData, PlanData, QueueData, ethernet, plan_data};
pub use port_spec::PortSpec;
pub use python_classes::python_classes;
pub use run::{run, run_on, run_shown, run_watched};
#[cfg(feature = "oracle")]
pub use run::{run_divided, run_in_order};
pub use size_cdf::SizeCdf;
pub use tc::{TcTarget, described_queues, tc_commands};
pub use traces::{TraceFile, TraceOutage};
pub use watch::WatchSpec;
