//! RED with penalty box: finds flows that do not respond by a log of recent drops, and holds them to a fixed rate.
//!
//! # What it does
//! RED's drops are written into a log of fixed length. At fixed intervals each flow with enough entries in the log is
//! tested. It goes into the box if it sends more than a TCP could, if it has not slowed down although drops have become
//! four times as frequent, or if its share is out of proportion. All flows in the box share one token bucket and lose
//! what exceeds it; the rest continues to RED. At the end of an interval a flow leaves the box if it sends no more than
//! the bound that it broke. If many flows do not respond, they displace each other from the log, and the box holds only
//! some of them.
//!
//! # When to use it
//! Use it to reproduce papers that compare with a penalty box. Against floods use `fred`, `sfb` or `afd`, which react
//! faster: a flow goes into the box after an interval, and while it goes in and out the link may stay partly idle.
//!
//! # Example
//! ```toml
//! queue.penalty_box = { box_share = 0.05, interval = "1 s", rtt = "100 ms" }
//! ```
//!
//! Set `rtt` to a usual round-trip time: it determines what a TCP could send. `box_share` is the part of the link that
//! all flows in the box share.
//!
//! # Source
//! S. Floyd and K. Fall, "Promoting the Use of End-to-End Congestion Control in the Internet", IEEE/ACM Transactions on
//! Networking 7(4), 1999, for the tests; the name and the finite log are those of W. Feng, D. Kandlur, D. Saha and K.
//! Shin, "Stochastic Fair BLUE", INFOCOM 2001, section IV-A.
//!
//! # Where we differ
//! - Neither paper gives a complete algorithm. The following is ours: the length of the log, the interval, the box's
//!   rate, and the rule for leaving the box. So are the number of drops that a test requires, and the least drop rate
//!   for the tests of response and proportion.
//! - The box is a token bucket in front of RED and not a class of a scheduler: all packets stay in one FIFO queue.
//! - A flow's rate is estimated from its share of the log, as in the first paper; in the box it is measured.
//! - Packets of flows in the box count neither for the drop rate nor for the log.
//!
//! # Cost
//! About 80 bytes for each flow in the log or in the box, and 8 for each drop in the log. The log has `log_entries`
//! drops at most, and each flow in the box sends more than it is allowed to. O(1) a packet on average (a hash table;
//! when it doubles, one call moves its entries), and at most one random number. O(`log_entries`) and a visit to each
//! flow in the box at each interval.
//!
//! # Parameters
//! See [`PenaltyBoxConfig`].

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use forebay_units::{Bytes, QueueSize, Rate, Span};

use crate::flow_slots::FlowSlots;
use crate::limit::check_probability;
use crate::memory::{heap_bytes, inline_bytes};
use crate::require;
use crate::token_bucket::TokenBucket;
use crate::{Admission, Arrival, DropReason, FlowKey, Offer, ParameterError, Red, RedConfig, Time, Verdict};

/// The growth of the drop rate that triggers the test of a flow's response (Floyd and Fall, section on unresponsive
/// flows).
const DROP_RATE_GROWTH: f64 = 4.0;

parameters! {
    /// Parameters of RED with penalty box.
    pub struct PenaltyBoxConfig in RedConfig {
        queue limit = QueueSize::Packets(1000), "1000 packets";
        /// Number of drops that the log holds; at most a million. Default: 1000.
        pub log_entries: usize = 1000;
        /// Time between two evaluations of the log. Default: 1 s.
        pub interval: Span = Span::from_seconds(1);
        /// Number of drops that a flow needs in the log to be tested: fewer say too little about its rate. Default: 10.
        pub min_drops: u64 = 10;
        /// `R`: round-trip time of the TCP whose rate a flow may reach. Default: 40 ms (RED-PD's).
        pub rtt: Span = Span::from_milliseconds(40);
        /// `B`: packet size of that TCP. Default: 1500 B.
        pub packet_size: Bytes = Bytes(1500);
        /// Drop rate below which no flow's share is out of proportion, and from which its growth is counted: lower
        /// rates come from a few drops. Default: 0.01.
        pub min_drop_rate: f64 = 0.01;
        /// Share of the link's rate for all flows in the box together. Default: 0.05.
        pub box_share: f64 = 0.05;
        /// Amount that these flows may send at once: the depth of their token bucket. Default: 15 KB, ten large
        /// packets.
        pub box_burst: Bytes = Bytes(15_000);
        red min_threshold = QueueSize::Packets(5), "5 packets (RED)";
        red max_threshold = QueueSize::Packets(15), "15 packets (RED)";
        red weight = 0.002, "0.002 (RED)";
        red max_probability = 0.02, "0.02 (RED)";
        red gentle = false, "no (RED)";
        red wait = false, "no; ns-2 sets it";
        red small_queue_guard = false, "no; ns-2 does so";
        red byte_mode = false, "no";
        red mean_packet_size = Bytes(500), "500 B (ns-2)";
        /// Whether RED marks ECN-capable packets instead of dropping them early; a mark counts as a drop, and the box
        /// always drops. Default: no.
        red ecn = false;
        red hard_drop = true, "yes";
    }
}

