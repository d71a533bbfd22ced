//! `cbq` as HTB: Linux removed its CBQ in version 6.3.

use forebay_qdisc::{CbqClass, CbqConfig};
use forebay_units::Rate;

use super::qdisc::counterpart;
use super::{Port, rate};
use crate::schema::QueueSpec;

type Classes = CbqConfig<QueueSpec>;

/// The smallest quantum of a class here, and the largest that HTB takes without complaint.
const QUANTA: (f64, f64) = (1514.0, 60_000.0);
/// Part of the link that a class of lower priority has for certain: HTB serves assured rates before priorities.
const ASSURED_PART: f64 = 0.01;

pub(super) fn commands(config: &Classes, port: Port, device: &str) -> Vec<String> {
    let default = config.classes.iter().position(|class| Some(&class.name) == config.default_class.as_ref());
    let default = default.unwrap_or(config.classes.len().saturating_sub(1));
    let (link, burst) = (rate(port.rate), port.burst_bytes());
    let mut lines = notes(config, device);
    lines.extend([
        format!("tc qdisc replace dev {device} root handle 1: htb default {:x}", minor(default)),
        format!(
            "tc class add dev {device} parent 1: classid 1:1 htb rate {link} ceil {link} burst {burst} cburst {burst} \
             quantum 1514"
        ),
    ]);
    for (index, class) in config.classes.iter().enumerate() {
        lines.extend(of_class(config, index, class, port, device));
    }
    lines
}

/// Number of a class of HTB: those of the scenario follow the link's own.
fn minor(index: usize) -> usize {
    0x10 + index
}

fn notes(config: &Classes, device: &str) -> Vec<String> {
    let top = top_priority(config);
    let mut lines = vec![
        "# cbq: Linux removed it in version 6.3; htb takes its place.".to_owned(),
        "# A traffic class is a firewall mark here. Set it by a rule such as".to_owned(),
        format!("#   iptables -t mangle -A POSTROUTING -o {device} -p udp --dport 5060 -j MARK --set-mark CLASS"),
    ];
    if config.classes.iter().any(|class| class.priority != top) {
        lines.push(
            "# priority: htb serves assured rates first, so lower priorities have 1 % of the link for certain.".into(),
        );
    }
    lines
}

fn top_priority(config: &Classes) -> u8 {
    config.classes.iter().map(|class| class.priority).min().unwrap_or(0)
}

fn of_class(config: &Classes, index: usize, class: &CbqClass<QueueSpec>, port: Port, device: &str) -> Vec<String> {
    let id = minor(index);
    let ceiling = class.rate.map_or(port.rate, |rate| rate.min(port.rate));
    let assured = assured(config, index, port.rate);
    let (burst, quantum) = (class.burst.0.max(port.burst_bytes()), quantum(config, class));
    let mut lines = vec![
        format!("# Class {}: share {}", class.name.escape_debug(), class.share),
        format!(
            "tc class add dev {device} parent 1:1 classid 1:{id:x} htb rate {} ceil {} burst {burst} cburst {burst} \
             prio {} quantum {quantum}",
            rate(assured),
            rate(ceiling),
            class.priority.min(7),
        ),
    ];
    let inner = Port { rate: config.class_rate(index, port.rate), ..port };
    lines.extend(match &class.queue {
        QueueSpec::Cbq(_) => counterpart(&class.queue, inner)
            .note("Classes within a class: write them as classes of one level.")
            .lines(device, &format!("1:{id:x}"), &format!("{id:x}:")),
        queue => counterpart(queue, inner).lines(device, &format!("1:{id:x}"), &format!("{id:x}:")),
    });
    lines.extend(class.classes.iter().map(|mark| {
        format!(
            "tc filter add dev {device} parent 1: protocol all basic match 'meta(nf_mark eq {mark})' classid 1:{id:x}"
        )
    }));
    lines
}

/// The rate that HTB gives the class before any borrowing. All together do not exceed the link.
fn assured(config: &Classes, index: usize, link: Rate) -> Rate {
    let (top, class) = (top_priority(config), &config.classes[index]);
    let lower = config.classes.iter().filter(|it| it.priority != top).count() as f64;
    if class.priority == top {
        config.class_rate(index, link.scaled(1.0 - (lower * ASSURED_PART).min(0.5)))
    } else {
        let assured = link.scaled(ASSURED_PART.min(0.5 / lower));
        class.rate.map_or(assured, |rate| rate.min(assured))
    }
}

/// Bytes that the class borrows in each round: in proportion to its share.
fn quantum(config: &Classes, class: &CbqClass<QueueSpec>) -> u64 {
    let least = config.classes.iter().map(|it| it.share).fold(f64::INFINITY, f64::min);
    (QUANTA.0 * class.share / least).round().clamp(QUANTA.0, QUANTA.1) as u64
}
