//! The search for a policer: a token bucket on the path, which drops what exceeds its rate.

use core::ops::RangeInclusive;

use super::{Bbr, Counters, GAIN_UNIT, State, truncated};
use crate::Span;

/// Rounds of an interval in which a policer is looked for (`bbr_lt_intvl_min_rtts`).
const POLICER_ROUNDS: RangeInclusive<u32> = 4..=16;
/// Losses per delivered segment that indicate a policer (`bbr_lt_loss_thresh`).
const POLICER_LOSSES: f64 = 50.0 / GAIN_UNIT;
/// Relative difference of the rates of two intervals that indicate a policer (`bbr_lt_bw_ratio`).
const POLICER_RATIO: f64 = 32.0 / GAIN_UNIT;
/// The same in bytes per second (`bbr_lt_bw_diff`).
const POLICER_DIFFERENCE: f64 = 500.0;
/// Rounds for which the rate of a policer applies (`bbr_lt_bw_max_rtts`).
const POLICED_ROUNDS: u32 = 48;
/// Bounds of the duration of an interval: shorter ones go on, longer ones are discarded (`bbr_lt_bw_sampling`).
const POLICER_INTERVAL: (Span, Span) = (Span::from_milliseconds(1), Span::from_milliseconds(4_294_967));

/// The search for a token bucket on the path, by its losses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    pub is_sampling: bool,
    /// The start of the current interval.
    pub start: Counters,
    /// Rounds of the interval or, once a policer was found, rounds since.
    pub rounds: u32,
    /// The rate of the interval before or, once a policer was found, its rate.
    pub rate: Option<f64>,
    pub is_found: bool,
}

impl Bbr {
    /// Evaluates an interval with many losses (`bbr_lt_bw_interval_done`).
    fn judge_policer(&mut self, rate: f64, counters: Counters) {
        if let Some(before) = self.policer.rate.filter(|&before| before > 0.0) {
            let difference = (rate - before).abs();
            if difference <= POLICER_RATIO * before || self.bytes_per_second(difference, 1.0) <= POLICER_DIFFERENCE {
                let rate = Some((rate + before) / 2.0);
                self.policer = Policer { rate, is_found: true, rounds: 0, ..self.policer };
                self.pacing_gain = 1.0;
                return;
            }
        }
        self.policer = Policer { rate: Some(rate), start: counters, rounds: 0, ..self.policer };
    }

    /// `bbr_lt_bw_sampling`.
    pub(super) fn look_for_policer(
        &mut self,
        counters: Counters,
        is_round_start: bool,
        has_losses: bool,
        is_limited: bool,
    ) {
        let round = u32::from(is_round_start);
        if self.policer.is_found {
            if self.state == State::ProbeBandwidth {
                self.policer.rounds += round;
                if self.policer.rounds >= POLICED_ROUNDS {
                    self.policer = Policer::default();
                    self.enter_probe_bandwidth();
                }
            }
            return;
        }
        if !self.policer.is_sampling {
            // Before the first loss, the tokens of the bucket make the rate too high.
            if !has_losses || !self.config.policer_detection {
                return;
            }
            self.policer = Policer { is_sampling: true, start: counters, rounds: 0, ..self.policer };
        }
        self.policer.rounds += round;
        if is_limited || self.policer.rounds > *POLICER_ROUNDS.end() {
            self.policer = Policer::default();
            return;
        }
        // A loss ends the interval: the tokens are used up.
        if self.policer.rounds < *POLICER_ROUNDS.start() || !has_losses {
            return;
        }
        let start = self.policer.start;
        let lost = counters.lost.saturating_sub(start.lost) as f64;
        let delivered = counters.delivered.saturating_sub(start.delivered) as f64;
        let duration = counters.delivered_at.since(start.delivered_at);
        let (shortest, longest) = POLICER_INTERVAL;
        if delivered == 0.0 || lost < POLICER_LOSSES * delivered || duration < shortest {
            return;
        }
        if duration >= longest {
            self.policer = Policer::default();
            return;
        }
        self.judge_policer(truncated(delivered / duration.seconds()), counters);
    }
}
