//! BIC in Linux's arithmetic, as in ns-2 2.35.
//!
//! # What it does
//! This is BIC in whole segments: the window grows by one after a certain number of ACKs, and that number is truncated
//! at each step. It is then divided by an estimate of how many segments an ACK covers.
//!
//! # When to use it
//! Use it to reproduce runs of ns-2's `Agent/TCP/Linux` with BIC. For anything else use `bic`.
//!
//! # Example
//! ```toml
//! transport.tcp = { preset = "ns2_linux", congestion_control = "linux_bic" }
//! ```
//!
//! # Source
//! Linux 2.6.22, `tcp_bic.c`, which ns-2 2.35 runs as `Agent/TCP/Linux`; read for its rules.
//!
//! # Where we differ
//! From `bic`: truncation lets the window grow by more than 16 segments in a round trip (by 31 at a window of 31). The
//! estimate of segments per ACK starts at 2 and is truncated so that it never falls below 31/16, even where each
//! segment is acknowledged: growth is nearly doubled then. A window at the threshold is still in slow start, so that
//! each reduction is followed by one segment more. A timeout forgets the maximum. From Linux: spurious losses are not
//! undone. The estimate sees what `byte_counting_limit` lets pass.
//!
//! # Parameters
//! None: `transport.tcp.congestion_control = "linux_bic"`. ns-2's recovery belongs with it: `sack`, `rate_reduction =
//! "rate_halving"`, and `max_congestion_window_segments` for its `window_`.

use alloc::boxed::Box;

use crate::control::loss_based::loss_based;
use crate::control::setup::Setup;
use crate::{CongestionSignal, Control, Controller, RoundTrips, Time, WindowLaw};

/// The remaining part of the window after a sign of congestion, in 1024ths.
const BETA_X1024: u32 = 819;
/// The most that a round trip adds, but for truncation, in segments.
const MAX_INCREMENT: u32 = 16;
/// The window, in segments, up to which it grows and shrinks like Reno's.
const LOW_WINDOW: u32 = 14;
/// Round trips for the last segments below the maximum.
const SMOOTH_PART: u32 = 20;
/// The part of the distance to the maximum that a round trip covers, as a divisor.
const SEARCH_DIVISOR: u32 = 4;

/// The window after a sign of congestion.
pub(crate) fn reduced(window: u32) -> u32 {
    (u64::from(window) * u64::from(BETA_X1024) / 1024) as u32
}

/// The target of the next search after a loss at `window`: lower if the last maximum was not reached.
pub(crate) fn next_maximum(window: u32, maximum: u32) -> u32 {
    if window < maximum { (u64::from(window) * u64::from(1024 + BETA_X1024) / 2048) as u32 } else { window }
}

/// In Linux a window equal to the threshold still belongs to slow start, so that each reduction is followed by one
/// segment more.
pub(crate) fn is_at_threshold(window: &Control) -> bool {
    window.congestion_window <= window.slow_start_threshold
}

/// ACKs counted towards the next segment of window, and Linux's estimate of segments per ACK.
#[derive(Clone, Debug)]
pub(crate) struct AckCount {
    acks: u32,
    /// Sixteen times the estimate.
    segments_per_ack_x16: u32,
}

impl AckCount {
    pub fn new() -> Self {
        Self { acks: 0, segments_per_ack_x16: 2 << 4 }
    }

    /// The moving average over 16 ACKs, truncated.
    pub fn learn(&mut self, acked_segments: f64) {
        let segments = (acked_segments as u32).max(1);
        self.segments_per_ack_x16 = self.segments_per_ack_x16 - (self.segments_per_ack_x16 >> 4) + segments;
    }

    /// This many segments as a number of ACKs, at least 1.
    pub fn acks_for(&self, segments: u32) -> u32 {
        ((u64::from(segments) << 4) / u64::from(self.segments_per_ack_x16)).max(1) as u32
    }

