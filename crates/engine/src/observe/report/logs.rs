//! Gathers the events that were recorded one by one.

use std::collections::BTreeMap;

use super::Report;
use crate::observe::packet_recorder::PacketRecorder;
use crate::observe::watched::{CrossbarLog, PacketLog, PauseLog, Watched};
use crate::packet::FlowId;
use crate::spec::LinkId;

/// The logs of a run.
#[derive(Default)]
pub(super) struct Logs {
    /// By their places in the list of watched links.
    packets: BTreeMap<usize, PacketLog>,
    crossbars: Vec<CrossbarLog>,
    pauses: BTreeMap<LinkId, PauseLog>,
}

impl From<Logs> for Watched {
    fn from(Logs { packets, crossbars, pauses }: Logs) -> Self {
        Self { packets: packets.into_values().collect(), crossbars, pauses: pauses.into_values().collect() }
    }
}

impl Report {
    /// Has room for recorded events.
    pub(crate) fn expect_logs(&mut self) {
        self.logs = Some(Logs::default());
    }

    pub(super) fn packets_of_queue(&mut self, name: &str, recorder: &mut PacketRecorder) {
        let labels = &self.labels;
        let flow_name = |direction: usize| {
            let (flow, flows) = (direction / 2, labels.rows.flows());
            match (flow.checked_sub(flows), direction % 2) {
                (Some(about), _) => format!("{} (control)", labels.name_of_flow(about as FlowId)),
                (None, 0) => labels.name_of_flow(flow as FlowId).to_owned(),
                (None, _) => format!("{} (ACKs)", labels.name_of_flow(flow as FlowId)),
            }
        };
        let log = recorder.close(name, self.measured.to, flow_name);
        self.logs.get_or_insert_default().packets.insert(recorder.place, log);
    }

    pub(crate) fn crossbar(&mut self, log: CrossbarLog) {
        self.logs.get_or_insert_default().crossbars.push(log);
    }

    /// The pauses of a link, if there are any.
    pub(crate) fn pauses(&mut self, link: LinkId, log: Option<PauseLog>) {
        if let Some(log) = log {
            self.logs.get_or_insert_default().pauses.insert(link, log);
        }
    }
}
