//! `make torture`: random scenarios, valid and not, and damaged captures, for some time. Each case is judged by laws
//! that hold for any input: [`judge`] for scenarios, [`laws`] for results, [`captures`] for replays.
//!
//! The campaign runs one process a core, each with a limit of memory and of time for a case. A case that breaks a law
//! is saved with the command that repeats it. For more see `tests/torture/README.md`.

#![allow(clippy::disallowed_methods, reason = "a campaign lasts for a time that a clock tells")]

mod campaign;
mod captures;
mod dice;
mod findings;
mod generate;
mod guidance;
mod judge;
mod laws;
mod mend;
mod mutate;
mod schema;
mod text;
mod worker;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use campaign::Campaign;

const USAGE: &str =
    "usage: forebay-torture [--seconds N] [--jobs N] [--seed N] [--out DIR] [--all-places] | --repeat FILE";

/// The options of the command line.
struct Options {
    campaign: Campaign,
    repeat: Option<PathBuf>,
    /// The worker's folder, if this process is a worker.
    worker: Option<PathBuf>,
}

fn main() -> ExitCode {
    let options = match options(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(wrong) => {
            eprintln!("{wrong}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let Campaign { seed, seconds, out, .. } = &options.campaign;
    let done = match (&options.worker, &options.repeat) {
        (Some(folder), _) => worker::work(*seed, *seconds, out, folder.clone()).map(|()| true),
        (None, Some(file)) => repeat(file),
        (None, None) => options.campaign.run(),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("torture: {error}");
            ExitCode::from(2)
        }
    }
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut campaign = Campaign::default();
    let (mut repeat, mut worker) = (None, None);
    while let Some(argument) = arguments.next() {
        if argument == "--all-places" {
            campaign.all_places = true;
            continue;
        }
        let value = arguments.next().ok_or(format!("`{argument}` needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("`{argument} {value}`: not a number"));
        match argument.as_str() {
            "--seconds" => campaign.seconds = number()?,
            "--jobs" => campaign.jobs = number()?.max(1),
            "--seed" => campaign.seed = number()?,
            "--out" => campaign.out = value.into(),
            "--repeat" => repeat = Some(value.into()),
            "--worker" => worker = Some(value.into()),
            _ => return Err(format!("unknown option `{argument}`")),
        }
    }
    Ok(Options { campaign, repeat, worker })
}

/// Judges a saved case once more, in this process.
fn repeat(file: &Path) -> std::io::Result<bool> {
    worker::watch();
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let case = findings::Finding::read(file.parent().unwrap_or(Path::new(".")), &name)?;
    let traces = std::env::temp_dir().join(format!("forebay-torture-{}", std::process::id()));
    std::fs::create_dir_all(&traces)?;
    let verdict = worker::judged(&case, &traces);
    std::fs::remove_dir_all(&traces)?;
    match &verdict {
        Ok(verdict) => println!("{verdict:?}"),
        Err(fault) => println!("{fault}"),
    }
    Ok(verdict.is_ok())
}
