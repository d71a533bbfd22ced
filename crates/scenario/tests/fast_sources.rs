//! A source may be any number of times faster than its link: a run needs no more memory for it, and can be stopped.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

use std::num::NonZeroUsize;
use std::process::Command;

use forebay_engine::RunError;
use forebay_scenario::{Scenario, run_divided};

const THREADS: &str = "FOREBAY_TEST_THREADS";
const DURATION: &str = "FOREBAY_TEST_DURATION";
/// The address space of a process that runs a scenario, so that a fault here does no harm to others.
const LIMIT_KIB: u64 = 2_000_000;

/// 21 sources of 9 Tb/s each before links of 4 Mb/s: 8 packets in a nanosecond.
fn scenario(duration: &str) -> Scenario {
    let text = format!(
        r#"
        duration = "{duration}"
        [topology.star.access]
        rate = "4271117 bps"
        delay = {{ uniform = ["347 ms", "1041 ms"] }}
        queue = "penalty_box"
        [topology.star.bottleneck]
        rate = "1036281 bps"
        delay = "317690 ps"
        queue = "blue"
        [[flows]]
        name = "fast"
        count = 21
        transport.udp.packet = {{ uniform = ["965 B", "4917 B"] }}
        transport.udp.poisson.rate = "9 Tbps"
        [[flows]]
        name = "tcp"
        count = 2
        transport = "tcp"
        "#
    );
    Scenario::load(&text, "fast.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

/// No test by itself: the code of the processes that the others start. A run of 1 s ends when it is asked for the tenth
/// time whether to continue.
#[test]
fn runs_what_it_is_given() {
    let Ok(duration) = std::env::var(DURATION) else { return };
    let threads: NonZeroUsize = std::env::var(THREADS).unwrap().parse().unwrap();
    let mut calls = 0;
    let mut goes_on = |_| {
        calls += 1;
        duration != "1 s" || calls < 10
    };
    match run_divided(threads, &scenario(&duration), Some(1), None, None, &mut goes_on) {
        Ok(result) => println!("peak {} bytes, digest {}", result.engine.peak_rss_bytes, result.digest),
        Err(RunError::Stopped) => println!("stopped"),
        Err(error) => panic!("{error}"),
    }
}

/// The output of a process that runs it.
fn output(duration: &str, threads: u32) -> String {
    let output = Command::new("sh")
        .args(["-c", &format!("ulimit -v {LIMIT_KIB}; exec \"$0\" --exact runs_what_it_is_given --nocapture")])
        .arg(std::env::current_exe().unwrap())
        .env(DURATION, duration)
        .env(THREADS, threads.to_string())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn memory_does_not_grow_with_the_rate_of_a_source() {
    // Two million packets before they are dropped.
    let outputs = [1, 2].map(|threads| output("250 us", threads));
    for output in &outputs {
        let peak = output.split_once("peak ").and_then(|(_, rest)| rest.split_once(" bytes")).unwrap().0;
        let peak: u64 = peak.parse().unwrap();
        assert!(peak < 120_000_000, "{peak} bytes");
    }
    let digest = |output: &str| output.split_once("digest ").unwrap().1[..16].to_owned();
    assert_eq!(digest(&outputs[0]), digest(&outputs[1]));
}

#[test]
fn a_run_stops_in_the_midst_of_generation() {
    for threads in [1, 2] {
        assert!(output("1 s", threads).contains("stopped"));
    }
}
