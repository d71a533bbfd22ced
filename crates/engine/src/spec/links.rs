//! The links of a network as its builder keeps them: of a million, what only some have is apart.

use std::collections::BTreeMap;

use forebay_qdisc::framing::Framing;
use forebay_qdisc::{Queue, Rate, Span};
use forebay_records::StringColumn;

use crate::forwarding::Edge;
use crate::observe::trace::TraceSpec;
use crate::packet::{FlowId, Packet};
use crate::spec::{Impairments, LinkId, LinkSpec, Opportunities, ServiceStep};

/// Links in the order in which they were added.
#[derive(Default)]
pub(crate) struct Links {
    pub names: StringColumn,
    pub all: Vec<LinkParameters>,
    pub extras: BTreeMap<LinkId, LinkExtras>,
}

/// The fields of every link, as [`LinkSpec`] describes it.
#[derive(Clone, Copy)]
pub(crate) struct LinkParameters {
    pub edge: Edge,
    pub rate: Rate,
    /// The highest rate that it ever has.
    pub fastest: Rate,
    pub propagation: Span,
    /// Several packets may leave at the same time.
    pub has_opportunities: bool,
    pub has_queue: bool,
    pub is_impaired: bool,
    pub shares_state: bool,
}

/// The fields of only some links.
#[derive(Default)]
pub(crate) struct LinkExtras {
    pub queue: Option<(String, Queue<Packet>)>,
    pub class_queues: Vec<Queue<Packet>>,
    pub trace: Option<TraceSpec>,
    pub watched_flows: Vec<FlowId>,
    pub service: Vec<ServiceStep>,
    pub opportunities: Option<Opportunities>,
    pub framing: Option<Framing>,
    pub impairments: Impairments,
}

impl Links {
    pub fn add(&mut self, link: LinkSpec) -> LinkId {
        let number = self.all.len() as LinkId;
        let LinkSpec {
            name,
            from,
            to,
            metric,
            rate,
            propagation,
            queue,
            class_queues,
            shares_state,
            service,
            opportunities,
            framing,
            impairments,
            trace,
            watched_flows,
        } = link;
        self.names.push(&name);
        let (has_queue, is_impaired) = (queue.is_some(), impairments.are_some());
        let fastest = service.iter().filter_map(|step| step.rate).fold(rate, Rate::max);
        let edge = Edge { from, to, metric };
        let has_opportunities = opportunities.is_some();
        self.all.push(LinkParameters {
            edge,
            rate,
            fastest,
            propagation,
            has_opportunities,
            has_queue,
            is_impaired,
            shares_state,
        });
        let varies = !service.is_empty() || has_opportunities;
        if has_queue || is_impaired || trace.is_some() || varies || framing.is_some() {
            let extras =
                LinkExtras { queue, class_queues, trace, watched_flows, service, opportunities, framing, impairments };
            self.extras.insert(number, extras);
        }
        number
    }

    pub fn name(&self, link: LinkId) -> &str {
        &self.names[link as usize]
    }
}
