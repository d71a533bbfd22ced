//! Linux's behaviour according to packetdrill's scripts, against our sender.
//!
//! packetdrill (google/packetdrill, `gtests/net/tcp`) tests a Linux kernel with scripts: at this time this ACK arrives,
//! then the kernel sends that, and its window is so and so large. Each table here holds the facts of one script, for
//! our sender with the preset of Linux. Where it does something else, the row says so (`but`), with the reason, and is
//! a test of that; `docs/concepts/tcp.md` has the list.
//!
//! Of the 33 scripts of these folders one is not expressed, `slow_start/slow-start-after-win-update`: the receiver
//! closes its window, which ours never does.
//!
//! The tables named `rules/…` are no scripts of packetdrill. They follow from Linux's code, read for its rules. Each
//! file names the functions.

mod cubic;
mod cwnd_moderation;
mod driver;
mod ecn;
mod fast_recovery;
mod fast_retransmit;
mod limited_transmit;
mod probes;
mod sack;
mod slow_start;
mod timeouts;
mod undo;
mod why;

use std::collections::BTreeSet;

use driver::{Script, run};
use forebay_tcp::{Bytes, TcpConfig};

/// Linux's sender as the scripts set it: without timestamps, segments of 1000 bytes.
fn linux() -> TcpConfig {
    TcpConfig { timestamps: false, header: Bytes(0), segment: Bytes(1000), ..TcpConfig::linux() }
}

/// The same with segments of 1460 bytes.
fn linux_1460() -> TcpConfig {
    TcpConfig { segment: Bytes(1460), ..linux() }
}

/// The same without SACK and what needs it.
fn without_sack(config: TcpConfig) -> TcpConfig {
    TcpConfig {
        sack: false,
        dsack: false,
        rack: false,
        small_queues: false,
        tail_loss_probe: false,
        undo: false,
        rate_reduction: None,
        ..config
    }
}

/// Runs all scripts of a folder, of which `expressed` are expressed.
fn check(scripts: &[Script], expressed: usize) {
    let paths: BTreeSet<&str> = scripts.iter().map(|script| script.path).collect();
    assert_eq!(paths.len(), expressed);
    let mut failures = 0;
    for script in scripts {
        let outcome = run(script);
        println!("{}: {}. {}", script.path, outcome.verdict(), script.about);
        for line in outcome.lines() {
            println!("    {line}");
        }
        failures += outcome.failures.len();
    }
    assert_eq!(failures, 0);
}

#[test]
fn cubic_and_hystart() {
    check(&cubic::scripts(), 6);
}

#[test]
fn the_window_is_not_capped_by_what_is_in_flight() {
    check(&cwnd_moderation::scripts(), 2);
}

#[test]
fn explicit_congestion_notification() {
    check(&ecn::scripts(), 1);
}

#[test]
fn fast_recovery_reduces_proportionally() {
    check(&fast_recovery::scripts(), 4);
}

#[test]
fn fast_retransmissions() {
    check(&fast_retransmit::scripts(), 4);
}

#[test]
fn limited_transmit_sends_new_data() {
    check(&limited_transmit::scripts(), 2);
}

#[test]
fn selective_acknowledgements() {
    check(&sack::scripts(), 4);
}

#[test]
fn slow_start_and_its_end() {
    check(&slow_start::scripts(), 9);
}

#[test]
fn a_window_is_given_back_when_nothing_was_lost() {
    check(&undo::scripts(), 7);
}

#[test]
fn tail_loss_probes() {
    check(&probes::scripts(), 6);
}

#[test]
fn timeouts_reduce_once() {
    check(&timeouts::scripts(), 5);
}

#[test]
fn the_guide_lists_what_differs() {
    let guide = include_str!("../../../../docs/concepts/tcp.md");
    let section = guide.split("\n## Against packetdrill's facts\n").nth(1).expect("the guide has the section");
    let section = section.split("\n## ").next().expect("a section has an end");
    let listed: BTreeSet<&str> =
        section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let folders = [
        cubic::scripts(),
        cwnd_moderation::scripts(),
        ecn::scripts(),
        fast_recovery::scripts(),
        fast_retransmit::scripts(),
        limited_transmit::scripts(),
        sack::scripts(),
        slow_start::scripts(),
        undo::scripts(),
        probes::scripts(),
        timeouts::scripts(),
    ];
    let differing: BTreeSet<&str> =
        folders.iter().flatten().filter(|script| script.differs()).map(|script| script.path).collect();
    assert_eq!(listed, differing);
}
