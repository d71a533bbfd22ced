//! CUBIC of 2007 in Linux's arithmetic, as in ns-2 2.35.
//!
//! # What it does
//! This is CUBIC in whole segments: the cubic function determines how many ACKs open the window by one segment. That
//! number is truncated, divided by an estimate of how many segments an ACK covers, and computed again when the window
//! changes or after 31 ms.
//!
//! # When to use it
//! Use it to reproduce runs of ns-2's `Agent/TCP/Linux` with CUBIC. For today's Linux use `preset = "linux"`.
//!
//! # Example
//! ```toml
//! transport.tcp.preset = "ns2_linux"
//! transport.tcp.congestion_control = "linux_2_6_cubic"
//! ```
//!
//! # Source
//! Linux 2.6.22, `tcp_cubic.c` (version 2.1), which ns-2 2.35 runs as `Agent/TCP/Linux`; read for its rules.
//!
//! # Where we differ
//! From `cubic`, RFC 9438: the window falls to 0.8, not 0.7; the function is not evaluated a round trip ahead. Growth
//! is nearly doubled if each segment is acknowledged, and each reduction is followed by one segment more (see
//! `linux_bic`). Before the first loss 50 acknowledged segments open the window by one. From Linux: the cube root is
//! exact, and spurious losses are not undone. Without timestamps (ns-2's default) Linux has no measured shortest delay,
//! and so neither looks ahead nor limits growth beyond the maximum to 16 segments in 100 ms; only this case is
//! implemented.
//!
//! # Parameters
//! None: `transport.tcp.congestion_control = "linux_2_6_cubic"`.

use alloc::boxed::Box;

use crate::control::linux_bic::{AckCount, is_at_threshold, next_maximum, reduced};
use crate::control::loss_based::loss_based;
use crate::control::setup::Setup;
use crate::{CongestionSignal, Control, Controller, RoundTrips, Span, Time, WindowLaw};

/// The number of ACKs is computed again after this time, in milliseconds, even if the window has not changed (HZ / 32).
const REFRESH_MS: u64 = 1000 / 32;

/// C in segments per cubic second: 41 / 1024 segments per 100 ms.
const GROWTH: f64 = 410.0 / 1024.0;

/// Segments that open the window by one before the first loss.
const SEGMENTS_BEFORE_LOSS: u32 = 50;

/// Eight times the segments, for each segment of window, after which Reno's estimated window grows by one: with β,
/// 8 (1 + β) / 3 (1 - β), truncated.
const RENO_SEGMENTS_X8: u32 = 23;

/// Linux's CUBIC.
#[derive(Clone, Debug)]
pub struct Linux26Cubic {
    /// The window at which the last loss came, lowered by fast convergence; 0 before the first and after a timeout.
    maximum: u32,
    stage: Option<Stage>,
    count: AckCount,
}

/// One stage of congestion avoidance.
#[derive(Clone, Debug)]
struct Stage {
    start_ms: u64,
    /// The turning point of the cubic function: in segments, and in 1024ths of a second after the start.
    maximum: u32,
    k: u64,
    /// The window that Reno would have, and the ACKs towards its next segment.
    reno_window: u32,
    reno_acks: u32,
    /// The window and the time for which `needed` was computed.
    window: u32,
    computed_ms: u64,
    /// ACKs that open the window by one.
    needed: u32,
}

impl Stage {
    fn begin(window: u32, maximum: u32, now_ms: u64) -> Self {
        let k = libm::cbrt(f64::from(maximum.saturating_sub(window)) / GROWTH) * 1024.0;
        Self {
            start_ms: now_ms,
            maximum: maximum.max(window),
            k: k as u64,
            reno_window: window,
            reno_acks: 0,
            window: 0,
            computed_ms: now_ms,
            needed: 1,
        }
    }

    /// The whole segments of the cubic function now.
    fn target(&self, now_ms: u64) -> u64 {
        let time = now_ms.saturating_sub(self.start_ms) * 1024 / 1000;
        let offset = time.abs_diff(self.k) as f64 / 1024.0;
        let distance = (GROWTH * offset * offset * offset) as u64;
        let maximum = u64::from(self.maximum);
        if time < self.k { maximum.saturating_sub(distance) } else { maximum.saturating_add(distance) }
    }

