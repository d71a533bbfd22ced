//! The parameters of a TCP connection: documented, with units, defaults and source.

use crate::accurate_ecn::OPTION_BYTES;
use crate::control::setup::Setup;
use crate::{
    Bytes, CongestionControl, EcnCodepoint, EcnFeedback, EcnFloor, EcnNeed, Needs, ParameterError, Preset, Segment,
    SlowStart, Span, TimeoutResponse, require,
};

/// Bytes of the timestamp option, with the two that align it (RFC 7323, appendix A).
const TIMESTAMP_OPTION_BYTES: u64 = 12;

/// Rules that detect losses and repair them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum RecoveryKind {
    /// TCP's, of which `sack`, `fack` and `rack` choose one.
    #[default]
    Tcp,
    /// QUIC's: by numbers of packets, by time and by probes, without a retransmission timeout (RFC 9002).
    Quic,
}

/// Effect of partial ACKs on the retransmission timer in NewReno's fast recovery (RFC 6582, section 4).
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

/// Window after NewReno's fast recovery (RFC 6582, section 3.2, step 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum FullAckWindow {
    /// One segment more than what is in flight, at most the slow-start threshold: no burst.
    #[default]
    FlightSize,
    /// The slow-start threshold, as in ns-2.
    SlowStartThreshold,
}

/// Transition from the old window to the reduced one in recovery with SACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum RateReduction {
    /// Silent until enough has left the network, then at the full rate (RFC 6675).
    AtOnce,
    /// One segment for every two that arrive until the window is reached, as in Linux before 3.2 and ns-2's TCP/Linux.
    RateHalving,
    /// Evenly over the round trip (RFC 9937), as in Linux since 3.2.
    #[default]
    Proportional,
}

/// Quantity that `min_rto` bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum MinRtoOf {
    /// The whole timeout (RFC 6298, 2.4).
    #[default]
    Timeout,
    /// The part that the timeout adds to the smoothed round trip, as in Linux.
    Deviation,
}

/// Quantity that a sign of congestion reduces by a factor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum ReductionBase {
    /// The data in flight (RFC 5681, equation 4).
    #[default]
    FlightSize,
    /// The congestion window, used or not, as in Linux.
    CongestionWindow,
}

/// Effect on the window of an idle time longer than the retransmission timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum IdleRestart {
    /// The window returns to the initial one (RFC 5681, 4.1).
    #[default]
    InitialWindow,
    /// The window is halved for each timeout that has passed, down to the initial one, and the threshold keeps three
    /// quarters of what it was. If an application leaves the window unused for longer than a timeout, the window is
    /// reduced halfway to what was used. As in Linux (RFC 2861, whose idea RFC 7661 keeps).
    Halving,
}

