//! Sets of parameters that belong together: the behaviour of a well-known TCP.

use crate::{
    Bytes, CongestionControl, CubicArithmetic, CubicConfig, EcnFloor, FullAckWindow, IdleRestart, MinRtoOf,
    RateReduction, ReductionBase, Span, TcpConfig, TimeoutResponse,
};

/// A well-known TCP by its name. Each parameter may still be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum Preset {
    /// A plain NewReno sender without options: no SACK, no timestamps, an ACK for each segment, a minimum timeout of
    /// 1 s, segments of 1500 B. The other presets name their differences from it.
    Basic,
    /// The recommendations of the current RFCs for every sender: SACK (RFC 2018, 6675) with D-SACK (2883), timestamps
    /// (7323), RACK-TLP (8985), and proportional rate reduction (9937). Further, undo of spurious timeouts and
    /// retransmissions (3522, 4015, 3708), delayed ACKs (5681), and a minimum timeout of 1 s (6298). NewReno's window
    /// law. Headers of IPv4 and TCP.
    Rfc,
    /// A Linux sender and receiver as configured by default since 4.18: as "rfc", with CUBIC in whole segments and
    /// HyStart, and with small queues. The minimum timeout is 200 ms above the smoothed round trip, and ACKs are
    /// delayed by 40 ms. Idle windows are halved, the ACKs of slow start count in full, and reductions apply to the
    /// window rather than to the data in flight. Sources: `net/ipv4/tcp_input.c`, `tcp_output.c`, `tcp_cubic.c`,
    /// `tcp_recovery.c`, `tcp_timer.c`.
    Linux,
    /// ns-2 2.35 as installed, `Agent/TCP/Newreno` or `/Reno`: its `ns-default.tcl`. Segments of 1000 B, all of them
    /// payload; `max_window_segments` is its `window_`. With `sack` it is `Agent/TCP/Sack1`.
    Ns2,
    /// ns-2's `Agent/TCP/Linux`, Linux 2.6.22's CUBIC or BIC: forward acknowledgement, rate-halving, a timer that each
    /// ACK restarts, a tick of 1 ms, data with the SYN, and no receiver's window: `max_congestion_window_segments` is
    /// its `window_`. Otherwise like "ns2".
    #[cfg_attr(feature = "config", serde(rename = "ns2_linux"))]
    Ns2Linux,
    /// ns-2 as in papers before 2001, by the dated comments of `ns-default.tcl`. The clock tick is 100 ms, the first
    /// timeout 6 s and the initial window 1. There is no minimum timeout, no SYN and no limited transmit; reductions
    /// are to whole segments. Otherwise like "ns2".
    #[cfg_attr(feature = "config", serde(rename = "ns2_pre2001"))]
    Ns2Pre2001,
}

impl Preset {
    /// Whether it models a simulator of old, whose hosts take no time for a packet.
    #[must_use]
    pub fn is_of_a_simulator(self) -> bool {
        matches!(self, Self::Basic | Self::Ns2 | Self::Ns2Linux | Self::Ns2Pre2001)
    }
}

impl TcpConfig {
    /// The parameters of a preset.
    #[must_use]
    pub fn preset(preset: Preset) -> Self {
        match preset {
            Preset::Basic => Self::default(),
            Preset::Rfc => Self::rfc(),
            Preset::Linux => Self::linux(),
            Preset::Ns2 => Self::ns2(20),
            Preset::Ns2Linux => Self::ns2_linux(20),
            Preset::Ns2Pre2001 => Self::ns2_pre2001(),
        }
    }

    /// [`Preset::Rfc`].
    #[must_use]
    pub fn rfc() -> Self {
        Self {
            preset: Preset::Rfc,
            sack: true,
            rate_reduction: Some(RateReduction::Proportional),
            dsack: true,
            rack: true,
            tail_loss_probe: true,
            timestamps: true,
            undo: true,
            delayed_ack: true,
            ..Self::default()
        }
    }

