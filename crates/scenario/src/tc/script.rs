//! The script: the handles of its qdiscs, their classes and filters, and the queues inside others.

use super::command::Qdisc;
use super::port::Port;
use super::qdisc::counterpart;
use super::{bands, cbq, htb, taprio, tbf};
use crate::schema::QueueSpec;

/// Handle of the qdisc at the root.
const ROOT: u32 = 1;
/// The first of the handles below it, and of the classes of a qdisc whose classes can have any number.
pub(super) const FIRST: usize = 0x10;

/// Where a qdisc is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// At the root of the interface, in the place of any other.
    Root,
    /// In a class: the handle of its qdisc, and its number there.
    Class(u32, usize),
}

/// A script for one interface.
#[derive(Debug)]
pub(super) struct Script<'a> {
    pub device: &'a str,
    pub lines: Vec<String>,
    /// The next free handle.
    next: u32,
    /// Whether a comment has explained what a firewall mark has to do with traffic classes.
    has_marks: bool,
    /// Whether there are filters in front of the qdisc at the root.
    has_egress_filters: bool,
}

impl<'a> Script<'a> {
    pub fn new(device: &'a str) -> Self {
        Self { device, lines: Vec::new(), next: FIRST as u32, has_marks: false, has_egress_filters: false }
    }

    pub fn comment(&mut self, text: impl std::fmt::Display) {
        self.lines.push(format!("# {text}"));
    }

    /// The commands for a queue of any kind.
    pub fn queue(&mut self, queue: &QueueSpec, port: Port, place: Place) {
        match queue {
            QueueSpec::Cbq(config) => cbq::commands(self, config, port, place),
            QueueSpec::Htb(config) => htb::commands(self, config, port, place),
            QueueSpec::Tbf(config) => tbf::commands(self, config, port, place),
            QueueSpec::Prio(config) => bands::prio(self, config, port, place),
            QueueSpec::Ets(config) => bands::ets(self, config, port, place),
            QueueSpec::Taprio(config) => taprio::commands(self, config, port, place),
            queue => {
                self.qdisc(place, counterpart(queue, port));
            }
        }
    }

    /// The notes of a qdisc as comments, then its command. Returns its handle.
    pub fn qdisc(&mut self, place: Place, Qdisc { command, notes }: Qdisc) -> u32 {
        for note in notes {
            self.comment(note);
        }
        let device = self.device;
        match place {
            Place::Root => {
                self.lines.push(format!("tc qdisc replace dev {device} root handle {ROOT}: {command}"));
                ROOT
            }
            Place::Class(parent, class) => {
                let handle = self.next;
                self.next += 1;
                let line =
                    format!("tc qdisc add dev {device} parent {parent:x}:{class:x} handle {handle:x}: {command}");
                self.lines.push(line);
                handle
            }
        }
    }

    /// A class of a qdisc: its parent's number (0 for the qdisc itself), its own, and its parameters.
    pub fn class(&mut self, qdisc: u32, parent: usize, class: usize, parameters: &str) {
        let parent = if parent == 0 { String::new() } else { format!("{parent:x}") };
        let device = self.device;
        self.lines.push(format!(
            "tc class add dev {device} parent {qdisc:x}:{parent} classid {qdisc:x}:{class:x} {parameters}"
        ));
    }

    /// Explains the marks that the filters below look for, once in a script.
    pub fn explain_marks(&mut self) {
        if !std::mem::replace(&mut self.has_marks, true) {
            let device = self.device;
            self.comment("A traffic class is a firewall mark here. Set it by a rule such as");
            self.comment(format!(
                "  iptables -t mangle -A POSTROUTING -o {device} -p udp --dport 5060 -j MARK --set-mark CLASS"
            ));
        }
    }

    /// The filters that send traffic classes to a class of a qdisc.
    pub fn filters(&mut self, qdisc: u32, class: usize, traffic_classes: &[u8]) {
        let device = self.device;
        for mark in traffic_classes {
            self.lines.push(format!(
                "tc filter add dev {device} parent {qdisc:x}: protocol all basic match 'meta(nf_mark eq {mark})' \
                 classid {qdisc:x}:{class:x}"
            ));
        }
    }

    /// Filters in front of the qdisc at the root: each list of traffic classes gets a priority, all others the last.
    pub fn priorities(&mut self, priorities: &[(&[u8], usize)], default: usize) {
        let device = self.device;
        self.has_egress_filters = true;
        self.lines.push(format!("tc qdisc replace dev {device} clsact"));
        for (traffic_classes, priority) in priorities {
            self.lines.extend(traffic_classes.iter().map(|mark| {
                format!(
                    "tc filter add dev {device} egress prio 1 protocol all basic match 'meta(nf_mark eq {mark})' \
                     action skbedit priority {priority}"
                )
            }));
        }
        self.lines.push(format!(
            "tc filter add dev {device} egress prio 2 protocol all matchall action skbedit priority {default}"
        ));
    }

    /// The comment with the commands that undo the script.
    pub fn removal(&self) -> String {
        let device = self.device;
        let filters =
            if self.has_egress_filters { format!("; tc qdisc del dev {device} clsact") } else { String::new() };
        format!("# To remove it: tc qdisc del dev {device} root{filters}")
    }
}

/// Whether a queue may hold packets back although the link is idle.
pub(super) fn may_wait(queue: Option<&QueueSpec>) -> bool {
    let shapes = |queue: &QueueSpec| match queue {
        QueueSpec::Tbf(_) | QueueSpec::Htb(_) | QueueSpec::Cbq(_) | QueueSpec::Taprio(_) => true,
        QueueSpec::Cake(config) => config.bandwidth.is_some(),
        QueueSpec::Fq(config) => config.flow_max_rate.is_some(),
        _ => false,
    };
    queue.is_some_and(|queue| shapes(queue) || queue.children().any(|child| may_wait(Some(child))))
}
