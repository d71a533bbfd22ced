//! The parameters of a TCP connection: documented, with units, defaults and source.

use core::fmt;

use crate::{BicConfig, Bytes, CubicConfig, Segment, Span};

/// Which window law and which recovery a sender follows. All but "reno" recover like NewReno, and all, "reno" too, by
/// RFC 6675 where there is SACK.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "config", schemars(transform = allow_bare_names))]
#[non_exhaustive]
pub enum CongestionControl {
    /// RFC 5681: fast recovery ends with the first ACK of new data.
    Reno,
    /// RFC 6582: fast recovery ends when all that was in flight at its start is acknowledged.
    #[default]
    #[cfg_attr(feature = "config", serde(rename = "newreno"))]
    NewReno,
    /// BIC: binary search for the window at which the last loss came (Xu, Harfoush & Rhee 2004).
    Bic(BicConfig),
    /// CUBIC: the window is a cubic function of the time since the last reduction (RFC 9438).
    Cubic(CubicConfig),
    /// BIC in Linux's arithmetic, as ns-2 2.35 has it.
    LinuxBic,
    /// CUBIC of 2007 in Linux's arithmetic, as ns-2 2.35 has it.
    LinuxCubic,
}

/// Adds the bare names of the alternatives with parameters to the JSON Schema.
#[cfg(feature = "config")]
fn allow_bare_names(schema: &mut schemars::Schema) {
    let Some(alternatives) = schema.get_mut("oneOf").and_then(|value| value.as_array_mut()) else { return };
    alternatives.push(
        schemars::json_schema!({
            "type": "string",
            "enum": ["bic", "cubic"],
            "description": "The name alone: with its defaults.",
        })
        .to_value(),
    );
}

/// How the window opens at first, and after a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum SlowStart {
    /// RFC 5681: doubles in a round trip until the first loss or the threshold.
    Standard,
    /// Ends, too, when the delay rises or the ACKs of a round come without a gap for half a round trip (Ha & Rhee 2011,
    /// as Linux has it).
    #[cfg_attr(feature = "config", serde(rename = "hystart"))]
    HyStart,
    /// Slows down when the delay rises, and ends if it stays up (RFC 9406).
    #[cfg_attr(feature = "config", serde(rename = "hystart_plus_plus"))]
    HyStartPlusPlus,
}

/// What partial ACKs do to the retransmission timer in NewReno's fast recovery (RFC 6582, section 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum PartialAckTimer {
    /// Only the first partial ACK restarts the timer, so that a burst of losses ends in a timeout rather than in one
    /// retransmission per round trip.
    #[default]
    Impatient,
    /// Every partial ACK restarts it.
    SlowButSteady,
}

/// What the window becomes when NewReno's fast recovery ends (RFC 6582, section 3.2, step 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum FullAckWindow {
    /// One segment more than what is in flight, at most the slow-start threshold: no burst.
    #[default]
    FlightSize,
    /// The slow-start threshold: as ns-2.
    SlowStartThreshold,
}

/// How the sender gets from the old window to the reduced one in the recovery with SACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum RateReduction {
    /// Silent until enough has left the network, then at the full rate (RFC 6675).
    #[default]
    AtOnce,
    /// One segment for two that arrive until the window is reached: as Linux before 3.2 and ns-2's TCP/Linux.
    RateHalving,
    /// Evenly over the round trip (RFC 6937): as Linux since 3.2.
    Proportional,
}

/// How far marks reduce the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum EcnFloor {
    /// To two segments: as Linux.
    #[default]
    TwoSegments,
    /// To one segment, at which the sender goes on: as ns-2.
    OneSegment,
    /// To one segment; when a mark comes at one segment, the next is not sent before the retransmission timer expires
    /// (RFC 3168, section 6.1.2).
    Timer,
}

