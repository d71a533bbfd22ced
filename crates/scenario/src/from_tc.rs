//! From `tc` commands, or from the output of `tc qdisc show`, to the keys of a scenario's link.
//!
//! Words, units and defaults are those of iproute2's `tc/q_*.c` and of the kernel's `net/sched`. An unknown word is an
//! error. A word that is known, and for which a scenario has nothing, becomes a comment.

mod average;
mod flat;
mod nested;
mod netem;
mod parameters;
mod queue;
#[cfg(test)]
mod tests;
pub(crate) mod text;
mod toml;
mod tree;
mod units;

use forebay_qdisc::{DropTailConfig, Rate};
use forebay_units::{QueueSize, Span};

use self::nested::Tbf;
use self::netem::Netem;
use self::parameters::Note;
use self::text::{Fault, Word, statements};
use self::tree::{Interface, Interfaces, Parent, Qdisc};
use crate::tc::link_burst_bytes;
use crate::{Scenario, ScenarioError, Words};
use forebay_qdisc::config::QueueSpec;

/// The keys of a link as TOML, from the `tc` commands in `text`, or from the output of `tc qdisc show` and `tc class
/// show`. `file` is the name of the text in messages; `device` chooses one of several interfaces.
///
/// # Errors
/// The first word that is not known, with its place.
pub fn link_from_tc(text: &str, file: &str, device: Option<&str>) -> Result<String, ScenarioError> {
    read(text, device).map_err(|Fault { span, message, label, help }| {
        ScenarioError::in_text(text, file, span, Words { message, label, help })
    })
}

fn read(text: &str, device: Option<&str>) -> Result<String, Fault> {
    let Interfaces { list, mut notes } = Interfaces::read(&statements(text)?)?;
    let interface = chosen(&list, device)?;
    interface.check()?;
    let root = interface
        .qdiscs
        .iter()
        .find(|qdisc| qdisc.parent == Parent::Root)
        .ok_or_else(|| interface.name.fault("no qdisc is at the root", "one of the commands needs `root`"))?;
    let link = Link::read(root, interface, &mut notes)?;
    link.check(&root.kind)?;
    let line = |note: &Note| text[..note.span.start].matches('\n').count() + 1;
    notes.sort_by_key(|note| note.span.start);
    // A token bucket is read twice, to see whether it is the link.
    notes.dedup();
    let place = if interface.name.text.is_empty() { String::new() } else { format!(", of {}", interface.name.text) };
    // A quoted word may have a line feed.
    let in_a_line = |text: &str| forebay_document::escaped(text).replace('\n', " ");
    let mut lines = vec![format!("# Keys of a link{}, from tc.", in_a_line(&place))];
    lines.extend(notes.iter().map(|note| format!("# line {}: {}", line(note), in_a_line(&note.text))));
    lines.extend(link.lines(true));
    Ok(lines.join("\n") + "\n")
}

/// The interface of that name, or the only one with a qdisc.
fn chosen<'i>(list: &'i [Interface], device: Option<&str>) -> Result<&'i Interface, Fault> {
    let names = || list.iter().map(|interface| interface.name.text.as_str());
    if let Some(device) = device {
        return list.iter().find(|interface| interface.name.text == device).ok_or_else(|| {
            let place = list.first().map_or(0..0, |interface| interface.name.span.clone());
            let message = format!("no command is for the interface {device}");
            let help = Some(format!("there are {}", names().collect::<Vec<_>>().join(", ")));
            Fault { span: place, message, label: "this one is for another".to_owned(), help }
        });
    }
    let has_queue = |interface: &&Interface| {
        let is_root = |qdisc: &&Qdisc| qdisc.parent == Parent::Root;
        interface.qdiscs.iter().find(is_root).is_none_or(|root| !root.kind.is("noqueue"))
    };
    let mut with_queue = list.iter().filter(has_queue);
    match (with_queue.next(), with_queue.next()) {
        (Some(first), None) => Ok(first),
        (Some(_), Some(second)) => {
            let message = "the commands are for several interfaces";
            let help = format!("choose one with --dev: there are {}", names().collect::<Vec<_>>().join(", "));
            Err(second.name.fault(message, "this one is the second").with_help(help))
        }
        (None, _) => list.first().ok_or_else(|| Fault {
            span: 0..0,
            message: "there is no qdisc".to_owned(),
            label: "expected `tc qdisc add dev NAME root …`, or the output of `tc qdisc show`".to_owned(),
            help: None,
        }),
    }
}