/// Declares [`TcpConfig`] and its defaults and, for scenario files, the table of its keys, of which each may be absent.
macro_rules! parameters {
    ($($(#[doc = $doc:literal])* $field:ident: $type:ty = $default:expr,)*) => {
        /// The parameters of a TCP connection, both ends.
        #[derive(Clone, Debug, PartialEq)]
        pub struct TcpConfig {
            /// The preset from which the values come that were not given.
            pub preset: Preset,
            $($(#[doc = $doc])* pub $field: $type,)*
        }

        /// The values of the preset "basic", from which the other presets differ. A scenario without a preset gets
        /// "linux".
        impl Default for TcpConfig {
            fn default() -> Self {
                Self { preset: Preset::Basic, $($field: $default,)* }
            }
        }

        // The value in the schema.
        #[cfg(feature = "config")]
        #[derive(serde::Serialize, schemars::JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        #[schemars(rename = "TcpConfig")]
        /// The parameters of a TCP connection, both ends.
        struct Described {
            /// A set of values for the keys that are not given: "linux", "rfc", "basic", "ns2", "ns2_linux" or
            /// "ns2_pre2001". Default: "linux", whose values the other keys show as their defaults.
            #[serde(skip_serializing_if = "Option::is_none")]
            preset: Option<Preset>,
            $($(#[doc = $doc])* $field: $type,)*
        }

        #[cfg(feature = "config")]
        impl Default for Described {
            fn default() -> Self {
                let TcpConfig { preset: _, $($field,)* } = TcpConfig::linux();
                Self { preset: None, $($field,)* }
            }
        }

        /// The keys that a scenario gives.
        #[cfg(feature = "config")]
        #[derive(Default, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        struct Given {
            preset: Option<Preset>,
            $($field: Option<$type>,)*
        }

        #[cfg(feature = "config")]
        impl Given {
            /// Takes absent keys from the preset.
            fn resolve(self) -> TcpConfig {
                let mut config = TcpConfig::preset(self.preset.unwrap_or(Preset::Linux));
                // A preset without SACK drops everything that needs SACK.
                if self.sack == Some(false) {
                    (config.dsack, config.fack, config.rack, config.rate_reduction) = (false, false, false, None);
                }
                let is_quic = self.recovery.unwrap_or(config.recovery) == RecoveryKind::Quic;
                if is_quic {
                    // QUIC has rules of its own for all of these.
                    (config.fack, config.rack, config.tail_loss_probe) = (false, false, false);
                    (config.undo, config.rate_reduction) = (false, None);
                }
                let control = self.congestion_control.as_ref().unwrap_or(&config.congestion_control);
                config.ecn |= control.needs().ecn != EcnNeed::Any;
                let has_rack = config.rack && self.rack != Some(false);
                config.tail_loss_probe &= has_rack;
                config.small_queues &= has_rack || is_quic;
                config.undo &= config.dsack || self.timestamps.unwrap_or(config.timestamps);
                $(if let Some(value) = self.$field { config.$field = value; })*
                config
            }
        }
    };
}

parameters! {
    /// Congestion controller: its name or, where it has parameters, a table. "reno" and "newreno" also choose the
    /// recovery without SACK.
    congestion_control: CongestionControl = CongestionControl::NewReno,
    /// Growth of the window at the start: "standard" (RFC 5681), "hystart" (Linux) or "hystart_plus_plus" (RFC 9406).
    /// Default: "hystart" with "cubic", otherwise "standard". BBR, Prague, Vegas and LEDBAT++ have their own.
    slow_start: Option<SlowStart> = None,
    /// Detection and repair of losses: "tcp", whose rules `sack`, `fack` and `rack` choose, or "quic" (RFC 9002). The
    /// latter needs `sack` and `timestamps`. It excludes `fack`, `rack`, `tail_loss_probe`, `undo` and
    /// `rate_reduction`, of which it takes none from a preset. Each ACK then returns the timestamp of the segment that
    /// it answers, in or out of order.
    recovery: RecoveryKind = RecoveryKind::Tcp,
    /// Selective acknowledgements (RFC 2018) and the recovery that uses them (RFC 6675).
    sack: bool = false,
    /// How recovery with SACK reaches the reduced window: "at_once" (RFC 6675), "rate_halving" (Linux before 3.2,
    /// ns-2's TCP/Linux) or "proportional" (RFC 9937, Linux since 3.2). Default: "proportional".
    rate_reduction: Option<RateReduction> = None,
    /// Forward acknowledgement instead of RFC 6675, as in ns-2's TCP/Linux: losses, including those of retransmissions,
    /// are inferred from the furthest segment that has arrived. Needs `sack`.
    fack: bool = false,
    /// Whether duplicate ACKs also restart the retransmission timer, as in ns-2's TCP/Linux, so that nothing times out
    /// while ACKs arrive. In RFC 6298 (5.3) only ACKs of new data restart it.
    duplicate_acks_restart_timer: bool = false,
    /// Whether the receiver reports data that arrives twice (D-SACK, RFC 2883). Needs `sack`.
    dsack: bool = false,
    /// Whether losses are detected by the time since a segment was sent rather than by counting (RACK, RFC 8985). Needs
    /// `sack`.
    rack: bool = false,
    /// Whether a probe is sent after two round trips without an ACK, so that the loss of the last segments is repaired
    /// before the timeout (TLP, RFC 8985, section 7). Needs `rack`.
    tail_loss_probe: bool = false,
    /// Whether each segment carries the time when it was sent and each ACK returns it (RFC 7323). Each ACK that
    /// advances then yields a round-trip sample, of retransmissions too, which ends the doubling of the timeout. The
    /// option takes 12 bytes in each segment and ACK, in addition to `header` and `ack_size`.
    timestamps: bool = false,
    /// Whether the window is restored after an unnecessary retransmission, which timestamps (Eifel, RFC 3522 and 4015)
    /// or D-SACK (RFC 3708) reveal. Needs `timestamps` or `dsack`.
    undo: bool = false,
    /// Size of a full data segment on the wire, including the header. 1500 B is Ethernet's limit.
    segment: Bytes = Bytes(1500),
    /// Header bytes in `segment`: 20 B for IPv4 and 20 B for TCP. ns-2 counts 0 B.
    header: Bytes = Bytes(40),
    /// Size of a segment without payload on the wire: ACK, SYN, FIN.
    ack_size: Bytes = Bytes(40),
    /// Maximum amount in flight, in full segments: the receiver's window. The default, about 6 MB, is the maximum of
    /// Linux without tuning; ns-2 calls it `window_`.
    max_window_segments: u32 = 4096,
    /// Maximum congestion window, in segments. Default: the receiver's window is the only bound. Unlike that window, it
    /// leaves room to send while a loss is repaired, when the receiver's window must hold the data behind the gap.
    /// Linux's `snd_cwnd_clamp`; ns-2's TCP/Linux, which has no receiver's window, uses `window_` for it.
    max_congestion_window_segments: Option<u32> = None,
    /// The congestion window after the handshake, in segments (RFC 6928: 10; ns-2's `windowInit_`: 2).
    initial_window_segments: u32 = 10,
    /// Initial slow-start threshold, in segments. Default: slow start ends at the first loss or mark (RFC 5681, 3.1).
    initial_ssthresh_segments: Option<u32> = None,
    /// Maximum growth of the window for one ACK, in segments (RFC 3465's L). 1 is RFC 5681; 2 compensates for delayed
    /// ACKs.
    byte_counting_limit: u32 = 1,
    /// Minimum retransmission timeout (RFC 6298: 1 s; ns-2 and Linux: 200 ms).
    min_rto: Span = Span::from_seconds(1),
    /// Quantity that `min_rto` bounds: the "timeout" (RFC 6298), or its "deviation", the part added to the smoothed
    /// round trip (Linux).
    min_rto_of: MinRtoOf = MinRtoOf::Timeout,
    /// Maximum retransmission timeout, however often it was doubled (RFC 6298: at least 60 s).
    max_rto: Span = Span::from_seconds(60),
    /// The retransmission timeout before the first round-trip sample (RFC 6298: 1 s; ns-2: 3 s).
    initial_rto: Span = Span::from_seconds(1),
    /// Tick of the clock that measures round trips; timeouts are multiples of it. "0 s" is exact; ns-2's `tcpTick_` is
    /// 10 ms.
    timer_granularity: Span = Span::ZERO,
    /// Whether the receiver acknowledges every second segment, and a single one only after `delayed_ack_timeout` (RFC
    /// 5681, 4.2). Otherwise it acknowledges every segment at once.
    delayed_ack: bool = false,
    /// Maximum delay of an ACK (RFC 5681: at most 500 ms; 200 ms is customary).
    delayed_ack_timeout: Span = Span::from_milliseconds(200),
    /// Whether the first two duplicate ACKs each release one new segment (RFC 3042).
    limited_transmit: bool = true,
    /// Whether segments are paced: they leave at a pacing rate, in bursts of a millisecond, instead of as soon as the
    /// window allows. Controllers that need it pace in any case. The rate is the controller's or, without one, 200 % of
    /// a window in a round trip while the window is below half of the threshold, and 120 % later (Linux). Needs `rack`
    /// or the recovery "quic".
    pacing: bool = false,
    /// Whether a sender stops while its own bytes wait in its private uplink: at most two segments or a millisecond of
    /// its pacing rate (TCP small queues of Linux). Needs `rack` or the recovery "quic".
    small_queues: bool = false,
    /// Explicit congestion notification (RFC 3168). Default: true with "dctcp" and "prague", which are made for it.
    ecn: bool = false,
    /// Feedback of marks: "classic" (RFC 3168), "dctcp" (RFC 8257) or "accurate" (RFC 9768). Default: "dctcp" with
    /// "dctcp", "accurate" with other controllers that answer the share of marks, otherwise "classic".
    ecn_feedback: Option<EcnFeedback> = None,
    /// Whether each ACK of accurate ECN carries the option with the counter of marked bytes (RFC 9768, section 3.2.3;
    /// Linux's `tcp_ecn_option`). It adds 8 bytes. Without it the sender counts modulo 8 and guesses where ACKs are
    /// lost or merged.
    ecn_option: bool = true,
    /// ECN codepoint of data: "ect0", or "ect1" (L4S, RFC 9331) for controllers that answer the share of marks.
    /// Default: "ect1" with "prague", otherwise "ect0".
    ecn_codepoint: Option<EcnCodepoint> = None,
    /// Whether SYN, FIN, retransmissions and ACKs are ECN-capable too (ECN++, draft-ietf-tcpm-generalized-ecn).
    /// Default: true with "dctcp" and "prague", otherwise false.
    ecn_control_packets: Option<bool> = None,
    /// Lower bound of the window after marks: "two_segments" (Linux), "one_segment", "timer" or "ns2". With "timer", a
    /// mark at one segment makes the sender wait for its timer (RFC 3168, 6.1.2). "ns2" is no bound: below one segment
    /// only the timer sends, and further marks double it.
    ecn_floor: EcnFloor = EcnFloor::TwoSegments,
    /// Whether retransmissions are ECN-capable too and signal the reduction to the receiver, as in ns-2
    /// (`SetCWRonRetransmit_`). RFC 3168 (6.1.2, 6.1.5) forbids both: there, the echo continues until new data is sent.
    ecn_retransmissions: bool = false,
    /// Quantity that a sign of congestion reduces by a factor: the "flight_size" (RFC 5681, equation 4) or the
    /// "congestion_window", used or not (Linux).
    reduction_base: ReductionBase = ReductionBase::FlightSize,
    /// Whether a reduction rounds to whole segments, as in ns-2 before 2006 (`precisionReduce_`).
    whole_segment_reduction: bool = false,
    /// Response to an expiry of the retransmission timer, of a SYN too: "rfc" (RFC 5681, 6298, 3465) or "linux", which
    /// reduces less.
    timeout_response: TimeoutResponse = TimeoutResponse::Rfc,
    /// Effect of an idle time on the window: it returns to the "initial_window" (RFC 5681, 4.1), or is reduced by
    /// "halving", as in Linux.
    idle_restart: IdleRestart = IdleRestart::InitialWindow,
    /// Whether a connection opens with SYN and SYN-ACK. Otherwise data is sent at once, as if the connection already
    /// existed.
    handshake: bool = true,
    /// Effect of partial ACKs on the retransmission timer: "impatient" or "slow_but_steady" (RFC 6582, section 4).
    partial_ack_timer: PartialAckTimer = PartialAckTimer::Impatient,
    /// Window after NewReno's fast recovery: "flight_size" or "slow_start_threshold" (RFC 6582, section 3.2, step 3).
    full_ack_window: FullAckWindow = FullAckWindow::FlightSize,
    /// Whether the ACK that ends fast recovery also opens the window, as in ns-2 without SACK. RFC 5681 (3.2, step 6)
    /// leaves it at the threshold.
    grow_at_recovery_exit: bool = false,
}

#[cfg(feature = "config")]
impl<'de> serde::Deserialize<'de> for TcpConfig {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Given::deserialize(deserializer).map(Given::resolve)
    }
}

#[cfg(feature = "config")]
impl schemars::JsonSchema for TcpConfig {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        Described::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Described::json_schema(generator)
    }
}

impl TcpConfig {
    /// Checks every parameter.
    ///
    /// # Errors
    /// The first parameter that is outside its bound.
    pub fn validate(&self) -> Result<(), ParameterError> {
        self.congestion_control.validate()?;
        self.validate_recovery()?;
        let has_way_down = self.sack || self.rate_reduction.is_none_or(|rule| rule == RateReduction::AtOnce);
        require(has_way_down, "rate_reduction", "be \"at_once\" unless sack is true")?;
        require(self.sack || !self.dsack, "dsack", "be false unless sack is true")?;
        require(self.sack || !self.fack, "fack", "be false unless sack is true")?;
        require(!(self.fack && self.rack), "fack", "be false where rack is true")?;
        require(self.sack || !self.rack, "rack", "be false unless sack is true")?;
        require(self.rack || !self.tail_loss_probe, "tail_loss_probe", "be false unless rack is true")?;
        let is_timed = self.rack || self.is_quic();
        let bound = "be false unless rack is true or recovery is \"quic\"";
        require(is_timed || !self.pacing, "pacing", bound)?;
        require(is_timed || !self.small_queues, "small_queues", bound)?;
        require(
            is_timed || !self.congestion_control.needs_timed_recovery(),
            "congestion_control",
            "be another one unless rack is true or recovery is \"quic\": it measures the delivery of each segment",
        )?;
        require(self.timestamps || self.dsack || !self.undo, "undo", "be false unless timestamps or dsack is true")?;
        self.validate_ecn()?;
        let takes_slow_start = !self.congestion_control.needs().owns_slow_start;
        let bound = "be absent with a controller that has a slow start of its own";
        require(self.slow_start.is_none() || takes_slow_start, "slow_start", bound)?;
        require(self.segment.0 > self.header_bytes(), "segment", "be larger than header and timestamp option")?;
        require(self.segment.0 <= 65_535, "segment", "be at most 65535 B, as an IP packet")?;
        require(self.ack_size.0 >= 1, "ack_size", "be at least 1 B")?;
        require(
            self.ack_bytes().saturating_add(OPTION_BYTES) <= 65_535,
            "ack_size",
            "be at most 65535 B with its options, as an IP packet",
        )?;
        require(self.max_window_segments >= 1, "max_window_segments", "be at least 1")?;
        require(self.max_window_segments <= 1 << 24, "max_window_segments", "be at most 16777216")?;
        require(self.max_congestion_window_segments != Some(0), "max_congestion_window_segments", "be at least 1")?;
        require(self.initial_window_segments >= 1, "initial_window_segments", "be at least 1")?;
        require(self.initial_ssthresh_segments.is_none_or(|s| s >= 2), "initial_ssthresh_segments", "be at least 2")?;
        require(self.byte_counting_limit >= 1, "byte_counting_limit", "be at least 1")?;
        require(self.min_rto > Span::ZERO, "min_rto", "be longer than 0 s")?;
        require(self.max_rto >= self.min_rto, "max_rto", "be at least min_rto")?;
        require(self.max_rto <= Span::from_seconds(3600), "max_rto", "be at most 3600 s")?;
        require(self.initial_rto > Span::ZERO, "initial_rto", "be longer than 0 s")?;
        require(self.initial_rto <= self.max_rto, "initial_rto", "be at most max_rto")?;
        require(self.timer_granularity <= Span::from_seconds(1), "timer_granularity", "be at most 1 s")?;
        require(self.delayed_ack_timeout > Span::ZERO, "delayed_ack_timeout", "be longer than 0 s")?;
        require(self.delayed_ack_timeout <= Span::from_milliseconds(500), "delayed_ack_timeout", "be at most 500 ms")
    }

    /// RFC 9002's recovery needs what acknowledges each segment, and takes the place of TCP's.
    fn validate_recovery(&self) -> Result<(), ParameterError> {
        if !self.is_quic() {
            return Ok(());
        }
        let has_details = self.sack && self.timestamps;
        require(has_details, "recovery", "be \"tcp\" unless sack and timestamps are true")?;
        let bound = "be false where recovery is \"quic\"";
        require(!self.fack, "fack", bound)?;
        require(!self.rack, "rack", bound)?;
        require(!self.tail_loss_probe, "tail_loss_probe", bound)?;
        require(!self.undo, "undo", bound)?;
        require(self.rate_reduction.is_none(), "rate_reduction", "be absent where recovery is \"quic\"")
    }

    /// Whether losses are recovered by RFC 9002.
    pub(crate) fn is_quic(&self) -> bool {
        self.recovery == RecoveryKind::Quic
    }

    fn validate_ecn(&self) -> Result<(), ParameterError> {
        let needs = self.congestion_control.needs();
        let feedback = self.ecn_feedback();
        let bound = "be absent unless ecn is true";
        require(self.ecn || self.ecn_feedback.is_none(), "ecn_feedback", bound)?;
        require(self.ecn || self.ecn_codepoint.is_none(), "ecn_codepoint", bound)?;
        require(self.ecn || self.ecn_control_packets.is_none(), "ecn_control_packets", bound)?;
        let bound = "be \"accurate\" or \"dctcp\" with a controller that answers the share of marks";
        require(!self.ecn || !needs.marks || feedback != EcnFeedback::Classic, "ecn_feedback", bound)?;
        let bound = "be true unless the feedback of marks is \"accurate\"";
        require(self.ecn_option || feedback == EcnFeedback::Accurate, "ecn_option", bound)?;
        let is_l4s = self.ecn && needs.ecn == EcnNeed::L4s;
        let bound = "be \"accurate\" with a controller for L4S";
        require(!is_l4s || feedback == EcnFeedback::Accurate, "ecn_feedback", bound)?;
        let bound = "be \"ect0\" unless the controller answers the share of marks, as \"prague\" and \"dctcp\" do";
        let may_answer = needs.marks || self.congestion_control.is_unknown();
        require(may_answer || self.ecn_codepoint() == EcnCodepoint::Ect0, "ecn_codepoint", bound)
    }

    /// Feedback of marks: the one given, or the one that goes with the controller.
    pub(crate) fn ecn_feedback(&self) -> EcnFeedback {
        if !self.ecn {
            return EcnFeedback::Classic;
        }
        self.ecn_feedback.unwrap_or_else(|| match self.congestion_control.needs() {
            Needs { ecn: EcnNeed::Dctcp, .. } => EcnFeedback::Dctcp,
            Needs { marks: true, .. } => EcnFeedback::Accurate,
            _ => EcnFeedback::Classic,
        })
    }

    /// ECN codepoint of data: the one given, or the one that goes with the controller.
    #[must_use]
    pub fn ecn_codepoint(&self) -> EcnCodepoint {
        let is_l4s = || self.ecn && self.congestion_control.needs().ecn == EcnNeed::L4s;
        self.ecn_codepoint.unwrap_or_else(|| if is_l4s() { EcnCodepoint::Ect1 } else { EcnCodepoint::Ect0 })
    }

    /// Whether packets without new data take part in ECN.
    pub(crate) fn ecn_control_packets(&self) -> bool {
        self.ecn_control_packets.unwrap_or_else(|| self.congestion_control.needs().ecn != EcnNeed::Any)
    }

    /// The properties that the controller uses.
    pub(crate) fn setup(&self) -> Setup {
        Setup {
            payload_bytes: self.payload_bytes(),
            header_bytes: self.header_bytes(),
            initial_window_segments: self.initial_window_segments,
            initial_threshold: self.initial_threshold(),
            slow_start: self.slow_start(),
            ecn: self.ecn,
            ecn_floor: self.ecn_floor,
            whole_segment_reduction: self.whole_segment_reduction,
            timeout_response: self.timeout_response,
        }
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

    /// The slow-start threshold before the first sign of congestion, in segments.
    pub(crate) fn initial_threshold(&self) -> f64 {
        self.initial_ssthresh_segments.map_or(f64::INFINITY, f64::from)
    }

    /// The most that the congestion window may be, in segments.
    pub(crate) fn congestion_window_limit(&self) -> u32 {
        self.max_congestion_window_segments.map_or(self.max_window_segments, |most| most.min(self.max_window_segments))
    }

    /// The rule by which the recovery with SACK comes down to the reduced window.
    pub(crate) fn rate_reduction(&self) -> RateReduction {
        self.rate_reduction.unwrap_or_default()
    }

    /// The size of the timestamp option in each segment, in bytes.
    fn option_bytes(&self) -> u64 {
        if self.timestamps { TIMESTAMP_OPTION_BYTES } else { 0 }
    }

    /// Bytes of a data segment that are no payload: the header with its options.
    #[must_use]
    pub fn header_bytes(&self) -> u64 {
        self.header.0.saturating_add(self.option_bytes())
    }

    /// Bytes of a segment without payload on the wire.
    #[must_use]
    pub fn ack_bytes(&self) -> u64 {
        self.ack_size.0.saturating_add(self.option_bytes())
    }

    /// Payload bytes of a full segment (the RFCs' SMSS).
    #[must_use]
    pub fn payload_bytes(&self) -> u32 {
        self.segment.0.saturating_sub(self.header_bytes()) as u32
    }

    /// Bytes that `segment` takes on the wire.
    #[must_use]
    pub fn wire_bytes(&self, segment: &Segment) -> u32 {
        match segment.payload_bytes {
            0 => self.ack_bytes() as u32,
            payload => payload + self.header_bytes() as u32,
        }
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
