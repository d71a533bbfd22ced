//! The endpoints of a node behind its adapter.

use std::collections::VecDeque;

use forebay_qdisc::Time;

use crate::driver::node::Channels;
use crate::host::endpoint::AnyEndpoint;
use crate::host::outbox::{Exit, Outbox};
use crate::host::send_path::SendPath;
use crate::host::several::{Endpoints, HostEndpoint};
use crate::observe::report::Report;
use crate::observe::so_far::Show;
use crate::packet::Packet;

/// Parts of `Attached`. A (flow, direction) is a number, as in [`Packet::direction_index`].
#[derive(Default)]
pub(crate) struct AttachedParts {
    pub endpoints: Vec<AnyEndpoint>,
    /// By endpoint.
    pub salts: Vec<u32>,
    /// (flow, direction) and the endpoint that receives its packets, or the virtual output queue of those sent.
    pub numbers: Vec<(usize, u32)>,
    /// `None` if packets reach the adapter at once.
    pub path: Option<Box<SendPath>>,
}

/// The endpoints of a node. The adapter carries what they send.
pub(crate) struct Attached {
    ends: Endpoints,
    numbers: ByDirection,
    path: Option<Box<SendPath>>,
    /// Packets that the adapter has not taken yet, with the time at which they reach it.
    sent: VecDeque<Packet>,
}

impl Attached {
    /// `None` without endpoints.
    pub fn new(parts: AttachedParts) -> Option<Self> {
        let AttachedParts { endpoints, salts, numbers, path } = parts;
        let ends = Endpoints::of(endpoints, 0, salts)?;
        Some(Self { ends, numbers: ByDirection::new(&numbers), path, sent: VecDeque::new() })
    }

    /// When an endpoint next acts by itself, or a packet reaches the adapter.
    pub fn next(&self) -> Time {
        self.sent.front().map_or(Time::NEVER, |packet| packet.time).min(self.ends.next())
    }

    pub fn expire(&mut self, now: Time, channels: &mut Channels) {
        self.ends
            .expire(now, &mut Outbox { exit: Exit::Adapter(&mut self.sent), path: self.path.as_deref_mut(), channels });
    }

    /// Delivers a packet at `packet.time`. Returns false if no endpoint receives it.
    pub fn receive(&mut self, packet: &Packet, channels: &mut Channels) -> bool {
        let Some(endpoint) = self.numbers.of(packet) else { return false };
        self.ends.receive(
            packet,
            endpoint,
            &mut Outbox { exit: Exit::Adapter(&mut self.sent), path: self.path.as_deref_mut(), channels },
        );
        true
    }

    /// The packets that reach the adapter by `now`, each with its virtual output queue.
    pub fn take_sent(&mut self, now: Time) -> impl Iterator<Item = (Packet, usize)> {
        let Self { sent, numbers, .. } = self;
        let due = std::iter::from_fn(move || {
            let is_due = sent.front().is_some_and(|packet| packet.time <= now);
            if is_due { sent.pop_front() } else { None }
        });
        due.filter_map(|packet| Some((packet, numbers.of(&packet)? as usize)))
    }

    pub fn show(&self, show: &mut Show<'_>) {
        self.ends.show(show);
    }

    pub fn finish(&mut self, end: Time, report: &mut Report) {
        report.holds(self.sent.len() as u64);
        self.ends.finish(end, report);
    }
}

/// A map from (flow, direction). The keys are close together, so it is an array.
struct ByDirection {
    first: usize,
    numbers: Vec<Option<u32>>,
}

impl ByDirection {
    fn new(pairs: &[(usize, u32)]) -> Self {
        let first = pairs.iter().map(|&(direction, _)| direction).min().unwrap_or(0);
        let beyond = pairs.iter().map(|&(direction, _)| direction + 1).max().unwrap_or(0);
        let mut numbers = vec![None; beyond - first];
        for &(direction, number) in pairs {
            numbers[direction - first] = Some(number);
        }
        Self { first, numbers }
    }

    #[inline]
    fn of(&self, packet: &Packet) -> Option<u32> {
        self.numbers.get(packet.direction_index().wrapping_sub(self.first)).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ethernet::control::control_frame;
    use crate::packet::flags;

    #[test]
    fn each_direction_of_a_flow_has_its_own_number() {
        let numbers = ByDirection::new(&[(11, 1), (7, 0)]);
        let of = |flow, flags| numbers.of(&control_frame(flow, 0, flags, 0, Time::ZERO));
        assert_eq!([of(5, flags::ACK), of(3, flags::ACK)], [Some(1), Some(0)]);
        assert_eq!([of(5, 0), of(3, 0), of(4, 0), of(6, 0), of(0, 0)], [None; 5]);
    }
}
