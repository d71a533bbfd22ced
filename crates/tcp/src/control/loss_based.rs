//! A controller of a window law and a slow start: the window grows with ACKs and shrinks at signs of congestion.
//!
//! # Source
//! RFC 5681, section 3.1 (equation 4 for the floor of two segments after a loss); RFC 3168, section 6.1.2.

use crate::control::hystart::HyStart;
use crate::control::hystart_plus_plus::HyStartPlusPlus;
use crate::control::setup::Setup;
use crate::control::slow_start::{SlowStartPolicy, StandardSlowStart};
use crate::{
    AckSample, CongestionSample, CongestionSignal, Control, Controller, EcnFloor, Needs, SlowStart, TimeoutResponse,
    WindowLaw,
};
use alloc::boxed::Box;

/// The bounds of the threshold and the window after a sign of congestion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    /// The least window after a mark, in segments.
    least_marked_window: f64,
    whole_segments: bool,
}

impl Reduction {
    pub fn new(setup: &Setup) -> Self {
        let least_marked_window = match setup.ecn_floor {
            EcnFloor::TwoSegments => 2.0,
            EcnFloor::OneSegment | EcnFloor::Timer => 1.0,
            EcnFloor::Ns2 => 0.0,
        };
        Self { least_marked_window, whole_segments: setup.whole_segment_reduction }
    }

    /// Reduces the window to `target` segments, or to one after a timeout. The threshold is the whole part of `target`.
    fn apply(&self, target: f64, signal: CongestionSignal, control: &mut Control) {
        let target = if self.whole_segments { libm::floor(target) } else { target };
        control.slow_start_threshold = libm::floor(target).max(2.0);
        // Never more than before: where the window was below two segments, slow start leads back.
        control.congestion_window = match signal {
            CongestionSignal::Loss => target.max(2.0).min(control.congestion_window),
            CongestionSignal::EcnEcho => target.max(self.least_marked_window).min(control.congestion_window),
            CongestionSignal::Timeout => 1.0,
        };
    }

    /// RFC 5681, equation 4: half of what was in flight. A timeout may leave the threshold.
    pub fn halve(&self, congestion: &CongestionSample, signal: CongestionSignal, control: &mut Control) {
        if congestion.keeps_threshold {
            control.congestion_window = 1.0;
        } else {
            self.apply(congestion.used_segments / 2.0, signal, control);
        }
    }
}

#[derive(Debug)]
struct LossBased<L, S> {
    law: L,
    slow_start: S,
    reduction: Reduction,
    /// Whether [`WindowLaw::forget`] is called at timeouts that leave the threshold.
    forgets: bool,
}

/// The controller of this law, with the slow start of the configuration.
pub(crate) fn loss_based<L: WindowLaw + 'static>(law: L, setup: &Setup) -> Box<dyn Controller> {
    match setup.slow_start {
        SlowStart::Standard => with_slow_start(law, StandardSlowStart, setup),
        SlowStart::HyStart => with_slow_start(law, HyStart::new(), setup),
        SlowStart::HyStartPlusPlus => with_slow_start(law, HyStartPlusPlus::new(setup.initial_threshold), setup),
    }
}

fn with_slow_start<L: WindowLaw + 'static, S: SlowStartPolicy + 'static>(
    law: L,
    slow_start: S,
    setup: &Setup,
) -> Box<dyn Controller> {
    Box::new(LossBased {
        law,
        slow_start,
        reduction: Reduction::new(setup),
        forgets: setup.timeout_response == TimeoutResponse::Linux,
    })
}

impl<L: WindowLaw, S: SlowStartPolicy> LossBased<L, S> {
    fn reduce(&mut self, congestion: &CongestionSample, signal: CongestionSignal, control: &mut Control) {
        let target = self.law.reduce(control, congestion.used_segments, signal, congestion.now);
        self.reduction.apply(target, signal, control);
    }
}

impl<L: WindowLaw, S: SlowStartPolicy> Controller for LossBased<L, S> {
    fn needs(&self) -> Needs {
        Needs { latest_round_trip: S::TIMES_ACKS, round_trip_estimate: self.law.uses_round_trips(), ..Needs::default() }
    }

    fn on_ack(&mut self, ack: &AckSample<'_>, control: &mut Control) {
        self.law.measure(ack);
        if !ack.is_window_used {
            return self.law.pause(ack.now);
        }
        if ack.echoes_mark {
            return;
        }
        if control.congestion_window >= control.slow_start_threshold {
            return self.law.avoid_congestion(control, ack.acked_segments, &ack.round_trips, ack.now);
        }
        self.slow_start.on_ack(ack, control);
        let beyond = control.congestion_window - control.slow_start_threshold;
        if ack.acked_segments > 1.0 && beyond > 0.0 {
            // `tcp_slow_start` ends at the threshold; congestion avoidance gets the rest of the ACK.
            control.congestion_window = control.slow_start_threshold;
            self.law.avoid_congestion(control, beyond, &ack.round_trips, ack.now);
        }
    }

    fn on_loss(&mut self, congestion: &CongestionSample, control: &mut Control) {
        self.reduce(congestion, CongestionSignal::Loss, control);
    }

    fn on_ecn(&mut self, congestion: &CongestionSample, control: &mut Control) {
        self.reduce(congestion, CongestionSignal::EcnEcho, control);
    }

    fn on_timeout(&mut self, congestion: &CongestionSample, control: &mut Control) {
        if !congestion.keeps_threshold {
            self.reduce(congestion, CongestionSignal::Timeout, control);
        } else if self.forgets {
            self.law.forget();
        }
        control.congestion_window = 1.0;
        self.slow_start.on_timeout();
    }

    fn undo(&mut self) {
        self.law.undo();
    }

    fn restart(&mut self) {
        self.law.restart();
    }
}

#[cfg(test)]
#[path = "loss_based_tests.rs"]
mod tests;