impl PenaltyBoxConfig {
    /// Checks what [`Red`] does not.
    fn check(&self) -> Result<(), ParameterError> {
        require((1..=1_000_000).contains(&self.log_entries), "log_entries", "be between 1 and 1000000")?;
        require(self.interval > Span::ZERO, "interval", "be more than 0")?;
        require(self.min_drops > 0, "min_drops", "be at least 1")?;
        require(self.rtt > Span::ZERO, "rtt", "be more than 0")?;
        require(self.packet_size.0 > 0, "packet_size", "be at least 1 B")?;
        check_probability(self.min_drop_rate, "min_drop_rate")?;
        require(self.box_share > 0.0 && self.box_share <= 1.0, "box_share", "be more than 0 and at most 1")
    }
}

/// Congestion over one interval.
#[derive(Clone, Copy, Debug)]
struct Congestion {
    /// Share of the bytes that RED dropped or marked.
    drop_rate: f64,
    /// Bytes a second that came for RED to decide about.
    arrival_rate: f64,
    /// Flows in the log.
    flows: f64,
}

/// A flow's rate at a drop rate that was low, against which its response is held.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reference {
    drop_rate: f64,
    rate: f64,
}

/// The three tests of the first paper. Each says up to which rate, in bytes a second, a flow passes it.
#[derive(Clone, Copy, Debug)]
struct Tests {
    rtt: Span,
    packet_size: f64,
    min_drop_rate: f64,
}

impl Tests {
    /// Section on flows that are not TCP-friendly: the most that a TCP sends at this drop rate.
    fn friendly_rate(&self, drop_rate: f64) -> f64 {
        1.5 * libm::sqrt(2.0 / 3.0) * self.packet_size / (self.rtt.seconds() * libm::sqrt(drop_rate))
    }

    /// Section on unresponsive flows: the rate to which it should have fallen since drops are so much more frequent.
    fn responsive_rate(&self, reference: Option<Reference>, drop_rate: f64) -> f64 {
        match reference {
            Some(low) if drop_rate >= DROP_RATE_GROWTH * low.drop_rate => {
                low.rate * libm::sqrt(low.drop_rate / drop_rate)
            }
            _ => f64::INFINITY,
        }
    }

    /// Section on flows of very high bandwidth: ln(3n)/n of what comes, among n flows.
    fn proportionate_rate(&self, congestion: &Congestion) -> f64 {
        if congestion.drop_rate < self.min_drop_rate {
            return f64::INFINITY;
        }
        congestion.arrival_rate * libm::log(3.0 * congestion.flows) / congestion.flows
    }

    /// The lowest of the bounds that a flow of this rate breaks, if it breaks one.
    fn broken_bound(&self, rate: f64, reference: Option<Reference>, congestion: &Congestion) -> Option<f64> {
        let bound = self
            .friendly_rate(congestion.drop_rate)
            .min(self.responsive_rate(reference, congestion.drop_rate))
            .min(self.proportionate_rate(congestion));
        (rate > bound).then_some(bound)
    }
}

/// A flow in the log or in the box.
#[derive(Clone, Debug, Default)]
struct Flow {
    /// Its drops in the log and their bytes; none while it is in the box.
    drops: u64,
    drop_bytes: u64,
    reference: Option<Reference>,
    /// In the box: the rate in bytes a second at which it is let out.
    boxed: Option<f64>,
    /// In the box: bytes that came in this interval.
    arrived: u64,
    /// Number of the interval at whose end it was last tested.
    tested: u64,
}