/// The parameters of a TCP connection, both ends.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
pub struct TcpConfig {
    /// Window law and recovery: "reno", "newreno", "bic" or "cubic" (the last two also as tables with parameters), or
    /// "linux_bic" or "linux_cubic", in Linux's arithmetic as ns-2 2.35 has them.
    pub congestion_control: CongestionControl,
    /// How the window opens at first: "standard" (RFC 5681), "hystart" (Linux) or "hystart_plus_plus" (RFC 9406).
    /// Default: "hystart" with "cubic", "standard" with all others.
    #[cfg_attr(feature = "config", serde(skip_serializing_if = "Option::is_none"))]
    pub slow_start: Option<SlowStart>,
    /// Selective acknowledgements (RFC 2018) and the recovery that uses them (RFC 6675).
    pub sack: bool,
    /// How the recovery with SACK comes down to the reduced window: "at_once" (RFC 6675), "rate_halving" (Linux before
    /// 3.2, ns-2's TCP/Linux) or "proportional" (RFC 6937, Linux since 3.2).
    pub rate_reduction: RateReduction,
    /// A full data segment on the wire, header included. 1500 B is Ethernet's limit.
    pub segment: Bytes,
    /// The part of `segment` that is no payload: 20 B IPv4 and 20 B TCP. ns-2 counts 0 B.
    pub header: Bytes,
    /// A segment without payload on the wire: ACK, SYN, FIN.
    pub ack_size: Bytes,
    /// The most that may be in flight, in full segments: the receiver's window. The default, about 6 MB, is the most
    /// that Linux grants without tuning; ns-2's `window_`.
    pub max_window_segments: u32,
    /// The congestion window grows no further, in segments; absent: the receiver's window is the only bound. It leaves
    /// room to send while a loss is being mended, where the receiver's window has to hold what waits for the gap.
    /// Linux's `snd_cwnd_clamp`, and what ns-2's TCP/Linux, which has no receiver's window, takes `window_` for.
    #[cfg_attr(feature = "config", serde(skip_serializing_if = "Option::is_none"))]
    pub max_congestion_window_segments: Option<u32>,
    /// The congestion window after the handshake, in segments (RFC 6928: 10; ns-2's `windowInit_`: 2).
    pub initial_window_segments: u32,
    /// Slow start ends here at first, in segments; absent: at the first loss or mark (RFC 5681, 3.1).
    #[cfg_attr(feature = "config", serde(skip_serializing_if = "Option::is_none"))]
    pub initial_ssthresh_segments: Option<u32>,
    /// How much one ACK may open the window, in segments (RFC 3465's L). 1 is RFC 5681; 2 makes up for delayed ACKs.
    pub byte_counting_limit: u32,
    /// The retransmission timeout is never shorter (RFC 6298: 1 s; ns-2 and Linux: 200 ms).
    pub min_rto: Span,
    /// The retransmission timeout is never longer, however often it was doubled (RFC 6298: at least 60 s).
    pub max_rto: Span,
    /// The retransmission timeout before the first round-trip sample (RFC 6298: 1 s; ns-2: 3 s).
    pub initial_rto: Span,
    /// Tick of the clock that round trips are measured with; timeouts are multiples of it. "0 s" is exact; ns-2's
    /// `tcpTick_` is 10 ms.
    pub timer_granularity: Span,
    /// Acknowledge every second segment, and a single one only after `delayed_ack_timeout` (RFC 5681, 4.2). Off: every
    /// segment at once.
    pub delayed_ack: bool,
    /// The longest that an ACK is delayed (RFC 5681: at most 500 ms; 200 ms is customary).
    pub delayed_ack_timeout: Span,
    /// The first two duplicate ACKs send one new segment each (RFC 3042).
    pub limited_transmit: bool,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// How far marks reduce the window: "two_segments" (Linux), "one_segment" (ns-2) or "timer" (RFC 3168, 6.1.2: at
    /// one segment, a mark makes the sender wait for its timer).
    pub ecn_floor: EcnFloor,
    /// Open with SYN and SYN-ACK; otherwise data goes at once, as if the connection were already there.
    pub handshake: bool,
    /// What partial ACKs do to the retransmission timer: "impatient" or "slow_but_steady" (RFC 6582, section 4).
    pub partial_ack_timer: PartialAckTimer,
    /// What the window becomes when NewReno's fast recovery ends: "flight_size" or "slow_start_threshold"
    /// (RFC 6582, section 3.2, step 3).
    pub full_ack_window: FullAckWindow,
    /// The ACK that ends fast recovery opens the window as well, as in ns-2 without SACK. RFC 5681 (3.2, step 6) leaves
    /// it at the threshold.
    pub grow_at_recovery_exit: bool,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self {
            congestion_control: CongestionControl::NewReno,
            slow_start: None,
            sack: false,
            rate_reduction: RateReduction::AtOnce,
            segment: Bytes(1500),
            header: Bytes(40),
            ack_size: Bytes(40),
            max_window_segments: 4096,
            max_congestion_window_segments: None,
            initial_window_segments: 10,
            initial_ssthresh_segments: None,
            byte_counting_limit: 1,
            min_rto: Span::from_seconds(1),
            max_rto: Span::from_seconds(60),
            initial_rto: Span::from_seconds(1),
            timer_granularity: Span::ZERO,
            delayed_ack: false,
            delayed_ack_timeout: Span::from_milliseconds(200),
            limited_transmit: true,
            ecn: false,
            ecn_floor: EcnFloor::TwoSegments,
            handshake: true,
            partial_ack_timer: PartialAckTimer::Impatient,
            full_ack_window: FullAckWindow::FlightSize,
            grow_at_recovery_exit: false,
        }
    }
}

