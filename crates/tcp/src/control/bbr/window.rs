//! The window: growth towards its target, recoveries, and the window that follows them.

use super::{Bbr, INITIAL_SEGMENTS, Sample, State};
use crate::{Control, Delivery, Phase};

impl Bbr {
    /// `bbr_save_cwnd`.
    pub(super) fn save_window(&mut self, control: &Control) {
        let window = control.congestion_window;
        let is_untouched = self.prior_phase == Phase::Open && self.state != State::ProbeRoundTrip;
        self.prior_window = if is_untouched { window } else { self.prior_window.max(window) };
    }

    /// The window after losses, at the start and at the end of a recovery (`bbr_set_cwnd_to_recover_or_restore`).
    fn recovery_window(&mut self, delivery: &Delivery, phase: Phase, window: f64) -> f64 {
        let acked = delivery.newly_delivered as f64;
        let conserved = delivery.in_flight as f64 + acked;
        let mut window = (window - delivery.newly_lost as f64).max(1.0);
        let prior_phase = core::mem::replace(&mut self.prior_phase, phase);
        if phase == Phase::Recovery && prior_phase != Phase::Recovery {
            self.conserves_segments = true;
            self.round_end = delivery.delivered;
            window = conserved;
        } else if prior_phase != Phase::Open && phase == Phase::Open {
            self.conserves_segments = false;
            window = window.max(self.prior_window);
        }
        if self.conserves_segments { window.max(conserved) } else { window }
    }

    /// `bbr_set_cwnd`.
    pub(super) fn set_window(&mut self, sample: &Sample<'_>, phase: Phase, control: &mut Control) {
        let delivery = sample.delivery;
        let acked = delivery.newly_delivered as f64;
        if acked > 0.0 {
            let mut window = self.recovery_window(delivery, phase, control.congestion_window);
            if !self.conserves_segments {
                let product = self.product(self.bandwidth(), self.window_gain);
                let target = self.with_bursts(product + self.aggregation_segments(), control);
                if self.is_pipe_full {
                    window = (window + acked).min(target);
                } else if window < target || (delivery.delivered as f64) < INITIAL_SEGMENTS {
                    window += acked;
                }
                window = window.max(self.least_window());
            }
            control.congestion_window = window;
        }
        if self.state == State::ProbeRoundTrip {
            control.congestion_window = control.congestion_window.min(self.least_window());
        }
    }
}
