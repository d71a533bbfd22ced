//! The measurements of an ACK, and the estimates of the path that follow from them alone.

use super::parameters::{
    AGGREGATION_ROUNDS, AGGREGATION_ROUNDS_IN_STARTUP, GROWTH, LONGEST_EPOCH, ROUND_TRIP_PROBE_INTERVAL,
    ROUND_TRIP_WINDOW, ROUNDS_WITHOUT_GROWTH,
};
use crate::{AckSample, Delivery, Phase, Span, Time};

/// The measurements of an ACK (`rate_sample`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub now: Time,
    pub phase: Phase,
    pub echoes_mark: bool,
    pub smoothed: Option<Span>,
    pub round_trip: Option<Span>,
    pub may_be_delayed: bool,
    pub next_departure: Time,
    /// Segments delivered, and delivered with a mark, since the start.
    pub total_delivered: u64,
    pub total_marked: u64,
    /// Segments delivered and found lost by this ACK.
    pub acked: f64,
    pub newly_lost: u64,
    pub in_flight_before: f64,
    pub in_flight: f64,
    /// Segments delivered when the segment was sent that this ACK reports (`prior_delivered`).
    pub prior_delivered: u64,
    /// Segments delivered, lost, and delivered with a mark since then.
    pub delivered: f64,
    pub lost: f64,
    pub marked: f64,
    /// Segments in flight then (`tx_in_flight`).
    pub sent_in_flight: f64,
    pub is_application_limited: bool,
    /// The delivery rate in segments per second; none without a valid interval.
    pub bandwidth: Option<f64>,
}

impl Sample {
    /// Segments that were sent with a number of segments delivered within `limited` count as limited by the
    /// application.
    pub fn new(ack: &AckSample<'_>, delivery: &Delivery, limited: Option<(u64, u64)>) -> Self {
        let segment = delivery.segment.unwrap_or_default();
        let since = |now: u64, before: u64| {
            if delivery.segment.is_some() { now.saturating_sub(before) as f64 } else { 0.0 }
        };
        let delivered = since(delivery.delivered, segment.delivered_before);
        let seconds = segment.interval.map_or(0.0, Span::seconds);
        let is_within = |(from, to): (u64, u64)| (from..=to).contains(&segment.delivered_before);
        Self {
            now: ack.now,
            phase: ack.phase,
            echoes_mark: ack.echoes_mark,
            smoothed: ack.round_trips.smoothed,
            round_trip: delivery.round_trip,
            may_be_delayed: delivery.may_be_delayed,
            next_departure: delivery.next_departure,
            total_delivered: delivery.delivered,
            total_marked: delivery.marked,
            acked: delivery.newly_delivered as f64,
            newly_lost: delivery.newly_lost,
            in_flight_before: delivery.in_flight_before as f64,
            in_flight: delivery.in_flight as f64,
            prior_delivered: segment.delivered_before,
            delivered,
            lost: since(delivery.lost, segment.lost_before),
            marked: since(delivery.marked, segment.marked_before),
            sent_in_flight: segment.in_flight as f64,
            is_application_limited: segment.is_application_limited
                || delivery.segment.is_some() && limited.is_some_and(is_within),
            bandwidth: (seconds > 0.0).then(|| delivered / seconds),
        }
    }

    /// The delivery rate, if the ACK reports arrivals in a valid interval.
    pub fn valid_bandwidth(&self) -> Option<f64> {
        self.bandwidth.filter(|_| self.acked > 0.0)
    }

    /// The delivery rate, or 0 (`sample_bw`).
    pub fn bandwidth_or_zero(&self) -> f64 {
        self.bandwidth.unwrap_or(0.0)
    }
}

/// Round trips, counted by deliveries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    /// The round ends with a segment that was sent with so many delivered (`next_rtt_delivered`).
    pub next_delivered: u64,
    /// This ACK starts a round (`round_start`).
    pub has_started: bool,
    pub count: u64,
    /// Rounds since the last probe (`rounds_since_probe`).
    pub since_probe: u64,
}

impl Rounds {
    /// `bbr_update_round_start`.
    pub fn update(&mut self, sample: &Sample) {
        self.has_started = sample.bandwidth.is_some() && sample.prior_delivered >= self.next_delivered;
        if self.has_started {
            self.next_delivered = sample.total_delivered;
            self.count += 1;
            self.since_probe += 1;
        }
    }
}

/// The maximum bandwidth of this and the previous cycle of probes (`bw_hi`), in segments per second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BandwidthFilter {
    previous: f64,
    current: f64,
}

