//! The statistics of a tin, under the names by which `tc -s` shows them.

use super::tin::Tin;
use super::tins::MOST_TINS;
use crate::Span;

/// Counts and delays of a tin since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TinStatistics {
    /// Packets that arrived, and their bytes.
    pub packets: u64,
    pub bytes: u64,
    pub drops: u64,
    pub marks: u64,
    pub ack_drops: u64,
    pub longest_packet_bytes: u32,
    /// Moving averages of the delay that follow it up, alike, and down fastest.
    peak_delay: Span,
    average_delay: Span,
    sparse_delay: Span,
}

impl TinStatistics {
    /// A packet arrives.
    pub fn arrived(&mut self, len_bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(len_bytes);
        self.longest_packet_bytes = self.longest_packet_bytes.max(len_bytes);
    }

    /// A packet leaves that was queued for so long.
    pub fn sent(&mut self, delay: Span) {
        let fast_if = |is_fast: bool| if is_fast { 2 } else { 8 };
        self.average_delay = moved(self.average_delay, delay, 8);
        self.peak_delay = moved(self.peak_delay, delay, fast_if(delay > self.peak_delay));
        self.sparse_delay = moved(self.sparse_delay, delay, fast_if(delay < self.sparse_delay));
    }
}

fn moved(average: Span, sample: Span, shift: u32) -> Span {
    Span::from_picoseconds(moving_average(average.picoseconds(), sample.picoseconds(), shift))
}

/// `cake_ewma`: a moving average with a gain of 2^-shift.
pub(super) const fn moving_average(average: u64, sample: u64, shift: u32) -> u64 {
    average - (average >> shift) + (sample >> shift)
}

/// Declares the names of the gauges of a tin, for each tin.
macro_rules! names {
    ($($name:literal)*) => { [
        names!(@of "tin0_" $($name)*), names!(@of "tin1_" $($name)*),
        names!(@of "tin2_" $($name)*), names!(@of "tin3_" $($name)*),
        names!(@of "tin4_" $($name)*), names!(@of "tin5_" $($name)*),
        names!(@of "tin6_" $($name)*), names!(@of "tin7_" $($name)*),
    ] };
    (@of $tin:literal $($name:literal)*) => { [$(concat!($tin, $name),)*] };
}

const GAUGES: usize = 21;

const NAMES: [[&str; GAUGES]; MOST_TINS] = names!(
    "thresh_bps" "target_s" "interval_s" "pk_delay_s" "av_delay_s" "sp_delay_s" "backlog_bytes" "pkts" "bytes"
    "way_directs" "way_inds" "way_miss" "way_cols" "drops" "marks" "ack_drop" "sp_flows" "bk_flows" "un_flows"
    "max_len_bytes" "quantum_bytes"
);

/// Shows the gauges of the tin that is shown at this `place`.
pub(super) fn gauges(place: usize, tin: &Tin, visit: &mut dyn FnMut(&'static str, f64)) {
    let (statistics, flows, ways) = (&tin.statistics, tin.flows, tin.ways());
    let values = [
        tin.share.bytes_per_second as f64 * 8.0,
        tin.law.freeze.seconds(),
        tin.law.interval.seconds(),
        statistics.peak_delay.seconds(),
        statistics.average_delay.seconds(),
        statistics.sparse_delay.seconds(),
        tin.backlog_bytes as f64,
        statistics.packets as f64,
        statistics.bytes as f64,
        ways.directs as f64,
        ways.hits as f64,
        ways.misses as f64,
        ways.collisions as f64,
        statistics.drops as f64,
        statistics.marks as f64,
        statistics.ack_drops as f64,
        f64::from(flows.sparse + flows.decaying),
        f64::from(flows.bulk),
        f64::from(flows.unresponsive),
        f64::from(statistics.longest_packet_bytes),
        f64::from(tin.flow_quantum),
    ];
    for (name, value) in NAMES[place].iter().zip(values) {
        visit(name, value);
    }
}
