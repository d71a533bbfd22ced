//! The interface of a controller in a network adapter: the shared one, with telemetry, timers and paths.

use forebay_units::control::{AckSample, Control, Controller};
use forebay_units::{Rate, Span, Time};

use crate::telemetry::Hop;

/// The path and the packets of a queue pair, as far as its controller uses them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setup {
    /// The rate of the adapter's port, at which a flow starts.
    pub line_rate: Rate,
    /// The round trip without queues.
    pub base_round_trip: Span,
    /// The window at the rate of the line, in bytes: usually the bandwidth-delay product.
    pub window_bytes: u64,
    /// Payload of a full packet.
    pub payload_bytes: u32,
    /// A full packet on the wire.
    pub packet_bytes: u32,
    /// Links of the path, one way.
    pub hops: u32,
}

impl Setup {
    /// `rate` for each `per` of the port's rate, as sources give the steps of an increase; in bits per second.
    pub(crate) fn scaled_bps(&self, rate: Rate, per: Rate) -> f64 {
        rate.bits_per_second() as f64 * self.line_bps() / per.bits_per_second() as f64
    }

    pub(crate) fn line_bps(&self) -> f64 {
        self.line_rate.bits_per_second() as f64
    }
}

/// Congestion control of a queue pair.
///
/// [`Control::pacing_rate`] is the rate of whole packets on the wire; without one, packets leave at the rate of the
/// line. [`Control::congestion_window`] is in packets of full size, and infinite if the controller sets none.
pub trait NicController: Controller {
    /// An ACK, with the telemetry of the packet that caused it.
    fn on_acknowledgement(&mut self, ack: &AckSample<'_>, _telemetry: &[Hop], control: &mut Control) {
        self.on_ack(ack, control);
    }

    /// A packet of `wire_bytes` has left.
    fn on_sent(&mut self, _wire_bytes: u32, _now: Time, _control: &mut Control) {}

    /// The next time at which the rate changes without an ACK, or [`Time::NEVER`].
    fn timer(&self) -> Time {
        Time::NEVER
    }

    /// [`NicController::timer`] has expired.
    fn on_timer(&mut self, _now: Time, _control: &mut Control) {}

    /// Whether the flow should change its path now. Resets the request.
    fn takes_new_path(&mut self) -> bool {
        false
    }
}

/// `bps` in bits per second as a rate, rounded down and at least [`Rate::LEAST`].
pub(crate) fn rate(bps: f64) -> Rate {
    Rate::new(bps as u64).unwrap_or(Rate::LEAST)
}
