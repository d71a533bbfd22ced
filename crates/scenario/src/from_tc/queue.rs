//! The queue that a qdisc is.

use super::parameters::{Note, Parameters};
use super::text::Fault;
use super::tree::{Interface, Parent, Qdisc};
use super::{average, flat, nested};
use forebay_qdisc::config::QueueSpec;

/// The qdiscs that are read, for messages.
const KNOWN: [&str; 24] = [
    "pfifo",
    "bfifo",
    "pfifo_fast",
    "red",
    "choke",
    "sfq",
    "sfb",
    "codel",
    "fq_codel",
    "pie",
    "fq_pie",
    "fq",
    "hhf",
    "cake",
    "dualpi2",
    "tbf",
    "htb",
    "prio",
    "ets",
    "taprio",
    "netem",
    "mq",
    "noqueue",
    "pfifo_head_drop",
];

/// The queue that a qdisc and those below it are.
pub(super) fn queue(qdisc: &Qdisc, interface: &Interface, notes: &mut Vec<Note>) -> Result<QueueSpec, Fault> {
    match qdisc.kind.text.as_str() {
        "tbf" => return nested::tbf(qdisc, interface, notes),
        "htb" => return nested::htb(qdisc, interface, notes),
        "prio" | "pfifo_fast" => return nested::prio(qdisc, interface, notes),
        "ets" => return nested::ets(qdisc, interface, notes),
        "taprio" => return nested::taprio(qdisc, interface, notes),
        _ => {}
    }
    if let Some(child) = only_child(qdisc, interface) {
        notes.push(Note {
            span: child.kind.span.clone(),
            text: format!("{} below {}: the latter has a queue of its own.", child.kind.text, qdisc.kind.text),
        });
    }
    let mut p = Parameters::new(&qdisc.kind, &qdisc.words, notes);
    match qdisc.kind.text.as_str() {
        "pfifo" | "bfifo" | "pfifo_head_drop" => flat::fifo(&mut p),
        "red" => average::red(&mut p),
        "choke" => average::choke(&mut p),
        "sfq" => average::sfq(&mut p),
        "sfb" => flat::sfb(&mut p),
        "codel" => flat::codel(&mut p),
        "fq_codel" => flat::fq_codel(&mut p),
        "pie" => flat::pie(&mut p),
        "fq_pie" => flat::fq_pie(&mut p),
        "fq" => flat::fq(&mut p),
        "hhf" => flat::hhf(&mut p),
        "cake" => flat::cake(&mut p),
        "dualpi2" => flat::dualpi2(&mut p),
        "netem" => {
            let fault = qdisc.kind.fault("netem in a class", "a scenario has delay and loss on links only");
            Err(fault.with_help("put netem at the root, above the others"))
        }
        kind => {
            let fault = qdisc.kind.fault(format!("there is no counterpart of the qdisc `{kind}`"), "not known here");
            let near = forebay_document::did_you_mean(kind, KNOWN);
            Err(fault.with_help(near.unwrap_or_else(|| format!("these are read: {}", KNOWN.join(", ")))))
        }
    }
}

/// The qdisc below one that has a single class, whatever its number.
pub(super) fn only_child<'i>(qdisc: &Qdisc, interface: &'i Interface) -> Option<&'i Qdisc> {
    let is_child = |other: &&Qdisc| matches!(other.parent, Parent::Class(id) if id.major == qdisc.handle);
    interface.qdiscs.iter().find(is_child).filter(|_| qdisc.handle > 0)
}