    /// Counts one ACK; whether the window grows by one. It does at the ACK *after* the `needed`-th.
    pub fn is_full(&mut self, needed: u32) -> bool {
        let is_full = self.acks >= needed;
        self.acks = if is_full { 0 } else { self.acks + 1 };
        is_full
    }

    pub fn restart(&mut self) {
        self.acks = 0;
    }
}

/// Linux's BIC.
#[derive(Clone, Debug)]
pub struct LinuxBic {
    /// The window at which the last loss came, lowered by fast convergence; 0 before the first and after a timeout.
    maximum: u32,
    count: AckCount,
}

impl LinuxBic {
    /// BIC before its first ACK.
    #[must_use]
    pub fn new() -> Self {
        Self { maximum: 0, count: AckCount::new() }
    }

    /// The number of acknowledged segments for which the window grows by one.
    fn segments_for_one(&self, window: u32) -> u32 {
        let segments = if window < self.maximum {
            match (self.maximum - window) / SEARCH_DIVISOR {
                0 | 1 => window * SMOOTH_PART / SEARCH_DIVISOR,
                distance => window / distance.min(MAX_INCREMENT),
            }
        } else {
            match window - self.maximum {
                0..SEARCH_DIVISOR => window * SMOOTH_PART / SEARCH_DIVISOR,
                distance if distance < MAX_INCREMENT * (SEARCH_DIVISOR - 1) => window * (SEARCH_DIVISOR - 1) / distance,
                _ => window / MAX_INCREMENT,
            }
        };
        if self.maximum == 0 { segments.min(20) } else { segments }
    }
}

impl Default for LinuxBic {
    fn default() -> Self {
        Self::new()
    }
}

pub(crate) fn build(setup: &Setup) -> Box<dyn Controller> {
    loss_based(LinuxBic::new(), setup)
}

impl WindowLaw for LinuxBic {
    fn avoid_congestion(&mut self, window: &mut Control, acked_segments: f64, _path: &RoundTrips, _now: Time) {
        self.count.learn(acked_segments);
        if is_at_threshold(window) {
            window.congestion_window += acked_segments;
            return;
        }
        let current = window.congestion_window as u32;
        // Below the low window the number is not divided.
        let needed = if current <= LOW_WINDOW { current } else { self.count.acks_for(self.segments_for_one(current)) };
        if self.count.is_full(needed) {
            window.congestion_window += 1.0;
        }
    }

