//! The flows of a network as its builder keeps them: of a million, what they have in common is there once.

use std::rc::Rc;

use forebay_qdisc::Time;

use crate::observe::reported::FlowLabels;
use crate::observe::voice::VOICE;
use crate::spec::distribution::Distribution;
use crate::spec::flow::{FlowSpec, TcpData, Transport};
use crate::spec::node::NodeIndex;

/// Flows in the order in which they were added.
#[derive(Default)]
pub(crate) struct Flows {
    pub labels: FlowLabels,
    all: Vec<Kept>,
}

/// The fields of a flow in addition to its labels.
struct Kept {
    /// Shared with the flow before if it has the same.
    traits: Rc<Traits>,
    start: Time,
    stop: Time,
    class: u8,
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
    pub source: NodeIndex,
    pub destination: NodeIndex,
    pub start: Time,
    pub stop: Time,
    pub class: u8,
    pub host_jitter: &'a [Distribution; 2],
    /// Its number among the flows of its row, from 0: slots of transfers, or connections of an application.
    pub slot: u32,
}

impl Flows {
    pub fn add(&mut self, flow: FlowSpec) {
        let FlowSpec { name, group, transport, source, destination, start, stop, class, host_jitter } = flow;
        self.labels.push(&name, &group, kind(&transport), [source, destination], slots(&transport));
        let traits = Traits { transport, host_jitter };
        let before = self.all.last().map(|before| &before.traits);
        let traits = before.filter(|before| ***before == traits).map_or_else(|| Rc::new(traits), Rc::clone);
        self.all.push(Kept { traits, start, stop, class });
    }

    pub fn len(&self) -> usize {
        self.labels.rows.flows()
    }

    pub fn get(&self, index: usize) -> Flow<'_> {
        let (row, slot) = self.labels.rows.with_number(index);
        let kept = &self.all[row];
        let [source, destination] = self.labels.ends(row);
        Flow {
            name: self.labels.name(row),
            group: self.labels.group(row),
            transport: &kept.traits.transport,
            source,
            destination,
            start: kept.start,
            stop: kept.stop,
            class: kept.class,
            host_jitter: &kept.traits.host_jitter,
            slot,
        }
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = Flow<'_>> + Clone {
        (0..self.len()).map(|index| self.get(index))
    }
}

/// How many flows it is.
fn slots(transport: &Transport) -> u32 {
    match transport {
        Transport::Tcp { data: TcpData::Transfers(transfers), .. } => transfers.connections,
        Transport::Tcp { data: TcpData::BothWays(kind), .. } => kind.0.connections(),
        _ => 1,
    }
}

fn kind(transport: &Transport) -> &'static str {
    match transport {
        Transport::Tcp { .. } => "tcp",
        Transport::Udp { call: Some(_), .. } => VOICE,
        Transport::Udp { .. } => "udp",
        Transport::Ping(_) => "ping",
        Transport::Message(message) => message.transport.name(),
        Transport::Cells { .. } => "cells",
        Transport::Frames { .. } => "frames",
    }
}
