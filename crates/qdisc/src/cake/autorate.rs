//! Autorate: the bandwidth follows an estimate of the rate at which packets arrive.

use super::statistics::moving_average;
use crate::Time;

const PICOSECONDS_PER_SECOND: u64 = 1_000_000_000_000;

/// A longer gap between packets counts as this.
const LONGEST_GAP_PS: u64 = PICOSECONDS_PER_SECOND;

/// The estimate of the rate of arrival (`cake_enqueue`, "incoming bandwidth capacity estimate").
#[derive(Clone, Copy, Debug)]
pub(super) struct Autorate {
    last_packet: Time,
    window_begin: Time,
    /// The average gap between packets.
    average_gap_ps: u64,
    window_bytes: u64,
    /// The estimate, in bytes a second.
    pub peak: u64,
}

impl Autorate {
    /// An estimate that begins at the configured rate.
    pub fn new(bytes_per_second: u64) -> Self {
        Self {
            last_packet: Time::ZERO,
            window_begin: Time::ZERO,
            average_gap_ps: 0,
            window_bytes: 0,
            peak: bytes_per_second,
        }
    }

    /// The queue has grown by so many bytes. Returns the new bandwidth in bytes a second at the end of a window.
    pub fn arrived(&mut self, bytes: u64, now: Time) -> Option<u64> {
        self.window_bytes += bytes;
        let gap_ps = now.since(self.last_packet).picoseconds().min(LONGEST_GAP_PS);
        // Bursts in which a link aggregates packets are one sample.
        let shift = if gap_ps > self.average_gap_ps { 2 } else { 8 };
        self.average_gap_ps = moving_average(self.average_gap_ps, gap_ps, shift);
        self.last_packet = now;
        if gap_ps <= self.average_gap_ps {
            return None;
        }
        let window_ps = u128::from(now.since(self.window_begin).picoseconds().max(1));
        let sample = u128::from(self.window_bytes) * u128::from(PICOSECONDS_PER_SECOND) / window_ps;
        let sample = u64::try_from(sample).unwrap_or(u64::MAX / 16);
        let shift = if sample > self.peak { 2 } else { 8 };
        self.peak = moving_average(self.peak, sample, shift);
        (self.window_bytes, self.window_begin) = (0, now);
        Some((self.peak * 15) >> 4)
    }
}
