//! NewReno: fast recovery that continues until everything in flight at its start is acknowledged.
//!
//! # What it does
//! An ACK that covers only a part (a *partial ACK*) means that the next segment was lost too: it is retransmitted at
//! once, and the window is deflated by what was acknowledged. Each round trip thus repairs one loss without a timeout.
//!
//! # When to use it
//! Use it to compare with papers before CUBIC, and with theory: its throughput follows known formulas. It is the
//! default; for today's hosts use `cubic` or `preset = "linux"`.
//!
//! # Example
//! ```toml
//! transport.tcp.congestion_control = "newreno"
//! transport.tcp.partial_ack_timer = "slow_but_steady"
//! ```
//!
//! # Source
//! RFC 6582, section 3.2; `recover` is the connection's `recovery_point`.
//!
//! # Where we differ
//! `recover` starts below the first byte of data, so that the loss of the first segment can be recovered too.
//!
//! # Parameters
//! `partial_ack_timer`, `full_ack_window`.

use crate::connection::Connection;
use crate::recovery::{Recovery, RecoveryContext};
use crate::{FullAckWindow, PartialAckTimer, TcpConfig, Time};

/// NewReno's answer to partial ACKs.
#[derive(Debug)]
pub(crate) struct NewRenoRecovery {
    timer: PartialAckTimer,
    full_ack_window: FullAckWindow,
    seen_partial_ack: bool,
}

impl NewRenoRecovery {
    pub fn new(config: &TcpConfig) -> Self {
        Self { timer: config.partial_ack_timer, full_ack_window: config.full_ack_window, seen_partial_ack: false }
    }
}

impl Recovery for NewRenoRecovery {
    /// RFC 6582, 3.2, step 3, "Partial acknowledgments".
    fn on_partial_ack(&mut self, turn: &mut RecoveryContext<'_>, newly: u64) {
        let connection = &mut *turn.connection;
        if !self.seen_partial_ack || self.timer == PartialAckTimer::SlowButSteady {
            connection.restart_timer(turn.now);
        }
        self.seen_partial_ack = true;
        connection.stop_timing();
        connection.retransmit_first(turn.now, turn.out);
        // Deflate by what has left the network, less the segment just sent; first the inflation, then the window.
        let acked = newly as f64 / connection.segment_bytes as f64;
        let deflated = connection.inflation - acked + if acked >= 1.0 { 1.0 } else { 0.0 };
        connection.inflation = deflated.max(0.0);
        let window = &mut connection.window.congestion_window;
        *window = (*window + deflated.min(0.0)).max(1.0);
        connection.apply_window();
    }

    /// RFC 6582, 3.2, step 3, "Full acknowledgments".
    fn on_full_ack(&mut self, turn: &mut RecoveryContext<'_>) {
        self.seen_partial_ack = false;
        if self.full_ack_window == FullAckWindow::FlightSize {
            let connection = &mut *turn.connection;
            let flight = connection.flight_bytes() as f64 / connection.segment_bytes as f64;
            let window = &mut connection.window.congestion_window;
            *window = window.min(flight.max(1.0) + 1.0);
        }
        turn.leave();
    }

    fn on_timeout(&mut self, _connection: &mut Connection, _now: Time) {
        self.seen_partial_ack = false;
    }

    fn on_spurious(&mut self, _connection: &mut Connection, _now: Time) {
        self.seen_partial_ack = false;
    }
}
