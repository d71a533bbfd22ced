//! Runs a scenario file without Python: `cargo run --release --example run -- FILE [--threads=N] [KEY=VALUE…]`.
//! For profilers.

#![allow(clippy::print_stdout, reason = "a command-line program")]

use std::num::NonZeroUsize;

use forebay_scenario::{Scenario, run_on};

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("which scenario file?")?;
    let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
    let mut threads = NonZeroUsize::MIN;
    let mut arguments = arguments.peekable();
    if let Some(count) = arguments.next_if(|argument| argument.starts_with("--threads=")) {
        threads = count.trim_start_matches("--threads=").parse().map_err(|_| "how many threads?")?;
    }
    let overrides: Vec<(String, String)> = arguments
        .filter_map(|argument| argument.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())))
        .collect();
    let scenario = Scenario::load(&text, &file, &overrides).map_err(|error| error.render(false))?;
    #[expect(clippy::disallowed_methods, reason = "a tool for profiling")]
    let began = std::time::Instant::now();
    let result = run_on(threads, &scenario, None, None, None, &mut |_| true).map_err(|error| error.to_string())?;
    let wall_s = began.elapsed().as_secs_f64();
    let engine = result.engine;
    println!(
        "{} hops, {} events, {:.3} s: {:.2} million hops a second; {} threads, {wall_s:.3} s; {:.1} MB; {}",
        engine.packet_hops,
        engine.events,
        engine.cpu_s,
        engine.packet_hops as f64 / engine.cpu_s / 1e6,
        engine.threads,
        engine.peak_rss_bytes as f64 / 1e6,
        result.digest
    );
    Ok(())
}