    /// [`Preset::Linux`].
    #[must_use]
    pub fn linux() -> Self {
        Self {
            preset: Preset::Linux,
            congestion_control: CongestionControl::Cubic(CubicConfig {
                arithmetic: CubicArithmetic::Linux,
                ..CubicConfig::default()
            }),
            // tcp_slow_start() takes what an ACK covers.
            byte_counting_limit: u32::MAX,
            min_rto: Span::from_milliseconds(200),
            min_rto_of: MinRtoOf::Deviation,
            max_rto: Span::from_seconds(120),
            delayed_ack_timeout: Span::from_milliseconds(40),
            ecn_floor: EcnFloor::TwoSegments,
            reduction_base: ReductionBase::CongestionWindow,
            timeout_response: TimeoutResponse::Linux,
            idle_restart: IdleRestart::Halving,
            small_queues: true,
            ..Self::rfc()
        }
    }

    /// [`Preset::Ns2`] with a window of `max_window_segments` (ns-2's `window_`).
    #[must_use]
    pub fn ns2(max_window_segments: u32) -> Self {
        Self {
            preset: Preset::Ns2,
            segment: Bytes(1000),
            header: Bytes(0),
            rate_reduction: Some(RateReduction::AtOnce),
            max_window_segments,
            initial_window_segments: 2,
            min_rto: Span::from_milliseconds(200),
            initial_rto: Span::from_seconds(3),
            timer_granularity: Span::from_milliseconds(10),
            ecn_floor: EcnFloor::Ns2,
            ecn_retransmissions: true,
            full_ack_window: FullAckWindow::SlowStartThreshold,
            grow_at_recovery_exit: true,
            ..Self::default()
        }
    }

    /// [`Preset::Ns2Linux`] with a congestion window of at most `max_congestion_window_segments` (ns-2's `window_`).
    #[must_use]
    pub fn ns2_linux(max_congestion_window_segments: u32) -> Self {
        Self {
            preset: Preset::Ns2Linux,
            congestion_control: CongestionControl::Linux26Cubic,
            sack: true,
            fack: true,
            duplicate_acks_restart_timer: true,
            rate_reduction: Some(RateReduction::RateHalving),
            max_congestion_window_segments: Some(max_congestion_window_segments),
            // `select_ca` sets the tick for any `tcpTick_`.
            timer_granularity: Span::from_milliseconds(1),
            handshake: false,
            ..Self::ns2(1 << 20)
        }
    }

