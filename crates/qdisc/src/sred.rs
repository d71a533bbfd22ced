//! SRED, stabilized RED: estimates the number of flows from how often a packet meets its own flow in a short memory.
//!
//! # What it does
//! SRED keeps a "zombie list", the flows of M recent packets. Each arriving packet is compared with a random entry. The
//! probability of a hit is proportional to what the flow sends, so that the rate of hits is about one over the number
//! of flows. An arriving packet is dropped with a probability that depends on the queue in three steps and grows with
//! the square of the number of flows. The queue thus settles at a length that does not depend on that number. A packet
//! that hit is more likely to be dropped. Flows with many hits are candidates for misbehaving flows, but are not held
//! back.
//!
//! # When to use it
//! Use it to study SRED with hundreds of TCP flows that send alike. With few flows, or against a flood, it hardly drops
//! anything early and behaves like `drop_tail`: see below.
//!
//! # Example
//! ```toml
//! queue.sred = { limit = "600 packets", zombies = 1000 }
//! ```
//!
//! Set `limit` first: a sixth and a third of it are the steps of the drop probability.
//!
//! # Source
//! T. J. Ott, T. V. Lakshman and L. H. Wong, "SRED: Stabilized RED", INFOCOM 1999.
//!
//! # Where we differ
//! - The paper's buffer is in bytes; the steps here are in the unit of `limit`.
//! - Where the rate of hits is a divisor, it is taken as at least the weight of its moving average, so that nothing is
//!   divided by zero before the first hit.
//! - A packet that finds the buffer full is dropped before a random number is drawn for it.
//! - ECN marking in place of early drops is our addition.
//!
//! # When it does nothing
//! Up to 256 flows the drop probability is proportional to the square of their number, so packets of few flows are
//! hardly dropped early. `p_zap` is 0.15 (N / 256)^2, on average twice that with hits counted, which is 0.02 % for six
//! equal flows. The effective number is one over the sum of the squares of the flows' shares of the arrivals. With a
//! flood that sends most of the packets, hundreds of flows count as one or two. The buffer then fills as behind
//! drop-tail. That is the paper's rule, which was made for many TCP flows that send alike. Flows that hardly hit are
//! never dropped early with more than 15 %, `max_probability`; at a higher load the buffer is full as well.
//!
//! # Cost
//! 24 bytes for each of the `zombies`, regardless of the number of flows. O(1) a packet, and at most three random
//! numbers.
//!
//! # Parameters
//! See [`SredConfig`].

use alloc::vec::Vec;

use forebay_units::{QueueSize, Rate};

use crate::limit::{Limit, check_probability};
use crate::memory::{heap_bytes, inline_bytes};
use crate::require;
use crate::{
    Admission, Arrival, Backlog, DropReason, FlowKey, MarkReason, Offer, ParameterError, Ticket, Time, Verdict,
    table_index, uniform,
};

parameters! {
    /// Parameters of SRED.
    pub struct SredConfig {
        /// B: limit of the queue, in packets or bytes, not counting the packet being sent. A sixth and a third of it
        /// are the steps of the drop probability. Default: 1000 packets.
        pub limit: QueueSize = QueueSize::Packets(1000);
        /// M: length of the zombie list. Default: 1000 (paper).
        pub zombies: u32 = 1000;
        /// p: probability with which a packet without a hit replaces the zombie with which it was compared. Divided by
        /// `zombies` it is the weight of a packet in the moving average of the hits. Default: 0.25 (paper).
        pub overwrite_probability: f64 = 0.25;
        /// `p_max`: drop probability from a third of the limit on, before the number of flows is taken into account.
        /// Default: 0.15 (paper).
        pub max_probability: f64 = 0.15;
        /// Whether a packet with a hit is more likely to be dropped (the paper's "full SRED"), instead of all packets
        /// alike ("simple SRED"). Default: yes.
        pub full: bool = true;
        /// Whether ECN-capable packets are marked instead of dropped early. Default: no.
        pub ecn: bool = false;
    }
}

/// The number of flows up to which the drop probability grows with their square (paper).
const MANY_FLOWS: f64 = 256.0;

/// A packet of the recent past.
#[derive(Clone, Copy, Debug)]
struct Zombie {
    flow: FlowKey,
    /// When its flow hit it last, or when it came.
    time: Time,
    /// Hits since it came.
    hits: u32,
}

