//! Taprio: its schedule, the traffic classes, and the queue of each class.

use std::fmt::Write as _;

use forebay_qdisc::{InnerQueues, TaprioConfig};
use forebay_units::{QueueSize, Span};

use super::command::Qdisc;
use super::port::{Port, nanoseconds};
use super::qdisc::fifo;
use super::script::{Place, Script};
use crate::schema::QueueSpec;

/// Traffic classes, and the priorities that are mapped to them, are at most so many (`TC_QOPT_MAX_QUEUE`).
const MOST_CLASSES: usize = 16;
/// The longest interval that `tc` reads, in nanoseconds (iproute2, `q_taprio.c`).
const LONGEST_INTERVAL: u64 = u32::MAX as u64;
/// The shortest frame. Linux refuses intervals that are shorter (`fill_sched_entry`).
const SHORTEST_FRAME_BYTES: u64 = 60;
const FIFO_LIMIT: QueueSize = QueueSize::Packets(1000);

/// Notes in front of every schedule.
const NOTES: [&str; 3] = [
    "taprio is possible at the root only. Nothing below it limits the rate: the interface itself must have that of the \
     link.",
    "A frame must end before its gate closes. In the scenario it may end as the gate closes.",
    "base-time is a time of the clock TAI. In the scenario it counts from the start of the run.",
];

pub(super) fn commands(script: &mut Script<'_>, config: &TaprioConfig<QueueSpec>, port: Port, place: Place) {
    let count = config.classes.len();
    if place != Place::Root || count > MOST_CLASSES {
        let note = "taprio: Linux takes it only at the root of an interface, with at most 16 classes. A FIFO takes its \
                    place.";
        script.qdisc(place, fifo(FIFO_LIMIT).note(note));
        return;
    }
    // Linux serves its last traffic class first.
    let traffic_class = |index: usize| count - 1 - index;
    let default = config.classes.iter().position(|class| Some(&class.name) == config.default_class.as_ref());
    let default = traffic_class(default.unwrap_or(count - 1));
    script.explain_marks();
    for note in NOTES {
        script.comment(note);
    }
    script.comment(format!("It needs {count} transmit queues: ethtool -L {} tx {count}", script.device));
    let map: Vec<_> = (0..MOST_CLASSES).map(|priority| if priority < count { priority } else { default }).collect();
    let queues: Vec<_> = (0..count).map(|queue| format!("1@{queue}")).collect();
    let qdisc = Qdisc::new("taprio")
        .with("num_tc", count)
        .with("map", joined(&map))
        .with("queues", queues.join(" "))
        .with("base-time", nanoseconds(config.base_time));
    let qdisc = schedule(qdisc, config, port, traffic_class).with("clockid", "CLOCK_TAI").with("flags", "0x0");
    let handle = script.qdisc(place, qdisc);
    for (index, class) in config.classes.iter().enumerate() {
        script.comment(format!("Class {}: traffic class {}", class.name.escape_debug(), traffic_class(index)));
        // A class for each transmit queue, counted from 1.
        let place = Place::Class(handle, traffic_class(index) + 1);
        let inner = Port { rate: config.inner_rate(index, port.rate), ..port };
        match &class.queue {
            Some(queue) => script.queue(queue, inner, place),
            None => drop(script.qdisc(place, fifo(FIFO_LIMIT))),
        }
    }
    let priorities: Vec<_> =
        config.classes.iter().enumerate().map(|(index, class)| (&class.classes[..], traffic_class(index))).collect();
    script.priorities(&priorities, default);
}

/// The intervals as Linux needs them. There the last one does not last to the end of a longer cycle, so that its length
/// is that which it has here; and the cycle is the sum of the intervals.
fn schedule(
    mut qdisc: Qdisc,
    config: &TaprioConfig<QueueSpec>,
    port: Port,
    traffic_class: impl Fn(usize) -> usize,
) -> Qdisc {
    let mut left = config.cycle_time;
    let mut is_rounded = nanoseconds(config.base_time) * 1000 != config.base_time.picoseconds();
    let mut shortest = Span::MAX;
    for (index, interval) in config.schedule.iter().enumerate() {
        let is_last = index + 1 == config.schedule.len();
        let length = match left {
            Some(left) if is_last => left,
            Some(left) => interval.interval.min(left),
            None => interval.interval,
        };
        if length == Span::ZERO {
            break;
        }
        left = left.map(|left| left.saturating_sub(length));
        is_rounded |= nanoseconds(length) * 1000 != length.picoseconds();
        shortest = shortest.min(length);
        let is_open = |name: &String| interval.open.contains(name);
        let gates = config.classes.iter().enumerate().filter(|(_, class)| is_open(&class.name));
        let mask = gates.fold(0_u32, |mask, (index, _)| mask | 1 << traffic_class(index));
        let mut rest = nanoseconds(length);
        while rest > 0 {
            let part = rest.min(LONGEST_INTERVAL);
            let _ = write!(qdisc.command, " sched-entry S {mask:02x} {part}");
            rest -= part;
        }
    }
    qdisc.note_if(is_rounded, "Times are rounded up to nanoseconds.").note_if(
        shortest < port.rate.transmission_time(SHORTEST_FRAME_BYTES),
        format!("Linux refuses intervals in which {SHORTEST_FRAME_BYTES} B do not fit."),
    )
}

fn joined(numbers: &[usize]) -> String {
    let texts: Vec<_> = numbers.iter().map(usize::to_string).collect();
    texts.join(" ")
}