/// A parameter outside its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The parameter's name in [`TcpConfig`].
    pub field: &'static str,
    /// The bound that it breaks, in words.
    pub bound: &'static str,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} must be {}", self.field, self.bound)
    }
}

impl core::error::Error for ConfigError {}

/// A condition that a parameter has to meet.
pub(crate) fn check(holds: bool, field: &'static str, bound: &'static str) -> Result<(), ConfigError> {
    if holds { Ok(()) } else { Err(ConfigError { field, bound }) }
}

impl TcpConfig {
    /// What ns-2 2.35 does unless told otherwise (one-way agents, an ACK for every segment), with segments of 1000 B
    /// all of which count as payload, and a window of `max_window_segments` (ns-2's `window_`).
    #[must_use]
    pub fn ns2(max_window_segments: u32) -> Self {
        Self {
            segment: Bytes(1000),
            header: Bytes(0),
            max_window_segments,
            initial_window_segments: 2,
            min_rto: Span::from_milliseconds(200),
            initial_rto: Span::from_seconds(3),
            timer_granularity: Span::from_milliseconds(10),
            ecn_floor: EcnFloor::OneSegment,
            full_ack_window: FullAckWindow::SlowStartThreshold,
            grow_at_recovery_exit: true,
            ..Self::default()
        }
    }

