//! PI: a proportional-integral controller that holds the queue at a reference length.
//!
//! # What it does
//! At a fixed frequency the controller changes the probability with which arriving packets are dropped or marked. One
//! term is proportional to the excess of the queue over its reference length, the other to the growth of the queue. The
//! probability thus settles at the value that the traffic needs, and the queue at the reference, at any load; RED's
//! coupling between a longer queue and more drops is gone. The controller is linear and has no model of flows or the
//! link. Its two gains must suit the number of flows, the round-trip time and the link.
//!
//! # When to use it
//! Use it to hold the queue of many long TCP flows at a set length, where their number, their round-trip time and the
//! link are known. The default gains suit one link only; for any other set `design`, or use `pie`. A flow that does not
//! respond is not held back.
//!
//! # Example
//! ```toml
//! queue.pi.reference = "50 packets"
//! queue.pi.mean_packet_size = "1500 B"
//! queue.pi.design = { flows = 50, round_trip_time = "100 ms" }
//! ```
//!
//! Set `design` first: the fewest long flows and the longest round-trip time on the link. The gains are computed from
//! them, the link's rate and `mean_packet_size`.
//!
//! # Source
//! C. V. Hollot, V. Misra, D. Towsley and W. Gong, "On Designing Improved Controllers for AQM Routers Supporting TCP
//! Flows", INFOCOM 2001. `byte_mode` follows ns-2 2.35.
//!
//! # Where we differ
//! - There is no timer. When the queue changes, all ticks since its last change are made up for in one step, each with
//!   the queue as it was then. A tick at the time of a change comes before it.
//! - An arriving packet is dropped or marked if a random number is below the probability; in ns-2 also if it is equal,
//!   so that a probability of 0 may drop. No random number is drawn at 0, nor for a packet that meets a full queue.
//! - The paper designs its example for a round-trip time of 246 ms. With 246.7 ms, the sum of its numbers,
//!   [`PiGains::design`] returns the gains that it prints. Where the loop's own speed would be too fast for the delay,
//!   the design is slowed down to half a radian a round trip, which leaves a phase margin of 35 degrees (ours).
//! - With `ecn`, packets are marked at any probability.
//!
//! # Cost
//! A few numbers, regardless of the number of flows. O(1) a packet, however many ticks have passed, and at most one
//! random number.
//!
//! # Parameters
//! See [`PiConfig`]. The published gains suit 3750 packets a second, at least 60 flows and round-trip times of up to
//! 246 ms; for another link set `design`.

use forebay_units::{Bytes, QueueSize, Rate, Span};

use crate::limit::Limit;
use crate::memory::inline_bytes;
use crate::require;
use crate::signal::early_verdict;
use crate::{Admission, Arrival, Backlog, DropReason, Offer, ParameterError, Ticket, Time, Verdict};

parameters! {
    /// Parameters of PI.
    pub struct PiConfig {
        /// Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets.
        pub limit: QueueSize = QueueSize::Packets(1000);
        /// `q_ref`: the length at which the queue is held, in packets or bytes, which count as packets of
        /// `mean_packet_size`. Default: 200 packets (paper); ns-2 has 50.
        pub reference: QueueSize = QueueSize::Packets(200);
        /// `a`: increase of the probability at each tick for each packet above the reference. Default: 1.822e-5
        /// (paper).
        pub a: f64 = 1.822e-5;
        /// `b`: decrease of the probability at each tick for each packet above the reference at the previous tick; less
        /// than `a`. Default: 1.816e-5 (paper).
        pub b: f64 = 1.816e-5;
        /// `w`: ticks a second. Default: 170 Hz (ns-2); the paper's gains are for 160 Hz.
        pub sampling_frequency_hz: f64 = 170.0;
        /// The traffic for which the gains are computed; they then replace `a` and `b`. Default: none.
        pub design: Option<PiDesign> = None;
        /// Whether a packet's probability grows in proportion to its size divided by `mean_packet_size`. Default: no.
        pub byte_mode: bool = false;
        /// Mean packet size: for `byte_mode`, a reference in bytes and `design`. Default: 500 B (ns-2).
        pub mean_packet_size: Bytes = Bytes(500);
        /// Whether ECN-capable packets are marked instead of dropped. Default: no.
        pub ecn: bool = false;
    }
}

