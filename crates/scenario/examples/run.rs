//! Runs a scenario file without Python: `cargo run --release --example run -- FILE [KEY=VALUE…]`. For profilers.

#![allow(clippy::print_stdout, reason = "a command-line program")]

use forebay_scenario::{Scenario, run};

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("which scenario file?")?;
    let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
    let overrides: Vec<(String, String)> = arguments
        .filter_map(|argument| argument.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())))
        .collect();
    let scenario = Scenario::load(&text, &file, &overrides).map_err(|error| error.render(false))?;
    let result = run(&scenario, None, None, &mut |_| true).map_err(|error| error.to_string())?;
    let engine = result.engine;
    println!(
        "{} hops, {} events, {:.3} s: {:.2} million hops a second; {:.1} MB; {}",
        engine.packet_hops,
        engine.events,
        engine.cpu_s,
        engine.packet_hops as f64 / engine.cpu_s / 1e6,
        engine.peak_rss_bytes as f64 / 1e6,
        result.digest
    );
    Ok(())
}
