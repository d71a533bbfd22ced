//! RED-PD, RED with preferential dropping: finds flows of high bandwidth by RED's drops, and drops them first.
//!
//! # What it does
//! RED's early drops are a sample of the arrivals. RED-PD records them by flow in lists, one for each period. A flow
//! that is in most of the last lists sends more than a TCP of a target round-trip time would at the present drop rate.
//! Such a flow is monitored: a filter in front of RED drops its packets with a separate probability. This probability
//! rises while the flow stays in the lists and falls when it is in none. A monitored flow whose rate does not fall when
//! its drop rate rises is unresponsive: its probability rises faster and falls more slowly. All other flows see RED
//! alone.
//!
//! # When to use it
//! Use it to slow down a few fast flows on a link with RED, with state for those flows only. It needs several periods
//! to find a flow, and reduces a flood without holding it to an equal share: use `fred` or `afd` for that.
//!
//! # Example
//! ```toml
//! queue.red_pd = { target_rtt = "100 ms", limit = "200 packets" }
//! ```
//!
//! Set `target_rtt` first: flows faster than a TCP with this round-trip time are slowed down, so a longer time is
//! stricter. `min_threshold` and `max_threshold` are RED's.
//!
//! # Source
//! R. Mahajan, S. Floyd and D. Wetherall, "Controlling High-Bandwidth Flows at the Congested Router", ICNP 2001. The
//! order of the steps and the constants follow the implementation in ns-2 2.35 (`queue/red-pd.cc`, `tcl/ex/red-pd`).
//!
//! # Where we differ
//! - Only early drops and marks enter a list: a forced drop, or one for a full queue, is no sample. All of RED's drops
//!   count for its drop rate. ns-2 counts what its flow monitor reports.
//! - The probability of an unlisted flow is lowered at the end of the period, in ns-2 one millisecond later.
//! - The first period ends after `max_period`; ns-2's scripts begin after ten seconds.
//! - All state of a flow, including the time of its last change, is forgotten when the flow is neither monitored nor in
//!   a list.
//! - The filter uses the average as of the previous packet, as in ns-2, and the queue in packets; ns-2 may use bytes.
//!
//! # Cost
//! About 240 bytes for each flow that is monitored, listed or was dropped in this period. That is at most `lists` x
//! `list_entries`, the drops of one period, and the flows whose probability is still being lowered. O(1) a packet on
//! average (a hash table; when it doubles, one call moves its entries), and at most two random numbers, the filter's
//! and RED's. The end of a period takes O(n log n) for n such flows.
//!
//! # Parameters
//! See [`RedPdConfig`].

use alloc::vec::Vec;

use forebay_units::{Bytes, QueueSize, Rate, Span};

use crate::flow_slots::FlowSlots;
use crate::memory::{heap_bytes, inline_bytes};
use crate::red::uniform_gap_probability;
use crate::require;
use crate::{
    Admission, Arrival, DropReason, FlowKey, MarkReason, Offer, ParameterError, Red, RedConfig, Time, Verdict, uniform,
};

mod flow;

use flow::{Flow, MAX_LISTS, Monitor, Sample};

/// Drop rate below which no flow is held back (ns-2).
const LEAST_DROP_RATE: f64 = 0.001;
/// Gain of the moving average of the drop rate (ns-2).
const DROP_RATE_GAIN: f64 = 0.5;
/// Periods that pass before a probability is raised again, is lowered, or is lowered for an unresponsive flow (ns-2).
const PERIODS_TO_RAISE: usize = 4;
const PERIODS_TO_LOWER: usize = 3;
const PERIODS_TO_LOWER_UNRESPONSIVE: usize = 5;