/// The keys of a link.
#[derive(Debug, Default)]
struct Link {
    rate: Option<Rate>,
    delay: Option<Span>,
    queue: Option<QueueSpec>,
    impairments: Vec<(String, String)>,
}

impl Link {
    /// From the root downwards: netem is the link's way, a token bucket without a burst its rate, and the rest its
    /// queue.
    fn read(root: &Qdisc, interface: &Interface, notes: &mut Vec<Note>) -> Result<Self, Fault> {
        let mut link = Self::default();
        let mut next = Some(root);
        while let Some(qdisc) = next {
            next = queue::only_child(qdisc, interface);
            match qdisc.kind.text.as_str() {
                "netem" => {
                    let netem = Netem::read(qdisc, notes)?;
                    link.impairments.extend(netem.impairments);
                    link.delay = netem.delay;
                    if netem.rate.is_some() && next.is_none() {
                        let limit = QueueSize::Packets(netem.limit);
                        link.queue = Some(QueueSpec::DropTail(DropTailConfig { limit }));
                    } else {
                        link.impairments.push(("limit".to_owned(), netem.limit.to_string()));
                    }
                    link.rate = netem.rate.or(link.rate);
                }
                "tbf" => {
                    let tbf = Tbf::read(qdisc, notes)?;
                    let rate = tbf.rate.filter(|rate| {
                        tbf.peakrate.is_none() && tbf.burst.is_none_or(|burst| burst.0 <= link_burst_bytes(*rate))
                    });
                    if rate.is_none() || link.rate.is_some() {
                        link.queue = Some(queue::queue(qdisc, interface, notes)?);
                        break;
                    }
                    link.rate = rate;
                    if next.is_none() {
                        let limit = QueueSize::Bytes(tbf.limit_bytes());
                        link.queue = Some(QueueSpec::DropTail(DropTailConfig { limit }));
                    }
                }
                "mq" if std::ptr::eq(qdisc, root) => {
                    let minor = |child: &&Qdisc| match child.parent {
                        Parent::Class(id) => Some(id.minor).filter(|_| id.major == root.handle),
                        Parent::Root => None,
                    };
                    next = interface.qdiscs.iter().filter(|child| minor(child).is_some()).min_by_key(minor);
                    let text = "mq: a link has one queue, here that of the first transmit queue.".to_owned();
                    notes.push(Note { span: qdisc.kind.span.clone(), text });
                }
                "noqueue" => {
                    let text = "noqueue: nothing waits, as in front of a link without a queue of its own.".to_owned();
                    notes.push(Note { span: qdisc.kind.span.clone(), text });
                }
                _ => {
                    link.queue = Some(queue::queue(qdisc, interface, notes)?);
                    break;
                }
            }
        }
        Ok(link)
    }

    /// The lines of its keys. Missing ones are comments, or have values that fit anything.
    fn lines(&self, is_shown: bool) -> Vec<String> {
        let missing = |key: &str, value: &str, text: &str| {
            if is_shown { format!("# {key}: {text}") } else { format!("{key} = \"{value}\"") }
        };
        let rate = self.rate.map(|rate| format!("rate = \"{rate}\""));
        let delay = self.delay.map(|delay| format!("delay = \"{}\"", netem::span(delay)));
        let mut lines = vec![
            rate.unwrap_or_else(|| missing("rate", "1 Gbps", "not given here. It is that of the interface.")),
            delay.unwrap_or_else(|| missing("delay", "0 s", "not given here. netem has it, or the path.")),
        ];
        lines.extend(self.queue.iter().flat_map(toml::queue));
        lines.extend(self.impairments.iter().map(|(key, value)| format!("impairments.{key} = {value}")));
        lines
    }

    /// Whether a scenario can have such a link.
    fn check(&self, root: &Word) -> Result<(), Fault> {
        let link = self.lines(false).join("\n");
        let scenario = format!(
            "duration = \"1 s\"\n[[flows]]\nname = \"probe\"\n\
             transport.udp = {{ packet = \"40 B\", constant = {{ rate = \"1 kbps\" }} }}\n\
             [topology.star]\naccess = {{ rate = \"1 Gbps\", delay = \"1 ms\" }}\n[topology.star.bottleneck]\n{link}\n"
        );
        match Scenario::load(&scenario, "link", &[]) {
            Ok(_) => Ok(()),
            Err(error) => {
                let fault = root.fault(error.message, "a scenario refuses what this and those below it describe");
                Err(Fault { help: error.help, ..fault })
            }
        }
    }
}
