//! Triggers of htsim's connection matrices: connections that begin when others are done.
//!
//! In htsim a trigger acts at once, wherever the connection begins. Here a host sees only its own messages, and so the
//! connection must begin at an end of the one that fires.
//!
//! At the source of that one, it begins when all is acknowledged. This is the rule of `send_done_trigger` in htsim;
//! `recv_done_trigger` acts there earlier, by the way of an ACK. At the destination, `recv_done_trigger` acts when all
//! has arrived, as in htsim. With `send_done_trigger` the destination waits for the time that the ACK of the last byte
//! takes to the source if no queue holds it.

use std::collections::BTreeMap;
use std::fmt;

use forebay_qdisc::Time;

use super::connection::{Connection, whole};
use super::from_text::from_text;
use super::tasks::{Action, Tasks, circle};

/// A trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// Its number.
    pub id: u64,
    /// When it starts the connections that wait for it.
    pub kind: TriggerKind,
}

/// When a trigger acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerKind {
    /// When it is fired, which happens once.
    OneShot,
    /// Each time that it is fired it starts one connection.
    MultiShot,
    /// When it is fired for the last time of so many.
    Barrier(u32),
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, kind } = self;
        match kind {
            TriggerKind::OneShot => write!(f, "trigger id {id} oneshot"),
            TriggerKind::MultiShot => write!(f, "trigger id {id} multishot"),
            TriggerKind::Barrier(count) => write!(f, "trigger id {id} barrier count {count}"),
        }
    }
}

impl std::str::FromStr for Trigger {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "expected a trigger, such as `trigger id 1 oneshot` or `trigger id 1 barrier count 4`";
        let mut words = text.split_whitespace();
        if words.next() != Some("trigger") {
            return Err(EXPECTED.to_owned());
        }
        let (mut id, mut count, mut kind) = (None, None, None);
        while let Some(word) = words.next() {
            let mut number = || whole(word, words.next().ok_or_else(|| format!("`{word}` needs a number"))?);
            match word {
                "id" => id = Some(number()?),
                "count" => count = Some(number()?),
                "oneshot" | "multishot" | "barrier" if kind.is_none() => kind = Some(word),
                _ => return Err(EXPECTED.to_owned()),
            }
        }
        let kind = match (kind, count) {
            (Some("oneshot"), None) => TriggerKind::OneShot,
            (Some("multishot"), None) => TriggerKind::MultiShot,
            (Some("barrier"), Some(count)) => {
                let count = u32::try_from(count).ok().filter(|count| *count > 0);
                TriggerKind::Barrier(count.ok_or("`count` is out of bounds: expected 1 or more")?)
            }
            _ => return Err(EXPECTED.to_owned()),
        };
        Ok(Self { id: id.ok_or("`id` is missing")?, kind })
    }
}

/// The event of a connection that another one waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Done {
    Acknowledged,
    Arrived,
    /// As the destination expects it.
    AcknowledgedThere,
}

/// A connection that waits, by its place, and the one it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    connection: u32,
    on: u32,
    done: Done,
}

/// A fault of a connection, by its place.
pub(crate) type Fault = (usize, String);

/// Which connections wait for which.
pub(crate) fn waits(connections: &[Connection], triggers: &[Trigger]) -> Result<Vec<Wait>, Fault> {
    let kinds: BTreeMap<u64, TriggerKind> = triggers.iter().map(|trigger| (trigger.id, trigger.kind)).collect();
    // The connections that fire each trigger, and whether when they have arrived; those that wait for it.
    let mut firing: BTreeMap<u64, Vec<(usize, bool)>> = BTreeMap::new();
    let mut waiting: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (place, connection) in connections.iter().enumerate() {
        for (fired, is_arrival) in [(connection.send_done, false), (connection.recv_done, true)] {
            if let Some(trigger) = fired {
                firing.entry(trigger).or_default().push((place, is_arrival));
            }
        }
        if let Some(trigger) = connection.trigger {
            waiting.entry(trigger).or_default().push(place);
        }
    }
    let mut waits = Vec::new();
    for (trigger, waiting) in waiting {
        let firing = firing.get(&trigger).map_or(&[][..], |firing| firing);
        check_shots(trigger, kinds.get(&trigger), firing.len(), waiting.len()).map_err(|fault| (waiting[0], fault))?;
        for &connection in &waiting {
            for &(on, is_arrival) in firing {
                let done = done(&connections[connection], &connections[on], is_arrival).ok_or_else(|| {
                    let [from, to] = connections[on].ends;
                    let message = format!(
                        "the connection {from}->{to} fires its trigger {trigger}, and it begins at node {}: a host \
                         sees only the messages that it sends or receives itself",
                        connections[connection].ends[0]
                    );
                    (connection, message)
                })?;
                waits.push(Wait { connection: connection as u32, on: on as u32, done });
            }
        }
    }
    if waits.is_empty() {
        return Ok(waits);
    }
    let pairs: Vec<(u32, u32)> = waits.iter().map(|wait| (wait.connection, wait.on)).collect();
    let Some(circle) = circle(connections.len(), &pairs) else { return Ok(waits) };
    let message = match circle.len() {
        1 => "it waits for itself".to_owned(),
        more => format!("{more} connections wait for each other in a circle"),
    };
    Err((circle.into_iter().min().unwrap_or_default() as usize, message))
}

