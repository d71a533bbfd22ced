//! Packets that a link lost at random, or for which an adapter had no room.

use std::collections::BTreeMap;

use crate::observe::interval::MeasuredInterval;
use crate::packet::{FlowId, Packet};

/// Packets that a link lost at random, by flow: since the start, and within the measured interval.
#[derive(Default)]
pub(crate) struct LossBook {
    pub flows: BTreeMap<FlowId, (u64, u64)>,
}

impl LossBook {
    pub fn lost(&mut self, packet: &Packet, interval: &MeasuredInterval) {
        let (total, measured) = self.flows.entry(packet.flow_id()).or_default();
        *total += 1;
        *measured += u64::from(interval.contains(packet.time));
    }
}