/// SRED: stabilized RED.
#[derive(Clone, Debug)]
pub struct Sred {
    limit: Limit,
    /// B in the unit of the limit, and whether that is bytes.
    capacity: f64,
    in_bytes: bool,
    length: u32,
    overwrite_probability: f64,
    /// alpha = p/M of the paper.
    weight: f64,
    max_probability: f64,
    full: bool,
    ecn: bool,

    zombies: Vec<Zombie>,
    /// P(t) of the paper: the moving average of hits.
    hit_probability: f64,
    /// `p_zap` of the last arrival.
    zap_probability: f64,
}

impl Sred {
    /// An SRED law with an empty list; neither the link's rate nor the salt matter.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &SredConfig, _link_rate: Rate, _salt: u64) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        require((1..=1 << 24).contains(&config.zombies), "zombies", "be between 1 and 16777216")?;
        check_probability(config.overwrite_probability, "overwrite_probability")?;
        // Without it the list would always keep the first flows and the average would never move.
        require(config.overwrite_probability > 0.0, "overwrite_probability", "be more than 0")?;
        check_probability(config.max_probability, "max_probability")?;
        let (capacity, in_bytes) = match config.limit {
            QueueSize::Packets(packets) => (packets as f64, false),
            QueueSize::Bytes(bytes) => (bytes as f64, true),
        };
        Ok(Self {
            limit,
            capacity,
            in_bytes,
            length: config.zombies,
            overwrite_probability: config.overwrite_probability,
            weight: config.overwrite_probability / f64::from(config.zombies),
            max_probability: config.max_probability,
            full: config.full,
            ecn: config.ecn,
            zombies: Vec::new(),
            hit_probability: 0.0,
            zap_probability: 0.0,
        })
    }

    /// The paper's zombie list: compares the packet with a zombie; whether it hit.
    fn compare(&mut self, flow: FlowKey, offer: &mut Offer<'_>) -> bool {
        let fresh = Zombie { flow, time: offer.now, hits: 0 };
        if self.zombies.len() < self.length as usize {
            self.zombies.push(fresh);
            return false;
        }
        let zombie = &mut self.zombies[table_index(offer.rng.next_u64(), self.length) as usize];
        if zombie.flow == flow {
            zombie.hits = zombie.hits.saturating_add(1);
            zombie.time = offer.now;
            return true;
        }
        if uniform(offer.rng) < self.overwrite_probability {
            *zombie = fresh;
        }
        false
    }

    /// `p_sred` of the paper: by the queue alone.
    fn base_probability(&self, backlog: Backlog) -> f64 {
        let queue = if self.in_bytes { backlog.bytes } else { backlog.packets } as f64;
        if 3.0 * queue >= self.capacity {
            self.max_probability
        } else if 6.0 * queue >= self.capacity {
            self.max_probability / 4.0
        } else {
            0.0
        }
    }

    /// `p_zap` of the paper: by the number of flows as well, and in full SRED by whether the packet hit.
    fn zap_probability(&self, base: f64, hit: bool) -> f64 {
        let p = self.hit_probability.max(self.weight);
        let flows = 1.0 / (MANY_FLOWS * p);
        let simple = base * (flows * flows).min(1.0);
        if self.full && hit { (simple * (1.0 + 1.0 / p)).min(1.0) } else { simple }
    }
}

impl Admission for Sred {
    fn watches_departures(&self) -> bool {
        false
    }

    fn admit(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        // Every arriving packet counts, also one that is dropped.
        let hit = self.compare(arrival.flow, offer);
        self.hit_probability += self.weight * (f64::from(u8::from(hit)) - self.hit_probability);
        let base = self.base_probability(offer.backlog);
        self.zap_probability = self.zap_probability(base, hit);
        if !self.limit.fits(offer.backlog, arrival.len_bytes) {
            return Verdict::Drop(DropReason::Overflow);
        }
        if base <= 0.0 || uniform(offer.rng) >= self.zap_probability {
            Verdict::Enqueue(Ticket::default())
        } else if self.ecn && arrival.ecn.is_capable() {
            Verdict::Mark(Ticket::default(), MarkReason::Early)
        } else {
            Verdict::Drop(DropReason::Early)
        }
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + heap_bytes(&self.zombies)
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("p_hit", self.hit_probability);
        visit("estimated_flows", 1.0 / self.hit_probability.max(self.weight));
        visit("p_zap", self.zap_probability);
    }

    /// A misbehaving flow shows as zombies with many hits (the paper's "hit" and "total occurrence").
    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        let own = || self.zombies.iter().filter(|zombie| zombie.flow == flow);
        visit("zombies", own().count() as f64);
        visit("hits", own().map(|zombie| f64::from(zombie.hits)).sum());
        visit("last_hit_s", own().map(|zombie| zombie.time.seconds()).fold(0.0, f64::max));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::test_support::{LINK, Offers, flow_gauge, gauge};

