//! What must hold of a text that claims to be a scenario: it is refused with a place, or it runs, and its results obey
//! the laws, repeat themselves, and do not depend on who looks.

use std::path::Path;
use std::time::Duration;

use cpu_time::ThreadTime;
use forebay_engine::{Column, RunError, RunResult, Table};
use forebay_scenario::{Scenario, ScenarioError, run};

use crate::laws;

/// The name under which texts are loaded.
pub const FILE: &str = "torture.toml";
/// A run that takes more CPU time is stopped: it was drawn too large, which is no fault.
const LONGEST_RUN: Duration = Duration::from_secs(3);

/// What became of a case that broke no law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It ran to its end.
    Valid,
    /// It was refused as it should be.
    Refused,
    /// It was stopped.
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
    let result = match timed_run(&scenario, out)? {
        Ok(result) => result,
        Err(verdict) => return Ok(verdict),
    };
    laws::check(scenario.spec(), &result)?;
    if out.is_none() {
        return Ok(Verdict::Valid);
    }
    let Ok(again) = timed_run(&scenario, None)? else { return Ok(Verdict::Stopped) };
    if again.digest != result.digest {
        return Err(format!("the digest of a second run, without traces, differs{}", difference(&result, &again)));
    }
    let unobserved = without_observers(text)?;
    let Ok(unseen) = timed_run(&unobserved, None)? else { return Ok(Verdict::Stopped) };
    match difference(&result, &unseen) {
        same if same.is_empty() => Ok(Verdict::Valid),
        difference => Err(format!("a run without probes differs{difference}")),
    }
}

/// Checks that a refusal says what is wrong and where.
///
/// # Errors
/// What it does not say.
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
fn timed_run(scenario: &Scenario, out: Option<&Path>) -> Result<Result<RunResult, Verdict>, String> {
    let began = ThreadTime::now();
    match run(scenario, None, out, &mut |_| began.elapsed() < LONGEST_RUN) {
        Ok(result) => Ok(Ok(result)),
        Err(RunError::Stopped) => Ok(Err(Verdict::Stopped)),
        // A class in Python is nothing that could be run here.
        Err(RunError::PathTooLong { .. } | RunError::TooLarge(_) | RunError::Guest(_)) => Ok(Err(Verdict::Refused)),
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
