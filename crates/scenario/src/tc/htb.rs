//! HTB: its qdisc, its tree of classes, and the queues of the leaves.

use forebay_qdisc::{HtbClass, HtbConfig};
use forebay_units::{QueueSize, Rate};

use super::command::Qdisc;
use super::port::{Port, rate};
use super::qdisc::fifo;
use super::script::{FIRST, Place, Script};
use crate::schema::QueueSpec;

type Class = HtbClass<QueueSpec>;

/// Limit of the FIFO queue of a leaf without a queue of its own.
const LEAF_LIMIT: QueueSize = QueueSize::Packets(1000);
/// The most that `tc` reads as a quantum.
const MOST_QUANTUM: u64 = u32::MAX as u64;

pub(super) fn commands(script: &mut Script<'_>, config: &HtbConfig<QueueSpec>, port: Port, place: Place) {
    // A parent before its children.
    let mut order: Vec<&Class> = config.classes.iter().collect();
    order.sort_by_key(|class| depth(config, class));
    let index_of = |name: &String| order.iter().position(|class| class.name == *name);
    let minor_of = |name: Option<&String>| name.and_then(index_of).map_or(0, |index| FIRST + index);
    if config.classes.iter().any(|class| !class.classes.is_empty()) {
        script.explain_marks();
    }
    let qdisc = Qdisc::new("htb")
        .with("default", format!("{:x}", minor_of(config.default_class.as_ref())))
        .with("r2q", config.r2q)
        .with("direct_qlen", port.packets(config.direct_limit))
        .note_if(
            matches!(config.direct_limit, QueueSize::Bytes(_)),
            format!(
                "direct_limit = \"{}\": Linux counts packets, here of {} B.",
                config.direct_limit, port.packet_bytes
            ),
        )
        .note_if(config.default_class.is_none(), "Unlisted traffic is not shaped by htb, and goes first.");
    let handle = script.qdisc(place, qdisc);
    for (index, class) in order.iter().enumerate() {
        let is_leaf = !config.classes.iter().any(|child| child.parent.as_ref() == Some(&class.name));
        script.comment(format!("Class {}", class.name.escape_debug()));
        script.class(handle, minor_of(class.parent.as_ref()), FIRST + index, &parameters(class, is_leaf));
        if is_leaf {
            let place = Place::Class(handle, FIRST + index);
            let inner = Port { rate: class.rate, ..port };
            match &class.queue {
                Some(queue) => script.queue(queue, inner, place),
                None => drop(script.qdisc(place, fifo(LEAF_LIMIT))),
            }
            script.filters(handle, FIRST + index, &class.classes);
        }
    }
}

/// The number of classes above a class.
fn depth(config: &HtbConfig<QueueSpec>, class: &Class) -> usize {
    let parent = |class: &Class| {
        let name = class.parent.clone()?;
        config.classes.iter().find(|other| other.name == name)
    };
    std::iter::successors(parent(class), |class| parent(class)).take(config.classes.len()).count()
}

/// A class in the words of `tc`. Without `quantum` it follows from `r2q`, as here.
fn parameters(class: &Class, is_leaf: bool) -> String {
    let ceil = class.ceil.unwrap_or(class.rate);
    let burst = class.burst.map_or_else(|| default_burst(class.rate), |burst| burst.0);
    let cburst = class.cburst.map_or_else(|| default_burst(ceil), |burst| burst.0);
    let mut text = format!("htb rate {} ceil {} burst {burst} cburst {cburst}", rate(class.rate), rate(ceil));
    if is_leaf {
        text += &format!(" prio {}", class.priority.unwrap_or(0));
    }
    if let Some(quantum) = class.quantum {
        text += &format!(" quantum {}", quantum.0.min(MOST_QUANTUM));
    }
    text
}

/// The burst that `tc` computes with a clock of nanoseconds (iproute2, `q_htb.c`): 1600 B and the bytes of a tick.
fn default_burst(rate: Rate) -> u64 {
    rate.bits_per_second() / 8 / 1_000_000_000 + 1600
}
