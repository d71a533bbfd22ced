//! Room in the window for ACKs that arrive in bursts.

use super::{Bbr, Sample};
use crate::Time;

/// Rounds of each half of the window for aggregated ACKs (`bbr_extra_acked_win_rtts`).
const AGGREGATION_ROUNDS: u32 = 5;
/// Aggregation adds at most what arrives in this time (`bbr_extra_acked_max_us`).
const LONGEST_AGGREGATION_SECONDS: f64 = 0.1;
/// Segments after which an epoch of ACKs ends (`bbr_ack_epoch_acked_reset_thresh`).
const LONGEST_EPOCH_SEGMENTS: f64 = 1_048_576.0;

/// Segments acknowledged beyond what the bandwidth explains, as ACKs that were held back on their way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    /// The current epoch: its start and the segments acknowledged since.
    pub start: Time,
    pub acked: f64,
    /// The largest excess of each half of the window, the current one first, and the rounds of that.
    pub excess: [f64; 2],
    pub rounds: u32,
}

impl Bbr {
    /// `bbr_update_ack_aggregation`.
    pub(super) fn update_aggregation(&mut self, sample: &Sample<'_>, window: f64) {
        let acked = sample.delivery.newly_delivered as f64;
        if acked == 0.0 || sample.rate.is_none() {
            return;
        }
        let bandwidth = self.bandwidth();
        let delivered_at = self.counters.delivered_at;
        let epoch = &mut self.aggregation;
        epoch.rounds += u32::from(self.is_round_start);
        if epoch.rounds >= AGGREGATION_ROUNDS {
            epoch.rounds = 0;
            epoch.excess = [0.0, epoch.excess[0]];
        }
        let mut expected = libm::floor(bandwidth * delivered_at.since(epoch.start).seconds());
        if epoch.acked <= expected || epoch.acked + acked >= LONGEST_EPOCH_SEGMENTS {
            (epoch.start, epoch.acked, expected) = (delivered_at, 0.0, 0.0);
        }
        epoch.acked = (epoch.acked + acked).min(LONGEST_EPOCH_SEGMENTS - 1.0);
        epoch.excess[0] = epoch.excess[0].max((epoch.acked - expected).min(window));
    }

    /// Segments that aggregated ACKs add to the window (`bbr_ack_aggregation_cwnd`).
    pub(super) fn aggregation_segments(&self) -> f64 {
        if !self.is_pipe_full {
            return 0.0;
        }
        let [current, before] = self.aggregation.excess;
        current.max(before).min(libm::floor(self.bandwidth() * LONGEST_AGGREGATION_SECONDS))
    }
}
