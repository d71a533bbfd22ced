//! TCP Prague: scalable congestion control for the low-latency queue of L4S.
//!
//! # What it does
//! Prague reduces its window by half of the average share of marks, as DCTCP does, and paces its segments. Its window
//! grows on every ACK without marks, also in a round trip with a reduction. Flows with a short round trip grow as if it
//! were longer, so that they do not take the share of others. Where the queue turns out to be a classic one, which
//! marks late, Prague can fall back to larger reductions.
//!
//! There are two forms. The form with a window moves the window at every ACK. The form with a rate derives the window
//! from the rate where the round trip is very short. It grows faster after some time without marks.
//!
//! # When to use it
//! Use it with queues that mark early (`codel` with `ce_threshold`, `fq_codel`), and as the sender of L4S. In a queue
//! that marks late it takes more than its share from CUBIC.
//!
//! # Example
//! ```toml
//! transport.tcp = { congestion_control = "prague" }
//! ```
//!
//! # Source
//! RFC 9331 (the requirements); draft-briscoe-iccrg-prague-congestion-control. The form with a window follows the rules
//! of the L4S team's module for Linux (`tcp_prague.c`, version 0.6). Its bursts have at least two segments, the default
//! of `tcp_min_tso_segs`; public versions that look earlier allow one (`least_burst_segments = 1`). The form with a
//! rate follows the L4S team's reference for UDP (`udp_prague`).
//!
//! # Where we differ
//! The window and its fraction are one floating-point number instead of 20 fractional bits. Losses come down by the
//! transport's `rate_reduction`. Without ECN the form with a window is Reno with pacing.
//!
//! The form with a rate keeps full segments: the reference shrinks packets to 150 B, so that two fit into a virtual
//! round trip. A window of less than a segment therefore counts as a segment when it grows. It paces evenly: a newer
//! module for Linux paces 3 % above and below the rate in the two halves of a virtual round trip. A loss counts once in
//! a recovery. After a timeout or an idle time the window rises by the arrivals up to the one of the rate. Growth
//! requires that the application is not the limit of sending. The window follows the one of the transport if that is
//! less.
//!
//! # Parameters
//! `form`, `target_rtt`. With `form = "window"` also `rtt_independence`, `transition_rounds`, `classic_fallback`,
//! `least_burst_segments`.

mod classic_queue;
mod rate;
mod window;

use alloc::boxed::Box;

use crate::control::setup::Setup;
use crate::{Controller, ParameterError, Span, require};

/// The segments of a burst at low rates, as `tcp_min_tso_segs` is by default.
const LEAST_BURST_SEGMENTS: u32 = 2;
/// The least window, in segments.
const LEAST_WINDOW: f64 = 2.0;
/// Beyond this round trip there is no independence of it (`RTT_UNIT` and `prague_is_rtt_indep`).
const LONGEST_INDEPENDENT: Span = Span::from_milliseconds(100);

/// The state variable of Prague.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum PragueForm {
    /// The window, as in Linux.
    #[default]
    Window,
    /// The rate where round trips are very short, otherwise the window in bytes, as in the reference for UDP.
    Rate,
}

/// Independence of the round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum RttIndependence {
    /// None: one segment in a round trip.
    None,
    /// The rate grows as with the target round trip.
    #[default]
    Rate,
    /// Growth in proportion to the round trip.
    Scalable,
    /// The rate grows as if the round trip were longer by the target.
    Additive,
}

forebay_units::configuration! {
    /// The parameters of Prague.
    #[derive(Copy)]
    pub struct PragueConfig {
        /// The state variable: "window" or "rate".
        pub form: PragueForm = PragueForm::Window;
        /// Independence of the round trip: "none", "rate", "scalable" or "additive" (`prague_rtt_scaling`).
        pub rtt_independence: RttIndependence = RttIndependence::Rate;
        /// The round trip as which shorter ones count (`prague_rtt_target`: 25 ms). At most 100 ms.
        pub target_rtt: Span = Span::from_milliseconds(25);
        /// Round trips outside of slow start before that applies (`prague_rtt_transition`: 500).
        pub transition_rounds: u32 = 500;
        /// Whether reductions grow where the delay shows a queue that marks late (`prague_ecn_fallback`).
        pub classic_fallback: bool = false;
        /// Segments that a burst may have at every rate (`tcp_min_tso_segs`: 2).
        pub least_burst_segments: u32 = LEAST_BURST_SEGMENTS;
    }
}

impl PragueConfig {
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        let is_allowed = self.target_rtt > Span::ZERO && self.target_rtt <= LONGEST_INDEPENDENT;
        require(is_allowed, "congestion_control.prague.target_rtt", "be longer than 0 s and at most 100 ms")?;
        let has_window = self.form == PragueForm::Window;
        let is_allowed = has_window || self.rtt_independence == RttIndependence::Rate;
        require(is_allowed, "congestion_control.prague.rtt_independence", "be \"rate\" unless form is \"window\"")?;
        let is_allowed = has_window || !self.classic_fallback;
        require(is_allowed, "congestion_control.prague.classic_fallback", "be false unless form is \"window\"")?;
        require(self.least_burst_segments > 0, "congestion_control.prague.least_burst_segments", "be at least 1")?;
        let is_allowed = has_window || self.least_burst_segments == LEAST_BURST_SEGMENTS;
        require(is_allowed, "congestion_control.prague.least_burst_segments", "be 2 unless form is \"window\"")
    }
}

pub(crate) fn build(config: &PragueConfig, setup: &Setup) -> Box<dyn Controller> {
    match config.form {
        PragueForm::Window => Box::new(window::Prague::new(config, setup)),
        PragueForm::Rate => Box::new(rate::RatePrague::new(config, setup)),
    }
}
