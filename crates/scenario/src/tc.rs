//! The `tc` commands that give an interface of Linux the queue, rate, delay and loss of a scenario's link.
//!
//! The output is a shell script. A token bucket limits the rate, and the queue is its child, because a discipline sees
//! a queue only below a shaper. Comments name everything in the scenario that Linux does not have, with its reason.

mod bands;
mod cake;
mod cbq;
mod command;
mod dualpi2;
mod htb;
mod netem;
mod port;
mod qdisc;
mod red;
mod script;
mod taprio;
mod tbf;
#[cfg(test)]
pub(crate) mod tests;

use forebay_document::escaped;
use forebay_qdisc::DropTailConfig;
use forebay_units::{QueueSize, Rate};

use self::command::Qdisc;
use self::port::{Port, rate};
pub(crate) use self::red::weight_exponent;
use self::script::{Place, Script};
use crate::Scenario;
use crate::plan::{Plan, PlannedLink};
use crate::schema::{LinkSpec, QueueSpec};

/// Limit of a queue that has none in the scenario.
const UNLIMITED_PACKETS: u64 = 1_000_000;
/// The interface, and the size by which packets are converted to bytes.
#[derive(Clone, Copy, Debug)]
pub struct TcTarget<'a> {
    /// Name of the interface.
    pub device: &'a str,
    /// Size of a packet, where Linux counts bytes and the scenario packets, or the other way round.
    pub packet_bytes: u64,
}

/// The links whose queue the scenario describes.
#[must_use]
pub fn described_queues(scenario: &Scenario) -> Vec<String> {
    let plan = Plan::new(scenario.spec(), scenario.spec().seed);
    plan.links.iter().filter(|link| plan.spec(link).queue.is_some()).map(|link| link.name.clone()).collect()
}

/// The script for the link of that name; `None` if the scenario has no such link.
#[must_use]
pub fn tc_commands(scenario: &Scenario, link: &str, target: TcTarget<'_>) -> Option<String> {
    let plan = Plan::new(scenario.spec(), scenario.spec().seed);
    plan.links.iter().find(|candidate| candidate.name == link).map(|link| script(link, plan.spec(link), target))
}

/// The burst of the token bucket that limits the rate of a link, with packets of an Ethernet.
pub(crate) fn link_burst_bytes(rate: Rate) -> u64 {
    Port { rate, packet_bytes: 1500 }.burst_bytes()
}

fn script(link: &PlannedLink, spec: &LinkSpec, TcTarget { device, packet_bytes }: TcTarget<'_>) -> String {
    let port = Port { rate: spec.rate, packet_bytes };
    let unlimited = QueueSpec::DropTail(DropTailConfig { limit: QueueSize::Packets(UNLIMITED_PACKETS) });
    let queue = spec.queue.as_deref().unwrap_or(&unlimited);
    let mut script = Script::new(device);
    script.comment(format!("{}: {}, {}", escaped(&link.name).replace('\n', " "), spec.rate, queue.name()));
    script.comment("Linux counts the 14 bytes of an Ethernet header in each packet; the scenario does not.");
    script.comment(format!("Segmentation offload makes packets of 64 KB: ethtool -K {device} tso off gso off gro off"));
    // CBQ's counterpart shapes by itself, and taprio cannot be below a shaper.
    if matches!(queue, QueueSpec::Cbq(_) | QueueSpec::Taprio(_)) {
        script.queue(queue, port, Place::Root);
    } else {
        let limit = 1600; // of the FIFO that the queue below replaces
        let shaper = Qdisc::new("tbf").with("rate", rate(port.rate)).with("burst", port.burst_bytes());
        let handle = script.qdisc(Place::Root, shaper.with("limit", limit));
        if spec.queue.is_none() {
            script
                .comment(format!("The queue has no limit in the scenario; here it holds {UNLIMITED_PACKETS} packets."));
        }
        script.queue(queue, port, Place::Class(handle, 1));
    }
    let removal = script.removal();
    let mut lines = script.lines;
    lines.extend(netem::path_lines(link, spec, device));
    lines.push(removal);
    lines.join("\n") + "\n"
}
