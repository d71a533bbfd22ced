//! Outages, loss, duplication, delay and order of packets after their transmission.
//!
//! | file | contents |
//! |---|---|
//! | `correlated.rs` | random numbers of which each depends on the one before |
//! | `loss.rs` | models of loss |
//! | `slots.rs` | packets that are released together |

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use forebay_qdisc::{Span, Time};
use rand_pcg::Pcg64Mcg;

use self::correlated::Correlated;
use self::loss::Loss;
use self::slots::SlotClock;
use crate::driver::node::Channels;
use crate::driver::routes::Way;
use crate::observe::loss_counters::{LinkLosses, LossCounters, LossReason};
use crate::packet::{FlowId, Packet};
use crate::spec::{ChosenPackets, Distribution, Impairments, Jitter, PacketOrder};

mod correlated;
mod loss;
mod slots;

/// The impairments of a link at work.
pub(crate) struct Impaired {
    spec: Impairments,
    rng: Pcg64Mcg,
    /// From this flow on, packets are PAUSE frames.
    first_pause: FlowId,
    /// By (flow, direction): packets up to now, and the numbers of those to lose, in order.
    chosen: BTreeMap<usize, (u64, Vec<u64>)>,
    loss: Loss,
    jitter: Correlated,
    early: Correlated,
    /// Packets since the last one without jitter.
    since_early: u32,
    slots: Option<SlotClock>,
    /// When packets on their way arrive, if their number is limited.
    on_the_way: BinaryHeap<Reverse<Time>>,
    /// When the last packet comes.
    last: Time,
    pub lost: LinkLosses,
    pub duplicated: LossCounters,
}

impl Impaired {
    pub fn new(spec: Impairments, first_pause: FlowId, mut rng: Pcg64Mcg) -> Self {
        let chosen = |chosen: &ChosenPackets| {
            let direction = 2 * chosen.flow as usize + usize::from(chosen.acks);
            (direction, (0, chosen.numbers.iter().rev().copied().collect()))
        };
        let early = if let PacketOrder::Early { correlation, .. } = spec.order { correlation } else { 0.0 };
        Self {
            first_pause,
            chosen: spec.chosen.iter().map(chosen).collect(),
            loss: Loss::new(spec.loss, &mut rng),
            jitter: Correlated::new(spec.jitter.as_ref().map_or(0.0, |jitter| jitter.correlation), &mut rng),
            early: Correlated::new(early, &mut rng),
            since_early: 0,
            slots: spec.slots.map(|slots| SlotClock::new(slots, &mut rng)),
            on_the_way: BinaryHeap::new(),
            last: Time::ZERO,
            lost: LinkLosses::default(),
            duplicated: LossCounters::default(),
            spec,
            rng,
        }
    }

    /// Passes `packet` on, whose transmission is from `start` to `end`, and which would arrive at its time.
    pub fn pass(&mut self, packet: Packet, (start, end): (Time, Time), way: Way, channels: &mut Channels) {
        if packet.flow_id() >= self.first_pause || packet.time > channels.measured.to {
            return channels.send(way, packet);
        }
        if self.spec.outages.iter().any(|&(from, to)| start < to && from < end) {
            return self.lose(&packet, LossReason::Outage, channels);
        }
        if self.is_chosen(&packet) {
            return self.lose(&packet, LossReason::Random, channels);
        }
        if correlated::happens(self.spec.duplication, &mut self.rng) {
            self.duplicated.add(&packet, &channels.measured);
            let copy = channels.tables.copy(&packet);
            self.pass_copy(copy, end, way, channels);
        }
        self.pass_copy(packet, end, way, channels);
    }

    /// Whether it is the next of its flow to lose.
    fn is_chosen(&mut self, packet: &Packet) -> bool {
        let Some((count, numbers)) = self.chosen.get_mut(&packet.direction_index()) else { return false };
        *count += 1;
        numbers.pop_if(|next| next == count).is_some()
    }

    fn pass_copy(&mut self, packet: Packet, end: Time, way: Way, channels: &mut Channels) {
        if self.loss.loses(&mut self.rng) {
            return self.lose(&packet, LossReason::Random, channels);
        }
        if let Some(limit) = self.spec.limit {
            while self.on_the_way.peek().is_some_and(|&Reverse(arrival)| arrival <= end) {
                self.on_the_way.pop();
            }
            if self.on_the_way.len() as u64 >= limit {
                return self.lose(&packet, LossReason::Limit, channels);
            }
        }
        let mut time = packet.time.saturating_add(self.additional_delay(end));
        let is_early = self.is_early();
        if !is_early {
            time = time.saturating_add(self.draw_jitter());
        }
        if let Some(slots) = &mut self.slots {
            time = slots.release(packet.time, time, u64::from(packet.len_bytes()), &mut self.rng);
        }
        if self.spec.order == PacketOrder::Kept {
            time = time.max(self.last);
            self.last = time;
        }
        if self.spec.limit.is_some() {
            self.on_the_way.push(Reverse(time));
        }
        channels.send(way, packet.at(time));
    }

    fn lose(&mut self, packet: &Packet, reason: LossReason, channels: &mut Channels) {
        self.lost.add(packet, reason, &channels.measured);
        channels.tables.discard(packet);
    }

    /// The step of the delay that holds for a packet whose transmission ends at `end`.
    fn additional_delay(&self, end: Time) -> Span {
        let steps = &self.spec.delays;
        let place = steps.partition_point(|step| step.from <= end);
        place.checked_sub(1).map_or(Span::ZERO, |place| steps[place].delay)
    }

    /// netem's rule: whether a packet has no jitter.
    fn is_early(&mut self) -> bool {
        let PacketOrder::Early { probability, gap, .. } = self.spec.order else { return false };
        if self.since_early + 1 >= gap && self.early.happens(probability, &mut self.rng) {
            self.since_early = 0;
            return true;
        }
        self.since_early = self.since_early.saturating_add(1);
        false
    }

    fn draw_jitter(&mut self) -> Span {
        match &self.spec.jitter {
            None => Span::ZERO,
            &Some(Jitter { distribution: Distribution::Uniform(low, high), .. }) => {
                Span::from_picoseconds((low + (high - low) * self.jitter.draw(&mut self.rng)) as u64)
            }
            Some(other) => other.distribution.draw_span(&mut self.rng),
        }
    }
}

#[cfg(test)]
#[path = "impaired_tests.rs"]
mod tests;