/// A drop: the slot of the flow, and the packet's length.
#[derive(Clone, Copy, Debug)]
struct LoggedDrop {
    slot: u32,
    len_bytes: u32,
}

/// RED with penalty box.
#[derive(Clone, Debug)]
pub struct PenaltyBox {
    red: Red,
    tests: Tests,
    log_entries: usize,
    interval: Span,
    min_drops: u64,
    bucket: TokenBucket,

    flows: FlowSlots<Flow>,
    log: VecDeque<LoggedDrop>,
    log_bytes: u64,
    boxed: Vec<u32>,
    /// Bytes of flows outside the box in this interval, and those of them that RED dropped or marked.
    arrived: u64,
    dropped: u64,
    /// Intervals that have ended.
    intervals: u64,
    interval_end: Time,
    /// Drop rate over the last interval.
    drop_rate: f64,
}

impl PenaltyBox {
    /// A RED law with penalty box for a link of `link_rate`, of which the box has a share; `salt` goes into the hash of
    /// flows.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &PenaltyBoxConfig, link_rate: Rate, salt: u64) -> Result<Self, ParameterError> {
        config.check()?;
        let box_rate = (link_rate.bits_per_second() as f64 * config.box_share) as u64;
        let box_rate = Rate::new(box_rate)
            .ok_or(ParameterError { field: "box_share", bound: "leave the box at least one bit a second" })?;
        Ok(Self {
            red: Red::new(&config.inner(), link_rate, salt)?,
            tests: Tests {
                rtt: config.rtt,
                packet_size: config.packet_size.0 as f64,
                min_drop_rate: config.min_drop_rate,
            },
            log_entries: config.log_entries,
            interval: config.interval,
            min_drops: config.min_drops,
            bucket: TokenBucket::new(box_rate, config.box_burst.0),
            flows: FlowSlots::new(salt),
            log: VecDeque::new(),
            log_bytes: 0,
            boxed: Vec::new(),
            arrived: 0,
            dropped: 0,
            intervals: 0,
            interval_end: Time::ZERO.saturating_add(config.interval),
            drop_rate: 0.0,
        })
    }

    /// A packet of a flow in the box: the token bucket, then RED.
    fn admit_boxed(&mut self, slot: u32, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        self.flows[slot].arrived += u64::from(arrival.len_bytes);
        if self.bucket.ready_at(arrival.len_bytes) > offer.now {
            return Verdict::Drop(DropReason::RateLimit);
        }
        let verdict = self.red.admit(arrival, offer);
        if !matches!(verdict, Verdict::Drop(_)) {
            self.bucket.take(arrival.len_bytes, offer.now);
        }
        verdict
    }

    /// Writes a drop, or a mark, into the log, in place of the oldest one if that is full.
    fn record(&mut self, arrival: &Arrival) {
        self.dropped += u64::from(arrival.len_bytes);
        if self.log.len() == self.log_entries
            && let Some(oldest) = self.log.pop_front()
        {
            self.strike_out(oldest);
        }
        let (slot, fresh) = self.flows.find_or_insert(arrival.flow);
        if fresh {
            self.flows[slot] = Flow::default();
        }
        self.flows[slot].drops += 1;
        self.flows[slot].drop_bytes += u64::from(arrival.len_bytes);
        self.log_bytes += u64::from(arrival.len_bytes);
        self.log.push_back(LoggedDrop { slot, len_bytes: arrival.len_bytes });
    }

    /// Takes a drop that has left the log off its flow, and forgets a flow that has no others.
    fn strike_out(&mut self, drop: LoggedDrop) {
        let flow = &mut self.flows[drop.slot];
        flow.drops -= 1;
        flow.drop_bytes -= u64::from(drop.len_bytes);
        let forgotten = flow.drops == 0 && flow.boxed.is_none();
        self.log_bytes -= u64::from(drop.len_bytes);
        if forgotten {
            self.flows.remove(drop.slot);
        }
    }

    /// Ends the intervals that are over at `now`. In all but the first of them nothing came.
    fn end_intervals(&mut self, now: Time) {
        self.end_interval();
        let further = now.since(self.interval_end).picoseconds() / self.interval.picoseconds();
        if further > 0 {
            self.end_interval();
        }
        let passed = self.interval.picoseconds().saturating_mul(further.saturating_add(1));
        self.interval_end = self.interval_end.saturating_add(Span::from_picoseconds(passed));
    }

    fn end_interval(&mut self) {
        self.intervals += 1;
        self.let_out();
        self.drop_rate = if self.arrived == 0 { 0.0 } else { self.dropped as f64 / self.arrived as f64 };
        if self.dropped > 0 {
            self.test_flows(&Congestion {
                drop_rate: self.drop_rate,
                arrival_rate: self.arrived as f64 / self.interval.seconds(),
                flows: (self.flows.len() - self.boxed.len()) as f64,
            });
        }
        self.arrived = 0;
        self.dropped = 0;
    }

    /// The explicit check that ends a penalty: flows that sent no more than the bound that they once broke.
    fn let_out(&mut self) {
        let seconds = self.interval.seconds();
        let Self { flows, boxed, .. } = self;
        boxed.retain(|slot| {
            let flow = &mut flows[*slot];
            let rate = flow.arrived as f64 / seconds;
            flow.arrived = 0;
            let stays = flow.boxed.is_some_and(|bound| rate > bound);
            if !stays {
                flows.remove(*slot);
            }
            stays
        });
    }

    /// Tests each flow in the log, and puts those that break a bound into the box.
    fn test_flows(&mut self, congestion: &Congestion) {
        let outside = self.boxed.len();
        for index in 0..self.log.len() {
            let slot = self.log[index].slot;
            let flow = &mut self.flows[slot];
            if flow.tested == self.intervals {
                continue;
            }
            flow.tested = self.intervals;
            if flow.drops < self.min_drops {
                continue;
            }
            let share = flow.drop_bytes as f64 / self.log_bytes as f64;
            let rate = share * congestion.arrival_rate;
            if let Some(bound) = self.tests.broken_bound(rate, flow.reference, congestion) {
                flow.boxed = Some(bound);
                flow.arrived = 0;
                self.boxed.push(slot);
                continue;
            }
            // The next response is held against the lowest drop rate so far, or one that the flow has responded to.
            let drop_rate = congestion.drop_rate.max(self.tests.min_drop_rate);
            if flow
                .reference
                .is_none_or(|low| drop_rate < low.drop_rate || drop_rate >= DROP_RATE_GROWTH * low.drop_rate)
            {
                flow.reference = Some(Reference { drop_rate, rate });
            }
        }
        if self.boxed.len() > outside {
            self.clear_log_of_boxed();
        }
    }

    /// Takes the drops of flows in the box out of the log, so that the shares of the others are shares of what is left.
    fn clear_log_of_boxed(&mut self) {
        let Self { flows, log, log_bytes, .. } = self;
        log.retain(|drop| {
            let flow = &mut flows[drop.slot];
            if flow.boxed.is_none() {
                return true;
            }
            flow.drops = 0;
            flow.drop_bytes = 0;
            *log_bytes -= u64::from(drop.len_bytes);
            false
        });
    }
}

