//! The controller of PIE: how the drop probability and the burst allowance move from tick to tick (RFC 8033, sections
//! 4.2 and 4.4).

use super::{PieConfig, PiePreset};
use crate::Span;

/// Linux: the delay above which the probability rises faster, and by how much a tick.
const LONG_DELAY: Span = Span::from_milliseconds(250);
const LONG_DELAY_STEP: f64 = 0.02;

/// The least difference of two probabilities: sums and small multiples of multiples of it are exact.
const GRAIN: f64 = 1.0 / (1_u64 << 52) as f64;

/// Upper ends of the ranges of the probability and what a step is divided by in each (RFC 8033, section 4.2).
const SCALES: [(f64, f64); 7] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0), (1.0, 1.0)];

/// The gains and times of the controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Controller {
    pub preset: PiePreset,
    alpha: f64,
    beta: f64,
    target: Span,
    /// T_UPDATE.
    pub update_interval: Span,
    pub max_burst: Span,
    cap_adjustment: bool,
}

/// The controller's state from tick to tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ControllerState {
    /// `drop_prob`.
    pub probability: f64,
    /// `qdelay_old`: the delay at the last tick.
    pub delay_before: Span,
    /// `burst_allowance`: how long nothing is dropped early.
    pub burst_allowance: Span,
    /// Whether the last tick found the probability at 0 and the delay low, twice: the congestion is over.
    pub is_quiet: bool,
}

impl ControllerState {
    /// Without congestion, with a burst to come.
    pub fn quiet(max_burst: Span) -> Self {
        Self { probability: 0.0, delay_before: Span::ZERO, burst_allowance: max_burst, is_quiet: true }
    }
}

impl Controller {
    pub fn new(config: &PieConfig) -> Self {
        Self {
            preset: config.preset,
            alpha: config.alpha,
            beta: config.beta,
            target: config.target,
            update_interval: config.update_interval,
            max_burst: config.max_burst,
            cap_adjustment: config.cap_adjustment,
        }
    }

    /// Whether a delay is below half of the target.
    pub fn is_low(&self, delay: Span) -> bool {
        delay < Span::from_picoseconds(self.target.picoseconds().div_ceil(2))
    }

    /// This many ticks with one and the same delay; `is_empty` is whether the queue was meanwhile. Ticks that only
    /// repeat the step of the one before are taken at once; those after which nothing changes are left out.
    pub fn ticks(&self, mut state: ControllerState, delay: Span, is_empty: bool, mut ticks: u64) -> ControllerState {
        while ticks > 0 {
            let after = self.tick(state, delay, is_empty);
            ticks -= 1;
            if after == state {
                break;
            }
            state = after;
            let alike = self.ticks_alike(state, delay).min(ticks);
            if alike > 0 {
                let step = self.step(state.probability, delay, state.delay_before);
                state.probability = (state.probability + alike as f64 * step).clamp(0.0, 1.0);
                state.burst_allowance = self.counted_down(state.burst_allowance, alike);
                ticks -= alike;
            }
        }
        state
    }

    /// The burst allowance after this many ticks. Linux counts it down by departures.
    fn counted_down(&self, burst_allowance: Span, ticks: u64) -> Span {
        match self.preset {
            PiePreset::Rfc => {
                let counted = self.update_interval.picoseconds().saturating_mul(ticks);
                burst_allowance.saturating_sub(Span::from_picoseconds(counted))
            }
            PiePreset::Linux => burst_allowance,
        }
    }

    /// One tick.
    fn tick(&self, state: ControllerState, delay: Span, is_empty: bool) -> ControllerState {
        let step = self.step(state.probability, delay, state.delay_before);
        let mut probability = (state.probability + step).clamp(0.0, 1.0);
        if delay == Span::ZERO && state.delay_before == Span::ZERO {
            probability = match self.preset {
                PiePreset::Rfc => libm::floor(probability * 0.98 / GRAIN) * GRAIN,
                PiePreset::Linux if is_empty => probability - libm::floor(probability / 64.0 / GRAIN) * GRAIN,
                PiePreset::Linux => probability,
            };
        }
        let is_quiet = probability == 0.0 && self.is_low(delay) && self.is_low(state.delay_before);
        let burst_allowance = if is_quiet { self.max_burst } else { self.counted_down(state.burst_allowance, 1) };
        ControllerState { probability, delay_before: delay, burst_allowance, is_quiet }
    }

    /// The step of a probability when the delay has gone from `delay_before` to `delay`.
    pub fn step(&self, probability: f64, delay: Span, delay_before: Span) -> f64 {
        let error = difference_s(delay, self.target);
        let growth = difference_s(delay, delay_before);
        let (.., divisor) = range(probability);
        let step = (self.alpha * error + self.beta * growth) / divisor;
        // RFC 8033, section 5.5.
        let mut step = if self.cap_adjustment && probability >= 0.1 { step.min(0.02) } else { step };
        if self.preset == PiePreset::Linux && delay > LONG_DELAY {
            step += LONG_DELAY_STEP;
        }
        libm::round(step / GRAIN) * GRAIN
    }

    /// How many ticks are sure to do no more than add the present step and count the burst allowance down; some fewer
    /// than do.
    fn ticks_alike(&self, state: ControllerState, delay: Span) -> u64 {
        if delay != state.delay_before || delay == Span::ZERO {
            return 0;
        }
        let ControllerState { probability, .. } = state;
        let step = self.step(probability, delay, delay);
        if (probability + step).clamp(0.0, 1.0) == probability {
            // Held at an end, or no step at all: only a quiet queue's burst allowance is not counted down.
            return if probability == 0.0 && self.is_low(delay) { 0 } else { u64::MAX };
        }
        let (low, high, _) = range(probability);
        let room = if step > 0.0 { high - probability } else { probability - low };
        // To below the edge of the range by at least one step, so that no rounding leads past it.
        libm::floor(room / libm::fabs(step) - 1.0).max(0.0) as u64
    }
}

/// The range in which a probability lies, its lower end included, and what a step is divided by there.
fn range(probability: f64) -> (f64, f64, f64) {
    let mut low = 0.0;
    for (high, divisor) in SCALES {
        if probability < high {
            return (low, high, divisor);
        }
        low = high;
    }
    (0.1, 1.0, 1.0)
}

/// `a - b` in seconds.
fn difference_s(a: Span, b: Span) -> f64 {
    if a >= b { (a - b).seconds() } else { -(b - a).seconds() }
}
