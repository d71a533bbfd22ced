//! Measures what each way of moving packets forwards, with a generator of its own between network namespaces of its own.
//!
//! Run the example `forward` next to it through `cargo build --release --examples` first; needs root.

#[path = "../tests/lab/mod.rs"]
mod lab;

use std::error::Error;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use forebay_live::io::Transmit;
use forebay_live::sys::clock;
use lab::Lab;

const SECONDS: &str = "4";
const SETTLE: Duration = Duration::from_millis(800);
const MEASURE: Duration = Duration::from_secs(2);

fn main() -> Result<(), Box<dyn Error>> {
    println!("{:<10} {:>6} {:>12} {:>12}", "method", "bytes", "offered/s", "forwarded/s");
    for method in ["af_packet", "af_xdp", "tap"] {
        for bytes in [60, 1514] {
            let Some(lab) = Lab::new(1500) else { return Ok(()) };
            let (offered, forwarded) = measure(&lab, method, bytes)?;
            println!("{method:<10} {:>6} {offered:>12.0} {forwarded:>12.0}", bytes + 4);
        }
    }
    Ok(())
}

/// Frames of `bytes` bytes a second that were offered and that came out.
fn measure(lab: &Lab, method: &str, bytes: usize) -> Result<(f64, f64), Box<dyn Error>> {
    // A TAP interface ends in the kernel on its own side of it.
    let tap = method == "tap";
    let (inside, outside) = if tap { ("ta", "tb") } else { ("a1", "b1") };
    let (namespace, from, to) = if tap { (&lab.middle, "ta", "tb") } else { (&lab.ends, "a0", "b0") };
    let program = std::env::current_exe()?.with_file_name("forward");
    let mut forward = Command::new("ip")
        .args(["netns", "exec", &lab.middle])
        .arg(program)
        .args([method, inside, outside, SECONDS])
        .stdout(Stdio::null())
        .spawn()?;
    std::thread::sleep(SETTLE / 2);
    let mut generator = lab::open_packet(namespace, from).transmit;
    let stop = AtomicBool::new(false);
    let rates = std::thread::scope(|scope| {
        scope.spawn(|| generate(&mut *generator, bytes, &stop));
        let rates = lab::within(namespace, || {
            std::thread::sleep(SETTLE);
            let (start, before) = (clock::now(), (counter(from, 9), counter(to, 1)));
            std::thread::sleep(MEASURE);
            let (seconds, after) = (clock::now().since(start).seconds(), (counter(from, 9), counter(to, 1)));
            ((after.0 - before.0) as f64 / seconds, (after.1 - before.1) as f64 / seconds)
        });
        stop.store(true, Ordering::Relaxed);
        rates
    });
    forward.wait()?;
    Ok(rates)
}

fn generate(transmit: &mut dyn Transmit, bytes: usize, stop: &AtomicBool) {
    let frame = lab::frame(1, bytes, None);
    while !stop.load(Ordering::Relaxed) {
        if transmit.send(&[&frame[..]; 64]).is_err() {
            return;
        }
    }
}

/// Number `column` behind the interface's name in the table of this thread's network namespace: 1 received, 9 sent.
fn counter(name: &str, column: usize) -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|line| line.split_ascii_whitespace().nth(column)?.parse().ok()).unwrap_or(0)
}
