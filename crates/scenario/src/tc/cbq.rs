//! `cbq` as HTB: Linux removed its CBQ in version 6.3.

use forebay_qdisc::{CbqClass, CbqConfig};
use forebay_units::Rate;

use super::command::Qdisc;
use super::port::{Port, rate};
use super::script::{FIRST, Place, Script};
use crate::schema::QueueSpec;

type Classes = CbqConfig<QueueSpec>;

/// The smallest quantum of a class here, and the largest that HTB takes without complaint.
const QUANTA: (f64, f64) = (1514.0, 60_000.0);
/// Part of the link that a class of lower priority has for certain: HTB serves assured rates before priorities.
const ASSURED_PART: f64 = 0.01;
/// The class that has the rate of the link.
const LINK: usize = 1;

pub(super) fn commands(script: &mut Script<'_>, config: &Classes, port: Port, place: Place) {
    let default = config.classes.iter().position(|class| Some(&class.name) == config.default_class.as_ref());
    let default = default.unwrap_or(config.classes.len().saturating_sub(1));
    let (link, burst) = (rate(port.rate), port.burst_bytes());
    script.comment("cbq: Linux removed it in version 6.3; htb takes its place.");
    script.explain_marks();
    let top = top_priority(config);
    if config.classes.iter().any(|class| class.priority != top) {
        script
            .comment("priority: htb serves assured rates first, so lower priorities have 1 % of the link for certain.");
    }
    let qdisc = script.qdisc(place, Qdisc::new("htb").with("default", format!("{:x}", FIRST + default)));
    let parameters = format!("htb rate {link} ceil {link} burst {burst} cburst {burst} quantum 1514");
    script.class(qdisc, 0, LINK, &parameters);
    for (index, class) in config.classes.iter().enumerate() {
        of_class(script, config, (index, class), port, qdisc);
    }
}

fn top_priority(config: &Classes) -> u8 {
    config.classes.iter().map(|class| class.priority).min().unwrap_or(0)
}

fn of_class(
    script: &mut Script<'_>,
    config: &Classes,
    (index, class): (usize, &CbqClass<QueueSpec>),
    port: Port,
    qdisc: u32,
) {
    let minor = FIRST + index;
    let ceiling = class.rate.map_or(port.rate, |rate| rate.min(port.rate));
    let (burst, quantum) = (class.burst.0.max(port.burst_bytes()), quantum(config, class));
    script.comment(format!("Class {}: share {}", class.name.escape_debug(), class.share));
    let parameters = format!(
        "htb rate {} ceil {} burst {burst} cburst {burst} prio {} quantum {quantum}",
        rate(assured(config, index, port.rate)),
        rate(ceiling),
        class.priority.min(7),
    );
    script.class(qdisc, LINK, minor, &parameters);
    let inner = Port { rate: config.class_rate(index, port.rate), ..port };
    script.queue(&class.queue, inner, Place::Class(qdisc, minor));
    script.filters(qdisc, minor, &class.classes);
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
