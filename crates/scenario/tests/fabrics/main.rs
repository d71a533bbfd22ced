//! Fabrics of data centers: their topologies, transports, patterns of traffic and sizes. One program, which is linked
//! once.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use forebay_engine::RunResult;
use forebay_scenario::{Scenario, run};

mod by_size;
mod clos;
mod closed_forms;
mod hpcc;
mod htsim;
mod mixed;
mod paths;
mod patterns;
mod ranks;
mod sizes;
mod tasks;
mod uec;

/// The result of a scenario with its own seed.
fn result(text: &str) -> RunResult {
    let scenario = Scenario::load(text, "fabric.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)));
    run(&scenario, None, None, &mut |_| true).unwrap_or_else(|error| panic!("{error}"))
}
