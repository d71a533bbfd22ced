//! The flows of a network as its builder keeps them: of a million, what they have in common is there once.

use std::rc::Rc;

use forebay_qdisc::Time;

use crate::observe::handed_in::FlowLabels;
use crate::spec::distribution::Distribution;
use crate::spec::flow::{FlowSpec, Transport};
use crate::spec::link::LinkId;

/// Flows in the order in which they were added.
#[derive(Default)]
pub(crate) struct Flows {
    pub labels: FlowLabels,
    all: Vec<Kept>,
    /// The links of all flows: of each those of the data, then those of the ACKs.
    links: Vec<LinkId>,
}

/// The fields of a flow in addition to its name.
struct Kept {
    /// Shared with the flow before if it has the same.
    traits: Rc<Traits>,
    start: Time,
    stop: Time,
    class: u8,
    /// Where the links of its data and of its ACKs end.
    forward_end: usize,
    backward_end: usize,
}

/// The parts of a flow that most flows of a group share.
#[derive(PartialEq)]
struct Traits {
    transport: Transport,
    host_jitter: [Distribution; 2],
}

/// A flow, as [`FlowSpec`] describes it.
#[derive(Clone, Copy)]
pub(crate) struct Flow<'a> {
    pub name: &'a str,
    pub group: &'a str,
    pub transport: &'a Transport,
    pub forward: &'a [LinkId],
    pub backward: &'a [LinkId],
    pub start: Time,
    pub stop: Time,
    pub class: u8,
    pub host_jitter: [Distribution; 2],
}

impl Flows {
    pub fn add(&mut self, flow: FlowSpec) {
        let FlowSpec { name, group, transport, forward, backward, start, stop, class, host_jitter } = flow;
        self.labels.push(&name, &group, kind(&transport));
        let traits = Traits { transport, host_jitter };
        let before = self.all.last().map(|before| &before.traits);
        let traits = before.filter(|before| ***before == traits).map_or_else(|| Rc::new(traits), Rc::clone);
        self.links.extend(forward);
        let forward_end = self.links.len();
        self.links.extend(backward);
        let backward_end = self.links.len();
        self.all.push(Kept { traits, start, stop, class, forward_end, backward_end });
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn get(&self, index: usize) -> Flow<'_> {
        let kept = &self.all[index];
        let first = index.checked_sub(1).map_or(0, |before| self.all[before].backward_end);
        Flow {
            name: self.labels.name(index),
            group: self.labels.group(index),
            transport: &kept.traits.transport,
            forward: &self.links[first..kept.forward_end],
            backward: &self.links[kept.forward_end..kept.backward_end],
            start: kept.start,
            stop: kept.stop,
            class: kept.class,
            host_jitter: kept.traits.host_jitter,
        }
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = Flow<'_>> + Clone {
        (0..self.len()).map(|index| self.get(index))
    }
}

fn kind(transport: &Transport) -> &'static str {
    match transport {
        Transport::Tcp { .. } => "tcp",
        Transport::Udp { .. } => "udp",
        Transport::Cells { .. } => "cells",
        Transport::Frames { .. } => "frames",
    }
}