/// The traffic for which PI's gains are computed.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(deny_unknown_fields))]
pub struct PiDesign {
    /// N: the least number of long TCP flows that share the link; with more the loop is slower but stable.
    pub flows: u32,
    /// R: their longest round-trip time, including the queue at its reference.
    pub round_trip_time: Span,
}

/// The gains of a PI controller in continuous time: p = `proportional` q + `integral` times the integral of q over
/// seconds, q being packets over the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PiGains {
    /// `K_PI/z` in the paper, per packet.
    pub proportional: f64,
    /// `K_PI` in the paper, per packet and second.
    pub integral: f64,
}

/// The fastest loop for a delay: radians a round trip.
const FASTEST_LOOP: f64 = 0.5;

impl PiGains {
    /// The gains for a link of this many packets a second (C), this many long TCP flows (N) and their round-trip time
    /// in seconds (R), all more than zero. By the paper's design rule, the controller's zero cancels the pole of TCP's
    /// windows, 2N/(R²C), and the loop has gain 1 at that frequency.
    #[must_use]
    pub fn design(packets_per_second: f64, flows: f64, round_trip_s: f64) -> Self {
        // Twice the flows over the packets in flight, and the pole.
        let ratio = 2.0 * flows / (packets_per_second * round_trip_s);
        let pole = ratio / round_trip_s;
        let radians = ratio.min(FASTEST_LOOP);
        let crossover = radians / round_trip_s;
        // |1 + j w R| is what the pole of the queue adds at the crossover; TCP and the queue together gain
        // (RC)³/(2N)² below their poles.
        let in_flight = packets_per_second * round_trip_s;
        let plant = in_flight / (ratio * ratio);
        let integral = crossover * libm::sqrt(1.0 + radians * radians) / plant;
        Self { proportional: integral / pole, integral }
    }

    /// `a` and `b` for a controller that ticks this many times a second, by the trapezoidal rule.
    #[must_use]
    pub fn sampled(self, frequency_hz: f64) -> (f64, f64) {
        let half_tick = self.integral / (2.0 * frequency_hz);
        (self.proportional + half_tick, self.proportional - half_tick)
    }
}

impl PiConfig {
    /// Checks every field but the limit; returns `a` and `b`.
    fn check(&self, link_rate: Rate) -> Result<(f64, f64), ParameterError> {
        let (QueueSize::Packets(reference) | QueueSize::Bytes(reference)) = self.reference;
        require(reference > 0, "reference", "be more than 0")?;
        if let (QueueSize::Packets(limit), QueueSize::Packets(_)) | (QueueSize::Bytes(limit), QueueSize::Bytes(_)) =
            (self.limit, self.reference)
        {
            require(reference <= limit, "reference", "be at most `limit`")?;
        }
        require(self.mean_packet_size.0 > 0, "mean_packet_size", "be at least 1 B")?;
        let frequency = self.sampling_frequency_hz;
        require((1e-3..=1e6).contains(&frequency), "sampling_frequency_hz", "be between 0.001 and 1000000 Hz")?;
        let Some(design) = &self.design else {
            require(self.a > 0.0 && self.a <= 1.0, "a", "be more than 0 and at most 1")?;
            require(self.b >= 0.0 && self.b < self.a, "b", "be at least 0 and less than `a`")?;
            return Ok((self.a, self.b));
        };
        require(design.flows > 0, "design", "have at least 1 flow")?;
        require(design.round_trip_time > Span::ZERO, "design", "have a round-trip time of more than 0 s")?;
        let packets_per_second = link_rate.bytes_per_second() / self.mean_packet_size.0 as f64;
        let gains = PiGains::design(packets_per_second, f64::from(design.flows), design.round_trip_time.seconds());
        let (a, b) = gains.sampled(frequency);
        require(a > 0.0 && a <= 1.0, "design", "have more packets in flight for each flow")?;
        require(b >= 0.0 && b < a, "sampling_frequency_hz", "be higher for the loop of `design`")?;
        Ok((a, b))
    }
}

