//! When sources send.

use forebay_qdisc::{Span, Time};

use crate::spec::Distribution;

/// When a UDP source sends.
#[derive(Clone, Debug, PartialEq)]
pub enum UdpPattern {
    /// A constant rate: every gap is the transmission time of a packet at that rate, times U(1 - jitter, 1 + jitter).
    Constant {
        /// The rate in bits per second.
        rate_bps: f64,
        /// From 0 (strictly periodic) to 1.
        jitter: f64,
        /// Whether the first packet waits for a random part of the first gap.
        random_phase: bool,
    },
    /// A constant rate while on, nothing while off; the two alternate, beginning with on.
    OnOff {
        /// The rate while on, in bits per second.
        rate_bps: f64,
        /// Length of an on period in picoseconds.
        on: Distribution,
        /// Length of an off period in picoseconds.
        off: Distribution,
    },
    /// A Poisson process of this mean rate.
    Poisson {
        /// The mean rate in bits per second.
        rate_bps: f64,
    },
    /// With gaps that are drawn, in picoseconds; the first packet comes after a random part of the mean gap.
    Gaps(Distribution),
    /// A constant rate that changes at given times, which ascend: nothing before the first, the last until the end.
    Steps(Vec<RateStep>),
}

/// A rate, and since when it applies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateStep {
    /// When it begins.
    pub from: Time,
    /// The rate in bits per second, above 0.
    pub rate_bps: f64,
}

/// In which slots of a line a cell comes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellArrivals {
    /// In each slot with this probability, whatever came before; each cell draws its output.
    Bernoulli {
        /// From 0 to 1.
        load: f64,
    },
    /// Cells for one output in slots that follow each other, a geometric number of them, then a geometric number of
    /// empty slots, perhaps none. Each burst draws its output.
    Bursty {
        /// Cells for each slot in the long run, from 0 to 1.
        load: f64,
        /// The mean length of a burst in cells, at least 1.
        burst_cells: f64,
    },
}

/// When frames are generated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameArrivals {
    /// Frames for each slot (the time of a frame on the line) while the generator is on, from 0 to 1.
    pub load: f64,
    /// Whether the frames of a generator come at equal distances, or in each slot with the same probability.
    pub constant: bool,
    /// Alternately on and off.
    pub on_off: Option<OnOff>,
}

/// A generator that is on for the first part of every period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnOff {
    /// The period.
    pub period: Span,
    /// How much of it the generator is on.
    pub on: Span,
}
