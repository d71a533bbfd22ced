//! Laws for a text that claims to be a scenario. It is refused with a place, or it runs. Its results obey the laws, are
//! repeatable, and do not depend on observation.

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use cpu_time::ThreadTime;
use forebay_engine::{RunError, RunResult};
use forebay_records::{Column, Table};
use forebay_scenario::{Scenario, ScenarioError, run_divided};
use forebay_units::Span;

use crate::laws;

/// The name under which texts are loaded.
pub const FILE: &str = "torture.toml";
/// A run that takes more CPU time is stopped: it was drawn too large, which is no fault.
const LONGEST_RUN: Duration = Duration::from_secs(3);

/// The longest time between two questions whether to stop.
const LONGEST_STOP: Duration = Duration::from_secs(13);

/// The outcome of a case that broke no law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The run reached its end.
    Valid,
    /// The scenario was refused as it should be.
    Refused,
    /// The run was stopped.
    Stopped,
}

/// Judges a text. A trace that it asks for goes into `out`; without such a folder the text runs only once.
///
/// # Errors
/// The law that does not hold.
pub fn scenario(text: &str, out: Option<&Path>) -> Result<Verdict, String> {
    let scenario = match Scenario::load(text, FILE, &[]) {
        Ok(scenario) => scenario,
        Err(error) => return refusal(text, &error).map(|()| Verdict::Refused),
    };
    let recorded = scenario.to_toml();
    match Scenario::load(&recorded, FILE, &[]) {
        Ok(again) if again.spec() == scenario.spec() => {}
        Ok(_) => return Err(format!("the recorded scenario reads back as another:\n{recorded}")),
        Err(error) => return Err(format!("the recorded scenario does not read back: {error}\n{recorded}")),
    }
    let result = match timed_run(&scenario, 1, out)? {
        Ok(result) => result,
        Err(verdict) => return Ok(verdict),
    };
    laws::check(&scenario, &result)?;
    if out.is_none() {
        return Ok(Verdict::Valid);
    }
    let Ok(again) = timed_run(&scenario, 2, None)? else { return Ok(Verdict::Stopped) };
    if again.digest != result.digest {
        let difference = difference(&result, &again);
        return Err(format!("the digest of a second run, without traces, on two threads, differs{difference}"));
    }
    let unobserved = without_observers(text)?;
    let Ok(unseen) = timed_run(&unobserved, 4, None)? else { return Ok(Verdict::Stopped) };
    let difference = difference(&result, &unseen);
    if !difference.is_empty() {
        return Err(format!("a run without probes, on four threads, differs{difference}"));
    }
    lasting_deadlock(&unobserved, &result).map(|()| Verdict::Valid)
}

/// A deadlock lasts: a longer run has it as well, and says the same of when it began.
fn lasting_deadlock(scenario: &Scenario, result: &RunResult) -> Result<(), String> {
    let Some(deadlock) = &result.deadlock else { return Ok(()) };
    let longer = Span::from_picoseconds(scenario.spec().duration.picoseconds() / 2 * 3);
    let longer = [("duration".to_owned(), longer.to_string())];
    let longer = Scenario::load(&scenario.to_toml(), FILE, &longer)
        .map_err(|error| format!("refused with a longer duration: {error}"))?;
    let Ok(result) = timed_run(&longer, 1, None)? else { return Ok(()) };
    let holds = result.deadlock.as_ref().is_some_and(|later| later.links != deadlock.links || later == deadlock);
    if holds { Ok(()) } else { Err(format!("a deadlock lasts: {deadlock:?} and then {:?}", result.deadlock)) }
}

/// Checks that a refusal says what is wrong and where.
///
/// # Errors
/// The rest.
pub fn refusal(text: &str, error: &ScenarioError) -> Result<(), String> {
    let line = text.split('\n').nth(error.line.wrapping_sub(1));
    let there = line.is_some_and(|line| (1..=line.chars().count() + 1).contains(&error.column));
    if !there {
        return Err(format!("a refusal at {}:{}, where nothing stands: {error}", error.line, error.column));
    }
    let said = [&error.message, &error.label].iter().all(|part| !part.trim().is_empty());
    if said && error.render(false).lines().count() > 1 {
        Ok(())
    } else {
        Err(format!("a refusal without words: {error}"))
    }
}

/// Runs it, unless that takes too long.
fn timed_run(scenario: &Scenario, threads: usize, out: Option<&Path>) -> Result<Result<RunResult, Verdict>, String> {
    let threads = NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN);
    let (began, mut was_stopped) = (ThreadTime::now(), false);
    let mut goes_on = |_| {
        was_stopped = began.elapsed() >= LONGEST_RUN;
        !was_stopped
    };
    match run_divided(threads, scenario, None, out, None, &mut goes_on) {
        Ok(result) => Ok(Ok(result)),
        Err(RunError::Stopped) if !was_stopped => Err(format!("a run on {threads} threads stopped by itself")),
        Err(RunError::Stopped) if began.elapsed() > LONGEST_STOP => {
            Err(format!("a run on {threads} threads was not asked in time whether it is to stop"))
        }
        Err(RunError::Stopped) => Ok(Err(Verdict::Stopped)),
        // A class in Python is nothing that could be run here.
        Err(RunError::TooLarge(_) | RunError::Custom(_)) => Ok(Err(Verdict::Refused)),
        Err(error) => Err(error.to_string()),
    }
}

/// The same scenario without probes and traces.
fn without_observers(text: &str) -> Result<Scenario, String> {
    let mut document: toml::Table = text.parse().map_err(|error| format!("not read as TOML: {error}"))?;
    document.remove("probes");
    document.remove("traces");
    Scenario::load(&document.to_string(), FILE, &[]).map_err(|error| format!("refused without its probes: {error}"))
}

/// The first value of the tables that differs; empty if none does. The memory of a discipline is seen as often as it is
/// looked at.
fn difference(one: &RunResult, other: &RunResult) -> String {
    let tables = |result: &'_ RunResult| -> Vec<(&'static str, Table)> {
        [
            ("flows", &result.flows),
            ("queues", &result.queues),
            ("links", &result.links),
            ("queue_flows", &result.queue_flows),
            ("adapters", &result.adapters),
        ]
        .map(|(name, table)| (name, table.clone()))
        .into()
    };
    for ((name, one), (_, other)) in tables(one).into_iter().zip(tables(other)) {
        let columns = one.columns.iter().zip(&other.columns).filter(|((column, _), _)| *column != "state_bytes");
        for ((column, one), (_, other)) in columns {
            let (one, other) = (texts(one), texts(other));
            if one.len() != other.len() {
                return format!(": `{name}` has {} rows and {}", one.len(), other.len());
            }
            if let Some(row) = (0..one.len()).find(|row| one[*row] != other[*row]) {
                return format!(": `{column}` in row {row} of `{name}` is {} and {}", one[row], other[row]);
            }
        }
    }
    String::new()
}

fn texts(column: &Column) -> Vec<String> {
    match column {
        Column::Text(values) => values.iter().map(str::to_owned).collect(),
        Column::Float(values) => values.iter().map(|value| format!("{value:?}")).collect(),
        Column::Count(values) => values.iter().map(u64::to_string).collect(),
    }
}