/// PI: a proportional-integral controller.
#[derive(Clone, Debug)]
pub struct Pi {
    limit: Limit,
    /// `q_ref` in packets.
    reference: f64,
    /// Packets for each unit of the queue's length: 1, or, in bytes, 1 / mean packet size.
    scale: f64,
    in_bytes: bool,
    a: f64,
    b: f64,
    interval: Span,
    /// 1 / mean packet size, in byte mode.
    size_factor: Option<f64>,
    ecn: bool,

    /// p of the paper, as of the last tick.
    probability: f64,
    /// q - `q_ref` at the last tick.
    last_error: f64,
    next_tick: Time,
    /// The queue since the last change.
    backlog: Backlog,
}

impl Pi {
    /// A PI law. The link's rate matters to `design` only; the first tick is one interval after the start.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &PiConfig, link_rate: Rate, _salt: u64) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        let (a, b) = config.check(link_rate)?;
        let mean_packet_size = config.mean_packet_size.0 as f64;
        let (length, scale, in_bytes) = match config.reference {
            QueueSize::Packets(packets) => (packets, 1.0, false),
            QueueSize::Bytes(bytes) => (bytes, 1.0 / mean_packet_size, true),
        };
        let reference = length as f64 * scale;
        let interval = Span::from_seconds_f64(1.0 / config.sampling_frequency_hz);
        Ok(Self {
            limit,
            reference,
            scale,
            in_bytes,
            a,
            b,
            interval,
            size_factor: config.byte_mode.then(|| 1.0 / mean_packet_size),
            ecn: config.ecn,
            probability: 0.0,
            last_error: -reference,
            next_tick: Time::ZERO + interval,
            backlog: Backlog::default(),
        })
    }

    /// The probability with which a packet of mean size is dropped or marked.
    #[must_use]
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Makes up for the ticks up to and at `now`, at which the queue changes or is looked at; then it is `backlog`.
    #[inline]
    fn queue_becomes(&mut self, backlog: Backlog, now: Time) {
        if self.next_tick <= now {
            self.tick_until(now);
        }
        self.backlog = backlog;
    }

    /// The paper's difference equation, `p(kT) = a (q(kT) - q_ref) - b (q((k-1)T) - q_ref) + p((k-1)T)`, kept within 0
    /// and 1.
    fn tick_until(&mut self, now: Time) {
        let ticks = 1 + now.since(self.next_tick).picoseconds() / self.interval.picoseconds();
        let length = if self.in_bytes { self.backlog.bytes } else { self.backlog.packets };
        let error = length as f64 * self.scale - self.reference;
        let first = self.probability + self.a * error - self.b * self.last_error;
        // The queue has not changed since, so each further tick adds the same, and the bound is met once and for all.
        let further = (ticks - 1) as f64 * (self.a - self.b) * error;
        self.probability = (first.clamp(0.0, 1.0) + further).clamp(0.0, 1.0);
        self.last_error = error;
        let passed = u128::from(self.interval.picoseconds()) * u128::from(ticks);
        self.next_tick =
            self.next_tick.saturating_add(Span::from_picoseconds(u64::try_from(passed).unwrap_or(u64::MAX)));
    }
}

impl Admission for Pi {
    fn admit(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        self.queue_becomes(offer.backlog, offer.now);
        if !self.limit.fits(offer.backlog, arrival.len_bytes) {
            return Verdict::Drop(DropReason::Overflow);
        }
        let probability = match self.size_factor {
            Some(size_factor) => self.probability * f64::from(arrival.len_bytes) * size_factor,
            None => self.probability,
        };
        let verdict = early_verdict(probability, self.ecn, arrival, offer.rng);
        if !matches!(verdict, Verdict::Drop(_)) {
            self.backlog.add(arrival.len_bytes);
        }
        verdict
    }

    fn release(&mut self, _ticket: Ticket, _len_bytes: u32, backlog: Backlog, now: Time) {
        self.queue_becomes(backlog, now);
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self)
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("p_mark", self.probability);
    }
}

#[cfg(test)]
#[path = "pi_tests.rs"]
mod tests;