parameters! {
    /// Parameters of RED-PD.
    pub struct RedPdConfig in RedConfig {
        queue limit = QueueSize::Packets(1000), "1000 packets";
        /// `R`: round-trip time of the TCP whose rate a flow may reach. Default: 40 ms (paper).
        pub target_rtt: Span = Span::from_milliseconds(40);
        /// `M`: number of lists of dropped flows, one for each of the last periods; at most 8. Default: 5 (paper).
        pub lists: usize = 5;
        /// `K`: number of lists that must contain a flow before it is monitored. Default: 3 (paper).
        pub lists_to_monitor: usize = 3;
        /// Number of flows in a list: those with the most bytes dropped. Default: 50 (ns-2).
        pub list_entries: usize = 50;
        /// Shortest period. Default: twice `target_rtt` (ns-2).
        pub min_period: Option<Span> = None;
        /// Longest period. Default: ten times `target_rtt` (ns-2).
        pub max_period: Option<Span> = None;
        /// Minimum time between two changes of a flow's probability. Default: 400 ms (ns-2).
        pub min_change_time: Span = Span::from_milliseconds(400);
        /// Maximum decrease of a flow's probability at a time. Default: 0.05 (ns-2).
        pub max_reduction: f64 = 0.05;
        /// Whether flows are tested for being unresponsive. Default: yes.
        pub unresponsive_test: bool = true;
        /// Whether the filter also spares unresponsive flows while at most one packet is waiting (`noidle_` in ns-2).
        /// Default: no.
        pub keep_busy: bool = false;
        /// `min_th`: average queue below which RED drops nothing, and the filter drops nothing of responsive flows; in
        /// packets or bytes. Its unit is the unit of the average. Default: 5 packets (RED).
        red min_threshold = QueueSize::Packets(5);
        red max_threshold = QueueSize::Packets(15), "15 packets (RED)";
        red weight = 0.002, "0.002 (RED)";
        red max_probability = 0.1, "0.1 (ns-2)";
        red gentle = true, "yes (ns-2), for beyond the jump no early drop would identify flows";
        red wait = false, "no; ns-2 sets it";
        red small_queue_guard = false, "no; ns-2 does so";
        red byte_mode = false, "no";
        red mean_packet_size = Bytes(500), "500 B (ns-2)";
        /// Whether RED marks ECN-capable packets instead of dropping them early; the filter always drops. Default: no.
        red ecn = false;
        red hard_drop = true, "yes";
    }
}

impl RedPdConfig {
    /// Checks what [`Red`] does not; returns the shortest and the longest period.
    fn check(&self) -> Result<(Span, Span), ParameterError> {
        let rtt = self.target_rtt;
        require(rtt > Span::ZERO && rtt <= Span::from_seconds(100), "target_rtt", "be more than 0 and at most 100 s")?;
        require((1..=MAX_LISTS).contains(&self.lists), "lists", "be between 1 and 8")?;
        require((1..=self.lists).contains(&self.lists_to_monitor), "lists_to_monitor", "be between 1 and `lists`")?;
        require(self.list_entries > 0, "list_entries", "be at least 1")?;
        require((0.01..=1.0).contains(&self.max_reduction), "max_reduction", "be between 0.01 and 1")?;
        let min = self.min_period.unwrap_or(rtt * 2);
        let max = self.max_period.unwrap_or(rtt * 10);
        require(min > Span::ZERO, "min_period", "be more than 0")?;
        require(min <= max, "max_period", "be at least `min_period`")?;
        Ok((min, max))
    }
}

/// `f(R, p)`: packets a second of a TCP of round-trip time R at the drop rate p (paper, the deterministic model).
fn reference_rate(rtt: Span, drop_rate: f64) -> f64 {
    libm::sqrt(1.5 / drop_rate) / rtt.seconds()
}

/// Time between two drops of that TCP: its congestion epoch, 1 / (p f(R, p)).
fn congestion_epoch(rtt: Span, drop_rate: f64) -> f64 {
    rtt.seconds() / libm::sqrt(1.5 * drop_rate)
}

/// RED-PD: RED with preferential dropping.
#[derive(Clone, Debug)]
pub struct RedPd {
    red: Red,
    min_threshold: f64,
    target_rtt: Span,
    lists: usize,
    lists_to_monitor: usize,
    list_entries: usize,
    min_period: Span,
    max_period: Span,
    min_change_time: Span,
    max_reduction: f64,
    unresponsive_test: bool,
    keep_busy: bool,