/// Checks how often a trigger is fired.
fn check_shots(trigger: u64, kind: Option<&TriggerKind>, firing: usize, waiting: usize) -> Result<(), String> {
    let fires = match firing {
        0 => return Err(format!("no connection fires its trigger {trigger}")),
        1 => format!("a connection fires its trigger {trigger}"),
        more => format!("{more} connections fire its trigger {trigger}"),
    };
    match kind {
        Some(&TriggerKind::Barrier(count)) if count as usize != firing => {
            Err(format!("{fires}, a barrier that waits for {count}"))
        }
        Some(TriggerKind::Barrier(_)) => Ok(()),
        Some(TriggerKind::MultiShot) if firing > 1 || waiting > 1 => Err(format!(
            "its trigger {trigger} starts a connection each time that it is fired, and no host sees how often: \
             expected `oneshot` or `barrier`"
        )),
        _ if firing > 1 => Err(format!("{fires}, which happens once: expected `barrier count {firing}`")),
        _ => Ok(()),
    }
}

/// The event that the source of a connection waits for; `None` if it sees none.
fn done(waiting: &Connection, on: &Connection, is_arrival: bool) -> Option<Done> {
    let ([from, to], source) = (on.ends, waiting.ends[0]);
    if source == from {
        Some(Done::Acknowledged)
    } else if source != to {
        None
    } else if is_arrival {
        Some(Done::Arrived)
    } else {
        Some(Done::AcknowledgedThere)
    }
}

/// The tasks of connections that wait or are waited for. `start` is that of a connection without a trigger.
pub(crate) fn tasks(connections: &[Connection], waits: &[Wait], start: impl Fn(&Connection) -> Time) -> Tasks {
    let mut tasks = Tasks::default();
    let ends = |connection: u32| connections[connection as usize].ends.map(|node| node as usize);
    let [mut sends, mut arrivals, mut acknowledgments] = [(); 3].map(|()| BTreeMap::<u32, u32>::new());
    let mut send = |tasks: &mut Tasks, connection: u32| {
        let at = || start(&connections[connection as usize]);
        *sends.entry(connection).or_insert_with(|| tasks.add(ends(connection)[0], Action::Send(connection), at()))
    };
    for &Wait { connection, on, done } in waits {
        let task = send(&mut tasks, connection);
        let before = if done == Done::Acknowledged {
            send(&mut tasks, on)
        } else {
            let receive = || (ends(on)[1], Action::Receive(on));
            let arrival = *arrivals.entry(on).or_insert_with(|| tasks.add(receive().0, receive().1, Time::ZERO));
            match done {
                Done::AcknowledgedThere => *acknowledgments.entry(on).or_insert_with(|| {
                    let way = tasks.add(ends(on)[1], Action::Acknowledge(ends(on)), Time::ZERO);
                    tasks.after(way, arrival);
                    way
                }),
                Done::Acknowledged | Done::Arrived => arrival,
            }
        };
        tasks.after(task, before);
    }
    tasks
}

from_text!(
    Trigger,
    "a trigger such as \"trigger id 1 barrier count 2\"",
    "A trigger of a matrix: \"trigger id 1 barrier count 2\".",
    "^trigger "
);