    fn config() -> SredConfig {
        SredConfig::default()
    }

    fn sred(config: &SredConfig) -> Sred {
        Sred::new(config, LINK, 0).unwrap()
    }

    /// Offers one packet and forgets it.
    fn offer(law: &mut Sred, offers: &mut Offers, flow: u64, queued: u64) -> Verdict {
        offers.backlog = Backlog { packets: queued, bytes: queued * 1000 };
        offers.offer(law, flow, 1000)
    }

    #[test]
    fn the_rate_of_hits_is_one_over_the_number_of_flows() {
        for flows in [2, 4, 16, 64] {
            let mut law = sred(&config());
            let mut offers = Offers::new();
            let (mut sum, mut samples) = (0.0, 0.0);
            for packet in 0..200_000 {
                offer(&mut law, &mut offers, packet % flows, 0);
                // Five time constants of 4000 packets; then the mean, for the average itself scatters.
                if packet >= 20_000 {
                    sum += gauge(&law, "p_hit");
                    samples += 1.0;
                }
            }
            let p_hit: f64 = sum / samples;
            assert!((p_hit * flows as f64 - 1.0).abs() < 0.1, "{flows} flows: {p_hit}");
            assert!((gauge(&law, "estimated_flows") / flows as f64 - 1.0).abs() < 0.3);
        }
    }

    #[test]
    fn hits_count_for_flows_by_what_they_send() {
        // A flow with half of the packets and 50 with the rest: the sum of squares is 1/4 + 1/200.
        let mut law = sred(&config());
        let mut offers = Offers::new();
        let (mut sum, mut samples) = (0.0, 0.0);
        for packet in 0..100_000 {
            let flow = if packet % 2 == 0 { 0 } else { 1 + packet / 2 % 50 };
            offer(&mut law, &mut offers, flow, 0);
            if packet >= 20_000 {
                sum += gauge(&law, "p_hit");
                samples += 1.0;
            }
        }
        let p_hit: f64 = sum / samples;
        assert!((p_hit / 0.255 - 1.0).abs() < 0.1, "{p_hit}");
        assert!(flow_gauge(&law, 0, "hits") > 10.0 * flow_gauge(&law, 1, "hits"));
        assert!((flow_gauge(&law, 0, "zombies") / 500.0 - 1.0).abs() < 0.2);
    }

    #[test]
    fn the_drop_probability_grows_with_the_square_of_the_flows_to_256() {
        let mut law = sred(&config());
        for (p_hit, factor) in [(0.25, 0.000_244_14), (1.0 / 16.0, 0.003_906_25), (1.0 / 256.0, 1.0), (1e-3, 1.0)] {
            law.hit_probability = p_hit;
            assert!((law.zap_probability(0.15, false) / (0.15 * factor) - 1.0).abs() < 1e-4);
        }
        // Full SRED: a packet that hit counts 1 + 1/P times; simple SRED: it makes no difference.
        law.hit_probability = 1.0 / 16.0;
        assert!((law.zap_probability(0.15, true) / (0.15 * 0.003_906_25 * 17.0) - 1.0).abs() < 1e-12);
        law.full = false;
        assert_eq!(law.zap_probability(0.15, true), law.zap_probability(0.15, false));
        // No hit yet, and more than certain.
        law.full = true;
        law.hit_probability = 0.0;
        assert_eq!((law.zap_probability(0.15, false), law.zap_probability(0.15, true)), (0.15, 1.0));
    }

    #[test]
    fn the_queue_acts_in_three_steps() {
        for in_bytes in [false, true] {
            let limit = if in_bytes { QueueSize::Bytes(600_000) } else { QueueSize::Packets(600) };
            let law = sred(&SredConfig { limit, ..config() });
            for (queued, expected) in [(0, 0.0), (99, 0.0), (100, 0.0375), (199, 0.0375), (200, 0.15), (600, 0.15)] {
                let backlog = Backlog { packets: queued, bytes: queued * 1000 };
                assert_eq!(law.base_probability(backlog), expected, "{queued}");
            }
        }
    }