    /// The number of acknowledged segments for which the window grows by one.
    fn segments_for_one(&mut self, window: u32, is_first: bool, now_ms: u64) -> u32 {
        let target = self.target(now_ms);
        let segments = if is_first {
            SEGMENTS_BEFORE_LOSS
        } else if target > u64::from(window) {
            (u64::from(window) / (target - u64::from(window))) as u32
        } else {
            100 * window
        };
        let reno_segments = window * RENO_SEGMENTS_X8 / 8;
        while self.reno_acks > reno_segments {
            self.reno_acks -= reno_segments;
            self.reno_window += 1;
        }
        match self.reno_window.checked_sub(window) {
            None | Some(0) => segments,
            Some(lead) => segments.min(window / lead),
        }
    }
}

impl Linux26Cubic {
    /// CUBIC before its first ACK.
    #[must_use]
    pub fn new() -> Self {
        Self { maximum: 0, stage: None, count: AckCount::new() }
    }
}

impl Default for Linux26Cubic {
    fn default() -> Self {
        Self::new()
    }
}

pub(crate) fn build(setup: &Setup) -> Box<dyn Controller> {
    loss_based(Linux26Cubic::new(), setup)
}

impl WindowLaw for Linux26Cubic {
    fn avoid_congestion(&mut self, window: &mut Control, acked_segments: f64, _path: &RoundTrips, now: Time) {
        self.count.learn(acked_segments);
        if is_at_threshold(window) {
            window.congestion_window += acked_segments;
            return;
        }
        let current = window.congestion_window as u32;
        let now_ms = now.picoseconds() / Span::from_milliseconds(1).picoseconds();
        let stage = self.stage.get_or_insert_with(|| Stage::begin(current, self.maximum, now_ms));
        stage.reno_acks += 1;
        if stage.window != current || now_ms.saturating_sub(stage.computed_ms) > REFRESH_MS {
            (stage.window, stage.computed_ms) = (current, now_ms);
            stage.needed = self.count.acks_for(stage.segments_for_one(current, self.maximum == 0, now_ms));
        }
        if self.count.is_full(stage.needed) {
            window.congestion_window += 1.0;
        }
    }

    fn reduce(&mut self, window: &Control, used_segments: f64, signal: CongestionSignal, _now: Time) -> f64 {
        self.maximum = next_maximum(window.congestion_window as u32, self.maximum);
        self.stage = None;
        self.count.restart();
        if signal == CongestionSignal::Timeout {
            *self = Self::new();
        }
        f64::from(reduced(used_segments as u32))
    }

    fn restart(&mut self) {
        self.stage = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: u64) -> Time {
        Time::ZERO + Span::from_milliseconds(ms)
    }

    #[test]
    fn the_turning_point_is_where_the_maximum_was() {
        // K = cbrt(200 / 0.4004) = 7.93 s for a window of 800 below a maximum of 1000.
        let stage = Stage::begin(800, 1000, 5000);
        assert_eq!(stage.k / 1024, 7);
        assert_eq!(stage.target(5000), 1000 - 199);
        assert_eq!(stage.target(5000 + 7935), 1000);
        // 10 s later 0.4004 * 10^3 segments above.
        assert_eq!(stage.target(5000 + 17_935), 1400);
    }

    #[test]
    fn reno_is_the_lower_bound() {
        // 23 / 8 of a window of ACKs for each segment.
        let mut stage = Stage::begin(40, 40, 0);
        stage.reno_acks = 40 * 23 / 8 + 1;
        assert_eq!(stage.segments_for_one(40, false, 0), 40);
        assert_eq!(stage.reno_window, 41);
        // A cubic window that does not grow at all would need 100 windows.
        let mut stage = Stage::begin(40, 40, 0);
        assert_eq!(stage.segments_for_one(40, false, 0), 4000);
    }