impl BandwidthFilter {
    /// `bbr_max_bw`.
    pub fn maximum(&self) -> f64 {
        self.previous.max(self.current)
    }

    /// `bbr_take_max_bw_sample`.
    pub fn take(&mut self, bandwidth: f64) {
        self.current = self.current.max(bandwidth);
    }

    /// `bbr_advance_max_bw_filter`. Without a sample the previous cycle still counts.
    pub fn advance(&mut self) {
        if self.current > 0.0 {
            (self.previous, self.current) = (self.current, 0.0);
        }
    }
}

/// The bounds that losses and marks have set (`bw_lo`, `inflight_lo`, `inflight_hi`). Infinite without any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    pub bandwidth_low: f64,
    pub in_flight_low: f64,
    pub in_flight_high: f64,
}

impl Bounds {
    pub const NONE: Self =
        Self { bandwidth_low: f64::INFINITY, in_flight_low: f64::INFINITY, in_flight_high: f64::INFINITY };

    /// `bbr_reset_lower_bounds`.
    pub fn reset_lower(&mut self) {
        *self = Self { in_flight_high: self.in_flight_high, ..Self::NONE };
    }

    /// The higher one of each.
    pub fn max(self, other: Self) -> Self {
        Self {
            bandwidth_low: self.bandwidth_low.max(other.bandwidth_low),
            in_flight_low: self.in_flight_low.max(other.in_flight_low),
            in_flight_high: self.in_flight_high.max(other.in_flight_high),
        }
    }
}

/// The shortest round trip, in a window of 10 s and in one of 5 s, whose end calls for ProbeRTT.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundTripFilter {
    /// `min_rtt_us` and its time.
    pub shortest: Option<Span>,
    shortest_at: Time,
    /// `probe_rtt_min_us` and its time.
    recent: Option<Span>,
    recent_at: Time,
}

impl RoundTripFilter {
    pub fn begin(&mut self, shortest: Option<Span>, now: Time) {
        *self = Self { shortest, shortest_at: now, recent: shortest, recent_at: now };
    }

    /// The first part of `bbr_update_min_rtt`. Whether the shorter window is over.
    pub fn update(&mut self, sample: &Sample) -> bool {
        let is_due = sample.now > self.recent_at.saturating_add(ROUND_TRIP_PROBE_INTERVAL);
        if let Some(round_trip) = sample.round_trip
            && (self.recent.is_none_or(|recent| round_trip < recent) || is_due && !sample.may_be_delayed)
        {
            (self.recent, self.recent_at) = (Some(round_trip), sample.now);
        }
        let has_expired = sample.now > self.shortest_at.saturating_add(ROUND_TRIP_WINDOW);
        if let Some(recent) = self.recent
            && (has_expired || self.shortest.is_none_or(|shortest| recent <= shortest))
        {
            (self.shortest, self.shortest_at) = (Some(recent), self.recent_at);
        }
        is_due
    }

    /// The next ProbeRTT is due after a whole interval.
    pub fn restart_interval(&mut self, now: Time) {
        self.recent_at = now;
    }
}

/// The detector of a full pipe: the bandwidth has stopped growing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// The bandwidth that grows no more (`full_bw`), in segments per second.
    pub bandwidth: f64,
    /// Rounds without growth (`full_bw_cnt`).
    pub rounds: u32,
    /// The pipe is full now (`full_bw_now`).
    pub is_now: bool,
    /// It was full once (`full_bw_reached`).
    pub is_reached: bool,
}

impl FullPipe {
    /// `bbr_reset_full_bw`.
    pub fn reset(&mut self) {
        *self = Self { is_reached: self.is_reached, ..Self::default() };
    }

    /// Growth counts from this bandwidth.
    pub fn restart_at(&mut self, bandwidth: f64) {
        self.reset();
        self.bandwidth = bandwidth;
    }

    /// `bbr_check_full_bw_reached`. The draft's CheckFullBWReached waits for the start of a round.
    pub fn update(&mut self, sample: &Sample, has_round_started: bool, waits_for_round: bool) {
        if self.is_now || sample.is_application_limited || waits_for_round && !has_round_started {
            return;
        }
        let bandwidth = sample.bandwidth_or_zero();
        if bandwidth >= self.bandwidth * GROWTH {
            return self.restart_at(bandwidth);
        }
        if has_round_started {
            self.rounds += 1;
            self.is_now = self.rounds >= ROUNDS_WITHOUT_GROWTH;
            self.is_reached |= self.is_now;
        }
    }
}