    flows: FlowSlots<Flow>,
    /// The flows present, in the order in which they became known.
    known: Vec<u32>,
    /// Bytes that came to RED in this period, and those of them that it dropped or marked.
    arrived: u64,
    dropped: u64,
    /// The drop rate averaged over periods; none before the first has ended.
    drop_rate: Option<f64>,
    /// Number of the period: its list is at this number modulo `lists`.
    period: u64,
    period_start: Time,
    period_end: Time,
    /// Lengths of the last periods, the latest first.
    last_periods: [Span; PERIODS_TO_LOWER_UNRESPONSIVE],
}

impl RedPd {
    /// A RED-PD law for a link of `link_rate`, which RED's idle rule needs; `salt` goes into the hash of flows.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &RedPdConfig, link_rate: Rate, salt: u64) -> Result<Self, ParameterError> {
        let (min_period, max_period) = config.check()?;
        let red = Red::new(&config.inner(), link_rate, salt)?;
        Ok(Self {
            min_threshold: red.thresholds().0,
            red,
            target_rtt: config.target_rtt,
            lists: config.lists,
            lists_to_monitor: config.lists_to_monitor,
            list_entries: config.list_entries,
            min_period,
            max_period,
            min_change_time: config.min_change_time,
            max_reduction: config.max_reduction,
            unresponsive_test: config.unresponsive_test,
            keep_busy: config.keep_busy,
            flows: FlowSlots::new(salt),
            known: Vec::new(),
            arrived: 0,
            dropped: 0,
            drop_rate: None,
            period: 0,
            period_start: Time::ZERO,
            period_end: Time::ZERO.saturating_add(max_period),
            last_periods: [Span::ZERO; PERIODS_TO_LOWER_UNRESPONSIVE],
        })
    }

    /// Paper, "preferential dropping": whether the filter drops a packet of the flow in `slot`.
    fn filter(&mut self, slot: u32, offer: &mut Offer<'_>) -> bool {
        let Some(monitor) = &mut self.flows[slot].monitor else { return false };
        let waiting = offer.backlog.packets > 1;
        let may_drop = if monitor.unresponsive {
            waiting || !self.keep_busy
        } else {
            waiting && self.red.average() >= self.min_threshold
        };
        let probability = uniform_gap_probability(monitor.drop_probability, monitor.count as f64, false);
        if may_drop && uniform(offer.rng) < probability {
            monitor.count = 0;
            return true;
        }
        monitor.count += 1;
        false
    }

    /// Writes down what RED did to a packet; `slot` is its flow's, if that is known.
    fn record(&mut self, arrival: &Arrival, slot: Option<u32>, verdict: Verdict) {
        let len_bytes = u64::from(arrival.len_bytes);
        self.arrived += len_bytes;
        let early = match verdict {
            Verdict::Enqueue(_) => return,
            Verdict::Drop(reason) => reason == DropReason::Early,
            Verdict::Mark(_, reason) => reason == MarkReason::Early,
        };
        self.dropped += len_bytes;
        let slot = match slot {
            Some(slot) => slot,
            None if early => self.enter(arrival),
            None => return,
        };
        let flow = &mut self.flows[slot];
        flow.dropped += len_bytes;
        if early {
            flow.sampled += len_bytes;
        }
    }

    /// Makes the flow of a packet known.
    fn enter(&mut self, arrival: &Arrival) -> u32 {
        let (slot, _) = self.flows.find_or_insert(arrival.flow);
        self.flows[slot] = Flow { arrived: u64::from(arrival.len_bytes), ..Flow::default() };
        self.known.push(slot);
        slot
    }

    /// Ends the periods that are over at `now`.
    fn end_periods(&mut self, now: Time) {
        while self.period_end <= now {
            self.last_periods.rotate_right(1);
            self.last_periods[0] = self.period_end.since(self.period_start);
            self.end_period();
            self.period_start = self.period_end;
            self.period_end = self.period_start.saturating_add(self.next_period());
            self.period += 1;
            self.skip_quiet_periods(now);
        }
    }

    /// Paper, "identifying high-bandwidth flows" and "setting the dropping probability".
    fn end_period(&mut self) {
        let drop_rate = if self.arrived == 0 { 0.0 } else { self.dropped as f64 / self.arrived as f64 };
        let average =
            self.drop_rate.map_or(drop_rate, |average| DROP_RATE_GAIN * drop_rate + (1.0 - DROP_RATE_GAIN) * average);
        self.drop_rate = Some(average);
        self.compile_list();
        if drop_rate > LEAST_DROP_RATE {
            self.hold_back(drop_rate.min(average));
        }
        self.let_up();
        let Self { flows, known, .. } = self;
        known.retain(|slot| {
            let flow = &mut flows[*slot];
            flow.start_period();
            let wanted = flow.monitor.is_some() || flow.is_listed();
            if !wanted {
                flows.remove(*slot);
            }
            wanted
        });
        self.arrived = 0;
        self.dropped = 0;
    }

    /// The list of this period: the flows with the most bytes dropped early.
    fn compile_list(&mut self) {
        let Self { flows, known, list_entries, .. } = self;
        let list = (self.period % self.lists as u64) as usize;
        let mut dropped: Vec<u32> = Vec::new();
        for slot in known.iter().copied() {
            flows[slot].listed[list] = 0;
            if flows[slot].sampled > 0 {
                dropped.push(slot);
            }
        }
        dropped.sort_by_key(|slot| core::cmp::Reverse(flows[*slot].sampled));
        for slot in dropped.into_iter().take(*list_entries) {
            flows[slot].listed[list] = flows[slot].sampled;
        }
    }

    /// Monitors the flows that are in enough lists, or raises their probabilities.
    fn hold_back(&mut self, drop_rate: f64) {
        let regular = |flow: &Flow| flow.lists() >= self.lists_to_monitor;
        let (mut flows, mut bytes) = (0, 0);
        for flow in self.known.iter().map(|slot| &self.flows[*slot]).filter(|flow| regular(flow)) {
            flows += 1;
            bytes += flow.listed_bytes();
        }
        let mean_bytes = bytes as f64 / f64::from(flows.max(1));
        let now = self.period_end;
        let elapsed = now.since(self.period_start).seconds();
        let hold = self.hold(PERIODS_TO_RAISE);
        for slot in self.known.iter().copied() {
            let flow = &mut self.flows[slot];
            // A flow that lost nothing in this period, not even to the filter, is not changed.
            if flow.lists() < self.lists_to_monitor || flow.dropped == 0 {
                continue;
            }
            let share = drop_rate * flow.listed_bytes() as f64 / mean_bytes;
            let sample =
                Sample { rate: flow.arrived as f64 / elapsed, drop_rate: flow.dropped as f64 / flow.arrived as f64 };
            match &mut flow.monitor {
                None => flow.monitor = Some(Monitor::new(share, drop_rate, now, sample)),
                Some(monitor) if now.since(monitor.changed) >= hold => {
                    monitor.raise(share, self.unresponsive_test, now, sample);
                }
                Some(_) => {}
            }
        }
    }

    /// Lowers the probabilities of monitored flows that are in no list, or monitors them no more.
    fn let_up(&mut self) {
        let now = self.period_end;
        for slot in self.known.iter().copied() {
            if self.flows[slot].is_listed() {
                continue;
            }
            let Some(monitor) = self.flows[slot].monitor else { continue };
            if now >= self.due(&monitor) {
                self.flows[slot].monitor = monitor.lowered(self.max_reduction, now);
            }
        }
    }

    /// From when the probability of an unlisted flow may be lowered.
    fn due(&self, monitor: &Monitor) -> Time {
        let periods = if monitor.unresponsive { PERIODS_TO_LOWER_UNRESPONSIVE } else { PERIODS_TO_LOWER };
        monitor.changed.saturating_add(self.hold(periods))
    }

    /// The last this many periods, but at least `min_change_time`.
    fn hold(&self, periods: usize) -> Span {
        let sum =
            self.last_periods[..periods].iter().fold(0_u64, |sum, period| sum.saturating_add(period.picoseconds()));
        Span::from_picoseconds(sum).max(self.min_change_time)
    }

    /// Length of the next period: as long as K drops of the reference TCP take, over the lists that must show them.
    fn next_period(&self) -> Span {
        let share = self.lists_to_monitor as f64 / self.lists as f64;
        // A drop rate of 0 gives an infinite epoch.
        let period = share * congestion_epoch(self.target_rtt, self.drop_rate.unwrap_or(0.0));
        Span::from_seconds_f64(period).clamp(self.min_period, self.max_period)
    }

    /// Passes over the periods up to `now` in which nothing would happen but that the drop rate is halved: none is
    /// listed, nothing came, and no probability is due to be lowered.
    fn skip_quiet_periods(&mut self, now: Time) {
        let period = self.period_end.since(self.period_start);
        let steady = period == self.max_period && self.last_periods.iter().all(|last| *last == period);
        if !steady || self.period_end > now || self.known.iter().any(|slot| self.flows[*slot].is_listed()) {
            return;
        }
        let monitors = self.known.iter().filter_map(|slot| self.flows[*slot].monitor.as_ref());
        let busy_from = monitors.map(|monitor| self.due(monitor)).min().unwrap_or(Time::NEVER);
        let until = busy_from.min(now.saturating_add(Span::from_picoseconds(1)));
        let quiet = until.since(self.period_end).picoseconds().div_ceil(period.picoseconds());
        self.drop_rate = self.drop_rate.map(|average| libm::ldexp(average, -(quiet.min(4000) as i32)));
        self.period = self.period.saturating_add(quiet);
        let passed = Span::from_picoseconds(period.picoseconds().saturating_mul(quiet));
        self.period_start = self.period_start.saturating_add(passed);
        self.period_end = self.period_end.saturating_add(passed);
    }

    fn monitored_flows(&self) -> usize {
        self.known.iter().filter(|slot| self.flows[**slot].monitor.is_some()).count()
    }
}