    fn reduce(&mut self, window: &Control, used_segments: f64, signal: CongestionSignal, _now: Time) -> f64 {
        let current = window.congestion_window as u32;
        self.maximum = next_maximum(current, self.maximum);
        self.count.restart();
        if signal == CongestionSignal::Timeout {
            *self = Self::new();
        }
        let used = used_segments as u32;
        f64::from(if current <= LOW_WINDOW { used / 2 } else { reduced(used) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(maximum: u32) -> LinuxBic {
        LinuxBic { maximum, ..LinuxBic::new() }
    }

    #[test]
    fn numbers_are_truncated() {
        // Linear: 16 segments a round trip in name, 20 in fact.
        assert_eq!(law(1000).segments_for_one(60), 3);
        // Binary search over a distance of 12 / 4.
        assert_eq!(law(60).segments_for_one(48), 16);
        // Close by, on both sides: 20 round trips for four segments.
        assert_eq!(law(60).segments_for_one(53), 265);
        assert_eq!(law(60).segments_for_one(63), 315);
        // Max probing.
        assert_eq!(law(60).segments_for_one(72), 18);
        assert_eq!(law(60).segments_for_one(108), 6);
        // Before the first loss at least 5 %.
        assert_eq!(law(0).segments_for_one(1000), 20);
        assert_eq!(law(900).segments_for_one(1000), 62);
    }

    #[test]
    fn the_estimate_of_segments_per_ack_sticks_at_31_sixteenths() {
        let mut count = AckCount::new();
        for _ in 0..1000 {
            count.learn(1.0);
        }
        assert_eq!(count.segments_per_ack_x16, 31);
        assert_eq!(count.acks_for(16), 8);
        assert_eq!(count.acks_for(1), 1);
        for _ in 0..1000 {
            count.learn(2.0);
        }
        assert_eq!(count.segments_per_ack_x16, 32);
    }

    #[test]
    fn the_window_grows_at_the_ack_after_the_number() {
        let mut count = AckCount::new();
        let grown: alloc::vec::Vec<bool> = (0..6).map(|_| count.is_full(2)).collect();
        assert_eq!(grown, [false, false, true, false, false, true]);
    }

    #[test]
    fn slow_start_takes_one_ack_more() {
        let mut law = law(60);
        let path = RoundTrips::default();
        let mut window = Control::new(48.0, 48.0);
        law.avoid_congestion(&mut window, 1.0, &path, Time::ZERO);
        assert_eq!(window.congestion_window, 49.0);
        law.avoid_congestion(&mut window, 1.0, &path, Time::ZERO);
        assert_eq!(window.congestion_window, 49.0);
    }

    #[test]
    fn small_windows_are_halved() {
        let reduce = |window: f64| {
            let window = Control::new(window, f64::INFINITY);
            LinuxBic::new().reduce(&window, window.congestion_window, CongestionSignal::Loss, Time::ZERO)
        };
        assert_eq!(reduce(14.0), 7.0);
        assert_eq!(reduce(15.0), 11.0);
        assert_eq!(reduce(100.0), 79.0);
    }
    #[test]
    fn the_search_has_its_linear_parts_on_both_sides_of_the_maximum() {
        // Far below, and from 48 segments above on: 16 segments a round trip.
        assert_eq!(law(1000).segments_for_one(640), 40);
        assert_eq!(law(600).segments_for_one(650), 40);
        assert_eq!(law(600).segments_for_one(660), 41);
        // Nearer above: a third of the distance from the maximum a round trip.
        assert_eq!(law(600).segments_for_one(620), 93);
        assert_eq!(law(600).segments_for_one(640), 48);
    }

    /// ACKs of one segment each until a window of `start` has grown.
    fn acks_to_grow(start: f64) -> u32 {
        let (mut law, path) = (law(0), RoundTrips::default());
        let mut window = Control::new(start, 2.0);
        let mut acks = 0;
        while window.congestion_window == start {
            law.avoid_congestion(&mut window, 1.0, &path, Time::ZERO);
            acks += 1;
        }
        assert_eq!(window.congestion_window, start + 1.0);
        acks
    }

    #[test]
    fn up_to_14_segments_the_window_grows_once_in_a_window_of_acks() {
        assert_eq!(acks_to_grow(14.0), 15);
        // Above, before the first loss: 15 * 3 / 15 segments, at two segments an ACK one ACK.
        assert_eq!(acks_to_grow(15.0), 2);
    }

    #[test]
    fn an_ack_of_less_than_a_segment_counts_as_one() {
        let mut count = AckCount::new();
        for _ in 0..1000 {
            count.learn(0.5);
        }
        assert_eq!(count.segments_per_ack_x16, 31);
    }

    #[test]
    fn a_loss_sets_the_maximum_and_starts_the_count_anew_and_a_timeout_forgets() {
        let mut law = law(0);
        let path = RoundTrips::default();
        let mut window = Control::new(100.0, 2.0);
        for _ in 0..3 {
            law.avoid_congestion(&mut window, 1.0, &path, Time::ZERO);
        }
        assert_eq!(law.count.acks, 3);
        law.reduce(&window, 100.0, CongestionSignal::Loss, Time::ZERO);
        assert_eq!((law.maximum, law.count.acks), (100, 0));
        // Below the maximum: fast convergence, 90 * 1843 / 2048.
        law.reduce(&Control { congestion_window: 90.0, ..window }, 90.0, CongestionSignal::EcnEcho, Time::ZERO);
        assert_eq!(law.maximum, 80);
        law.reduce(&window, 100.0, CongestionSignal::Timeout, Time::ZERO);
        assert_eq!(law.maximum, 0);
    }
}
