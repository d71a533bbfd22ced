//! The round-trip estimate and the retransmission timeout.
//!
//! # What it does
//! Smooths round-trip samples and their deviation, and derives the time after which an unacknowledged segment counts as
//! lost. Each expiry doubles that time until the next sample.
//!
//! # Source
//! RFC 6298; Jacobson & Karels 1988 for the integer arithmetic; Karn & Partridge 1987: no sample from a segment that
//! was sent twice, and the doubled timeout stays until there is a sample.
//!
//! # Where we differ
//! With a `timer_granularity` everything is in ticks as in BSD and ns-2. A sample is the number of clock ticks between
//! sending and ACK, at least one. ns-2 starts each connection's clock at a random phase, we at 0. Without, the tick is
//! a picosecond, which is exact. After a lost SYN the timeout is at least 3 s (RFC 6298, 5.7), but not less than the
//! doubled one.
//!
//! # Parameters
//! `min_rto`, `min_rto_of`, `max_rto`, `initial_rto`, `timer_granularity`, `timestamps`.

use crate::{MinRtoOf, Span, TcpConfig, Time};

/// This many timeouts in a row, and the estimate is taken to be worthless (RFC 6298, section 5; ns-2 does the same).
const TIMEOUTS_TO_FORGET: u32 = 4;

/// The least timeout for data after a retransmitted SYN (RFC 6298, 5.7).
const AFTER_LOST_SYN: Span = Span::from_seconds(3);

/// The estimate of a connection's round trip, and its retransmission timeout. The timeout first: every ACK reads it,
/// and it is next to the connection's counters.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct RoundTrip {
    /// The timeout as it stands: doubled, and within its bounds.
    timeout: Span,
    /// Eight times SRTT, in ticks; 0 before the first sample.
    smoothed_x8: u64,
    /// Four times RTTVAR, in ticks.
    deviation_x4: u64,
    /// The tick in picoseconds.
    tick: u64,
    /// The timeout before doubling.
    base: Span,
    min_timeout: Span,
    min_of: MinRtoOf,
    /// The number of times that the timeout is doubled.
    doublings: u32,
    max_timeout: Span,
    /// The shortest round trip seen, exact.
    shortest: Span,
    /// The latest sample, exact.
    latest: Span,
}

impl RoundTrip {
    /// The bytes from its beginning that every ACK touches.
    pub(crate) const HOT_BYTES: usize = size_of::<Span>();

    pub(crate) fn new(config: &TcpConfig) -> Self {
        Self {
            smoothed_x8: 0,
            deviation_x4: 0,
            tick: config.timer_granularity.picoseconds().max(1),
            base: config.initial_rto,
            timeout: config.initial_rto.max(config.min_rto),
            min_timeout: config.min_rto,
            min_of: config.min_rto_of,
            max_timeout: config.max_rto,
            shortest: Span::MAX,
            latest: Span::MAX,
            doublings: 0,
        }
    }

    /// The smoothed round trip (SRTT), once there is a sample.
    #[must_use]
    pub fn smoothed(&self) -> Option<Span> {
        (self.smoothed_x8 > 0).then(|| Span::from_picoseconds(self.smoothed_x8 * self.tick / 8))
    }

    /// The mean deviation (RTTVAR), once there is a sample.
    #[must_use]
    pub fn deviation(&self) -> Option<Span> {
        (self.smoothed_x8 > 0).then(|| Span::from_picoseconds(self.deviation_x4 * self.tick / 4))
    }

    /// The shortest round trip seen, once there is a sample.
    #[must_use]
    pub fn shortest(&self) -> Option<Span> {
        (self.shortest < Span::MAX).then_some(self.shortest)
    }

    /// The latest sample, once there is one.
    #[must_use]
    pub fn latest(&self) -> Option<Span> {
        (self.latest < Span::MAX).then_some(self.latest)
    }

    /// The retransmission timeout (RTO) as it stands.
    #[must_use]
    pub fn timeout(&self) -> Span {
        self.timeout
    }

    /// A segment sent at `sent` is acknowledged at `now`. Ends the doubling of the timeout, unless `keeps_doubled`.
    pub(crate) fn sample(&mut self, sent: Time, now: Time, keeps_doubled: bool) {
        self.latest = now.since(sent);
        self.shortest = self.shortest.min(self.latest);
        let measured = (now.picoseconds() / self.tick - sent.picoseconds() / self.tick).max(1);
        if self.smoothed_x8 == 0 {
            // RFC 6298, 2.2: SRTT = R, RTTVAR = R/2.
            self.smoothed_x8 = measured * 8;
            self.deviation_x4 = measured * 2;
        } else {
            // RFC 6298, 2.3, scaled: RTTVAR += (|SRTT - R| - RTTVAR) / 4 and SRTT += (R - SRTT) / 8.
            let smoothed = self.smoothed_x8 / 8;
            let error = measured.abs_diff(smoothed);
            self.deviation_x4 = (self.deviation_x4 + error).saturating_sub(self.deviation_x4 / 4).max(1);
            self.smoothed_x8 = (self.smoothed_x8 + measured).saturating_sub(smoothed).max(1);
        }
        // RFC 6298, 2.3: RTO = SRTT + max(G, 4 RTTVAR); the deviation is never below one tick.
        let mut margin = self.deviation_x4 * self.tick;
        if self.min_of == MinRtoOf::Deviation {
            margin = margin.max(self.min_timeout.picoseconds());
        }
        self.base = Span::from_picoseconds(self.smoothed_x8 / 8 * self.tick + margin);
        if !keeps_doubled {
            self.doublings = 0;
        }
        self.set_timeout();
    }

