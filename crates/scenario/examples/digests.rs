//! Prints the digest of scenarios as lines of JSON, for builds to compare:
//! `digests {[--vary KEY=VALUE,VALUE…] FILE=DURATION}…`.
//!
//! Each run is cut to its `DURATION`, with the same part of it as warm-up. `--vary` gives a run of the next file for
//! each of its values, an experiment's file one for each of its variants. `make cross` uses this; it needs no Python.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

use std::process::ExitCode;

use forebay_scenario::{Scenario, run};
use forebay_units::Span;

/// Pairs of a key path and a value.
type Settings = Vec<(String, String)>;

/// The runs: the name of each, the scenario's text, and its overrides.
struct Variant {
    name: String,
    text: String,
    settings: Settings,
}

/// The runs of a scenario's file, one for each value of `vary`; those of an experiment's.
fn variants(file: &str, text: String, vary: Option<&str>) -> Result<Vec<Variant>, String> {
    let document: toml::Table = text.parse().map_err(|error| format!("{file}: {error}"))?;
    let Some(scenario) = document.get("scenario") else {
        let Some(vary) = vary else {
            return Ok(vec![Variant { name: file.to_owned(), text, settings: Vec::new() }]);
        };
        let (key, values) = vary.split_once('=').ok_or_else(|| format!("{vary}: write KEY=VALUE,VALUE…"))?;
        let last = key.rsplit('.').next().unwrap_or(key);
        let variant = |value: &str| Variant {
            name: format!("{file}: {last}={value}"),
            text: text.clone(),
            settings: vec![(key.to_owned(), value.to_owned())],
        };
        return Ok(values.split(',').map(variant).collect());
    };
    if vary.is_some() {
        return Err(format!("{file}: an experiment has variants of its own; leave out --vary"));
    }
    let text = scenario.as_table().ok_or_else(|| format!("{file}: `scenario` is no table"))?.to_string();
    let listed = document.get("variants").and_then(toml::Value::as_array);
    let listed = listed.filter(|listed| !listed.is_empty()).ok_or_else(|| format!("{file}: there are no variants"))?;
    let variant = |variant: &toml::Value| {
        let name = variant.get("name").and_then(toml::Value::as_str).unwrap_or_default();
        let set = variant.get("set").and_then(toml::Value::as_table).into_iter().flatten();
        let settings = set.map(|(key, value)| (key.clone(), value.to_string())).collect();
        Variant { name: format!("{file}: {name}"), text: text.clone(), settings }
    };
    Ok(listed.iter().map(variant).collect())
}

/// The digest of one run of `duration`.
fn digest(variant: &Variant, duration: Span) -> Result<String, String> {
    let load = |settings: &Settings| {
        Scenario::load(&variant.text, &variant.name, settings).map_err(|error| error.render(false))
    };
    let mut settings = variant.settings.clone();
    let whole = load(&settings)?;
    let part = u128::from(whole.spec().warmup.picoseconds()) * u128::from(duration.picoseconds())
        / u128::from(whole.spec().duration.picoseconds());
    // The quotient is less than `duration`, since validation wants the warm-up to be the shorter of the two.
    let warmup = Span::from_picoseconds(u64::try_from(part).unwrap_or_default());
    settings.push(("warmup".to_owned(), warmup.to_string()));
    settings.push(("duration".to_owned(), duration.to_string()));
    let result = run(&load(&settings)?, None, None, &mut |_| true);
    result.map(|result| result.digest).map_err(|error| format!("{}: {error}", variant.name))
}

fn print(argument: &str, vary: Option<&str>) -> Result<(), String> {
    let (file, duration) = argument.rsplit_once('=').ok_or_else(|| format!("{argument}: write FILE=DURATION"))?;
    let duration = duration.parse().map_err(|error| format!("{argument}: {error}"))?;
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    for variant in variants(file, text, vary)? {
        let digest = digest(&variant, duration)?;
        println!("{}", serde_json::json!({ "name": variant.name, "digest": digest }));
    }
    Ok(())
}

fn print_all(mut arguments: impl Iterator<Item = String>) -> Result<(), String> {
    let mut vary = None;
    while let Some(argument) = arguments.next() {
        if argument == "--vary" {
            vary = Some(arguments.next().ok_or("--vary: write KEY=VALUE,VALUE…")?);
        } else {
            print(&argument, vary.take().as_deref())?;
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    match print_all(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("digests: {error}");
            ExitCode::from(2)
        }
    }
}
