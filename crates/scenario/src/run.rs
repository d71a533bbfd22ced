//! Running a validated scenario.

use std::num::NonZeroUsize;
use std::path::Path;

use forebay_engine::{Network, RunError, RunResult, RunSoFar};
use forebay_records::{Column, Table};

use crate::custom_classes::CustomClasses;
use crate::load::Scenario;
use crate::plan::found_paths::FoundPaths;
use crate::schema::ScenarioSpec;
use crate::watch::WatchSpec;
use crate::{build, collectives, completion, evenness, memory, warnings};

/// Runs `scenario` under `seed`, or under its own seed. `control` is called now and then with the part of the run that
/// is done, and answers whether to continue. Traces go into `out`, if there is such a folder.
///
/// # Errors
/// If the run would take more memory than there is, `control` stops it, a trace cannot be written, the scenario names
/// Python code, or the simulator's counters do not balance.
pub fn run(
    scenario: &Scenario,
    seed: Option<u64>,
    out: Option<&Path>,
    control: &mut dyn FnMut(f64) -> bool,
) -> Result<RunResult, RunError> {
    run_on(NonZeroUsize::MIN, scenario, seed, out, None, control)
}

/// As [`run`], on at most this many threads if that is faster, with the same results, and with the disciplines that
/// `custom` makes, if there is one who does. Any of the threads calls a custom discipline.
///
/// A custom discipline that fails keeps the error. Let `control` stop the run then, and look at the custom disciplines
/// before the result.
///
/// # Errors
/// As [`run`]; if `custom` makes none where one is named, or a thread cannot be started.
pub fn run_on(
    threads: NonZeroUsize,
    scenario: &Scenario,
    seed: Option<u64>,
    out: Option<&Path>,
    custom: Option<&dyn CustomClasses>,
    control: &mut dyn FnMut(f64) -> bool,
) -> Result<RunResult, RunError> {
    run_by(|network, control| network.run_on(threads, control), scenario, seed, None, out, custom, control)
}

/// As [`run`], without traces, with the events that `watch` asks for in [`RunResult::watched`]. The other results are
/// the same.
///
/// # Errors
/// As [`run`]; if `watch` names a link that has no queue.
pub fn run_watched(
    scenario: &Scenario,
    seed: Option<u64>,
    watch: &WatchSpec,
    control: &mut dyn FnMut(f64) -> bool,
) -> Result<RunResult, RunError> {
    run_shown(scenario, seed, Some(watch), &mut |fraction, _| control(fraction))
}

/// As [`run`] or [`run_watched`], without traces; once the network is built, `control` also gets the run so far, whose
/// time series it may show.
///
/// # Errors
/// As [`run_watched`].
pub fn run_shown(
    scenario: &Scenario,
    seed: Option<u64>,
    watch: Option<&WatchSpec>,
    control: &mut dyn FnMut(f64, Option<&RunSoFar<'_>>) -> bool,
) -> Result<RunResult, RunError> {
    let control = std::cell::RefCell::new(control);
    let run = |network: Network, _: &mut dyn FnMut(f64) -> bool| {
        network.run_shown(&mut |fraction, so_far| (control.borrow_mut())(fraction, Some(so_far)))
    };
    run_by(run, scenario, seed, watch, None, None, &mut |fraction| (control.borrow_mut())(fraction, None))
}

/// As [`run_on`], also where several threads are slower than one.
///
/// # Errors
/// As [`run_on`].
#[cfg(feature = "oracle")]
#[doc(hidden)]
pub fn run_divided(
    threads: NonZeroUsize,
    scenario: &Scenario,
    seed: Option<u64>,
    out: Option<&Path>,
    custom: Option<&dyn CustomClasses>,
    control: &mut dyn FnMut(f64) -> bool,
) -> Result<RunResult, RunError> {
    run_by(|network, control| network.run_divided(threads, control), scenario, seed, None, out, custom, control)
}

/// As [`run`], with everything in the order of the global clock: the same results, slower.
///
/// # Errors
/// As [`run`].
#[cfg(feature = "oracle")]
#[doc(hidden)]
pub fn run_in_order(
    scenario: &Scenario,
    seed: Option<u64>,
    out: Option<&Path>,
    control: &mut dyn FnMut(f64) -> bool,
) -> Result<RunResult, RunError> {
    run_by(Network::run_in_order, scenario, seed, None, out, None, control)
}

fn run_by(
    run: impl FnOnce(Network, &mut dyn FnMut(f64) -> bool) -> Result<RunResult, RunError>,
    scenario: &Scenario,
    seed: Option<u64>,
    watch: Option<&WatchSpec>,
    out: Option<&Path>,
    custom: Option<&dyn CustomClasses>,
    control: &mut dyn FnMut(f64) -> bool,
) -> Result<RunResult, RunError> {
    let spec = scenario.spec();
    let seed = seed.unwrap_or(spec.seed);
    let paths = FoundPaths::new(spec, seed);
    watch.map_or(Ok(()), |watch| watch.check(&paths.outline))?;
    memory::check(&paths.outline, watch)?;
    let network = build::network(spec, seed, watch, out, custom, control)?;
    let mut result = run(network, control)?;
    result.scenario = scenario.name().to_owned();
    result.seed = seed;
    add_line(spec, &mut result.flows);
    result.warnings.splice(0..0, warnings::warnings(&paths, out.is_some()));
    completion::add(&paths, &mut result);
    evenness::add(&paths, &mut result);
    collectives::add(&paths.outline, &mut result);
    Ok(result)
}

/// Adds the direction in which the data of each flow cross the line that hosts share, if there is such a line.
fn add_line(spec: &ScenarioSpec, flows: &mut Table) {
    let Some(hosts) = spec.topology.builder().hosts_behind_line() else { return };
    let ends = flows.texts("source").iter().zip(flows.texts("destination").iter());
    let directions = ends.map(|(source, destination)| match (hosts.contains(source), hosts.contains(destination)) {
        (true, false) => "up",
        (false, true) => "down",
        _ => "none",
    });
    let directions = directions.collect();
    flows.push("line", Column::Text(directions));
}
