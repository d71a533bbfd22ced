//! Measures what each way of moving packets forwards, with a generator and network namespaces of its own.
//!
//! The generator shares the processors with the measured program, and may be the limit. It therefore also prints how
//! much of one processor the forwarder used, and the rate with all of it.
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
/// The tick of the times in `/proc/PID/stat`, the same on every Linux of this century.
const TICKS_PER_SECOND: f64 = 100.0;
const MEASURE: Duration = Duration::from_secs(2);

fn main() -> Result<(), Box<dyn Error>> {
    println!("method      bytes    offered/s  forwarded/s  processor  at 100 %/s");
    for method in ["af_packet", "af_xdp", "tap"] {
        for bytes in [60, 1514] {
            let Some(lab) = Lab::new(1500) else { return Ok(()) };
            let [offered, forwarded, used] = measure(&lab, method, bytes)?;
            let (percent, all) = (used * 100.0, forwarded / used);
            println!("{method:<10} {:>6} {offered:>12.0} {forwarded:>12.0} {percent:>8.0} % {all:>11.0}", bytes + 4);
        }
    }
    Ok(())
}

/// Frames of `bytes` bytes a second that were offered and that came out, and the forwarder's share of a processor.
fn measure(lab: &Lab, method: &str, bytes: usize) -> Result<[f64; 3], Box<dyn Error>> {
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
    // `ip` becomes what it executes.
    let process = forward.id();
    std::thread::sleep(SETTLE / 2);
    let mut generator = lab::open_packet(namespace, from).transmit;
    let stop = AtomicBool::new(false);
    let rates = std::thread::scope(|scope| {
        scope.spawn(|| generate(&mut *generator, bytes, &stop));
        let rates = lab::within(namespace, || {
            std::thread::sleep(SETTLE);
            let look = || [lab::counter(from, 9), lab::counter(to, 1), processor_ticks(process)];
            let (start, before) = (clock::now(), look());
            std::thread::sleep(MEASURE);
            let (seconds, after) = (clock::now().since(start).seconds(), look());
            let rate = |index: usize| (after[index] - before[index]) as f64 / seconds;
            [rate(0), rate(1), rate(2) / TICKS_PER_SECOND]
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

/// The CPU time of a process, its own code and the kernel's.
fn processor_ticks(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // Behind the name, which may contain blanks: state, then numbers; user and system time are the 12th and 13th.
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields).split_ascii_whitespace();
    fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}
