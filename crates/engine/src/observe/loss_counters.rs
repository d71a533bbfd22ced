//! Packets that a link lost or duplicated at random, or that found no room at a host.

use std::collections::BTreeMap;

use crate::observe::interval::MeasuredInterval;
use crate::packet::Packet;

/// By (flow, direction): since the start, and in the measured interval.
#[derive(Default)]
pub(crate) struct LossCounters {
    pub directions: BTreeMap<usize, (u64, u64)>,
}

impl LossCounters {
    pub fn add(&mut self, packet: &Packet, interval: &MeasuredInterval) {
        let (total, measured) = self.directions.entry(packet.direction_index()).or_default();
        *total += 1;
        *measured += u64::from(interval.contains(packet.time));
    }

    /// All packets in the measured interval.
    pub fn measured(&self) -> u64 {
        self.directions.values().map(|(_, measured)| measured).sum()
    }
}
