//! The command line of the live data plane.

use std::io::{stdin, stdout};
use std::process::ExitCode;

use forebay_live::privileges::Otherwise;
use forebay_live::setup;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        // Started by ourselves only: see `setup::Offloads`.
        ["restore-offloads"] => setup::run_restorer(&mut stdin().lock(), &mut stdout().lock(), Otherwise::Kill),
        ["teardown", bridge] => setup::teardown(bridge).map(|done| {
            println!("removed {}; released {}", done.bridge, done.released.join(", "));
        }),
        _ => return ExitCode::from(2),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("forebay-live: {error}");
            ExitCode::from(2)
        }
    }
}
