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

/// Why a link lost a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LossReason {
    /// By its loss model, or because it was chosen.
    Random,
    /// The link was down.
    Outage,
    /// Too many packets were on their way.
    Limit,
}

impl LossReason {
    pub const ALL: [Self; 3] = [Self::Random, Self::Outage, Self::Limit];

    /// The column that counts them in results; `None` if there is only that of all losses.
    pub const fn column(self) -> Option<&'static str> {
        match self {
            Self::Random => None,
            Self::Outage => Some("lost_outage"),
            Self::Limit => Some("lost_limit"),
        }
    }
}

/// Packets that a link lost, also by reason in the measured interval.
#[derive(Default)]
pub(crate) struct LinkLosses {
    pub all: LossCounters,
    pub by_reason: [u64; LossReason::ALL.len()],
}

impl LinkLosses {
    pub fn add(&mut self, packet: &Packet, reason: LossReason, interval: &MeasuredInterval) {
        self.all.add(packet, interval);
        self.by_reason[reason as usize] += u64::from(interval.contains(packet.time));
    }
}