impl Admission for PenaltyBox {
    fn watches_departures(&self) -> bool {
        false
    }

    fn admit(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        if self.interval_end <= offer.now {
            self.end_intervals(offer.now);
        }
        if !self.boxed.is_empty()
            && let Some(slot) = self.flows.find(arrival.flow)
            && self.flows[slot].boxed.is_some()
        {
            return self.admit_boxed(slot, arrival, offer);
        }
        self.arrived += u64::from(arrival.len_bytes);
        let verdict = self.red.admit(arrival, offer);
        if !matches!(verdict, Verdict::Enqueue(_)) {
            self.record(arrival);
        }
        verdict
    }

    fn idle(&mut self, since: Time) {
        self.red.idle(since);
    }

    fn state_bytes(&self) -> u64 {
        let log = (self.log.capacity() * size_of::<LoggedDrop>()) as u64;
        inline_bytes(self) + self.flows.heap_bytes() + heap_bytes(&self.boxed) + log
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.red.gauges(visit);
        visit("drop_rate", self.drop_rate);
        visit("logged_flows", (self.flows.len() - self.boxed.len()) as f64);
        visit("boxed_flows", self.boxed.len() as f64);
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        let flow = self.flows.find(flow).map(|slot| &self.flows[slot]);
        visit("logged_drops", flow.map_or(0, |flow| flow.drops) as f64);
        visit("boxed", f64::from(u8::from(flow.is_some_and(|flow| flow.boxed.is_some()))));
    }
}

#[cfg(test)]
#[path = "penalty_box_tests.rs"]
mod tests;