impl Admission for RedPd {
    fn watches_departures(&self) -> bool {
        false
    }

    fn admit(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        if self.period_end <= offer.now {
            self.end_periods(offer.now);
        }
        let slot = self.flows.find(arrival.flow);
        if let Some(slot) = slot {
            let len_bytes = u64::from(arrival.len_bytes);
            self.flows[slot].arrived += len_bytes;
            if self.filter(slot, offer) {
                self.flows[slot].dropped += len_bytes;
                return Verdict::Drop(DropReason::FairShare);
            }
        }
        let verdict = self.red.admit(arrival, offer);
        self.record(arrival, slot, verdict);
        verdict
    }

    fn idle(&mut self, since: Time) {
        self.red.idle(since);
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + self.flows.heap_bytes() + heap_bytes(&self.known)
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.red.gauges(visit);
        let drop_rate = self.drop_rate.unwrap_or(0.0);
        visit("drop_rate", drop_rate);
        visit("period", self.period_end.since(self.period_start).seconds());
        // Below the least drop rate no flow is held back, however fast.
        visit("target_rate", reference_rate(self.target_rtt, drop_rate.max(LEAST_DROP_RATE)));
        visit("known_flows", self.known.len() as f64);
        visit("monitored_flows", self.monitored_flows() as f64);
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        let flow = self.flows.find(flow).map(|slot| &self.flows[slot]);
        let monitor = flow.and_then(|flow| flow.monitor.as_ref());
        visit("lists", flow.map_or(0, Flow::lists) as f64);
        visit("monitored", f64::from(u8::from(monitor.is_some())));
        visit("unresponsive", f64::from(u8::from(monitor.is_some_and(|monitor| monitor.unresponsive))));
        visit("drop_probability", monitor.map_or(0.0, |monitor| monitor.drop_probability));
    }
}

#[cfg(test)]
mod tests;