    /// [`Preset::Ns2Pre2001`].
    #[must_use]
    pub fn ns2_pre2001() -> Self {
        Self {
            preset: Preset::Ns2Pre2001,
            initial_window_segments: 1,
            min_rto: Span::from_milliseconds(1),
            initial_rto: Span::from_seconds(6),
            timer_granularity: Span::from_milliseconds(100),
            limited_transmit: false,
            handshake: false,
            whole_segment_reduction: true,
            ..Self::ns2(20)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SlowStart;

    #[test]
    fn presets_are_valid() {
        for preset in [Preset::Basic, Preset::Rfc, Preset::Linux, Preset::Ns2, Preset::Ns2Linux, Preset::Ns2Pre2001] {
            let config = TcpConfig::preset(preset);
            assert_eq!(config.validate(), Ok(()), "{preset:?}");
            assert_eq!(config.preset, preset);
            // With SACK too, as ns-2's Sack1.
            assert_eq!(TcpConfig { sack: true, ..config }.validate(), Ok(()), "{preset:?}");
        }
    }
    #[test]
    fn a_preset_is_the_configuration_of_its_name() {
        assert_eq!(TcpConfig::preset(Preset::Basic), TcpConfig::default());
        assert_eq!(TcpConfig::preset(Preset::Rfc), TcpConfig::rfc());
        assert_eq!(TcpConfig::preset(Preset::Linux), TcpConfig::linux());
        assert_eq!(TcpConfig::preset(Preset::Ns2), TcpConfig::ns2(20));
        assert_eq!(TcpConfig::preset(Preset::Ns2Linux), TcpConfig::ns2_linux(20));
        assert_eq!(TcpConfig::preset(Preset::Ns2Pre2001), TcpConfig::ns2_pre2001());
        assert_eq!(
            (TcpConfig::ns2(33).max_window_segments, TcpConfig::ns2(33).max_congestion_window_segments),
            (33, None)
        );
        assert_eq!(TcpConfig::ns2_linux(33).max_congestion_window_segments, Some(33));
    }

    #[test]
    fn only_linux_responds_to_timeouts_as_linux() {
        let response = |preset| TcpConfig::preset(preset).timeout_response;
        assert_eq!(response(Preset::Linux), TimeoutResponse::Linux);
        for preset in [Preset::Rfc, Preset::Ns2, Preset::Ns2Linux, Preset::Ns2Pre2001] {
            assert_eq!(response(preset), TimeoutResponse::Rfc, "{preset:?}");
        }
    }

    #[test]
    fn the_timers_and_windows_are_those_of_each_stack() {
        let ms = Span::from_milliseconds;
        // Linux: TCP_RTO_MIN, TCP_RTO_MAX, TCP_DELACK_MIN. ns-2: minrto_, rtxcur_init_, tcpTick_, windowInit_.
        let timers = |c: TcpConfig| (c.min_rto, c.initial_rto, c.timer_granularity, c.initial_window_segments);
        let linux = TcpConfig::linux();
        assert_eq!((linux.min_rto, linux.max_rto, linux.delayed_ack_timeout), (ms(200), ms(120_000), ms(40)));
        assert_eq!(timers(TcpConfig::ns2(20)), (ms(200), ms(3000), ms(10), 2));
        assert_eq!(timers(TcpConfig::ns2_linux(20)), (ms(200), ms(3000), ms(1), 2));
        assert_eq!(timers(TcpConfig::ns2_pre2001()), (ms(1), ms(6000), ms(100), 1));
        for ns2 in [TcpConfig::ns2(20), TcpConfig::ns2_linux(20), TcpConfig::ns2_pre2001()] {
            assert_eq!((ns2.segment, ns2.header, ns2.payload_bytes()), (Bytes(1000), Bytes(0), 1000));
        }
    }

    #[test]
    fn hystart_comes_with_cubic_and_not_with_linux() {
        let linux = TcpConfig::linux();
        assert_eq!(linux.slow_start(), SlowStart::HyStart);
        let reno = TcpConfig { congestion_control: CongestionControl::NewReno, ..linux };
        assert_eq!(reno.slow_start(), SlowStart::Standard);
    }

    #[test]
    fn the_rfcs_and_linux_have_what_ns2_has_not() {
        let newer = |c: TcpConfig| [c.sack, c.dsack, c.rack, c.tail_loss_probe, c.timestamps, c.undo, c.delayed_ack];
        assert_eq!([TcpConfig::rfc(), TcpConfig::linux()].map(newer), [[true; 7]; 2]);
        assert_eq!([TcpConfig::ns2(20), TcpConfig::ns2_pre2001()].map(newer), [[false; 7]; 2]);
        // ns-2's own: whole segments once, no handshake in TCP/Linux and before 2001.
        let own = |c: TcpConfig| [c.ecn_retransmissions, c.grow_at_recovery_exit, c.handshake, c.limited_transmit];
        assert_eq!(own(TcpConfig::ns2(20)), [true; 4]);
        assert_eq!(own(TcpConfig::ns2_pre2001()), [true, true, false, false]);
        let linux = TcpConfig::ns2_linux(20);
        assert_eq!(
            [linux.sack, linux.fack, linux.duplicate_acks_restart_timer, linux.handshake],
            [true, true, true, false]
        );
        assert!(TcpConfig::ns2_pre2001().whole_segment_reduction && !TcpConfig::ns2(20).whole_segment_reduction);
    }
}
