//! The bandwidth: the largest delivery rate of the last rounds (`win_minmax.c`).

/// Rounds of the bandwidth's maximum (`bbr_bw_rtts`).
const BANDWIDTH_ROUNDS: u64 = 10;

/// The largest sample of the last rounds: the best, then the best of those after it, twice (`struct minmax`). A sample
/// is a round and a rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecentMaximum(pub [(u64, f64); 3]);

impl RecentMaximum {
    pub fn get(&self) -> f64 {
        self.0[0].1
    }

    /// `minmax_running_max`, `minmax_subwin_update`.
    pub fn update(&mut self, round: u64, rate: f64) {
        let sample = (round, rate);
        let age = |(since, _): (u64, f64)| round.saturating_sub(since);
        let [best, second, third] = &mut self.0;
        if rate >= best.1 || age(*third) > BANDWIDTH_ROUNDS {
            self.0 = [sample; 3];
            return;
        }
        if rate >= second.1 {
            (*second, *third) = (sample, sample);
        } else if rate >= third.1 {
            *third = sample;
        }
        if age(*best) > BANDWIDTH_ROUNDS {
            while age(self.0[0]) > BANDWIDTH_ROUNDS {
                self.0 = [self.0[1], self.0[2], sample];
            }
        } else if second.0 == best.0 && age(*best) > BANDWIDTH_ROUNDS / 4 {
            // No better sample in a quarter of the window, or below in a half of it.
            (*second, *third) = (sample, sample);
        } else if third.0 == second.0 && age(*best) > BANDWIDTH_ROUNDS / 2 {
            *third = sample;
        }
    }
}