    /// Checks every parameter.
    ///
    /// # Errors
    /// The first parameter that is outside its bound.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match self.congestion_control {
            CongestionControl::Bic(bic) => bic.validate()?,
            CongestionControl::Cubic(cubic) => cubic.validate()?,
            _ => {}
        }
        let has_way_down = self.sack || self.rate_reduction == RateReduction::AtOnce;
        check(has_way_down, "rate_reduction", "\"at_once\" unless sack is true")?;
        check(self.segment.0 > self.header.0, "segment", "larger than header")?;
        check(self.segment.0 <= 65_535, "segment", "at most 65535 B, as an IP packet")?;
        check(self.ack_size.0 >= 1, "ack_size", "at least 1 B")?;
        check(self.ack_size.0 <= 65_535, "ack_size", "at most 65535 B, as an IP packet")?;
        check(self.max_window_segments >= 1, "max_window_segments", "at least 1")?;
        check(self.max_window_segments <= 1 << 24, "max_window_segments", "at most 16777216")?;
        check(self.max_congestion_window_segments != Some(0), "max_congestion_window_segments", "at least 1")?;
        check(self.initial_window_segments >= 1, "initial_window_segments", "at least 1")?;
        check(self.initial_ssthresh_segments.is_none_or(|s| s >= 2), "initial_ssthresh_segments", "at least 2")?;
        check(self.byte_counting_limit >= 1, "byte_counting_limit", "at least 1")?;
        check(self.min_rto > Span::ZERO, "min_rto", "longer than 0 s")?;
        check(self.max_rto >= self.min_rto, "max_rto", "at least min_rto")?;
        check(self.max_rto <= Span::from_seconds(3600), "max_rto", "at most 3600 s")?;
        check(self.initial_rto > Span::ZERO, "initial_rto", "longer than 0 s")?;
        check(self.initial_rto <= self.max_rto, "initial_rto", "at most max_rto")?;
        check(self.timer_granularity <= Span::from_seconds(1), "timer_granularity", "at most 1 s")?;
        check(self.delayed_ack_timeout > Span::ZERO, "delayed_ack_timeout", "longer than 0 s")?;
        check(self.delayed_ack_timeout <= Span::from_milliseconds(500), "delayed_ack_timeout", "at most 500 ms")
    }

    /// The slow start: the one given, or what goes with the window law.
    #[must_use]
    pub fn slow_start(&self) -> SlowStart {
        let by_law = match self.congestion_control {
            CongestionControl::Cubic(_) => SlowStart::HyStart,
            _ => SlowStart::Standard,
        };
        self.slow_start.unwrap_or(by_law)
    }

    /// The most that the congestion window may be, in segments.
    pub(crate) fn congestion_window_limit(&self) -> u32 {
        self.max_congestion_window_segments.map_or(self.max_window_segments, |most| most.min(self.max_window_segments))
    }

    /// Payload bytes of a full segment (the RFCs' SMSS).
    #[must_use]
    pub fn payload_bytes(&self) -> u32 {
        self.segment.0.saturating_sub(self.header.0) as u32
    }

    /// Bytes that `segment` takes on the wire.
    #[must_use]
    pub fn wire_bytes(&self, segment: &Segment) -> u32 {
        if segment.payload_bytes == 0 { self.ack_size.0 as u32 } else { segment.payload_bytes + self.header.0 as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_valid() {
        assert_eq!(TcpConfig::default().validate(), Ok(()));
        assert_eq!(TcpConfig::ns2(64).validate(), Ok(()));
    }

    fn cubic(beta: f64, growth: f64) -> CongestionControl {
        CongestionControl::Cubic(CubicConfig { beta, growth, ..CubicConfig::default() })
    }

    fn bic(beta: f64, max_increment: u32, smooth_part: u32) -> CongestionControl {
        CongestionControl::Bic(BicConfig { beta, max_increment, smooth_part, ..BicConfig::default() })
    }

    #[test]
    fn an_error_names_field_and_bound() {
        type Spoil = fn(&mut TcpConfig);
        let cases: &[(&str, Spoil)] = &[
            ("congestion_control.cubic.beta", |c| c.congestion_control = cubic(1.0, 0.4)),
            ("congestion_control.cubic.beta", |c| c.congestion_control = cubic(f64::NAN, 0.4)),
            ("congestion_control.cubic.growth", |c| c.congestion_control = cubic(0.7, 0.0)),
            ("congestion_control.bic.beta", |c| c.congestion_control = bic(0.0, 16, 20)),
            ("congestion_control.bic.max_increment", |c| c.congestion_control = bic(0.8, 0, 20)),
            ("congestion_control.bic.smooth_part", |c| c.congestion_control = bic(0.8, 16, 0)),
            ("segment", |c| c.segment = Bytes(40)),
            ("segment", |c| c.segment = Bytes(1 << 40)),
            ("ack_size", |c| c.ack_size = Bytes(0)),
            ("max_window_segments", |c| c.max_window_segments = 0),
            ("max_congestion_window_segments", |c| c.max_congestion_window_segments = Some(0)),
            ("rate_reduction", |c| c.rate_reduction = RateReduction::Proportional),
            ("initial_window_segments", |c| c.initial_window_segments = 0),
            ("initial_ssthresh_segments", |c| c.initial_ssthresh_segments = Some(1)),
            ("byte_counting_limit", |c| c.byte_counting_limit = 0),
            ("min_rto", |c| c.min_rto = Span::ZERO),
            ("max_rto", |c| c.max_rto = Span::from_milliseconds(10)),
            ("initial_rto", |c| c.initial_rto = Span::from_seconds(61)),
            ("timer_granularity", |c| c.timer_granularity = Span::from_seconds(2)),
            ("delayed_ack_timeout", |c| c.delayed_ack_timeout = Span::from_seconds(1)),
        ];
        for (field, spoil) in cases {
            let mut config = TcpConfig::default();
            spoil(&mut config);
            let error = config.validate().unwrap_err();
            assert_eq!(error.field, *field);
            assert!(alloc::string::ToString::to_string(&error).starts_with(field));
        }
    }

    #[test]
    fn bytes_on_the_wire() {
        let config = TcpConfig::default();
        assert_eq!(config.payload_bytes(), 1460);
        assert_eq!(config.wire_bytes(&Segment { payload_bytes: 1460, ..Segment::default() }), 1500);
        assert_eq!(config.wire_bytes(&Segment { syn: true, ..Segment::default() }), 40);
        let ns2 = TcpConfig::ns2(20);
        assert_eq!(ns2.wire_bytes(&Segment { payload_bytes: 1000, ..Segment::default() }), 1000);
        assert_eq!(ns2.wire_bytes(&Segment { syn: true, ..Segment::default() }), 40);
    }
}