    #[test]
    fn a_reduction_leaves_819_of_1024_and_a_timeout_forgets() {
        let mut law = Linux26Cubic::new();
        let window = Control::new(100.0, f64::INFINITY);
        assert_eq!(law.reduce(&window, 100.0, CongestionSignal::Loss, at_ms(0)), 79.0);
        assert_eq!(law.maximum, 100);
        // Below the maximum: fast convergence, 90 * 1843 / 2048.
        let window = Control { congestion_window: 90.0, ..window };
        law.reduce(&window, 90.0, CongestionSignal::Loss, at_ms(0));
        assert_eq!(law.maximum, 80);
        law.reduce(&window, 90.0, CongestionSignal::Timeout, at_ms(0));
        assert_eq!(law.maximum, 0);
    }

    #[test]
    fn the_number_of_acks_is_kept_for_31_ms() {
        let mut law = Linux26Cubic::new();
        let path = RoundTrips::default();
        let mut window = Control::new(100.0, 50.0);
        law.avoid_congestion(&mut window, 1.0, &path, at_ms(0));
        // 50 segments are 50 * 16 / 31 ACKs before the first loss.
        assert_eq!(law.stage.as_ref().map(|stage| (stage.needed, stage.computed_ms)), Some((25, 0)));
        law.avoid_congestion(&mut window, 1.0, &path, at_ms(31));
        assert_eq!(law.stage.as_ref().map(|stage| stage.computed_ms), Some(0));
        law.avoid_congestion(&mut window, 1.0, &path, at_ms(32));
        assert_eq!(law.stage.as_ref().map(|stage| stage.computed_ms), Some(32));
    }
    #[test]
    fn below_the_turning_point_the_window_closes_the_distance_in_a_window_of_acks() {
        // At 7.935 s the function is at 1000: 200 segments more than the window of 800.
        assert_eq!(Stage::begin(800, 1000, 0).segments_for_one(800, false, 7935), 4);
        assert_eq!(Stage::begin(800, 1000, 0).segments_for_one(800, true, 7935), 50);
    }

    #[test]
    fn renos_window_grows_after_more_than_23_eighths_of_a_window() {
        for (acks, window, left, expected) in [(115, 40, 115, 4000), (116, 41, 1, 40), (231, 42, 1, 20)] {
            let mut stage = Stage::begin(40, 40, 0);
            stage.reno_acks = acks;
            assert_eq!(stage.segments_for_one(40, false, 0), expected, "{acks}");
            assert_eq!((stage.reno_window, stage.reno_acks), (window, left), "{acks}");
        }
    }

    #[test]
    fn slow_start_takes_one_ack_more_and_then_acks_count_for_reno() {
        let mut law = Linux26Cubic::new();
        let path = RoundTrips::default();
        let mut window = Control::new(48.0, 48.0);
        law.avoid_congestion(&mut window, 1.0, &path, at_ms(0));
        assert_eq!((window.congestion_window, law.stage.is_some()), (49.0, false));
        for acks in 1..=3 {
            law.avoid_congestion(&mut window, 1.0, &path, at_ms(0));
            assert_eq!(law.stage.as_ref().map(|stage| stage.reno_acks), Some(acks));
        }
        assert_eq!(window.congestion_window, 49.0);
        for _ in 0..100 {
            law.avoid_congestion(&mut window, 1.0, &path, at_ms(0));
        }
        // 49 / (49 / 50) before the first loss: 50 segments are 25 ACKs, and the window grows at the one after.
        assert_eq!(window.congestion_window, 52.0);
    }

    #[test]
    fn an_idle_time_ends_the_stage() {
        let mut law = Linux26Cubic::new();
        let path = RoundTrips::default();
        let mut window = Control::new(100.0, 50.0);
        law.avoid_congestion(&mut window, 1.0, &path, at_ms(0));
        law.restart();
        law.avoid_congestion(&mut window, 1.0, &path, at_ms(9000));
        assert_eq!(law.stage.as_ref().map(|stage| stage.start_ms), Some(9000));
    }
}
