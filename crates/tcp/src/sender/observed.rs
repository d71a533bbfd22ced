//! The state of a sender for an observer: nothing here changes it.

use super::{ConnectionPhase, Sender};
use crate::Phase;

impl Sender {
    /// The name of its state: that of the controller if it has states of its own, otherwise that of the answer to
    /// losses and marks. `None` unless the connection is open.
    ///
    /// `recovery` repairs a loss, and `timeout` what was sent before a timeout. `reduction` brings the data in flight
    /// down to a window that was reduced for a mark (Linux: CWR).
    #[must_use]
    pub fn state(&self) -> Option<&'static str> {
        if !self.is_open() {
            return None;
        }
        let of_transport = || match self.recovery_phase() {
            Phase::Timeout => "timeout",
            Phase::Recovery if self.connection.in_recovery => "recovery",
            Phase::Recovery => "reduction",
            Phase::Open if self.connection.is_in_slow_start() => "slow_start",
            Phase::Open => "congestion_avoidance",
        };
        Some(self.controller.state().unwrap_or_else(of_transport))
    }

    /// Shows the values of an open connection to a visitor, each under its name with the unit last. A value that does
    /// not exist yet, or that this sender does not measure, is left out.
    pub fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        if !self.is_open() {
            return;
        }
        let connection = &self.connection;
        visit("congestion_window_bytes", self.congestion_window_bytes() as f64);
        visit("in_flight_bytes", self.recovery.in_flight_bytes(connection) as f64);
        let bits_per_segment = 8.0 * connection.segment_bytes as f64;
        let round_trip = &connection.round_trip;
        let others = [
            ("slow_start_threshold_bytes", self.slow_start_threshold_bytes().map(|bytes| bytes as f64)),
            ("pacing_rate_bps", connection.pacing_rate().map(|rate| rate.bits_per_second() as f64)),
            (
                "delivery_rate_bps",
                connection.delivery.as_ref().and_then(|rate| rate.last_rate()).map(|rate| rate * bits_per_segment),
            ),
            ("rtt_smoothed_s", round_trip.smoothed().map(|span| span.seconds())),
            ("rtt_latest_s", round_trip.latest().map(|span| span.seconds())),
            ("rtt_min_s", round_trip.shortest().map(|span| span.seconds())),
        ];
        for (name, value) in others {
            if let Some(value) = value {
                visit(name, value);
            }
        }
        self.controller.gauges(visit);
    }

    /// Whether the connection is established, and not closed with everything acknowledged.
    fn is_open(&self) -> bool {
        self.phase == ConnectionPhase::Established && !(self.connection.closing && self.is_finished())
    }
}
