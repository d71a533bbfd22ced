//! TCP Westwood+: a loss reduces the window to what the path has delivered in a shortest round trip.
//!
//! # What it does
//! Growth is Reno's. The sender measures the rate of acknowledged data in each round trip and smooths it. A sign of
//! congestion sets the threshold to that rate times the shortest round trip, instead of half the window.
//!
//! # When to use it
//! Use it to model senders on lossy paths, such as radio links: a random loss costs little, because the measured rate
//! stays high. At a congested link with a small buffer it takes more than Reno.
//!
//! # Example
//! ```toml
//! transport.tcp = { congestion_control = "westwood", sack = true }
//! ```
//!
//! # Source
//! Mascolo, Casetti, Gerla, Sanadidi & Wang 2001, "TCP Westwood: bandwidth estimation for enhanced transport over
//! wireless links". Grieco & Mascolo 2004, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP
//! congestion control", section 2: one sample in a round trip. The filter is that of ns-3 (`tcp-westwood-plus.cc`).
//!
//! # Where we differ
//! The filter starts at its first sample, as in Linux; in ns-3 it starts at 0. Linux smooths twice, with weights of
//! 1/8, and samples at most every 50 ms. Acknowledged data counts as the cumulative ACK advances. A round trip with a
//! recovery therefore lasts until the gap is closed. Before the first sample, the window is halved.
//!
//! # Parameters
//! None.

use alloc::boxed::Box;

use crate::control::loss_based::loss_based;
use crate::control::setup::Setup;
use crate::{AckSample, CongestionSignal, Control, Controller, Reno, RoundTrips, Span, Time, WindowLaw};

/// The weight of the last estimate in the filter.
const MEMORY: f64 = 0.9;

/// Reno's growth, and a reduction to the measured rate.
#[derive(Clone, Debug)]
pub struct Westwood {
    segment_bytes: f64,
    /// The smoothed rate and its last sample, in segments per second (b and s).
    rate: Option<(f64, f64)>,
    /// The shortest round trip of the connection (RTTmin).
    shortest: Option<Span>,
    round: Option<Round>,
}

/// The running round trip.
#[derive(Clone, Copy, Debug)]
struct Round {
    start: Time,
    /// The data acknowledged at its start.
    acknowledged: u64,
    /// It ends when more than this is acknowledged.
    end: u64,
}

pub(crate) fn build(setup: &Setup) -> Box<dyn Controller> {
    loss_based(Westwood::new(setup.payload_bytes), setup)
}

impl Westwood {
    /// Westwood+ before its first ACK, with full segments of this many bytes of payload.
    #[must_use]
    pub fn new(segment_bytes: u32) -> Self {
        Self { segment_bytes: f64::from(segment_bytes.max(1)), rate: None, shortest: None, round: None }
    }

    /// A round trip has delivered `sample` segments per second: b = 0.9 b + 0.1 (s + s before) / 2.
    fn smooth(&mut self, sample: f64) {
        let (rate, before) = self.rate.unwrap_or((sample, sample));
        self.rate = Some((MEMORY * rate + (1.0 - MEMORY) * (sample + before) / 2.0, sample));
    }
}

impl WindowLaw for Westwood {
    fn uses_round_trips(&self) -> bool {
        true
    }

    /// Grieco & Mascolo, section 2: the data acknowledged in a round trip, over its duration.
    fn measure(&mut self, ack: &AckSample<'_>) {
        self.shortest = ack.round_trips.shortest;
        let round = self.round.filter(|round| ack.acknowledged <= round.end);
        if round.is_some() {
            return;
        }
        if let Some(round) = self.round {
            let segments = ack.acknowledged.saturating_sub(round.acknowledged) as f64 / self.segment_bytes;
            let duration = ack.now.since(round.start);
            if duration > Span::ZERO {
                self.smooth(segments / duration.seconds());
            }
        }
        self.round = Some(Round { start: ack.now, acknowledged: ack.acknowledged, end: ack.next });
    }

    fn avoid_congestion(&mut self, window: &mut Control, acked_segments: f64, path: &RoundTrips, now: Time) {
        Reno.avoid_congestion(window, acked_segments, path, now);
    }

    /// Mascolo et al.: ssthresh = b RTTmin. The skeleton sees to the least threshold of 2.
    fn reduce(&mut self, _window: &Control, used_segments: f64, _signal: CongestionSignal, _now: Time) -> f64 {
        match (self.rate, self.shortest) {
            (Some((rate, _)), Some(shortest)) => rate * shortest.seconds(),
            _ => used_segments / 2.0,
        }
    }

    /// Idle time is no time of delivery.
    fn restart(&mut self) {
        self.round = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CongestionSample, Phase};

    const fn at_ms(ms: u64) -> Time {
        Time::from_picoseconds(Span::from_milliseconds(ms).picoseconds())
    }

