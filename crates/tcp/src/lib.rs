//! A TCP sender and a TCP receiver as state machines: segments, ACKs and timer expiries in; segments, ACKs and a
//! deadline out. No clock, no queue, no sockets: the caller owns time and the network.
//!
//! [`Sender`] is the one skeleton that all variants share. Small policies make a variant. A [`Controller`] determines
//! the congestion window, and a recovery the retransmissions after a loss (Reno, NewReno, or RFC 6675's with selective
//! acknowledgements). The controllers that react to losses have a [`WindowLaw`] for growth and reduction, and a slow
//! start. [`Receiver`] is the other end.
//!
//! | file | contents | source |
//! |---|---|---|
//! | `sender.rs` | the skeleton: opening, ACKs, timeouts, ECN, close | RFC 5681, 6298, 3042, 3168 |
//! | `connection.rs` | sequence numbers, window and timer; the limit of sending | RFC 9293, 5681 |
//! | `sender_counters.rs` | the counters of a sender | |
//! | `round_trip.rs`, `departures.rs` | round-trip estimate and retransmission timeout, samples of ACKs | RFC 6298 |
//! | `control.rs` | the table of controllers | |
//! | `control/loss_based.rs`, `control/law.rs` | controllers of a window law and a slow start | RFC 5681 |
//! | `control/reno.rs` | the window law of Reno and NewReno | RFC 5681 |
//! | `control/cubic.rs`, `control/bic.rs` | for fast, long paths | RFC 9438; Xu, Harfoush & Rhee 2004 |
//! | `control/linux_cubic.rs` | CUBIC in the arithmetic of today's Linux | Linux 4.1 |
//! | `control/linux_2_6_cubic.rs`, `control/linux_bic.rs` | in Linux's arithmetic of 2007 | Linux 2.6.22, ns-2 2.35 |
//! | `control/vegas.rs` | control by delay | Brakmo & Peterson 1995 |
//! | `control/ledbat.rs` | LEDBAT++, for background transfers | draft-irtf-iccrg-ledbat-plus-plus, RFC 6817 |
//! | `control/westwood.rs` | reduces to the measured rate | Mascolo et al. 2001 |
//! | `control/bbr3.rs` | BBR version 3 | google/bbr; draft-ietf-ccwg-bbr |
//! | `control/bbr.rs` | BBR version 1: a model of the path | Linux |
//! | `control/slow_start.rs`, `control/hystart.rs` | slow starts: standard, HyStart | RFC 5681; Ha & Rhee 2011 |
//! | `control/hystart_plus_plus.rs` | HyStart++ | RFC 9406 |
//! | `recovery.rs`, `newreno.rs`, `sack.rs` | recoveries | RFC 5681, 6582, 6675 |
//! | `rack.rs`, `sent_segments.rs` | recovery by time, tail loss probe | RFC 8985 |
//! | `quic.rs` | QUIC's recovery: numbers of packets, time and probes | RFC 9002 |
//! | `fack.rs` | a recovery that finds lost retransmissions | Mathis & Mahdavi 1996, ns-2 2.35 |
//! | `rate_reduction.rs` | how the recovery with SACK comes down to the reduced window | RFC 6675, 9937 |
//! | `timeout.rs` | response to a timeout, by the RFCs or as Linux | RFC 5681, 6298, 3465; Linux 6.12 |
//! | `undo.rs` | giving the window back after an unnecessary reduction | RFC 3522, 3708, 4015 |
//! | `window_validation.rs` | a window that the application does not use | RFC 5681, 2861 |
//! | `delivery_rate.rs`, `pacer.rs` | delivery rate of each ACK; pacing and small queues | Linux 6.12 |
//! | `ecn.rs`, `accurate_ecn.rs` | feedback of marks | RFC 3168, 8257, 9768 |
//! | `config.rs`, `presets.rs` | the parameters, and sets of them that belong together | |
//! | `scoreboard.rs` | data that the receiver holds above the cumulative ACK | RFC 2018, 6675 |
//! | `receiver.rs` | reassembly, delayed ACKs, SACK blocks, ECN echo | RFC 5681, 2018, 3168 |
#![no_std]

extern crate alloc;

mod accurate_ecn;
mod config;
mod connection;
mod control;
mod counterparts;
mod delivery_rate;
mod departures;
mod ecn;
mod fack;
mod newreno;
mod pacer;
mod presets;
mod quic;
mod rack;
mod rate_reduction;
mod receiver;
mod recovery;
mod round_trip;
mod sack;
mod scoreboard;
mod segment;
mod sender;
mod sender_counters;
mod sent_segments;
mod timeout;
mod undo;
mod window_validation;

pub use accurate_ecn::OPTION_BYTES as ACCURATE_ECN_OPTION_BYTES;
pub use config::{
    FullAckWindow, IdleRestart, MinRtoOf, PartialAckTimer, RateReduction, RecoveryKind, ReductionBase, TcpConfig,
};
pub use control::CongestionControl;
#[cfg(feature = "config")]
pub use control::PAGES;
pub use control::bbr::BbrConfig;
pub use control::bbr3::{Bbr3Config, Bbr3Rules};
pub use control::bic::{Bic, BicConfig};
pub use control::cubic::{Cubic, CubicArithmetic, CubicConfig};
#[cfg(feature = "config")]
pub use control::custom::{ControllerMaker, CustomControl};
pub use control::dctcp::DctcpConfig;
pub use control::law::{CongestionSignal, WindowLaw};
pub use control::ledbat::LedbatConfig;
pub use control::linux_2_6_cubic::Linux26Cubic;
pub use control::linux_bic::LinuxBic;
pub use control::prague::{PragueConfig, PragueForm, RttIndependence};
pub use control::reno::Reno;
pub use control::setup::SlowStart;
pub use control::vegas::VegasConfig;
pub use control::westwood::Westwood;
pub use counterparts::COUNTERPARTS;
pub use ecn::{EcnCodepoint, EcnFeedback, EcnFloor};
pub use forebay_units::control::{
    AckSample, CongestionSample, Control, Controller, DeliveredSegment, Delivery, EcnNeed, Needs, Pacing, Phase,
    RoundTrips,
};
use forebay_units::require;
pub use forebay_units::{Bytes, ParameterError, Rate, Span, Time};
pub use presets::Preset;
pub use receiver::Receiver;
pub use round_trip::RoundTrip;
pub use segment::{Ack, AckOut, SackBlocks, Segment, SegmentOut};
pub use sender::{Sender, Withdrawn};
pub use sender_counters::SenderCounters;
pub use timeout::TimeoutResponse;