    #[test]
    fn drops_come_as_often_as_the_probability_says() {
        // All flows distinct: no hit ever, so that p_zap = p_sred.
        for (queued, expected) in [(100, 0.0), (250, 0.0375), (500, 0.15)] {
            let mut law = sred(&config());
            let mut offers = Offers::new();
            let dropped = (0..20_000)
                .filter(|flow| offer(&mut law, &mut offers, *flow, queued) == Verdict::Drop(DropReason::Early))
                .count();
            assert!((dropped as f64 / 20_000.0 - expected).abs() < 0.01, "{queued}: {dropped}");
        }
    }

    #[test]
    fn few_flows_are_hardly_dropped_early() {
        // 0.15 (1 / (256 P))^2 (1 + Hit / P), where a packet hits with probability P: twice the first part on average.
        // Six equal flows, P = 1/6; and five with one that sends ten times as much, P = (100 + 5) / 15^2.
        for (heavy, p_hit) in [(1, 1.0 / 6.0), (10, 105.0 / 225.0)] {
            let mut law = sred(&config());
            let mut offers = Offers::new();
            let (period, packets) = (heavy + 5, 600_000);
            let mut send = |packet: u64| {
                let flow = (packet % period).saturating_sub(heavy - 1);
                offer(&mut law, &mut offers, flow, 900) == Verdict::Drop(DropReason::Early)
            };
            // P begins at zero, where all are dropped as of 256 flows; ten time constants later it is near its mean.
            for packet in 0..40_000 {
                send(packet);
            }
            let dropped = (0..packets).filter(|packet| send(*packet)).count() as f64;
            let p_zap: f64 = 2.0 * 0.15 / (256.0 * p_hit * 256.0 * p_hit);
            let expected = p_zap * packets as f64;
            assert!((dropped - expected).abs() < 4.0 * libm::sqrt(expected), "{dropped} drops, not {expected}");
        }
    }

    #[test]
    fn a_packet_that_meets_a_full_queue_is_compared_and_dropped() {
        let mut law = sred(&SredConfig { zombies: 1, ..config() });
        let mut offers = Offers::new();
        for hits in 0..3 {
            assert_eq!(offer(&mut law, &mut offers, 1, 1000), Verdict::Drop(DropReason::Overflow));
            assert_eq!(flow_gauge(&law, 1, "hits"), f64::from(hits));
        }
    }

    #[test]
    fn capable_packets_are_marked_where_others_are_dropped() {
        let mut law = sred(&SredConfig { ecn: true, max_probability: 1.0, ..config() });
        let mut offers = Offers { ecn: Ecn::Capable0, ..Offers::new() };
        assert_eq!(offer(&mut law, &mut offers, 1, 500), Verdict::Mark(Ticket::default(), MarkReason::Early));
        offers.ecn = Ecn::NotCapable;
        assert_eq!(offer(&mut law, &mut offers, 1, 500), Verdict::Drop(DropReason::Early));
        assert_eq!(offer(&mut law, &mut offers, 1, 1000), Verdict::Drop(DropReason::Overflow));
    }

    #[test]
    fn distinct_flows_without_end_do_not_grow_the_list() {
        let mut law = sred(&config());
        let mut offers = Offers::new();
        let mut bytes = 0;
        for flow in 0..100_000 {
            offer(&mut law, &mut offers, flow, 0);
            if flow == 1000 {
                bytes = law.state_bytes();
            }
        }
        assert_eq!(law.state_bytes(), bytes);
    }

    #[test]
    fn a_miss_takes_the_place_of_a_zombie_one_time_in_four() {
        let mut law = sred(&SredConfig { zombies: 1, ..config() });
        let mut offers = Offers::new();
        let mut replaced = 0;
        for flow in 0..4000 {
            offer(&mut law, &mut offers, flow, 0);
            replaced += u32::from(law.zombies[0].flow == FlowKey(flow));
        }
        // 1000 on average, with a deviation of 27.
        assert!((900..1100).contains(&replaced), "{replaced}");
    }

    #[test]
    fn each_parameter_is_checked() {
        let cases = [
            (SredConfig { limit: QueueSize::Packets(0), ..config() }, "limit"),
            (SredConfig { zombies: 0, ..config() }, "zombies"),
            (SredConfig { zombies: (1 << 24) + 1, ..config() }, "zombies"),
            (SredConfig { overwrite_probability: 0.0, ..config() }, "overwrite_probability"),
            (SredConfig { overwrite_probability: 1.1, ..config() }, "overwrite_probability"),
            (SredConfig { max_probability: -0.1, ..config() }, "max_probability"),
        ];
        for (config, field) in cases {
            assert_eq!(Sred::new(&config, LINK, 0).unwrap_err().field, field);
        }
    }
}