    /// The timer expired (RFC 6298, 5.5).
    pub(crate) fn back_off(&mut self) {
        if self.timeout < self.max_timeout {
            self.doublings += 1;
        }
        if self.doublings >= TIMEOUTS_TO_FORGET {
            self.smoothed_x8 = 0;
        }
        self.set_timeout();
    }

    /// The handshake is complete, but its SYN was retransmitted (RFC 6298, 5.7).
    pub(crate) fn distrust_handshake(&mut self) {
        self.timeout = self.timeout.max(AFTER_LOST_SYN).min(self.max_timeout);
    }

    fn set_timeout(&mut self) {
        // The minimum applies before doubling, so that doubling begins at the minimum (as Linux and ns-2 do).
        let base = self.base.max(self.min_timeout).picoseconds();
        let doubled = if self.doublings > base.leading_zeros() { u64::MAX } else { base << self.doublings };
        self.timeout = Span::from_picoseconds(doubled).min(self.max_timeout);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_samples(config: &TcpConfig, samples_ms: &[u64]) -> RoundTrip {
        let mut round_trip = RoundTrip::new(config);
        let mut now = Time::ZERO;
        for &ms in samples_ms {
            let sent = now;
            now += Span::from_milliseconds(ms);
            round_trip.sample(sent, now, false);
        }
        round_trip
    }

    fn estimate(samples_ms: &[u64]) -> (u64, u64) {
        let round_trip = after_samples(&TcpConfig::default(), samples_ms);
        let microseconds = |span: Option<Span>| span.unwrap().picoseconds() / 1_000_000;
        (microseconds(round_trip.smoothed()), microseconds(round_trip.deviation()))
    }

    #[test]
    fn smooths_as_rfc_6298_section_2() {
        // The vectors of ns-3's rtt test.
        assert_eq!(estimate(&[1000]), (1_000_000, 500_000));
        assert_eq!(estimate(&[1000, 1200]), (1_025_000, 425_000));
        assert_eq!(estimate(&[1000, 1200, 900]), (1_009_375, 350_000));
    }

    #[test]
    fn timeout_is_bounded_and_doubles_until_a_sample() {
        let config = TcpConfig::default();
        let mut round_trip = RoundTrip::new(&config);
        assert_eq!(round_trip.timeout(), Span::from_seconds(1));
        round_trip.sample(Time::ZERO, Time::ZERO + Span::from_milliseconds(100), false);
        assert_eq!(round_trip.timeout(), Span::from_seconds(1));
        for doubled in [2, 4, 8, 16, 32, 60, 60, 60] {
            round_trip.back_off();
            assert_eq!(round_trip.timeout(), Span::from_seconds(doubled));
        }
        assert_eq!(round_trip.smoothed(), None);
        round_trip.sample(Time::ZERO, Time::ZERO + Span::from_seconds(2), false);
        assert_eq!(round_trip.timeout(), Span::from_seconds(6));
        assert_eq!(round_trip.smoothed(), Some(Span::from_seconds(2)));
    }

    #[test]
    fn counts_ticks_of_a_coarse_clock() {
        let config = TcpConfig::ns2(20);
        let mut round_trip = RoundTrip::new(&config);
        assert_eq!(round_trip.timeout(), Span::from_seconds(3));
        // From 9 ms to 51 ms the 10 ms clock ticks five times.
        let at = |ms| Time::ZERO + Span::from_milliseconds(ms);
        round_trip.sample(at(9), at(51), false);
        assert_eq!(round_trip.smoothed(), Some(Span::from_milliseconds(50)));
        assert_eq!(round_trip.shortest(), Some(Span::from_milliseconds(42)));
        // 50 + 4 * 25 = 150 ms is below the minimum.
        assert_eq!(round_trip.timeout(), Span::from_milliseconds(200));
        // Within one tick still counts as one.
        round_trip.sample(at(51), at(52), false);
        assert_eq!(round_trip.smoothed(), Some(Span::from_milliseconds(45)));
    }

    #[test]
    fn data_after_a_lost_syn_waits_three_seconds() {
        let mut round_trip = RoundTrip::new(&TcpConfig::default());
        round_trip.back_off();
        assert_eq!(round_trip.timeout(), Span::from_seconds(2));
        round_trip.distrust_handshake();
        assert_eq!(round_trip.timeout(), Span::from_seconds(3));
    }
}
