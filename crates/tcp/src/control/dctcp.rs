//! DCTCP: reduces the window by the share of marked segments.
//!
//! # What it does
//! The sender keeps an average of the share of segments that arrive marked, alpha, and reduces its window once in a
//! round trip by half of that share. In a network that marks as soon as a queue is a few packets long, the queue stays
//! short and the window is hardly reduced. Losses halve the window, and growth is Reno's.
//!
//! # When to use it
//! Use it in data centers with queues that mark at a threshold, such as `ecn_threshold`.
//! It must not share a queue with Reno or CUBIC: it takes nearly all of it. For the Internet use `prague`.
//!
//! # Example
//! ```toml
//! transport.tcp = { congestion_control = "dctcp" }
//! ```
//!
//! # Source
//! RFC 8257, section 3.3; Alizadeh et al. 2010; the arithmetic is that of Linux (`tcp_dctcp.c`): alpha in 1024ths,
//! which drops to 0 where a sixteenth of it would be less than one.
//!
//! # Where we differ
//! The cut applies to the whole segments of the window, as Linux's window has no fraction. Reductions come down by
//! `rate_reduction`, as in Linux.
//!
//! # Parameters
//! `gain_shift`, `initial_alpha`.

use alloc::boxed::Box;

use crate::control::loss_based::loss_based;
use crate::control::reno::Reno;
use crate::control::setup::Setup;
use crate::{AckSample, CongestionSample, Control, Controller, EcnNeed, Needs, ParameterError, Phase, require};

/// One, as alpha counts (`DCTCP_MAX_ALPHA`).
const ONE: u32 = 1024;
const ONE_BITS: u32 = 10;
/// The least window.
const LEAST_WINDOW: f64 = 2.0;

forebay_units::configuration! {
    /// The parameters of DCTCP.
    #[derive(Copy)]
    pub struct DctcpConfig {
        /// Weight of a round trip in alpha, as the power of two by which it is divided: 4 means 1/16 (RFC 8257's g).
        pub gain_shift: u32 = 4;
        /// Alpha at the start, in 1024ths: 1024 reduces the window by half at the first mark (RFC 8257, section 4.2).
        pub initial_alpha: u32 = 1024;
    }
}

impl DctcpConfig {
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        let field = "congestion_control.dctcp.gain_shift";
        require((1..=ONE_BITS).contains(&self.gain_shift), field, "be from 1 to 10")?;
        require(self.initial_alpha <= ONE, "congestion_control.dctcp.initial_alpha", "be at most 1024")
    }
}

/// The share of marked segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarkedShare {
    /// The average in 1024ths (RFC 8257's DCTCP.Alpha).
    pub alpha: u32,
    gain_shift: u32,
    /// The round ends when this is acknowledged (DCTCP.WindowEnd).
    round_end: u64,
    /// Segments of the round that arrived, and those of them with a mark.
    delivered: f64,
    marked: f64,
}

impl MarkedShare {
    pub fn new(alpha: u32, gain_shift: u32) -> Self {
        Self { alpha, gain_shift, round_end: 0, delivered: 0.0, marked: 0.0 }
    }

    /// Section 3.3, step 6, with the segments reported before this ACK (`dctcp_update_alpha`).
    pub fn update(&mut self, acknowledged: u64, next: u64) {
        if acknowledged < self.round_end {
            return;
        }
        let decay = self.alpha >> self.gain_shift;
        self.alpha -= if decay == 0 { self.alpha } else { decay };
        if self.marked > 0.0 {
            let marked = (self.marked as u64) << (ONE_BITS - self.gain_shift);
            let added = marked / (self.delivered as u64).max(1);
            self.alpha = (u64::from(self.alpha) + added).min(u64::from(ONE)) as u32;
        }
        (self.round_end, self.delivered, self.marked) = (next, 0.0, 0.0);
    }