    /// An ACK at this time on a path with a shortest round trip of 50 ms.
    fn ack(at: Time, acknowledged: u64, next: u64) -> AckSample<'static> {
        AckSample {
            now: at,
            acked_segments: 1.0,
            delivered_segments: 1.0,
            acknowledged,
            next,
            is_window_used: true,
            echoes_mark: false,
            marked_segments: 0.0,
            phase: Phase::Open,
            round_trips: RoundTrips { shortest: Some(Span::from_milliseconds(50)), ..RoundTrips::default() },
            delivery: None,
        }
    }

    fn congestion(window: f64) -> CongestionSample {
        CongestionSample { now: at_ms(0), used_segments: window, acknowledged: 0, next: 0, keeps_threshold: false }
    }

    fn assert_near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
    }

    #[test]
    fn the_filter_takes_a_tenth_of_the_mean_of_two_samples() {
        let mut law = Westwood::new(1000);
        for (sample, rate) in [(100.0, 100.0), (200.0, 105.0), (200.0, 114.5), (0.0, 113.05)] {
            law.smooth(sample);
            assert_near(law.rate.unwrap().0, rate);
        }
    }

    #[test]
    fn a_sample_is_the_data_of_a_round_trip_over_its_duration() {
        let mut law = Westwood::new(1000);
        law.measure(&ack(at_ms(100), 1000, 21_000));
        law.measure(&ack(at_ms(150), 21_000, 41_000));
        assert_eq!(law.rate, None);
        // 21 segments in 100 ms.
        law.measure(&ack(at_ms(200), 22_000, 42_000));
        assert_near(law.rate.unwrap().1, 210.0);
        // 21 segments again, in 50 ms.
        law.measure(&ack(at_ms(250), 43_000, 60_000));
        assert_near(law.rate.unwrap().1, 420.0);
        assert_near(law.rate.unwrap().0, 220.5);
        // A round trip without duration is none.
        law.measure(&ack(at_ms(250), 61_000, 80_000));
        assert_near(law.rate.unwrap().1, 420.0);
        // An idle time begins another one.
        law.restart();
        law.measure(&ack(at_ms(9000), 81_000, 82_000));
        assert_near(law.rate.unwrap().1, 420.0);
    }

    #[test]
    fn a_loss_leaves_what_fits_into_the_shortest_round_trip() {
        // Mascolo et al.: 300 segments/s times 50 ms are 15. After a loss the window is the threshold, after a timeout
        // it is 1.
        let measured = || Westwood { rate: Some((300.0, 0.0)), ..Westwood::new(1000) };
        let mut control = Control::new(40.0, 5.0);
        let mut law = measured();
        law.measure(&ack(at_ms(0), 0, 0));
        let mut controller = loss_based(law, &Setup::default());
        assert!(controller.needs().round_trip_estimate);
        controller.on_loss(&congestion(40.0), &mut control);
        assert_eq!(control, Control::new(15.0, 15.0));
        control = Control::new(40.0, 5.0);
        controller.on_timeout(&congestion(40.0), &mut control);
        assert_eq!(control, Control::new(1.0, 15.0));
        // A smaller window stays.
        control = Control::new(12.0, 5.0);
        controller.on_loss(&congestion(12.0), &mut control);
        assert_eq!(control, Control::new(12.0, 15.0));
    }

    #[test]
    fn the_threshold_is_at_least_two() {
        let law = Westwood { rate: Some((1.0, 1.0)), shortest: Some(Span::from_milliseconds(50)), ..Westwood::new(1) };
        let mut control = Control::new(40.0, 5.0);
        loss_based(law, &Setup::default()).on_loss(&congestion(40.0), &mut control);
        assert_eq!(control, Control::new(2.0, 2.0));
    }

    #[test]
    fn the_window_is_halved_before_the_first_sample() {
        let mut control = Control::new(40.0, 100.0);
        loss_based(Westwood::new(1000), &Setup::default()).on_loss(&congestion(40.0), &mut control);
        assert_eq!(control, Control::new(20.0, 20.0));
    }

    #[test]
    fn slow_start_is_measured_too_and_growth_is_renos() {
        let mut controller = loss_based(Westwood::new(1), &Setup::default());
        let mut control = Control::new(10.0, 12.0);
        controller.on_ack(&ack(at_ms(100), 10, 20), &mut control);
        controller.on_ack(&ack(at_ms(200), 30, 40), &mut control);
        assert_eq!(control.congestion_window, 12.0);
        controller.on_ack(&ack(at_ms(210), 31, 40), &mut control);
        assert_eq!(control.congestion_window, 12.0 + 1.0 / 12.0);
        // 20 segments in 100 ms, so that 10 fit into 50 ms.
        controller.on_loss(&congestion(12.0), &mut control);
        assert_eq!(control.congestion_window, 10.0);
    }
}