/// Deliveries, losses and marks of the running round trip. Its rounds restart at a loss.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossRound {
    /// The round ends with a segment that was sent with so many delivered (`loss_round_delivered`).
    pub next_delivered: u64,
    /// This ACK ends a round (`loss_round_start`).
    pub has_started: bool,
    /// The highest bandwidth and volume delivered in the round (`bw_latest`, `inflight_latest`).
    pub bandwidth: f64,
    pub in_flight: f64,
    /// ACKs that found losses (`loss_events_in_round`).
    pub loss_events: u32,
    pub has_loss: bool,
    pub has_mark: bool,
    /// The same for the cycle of probes.
    pub has_loss_in_cycle: bool,
    pub has_mark_in_cycle: bool,
}

impl Default for LossRound {
    /// `bbr_init`: the first flight is no round.
    fn default() -> Self {
        Self {
            next_delivered: 1,
            has_started: false,
            bandwidth: 0.0,
            in_flight: 0.0,
            loss_events: 0,
            has_loss: false,
            has_mark: false,
            has_loss_in_cycle: false,
            has_mark_in_cycle: false,
        }
    }
}

impl LossRound {
    /// `bbr_update_latest_delivery_signals`.
    pub fn update(&mut self, sample: &Sample) {
        self.has_started = false;
        let Some(bandwidth) = sample.valid_bandwidth() else { return };
        self.bandwidth = self.bandwidth.max(bandwidth);
        self.in_flight = self.in_flight.max(sample.delivered);
        if sample.prior_delivered >= self.next_delivered {
            self.next_delivered = sample.total_delivered;
            self.has_started = true;
        }
    }

    /// `bbr_advance_latest_delivery_signals`.
    pub fn advance(&mut self, sample: &Sample) {
        if self.has_started {
            (self.bandwidth, self.in_flight) = (sample.bandwidth_or_zero(), sample.delivered);
        }
    }

    /// `bbr_note_loss`: a round begins with the first loss.
    pub fn note_loss(&mut self, delivered: u64) {
        if !self.has_loss {
            self.next_delivered = delivered;
        }
        (self.has_loss, self.has_loss_in_cycle) = (true, true);
    }

    /// `bbr_reset_congestion_signals`.
    pub fn reset(&mut self) {
        *self = Self {
            next_delivered: self.next_delivered,
            has_started: self.has_started,
            loss_events: self.loss_events,
            ..Self::default()
        };
    }
}

/// The aggregation of ACKs: segments acknowledged beyond the bandwidth (`extra_acked`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    epoch_start: Time,
    epoch_acked: f64,
    /// Rounds of the running window, and the maxima of the last and the running one.
    rounds: u32,
    maxima: [f64; 2],
}

impl Aggregation {
    pub fn restart(&mut self, now: Time) {
        (self.epoch_start, self.epoch_acked) = (now, 0.0);
    }

    pub fn maximum(&self) -> f64 {
        self.maxima[0].max(self.maxima[1])
    }

    /// `bbr_update_ack_aggregation`.
    pub fn update(&mut self, sample: &Sample, has_round_started: bool, is_full: bool, bandwidth: f64, window: f64) {
        if sample.valid_bandwidth().is_none() {
            return;
        }
        if has_round_started {
            self.rounds += 1;
            if self.rounds >= if is_full { AGGREGATION_ROUNDS } else { AGGREGATION_ROUNDS_IN_STARTUP } {
                self.rounds = 0;
                self.maxima = [self.maxima[1], 0.0];
            }
        }
        let mut expected = libm::floor(bandwidth * sample.now.since(self.epoch_start).seconds());
        if self.epoch_acked <= expected || self.epoch_acked + sample.acked >= LONGEST_EPOCH {
            self.restart(sample.now);
            expected = 0.0;
        }
        self.epoch_acked = (self.epoch_acked + sample.acked).min(LONGEST_EPOCH - 1.0);
        let extra = (self.epoch_acked - expected).min(window);
        self.maxima[1] = self.maxima[1].max(extra);
    }
}

/// The share of marks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ecn {
    /// The route has marks of short queues (`bbr_can_use_ecn`).
    pub is_enabled: bool,
    /// Marks count (`ecn_eligible`).
    pub is_eligible: bool,
    /// The smoothed share (`ecn_alpha`).
    pub alpha: f64,
    /// Segments delivered, and delivered with a mark, at the last update.
    pub last_delivered: u64,
    pub last_marked: u64,
    /// Rounds of Startup with many marks (`startup_ecn_rounds`).
    pub startup_rounds: u32,
}

impl Ecn {
    pub fn new(is_enabled: bool) -> Self {
        Self { is_enabled, is_eligible: false, alpha: 1.0, last_delivered: 0, last_marked: 0, startup_rounds: 0 }
    }
}