    /// Section 3.3, steps 2 to 4.
    pub fn count(&mut self, ack: &AckSample<'_>) {
        self.delivered += ack.delivered_segments;
        self.marked += ack.marked_segments;
    }
}

#[derive(Debug)]
struct Dctcp {
    share: MarkedShare,
    /// Growth, losses and timeouts.
    reno: Box<dyn Controller>,
}

pub(crate) fn build(config: &DctcpConfig, setup: &Setup) -> Box<dyn Controller> {
    let share = MarkedShare::new(config.initial_alpha, config.gain_shift);
    Box::new(Dctcp { share, reno: loss_based(Reno, setup) })
}

impl Controller for Dctcp {
    fn needs(&self) -> Needs {
        Needs { marks: true, ecn: EcnNeed::Dctcp, ..self.reno.needs() }
    }

    fn on_ack(&mut self, ack: &AckSample<'_>, control: &mut Control) {
        self.share.update(ack.acknowledged, ack.next);
        self.share.count(ack);
        if ack.phase != Phase::Recovery {
            self.reno.on_ack(ack, control);
        }
    }

    fn on_loss(&mut self, congestion: &CongestionSample, control: &mut Control) {
        self.reno.on_loss(congestion, control);
    }

    /// Section 3.3, equation 2.
    fn on_ecn(&mut self, congestion: &CongestionSample, control: &mut Control) {
        self.share.update(congestion.acknowledged, congestion.next);
        let window = libm::floor(control.congestion_window);
        let cut = libm::floor(window * f64::from(self.share.alpha) / f64::from(2 * ONE));
        control.slow_start_threshold = (window - cut).max(LEAST_WINDOW);
        control.congestion_window = control.slow_start_threshold.min(control.congestion_window);
    }

    fn on_timeout(&mut self, congestion: &CongestionSample, control: &mut Control) {
        self.reno.on_timeout(congestion, control);
    }

    fn undo(&mut self) {
        self.reno.undo();
    }

    fn restart(&mut self) {
        self.reno.restart();
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("alpha", f64::from(self.share.alpha) / f64::from(ONE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RoundTrips, Time};
    use alloc::vec::Vec;

    fn dctcp() -> Dctcp {
        let setup = Setup::default();
        Dctcp { share: MarkedShare::new(ONE, 4), reno: loss_based(Reno, &setup) }
    }

    fn ack(acknowledged: u64, next: u64, delivered_segments: f64, marked_segments: f64) -> AckSample<'static> {
        AckSample {
            now: Time::ZERO,
            acked_segments: delivered_segments,
            delivered_segments,
            acknowledged,
            next,
            is_window_used: true,
            echoes_mark: marked_segments > 0.0,
            marked_segments,
            phase: Phase::Open,
            round_trips: RoundTrips::default(),
            delivery: None,
        }
    }

    /// Alpha after each round of ten segments, of which `marked` are marked.
    fn rounds(alpha: u32, marked: f64, count: usize) -> Vec<u32> {
        let mut share = MarkedShare::new(alpha, 4);
        let mut end = 0;
        share.update(0, 0);
        share.alpha = alpha;
        (0..count)
            .map(|_| {
                share.count(&ack(end, end + 10, 10.0, marked));
                end += 10;
                share.update(end, end + 10);
                share.alpha
            })
            .collect()
    }

    #[test]
    fn alpha_decays_to_zero_and_rises_with_the_share() {
        let decay = rounds(1024, 0.0, 75);
        assert_eq!(decay[..6], [960, 900, 844, 792, 743, 697]);
        assert_eq!(decay[68..], [20, 19, 18, 17, 16, 15, 0]);
        assert_eq!(rounds(0, 10.0, 5), [64, 124, 181, 234, 284]);
        // Three of ten: 3 << 6 / 10 = 19.
        assert_eq!(rounds(0, 3.0, 1), [19]);
        assert_eq!(rounds(1024, 10.0, 2), [1024, 1024]);
    }

    #[test]
    fn a_mark_cuts_by_half_of_alpha_and_a_loss_by_half() {
        let sample = |acknowledged| CongestionSample {
            now: Time::ZERO,
            used_segments: 100.0,
            acknowledged,
            next: 1000,
            keeps_threshold: false,
        };
        for (alpha, window, after) in [(1024, 100.7, 50.0), (256, 100.0, 88.0), (15, 100.0, 100.0), (1024, 2.0, 2.0)] {
            let mut dctcp = dctcp();
            (dctcp.share.alpha, dctcp.share.round_end) = (alpha, 10);
            let mut control = Control::new(window, f64::INFINITY);
            dctcp.on_ecn(&sample(5), &mut control);
            assert_eq!((control.congestion_window, control.slow_start_threshold), (after, after), "{alpha}");
        }
        let mut control = Control::new(1.0, f64::INFINITY);
        dctcp().on_ecn(&sample(0), &mut control);
        assert_eq!((control.congestion_window, control.slow_start_threshold), (1.0, 2.0));
        // Section 3.5, as Linux: half, also after a timeout.
        let mut control = Control::new(100.0, f64::INFINITY);
        dctcp().on_loss(&sample(0), &mut control);
        assert_eq!((control.congestion_window, control.slow_start_threshold), (50.0, 50.0));
        let mut control = Control::new(100.0, f64::INFINITY);
        dctcp().on_timeout(&sample(0), &mut control);
        assert_eq!((control.congestion_window, control.slow_start_threshold), (1.0, 50.0));
    }

    #[test]
    fn acks_without_marks_let_alpha_decay() {
        let mut dctcp = dctcp();
        let mut control = Control::new(10.0, 5.0);
        for (acknowledged, alpha) in [(1, 960), (9, 960), (10, 900)] {
            dctcp.on_ack(&ack(acknowledged, 10, 1.0, 0.0), &mut control);
            assert_eq!(dctcp.share.alpha, alpha);
        }
    }

    #[test]
    fn parameters_have_bounds() {
        for (gain_shift, initial_alpha, is_valid) in
            [(0, 0, false), (1, 0, true), (10, 1024, true), (11, 0, false), (4, 1025, false)]
        {
            let config = DctcpConfig { gain_shift, initial_alpha };
            assert_eq!(config.validate().is_ok(), is_valid, "{gain_shift} {initial_alpha}");
        }
    }

    #[test]
    fn the_cut_uses_the_share_of_the_round_that_ends_with_its_ack() {
        let mut dctcp = dctcp();
        (dctcp.share.alpha, dctcp.share.round_end) = (0, 100);
        let mut control = Control::new(100.0, 50.0);
        dctcp.on_ack(&ack(50, 200, 10.0, 10.0), &mut control);
        let sample = CongestionSample {
            now: Time::ZERO,
            used_segments: 100.0,
            acknowledged: 100,
            next: 300,
            keeps_threshold: false,
        };
        dctcp.on_ecn(&sample, &mut control);
        assert_eq!(dctcp.share.alpha, 64);
        assert_eq!(control.congestion_window, 97.0);
        // Once more in the same round: nothing new.
        dctcp.share.update(250, 300);
        assert_eq!(dctcp.share.alpha, 64);
    }

    #[test]
    fn growth_is_renos_outside_of_recoveries_and_without_echo() {
        let mut dctcp = dctcp();
        let mut control = Control::new(10.0, 5.0);
        dctcp.on_ack(&ack(1, 10, 1.0, 0.0), &mut control);
        assert_eq!(control.congestion_window, 10.1);
        dctcp.on_ack(&ack(2, 10, 1.0, 1.0), &mut control);
        dctcp.on_ack(&AckSample { phase: Phase::Recovery, ..ack(3, 10, 1.0, 0.0) }, &mut control);
        assert_eq!(control.congestion_window, 10.1);
    }
}
