//! The bounds of parameters, and bytes on the wire.

use super::*;
use crate::{BicConfig, CubicConfig};

#[test]
fn defaults_are_valid() {
    assert_eq!(TcpConfig::default().validate(), Ok(()));
    for congestion_control in [cubic(0.7, 0.4), bic(0.8, 1, 1)] {
        assert_eq!(TcpConfig { congestion_control, ..TcpConfig::default() }.validate(), Ok(()));
    }
}

fn cubic(beta: f64, growth: f64) -> CongestionControl {
    CongestionControl::Cubic(CubicConfig { beta, growth, ..CubicConfig::default() })
}

fn bic(beta: f64, max_increment: u32, smooth_part: u32) -> CongestionControl {
    CongestionControl::Bic(BicConfig { beta, max_increment, smooth_part, ..BicConfig::default() })
}

fn quic() -> TcpConfig {
    TcpConfig { recovery: RecoveryKind::Quic, sack: true, timestamps: true, ..TcpConfig::default() }
}

#[test]
fn an_error_names_field_and_bound() {
    type Spoil = fn(&mut TcpConfig);
    let cases: &[(&str, Spoil)] = &[
        ("congestion_control.cubic.beta", |c| c.congestion_control = cubic(1.0, 0.4)),
        ("congestion_control.cubic.beta", |c| c.congestion_control = cubic(f64::NAN, 0.4)),
        ("congestion_control.cubic.growth", |c| c.congestion_control = cubic(0.7, 0.0)),
        ("congestion_control.cubic.beta", |c| c.congestion_control = cubic(0.0, 0.4)),
        ("congestion_control.bic.beta", |c| c.congestion_control = bic(0.0, 16, 20)),
        ("congestion_control.bic.beta", |c| c.congestion_control = bic(1.0, 16, 20)),
        ("congestion_control.bic.max_increment", |c| c.congestion_control = bic(0.8, 0, 20)),
        ("congestion_control.bic.smooth_part", |c| c.congestion_control = bic(0.8, 16, 0)),
        ("segment", |c| c.segment = Bytes(40)),
        ("segment", |c| c.segment = Bytes(1 << 40)),
        ("ack_size", |c| c.ack_size = Bytes(0)),
        ("max_window_segments", |c| c.max_window_segments = 0),
        ("max_congestion_window_segments", |c| c.max_congestion_window_segments = Some(0)),
        ("rate_reduction", |c| c.rate_reduction = Some(RateReduction::Proportional)),
        ("fack", |c| c.fack = true),
        ("dsack", |c| c.dsack = true),
        ("recovery", |c| (c.recovery, c.sack) = (RecoveryKind::Quic, true)),
        ("recovery", |c| (c.recovery, c.timestamps) = (RecoveryKind::Quic, true)),
        ("fack", |c| (*c, c.fack) = (quic(), true)),
        ("rack", |c| (*c, c.rack) = (quic(), true)),
        ("tail_loss_probe", |c| (*c, c.tail_loss_probe) = (quic(), true)),
        ("undo", |c| (*c, c.undo) = (quic(), true)),
        ("rate_reduction", |c| (*c, c.rate_reduction) = (quic(), Some(RateReduction::AtOnce))),
        ("rack", |c| c.rack = true),
        ("tail_loss_probe", |c| (c.sack, c.tail_loss_probe) = (true, true)),
        ("pacing", |c| c.pacing = true),
        ("slow_start", |c| {
            c.congestion_control = CongestionControl::Vegas(crate::VegasConfig::default());
            c.slow_start = Some(SlowStart::HyStart);
        }),
        ("congestion_control", |c| c.congestion_control = CongestionControl::Bbr(crate::BbrConfig::default())),
        ("ecn_feedback", |c| c.ecn_feedback = Some(EcnFeedback::Accurate)),
        ("ecn_option", |c| (c.ecn, c.ecn_option) = (true, false)),
        ("ecn_codepoint", |c| c.ecn_codepoint = Some(EcnCodepoint::Ect0)),
        ("ecn_control_packets", |c| c.ecn_control_packets = Some(true)),
        ("ecn_codepoint", |c| (c.ecn, c.ecn_codepoint) = (true, Some(EcnCodepoint::Ect1))),
        ("small_queues", |c| c.small_queues = true),
        ("undo", |c| c.undo = true),
        ("segment", |c| (c.segment, c.timestamps) = (Bytes(52), true)),
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
    }
}

#[cfg(feature = "config")]
#[test]
fn the_recovery_of_quic_drops_what_it_replaces_from_a_preset_only() {
    for preset in [None, Some(Preset::Linux), Some(Preset::Rfc)] {
        let given = || Given { preset, recovery: Some(RecoveryKind::Quic), ..Given::default() };
        let config = given().resolve();
        assert_eq!(config.validate(), Ok(()));
        assert!(config.dsack && !(config.fack || config.rack || config.tail_loss_probe || config.undo));
        let paced = Given { pacing: Some(true), small_queues: Some(true), ..given() };
        assert_eq!(paced.resolve().validate(), Ok(()));
        let explicit = Given { rack: Some(true), ..given() };
        assert_eq!(explicit.resolve().validate().unwrap_err().field, "rack");
        let without = Given { timestamps: Some(false), ..given() };
        assert_eq!(without.resolve().validate().unwrap_err().field, "recovery");
        let tcp = Given { preset, recovery: Some(RecoveryKind::Tcp), ..Given::default() };
        assert_eq!(tcp.resolve(), Given { preset, ..Given::default() }.resolve());
    }
}

#[test]
fn bytes_on_the_wire() {
    let config = TcpConfig::default();
    assert_eq!(config.payload_bytes(), 1460);
    assert_eq!(config.wire_bytes(&Segment { payload_bytes: 1460, ..Segment::default() }), 1500);
    assert_eq!(config.wire_bytes(&Segment { syn: true, ..Segment::default() }), 40);
    let timestamps = TcpConfig { timestamps: true, ..config };
    assert_eq!(timestamps.payload_bytes(), 1448);
    assert_eq!(timestamps.wire_bytes(&Segment { payload_bytes: 1448, ..Segment::default() }), 1500);
    assert_eq!(timestamps.wire_bytes(&Segment { syn: true, ..Segment::default() }), 52);
    let ns2 = TcpConfig::ns2(20);
    assert_eq!(ns2.wire_bytes(&Segment { payload_bytes: 1000, ..Segment::default() }), 1000);
    assert_eq!(ns2.wire_bytes(&Segment { syn: true, ..Segment::default() }), 40);
}
#[test]
fn a_parameter_may_be_at_its_bound() {
    type Set = fn(&mut TcpConfig);
    let cases: &[Set] = &[
        |c| c.segment = Bytes(65_535),
        |c| c.ack_size = Bytes(1),
        |c| c.ack_size = Bytes(65_535 - 8),
        |c| c.max_window_segments = 1,
        |c| c.max_window_segments = 1 << 24,
        |c| c.max_congestion_window_segments = Some(1),
        |c| c.initial_window_segments = 1,
        |c| c.initial_ssthresh_segments = Some(2),
        |c| c.byte_counting_limit = 1,
        |c| c.max_rto = Span::from_seconds(3600),
        |c| {
            (c.min_rto, c.initial_rto, c.max_rto) =
                (Span::from_seconds(1), Span::from_seconds(1), Span::from_seconds(1))
        },
        |c| c.timer_granularity = Span::from_seconds(1),
        |c| c.delayed_ack_timeout = Span::from_milliseconds(500),
        |c| (c.sack, c.dsack, c.undo) = (true, true, true),
        |c| (c.timestamps, c.undo) = (true, true),
        |c| (*c, c.pacing, c.small_queues) = (quic(), true, true),
        |c| (c.ecn, c.ecn_feedback, c.ecn_option) = (true, Some(EcnFeedback::Accurate), false),
        |c| (*c, c.congestion_control) = (quic(), CongestionControl::Bbr(crate::BbrConfig::default())),
    ];
    for (index, set) in cases.iter().enumerate() {
        let mut config = TcpConfig::default();
        set(&mut config);
        assert_eq!(config.validate(), Ok(()), "case {index}");
    }
    let past: &[(&str, Set)] = &[
        ("segment", |c| c.segment = Bytes(65_536)),
        ("ack_size", |c| c.ack_size = Bytes(65_536)),
        ("max_window_segments", |c| c.max_window_segments = (1 << 24) + 1),
        ("max_rto", |c| c.max_rto = Span::from_seconds(3601)),
        ("delayed_ack_timeout", |c| c.delayed_ack_timeout = Span::from_milliseconds(501)),
    ];
    for (field, set) in past {
        let mut config = TcpConfig::default();
        set(&mut config);
        assert_eq!(config.validate().unwrap_err().field, *field);
    }
}

#[test]
fn cubic_comes_with_hystart_and_the_others_with_the_standard_slow_start() {
    assert_eq!(
        TcpConfig { congestion_control: cubic(0.7, 0.4), ..TcpConfig::default() }.slow_start(),
        SlowStart::HyStart
    );
    let standard = TcpConfig { congestion_control: bic(0.8, 16, 20), ..TcpConfig::default() };
    assert_eq!(standard.slow_start(), SlowStart::Standard);
    assert_eq!(TcpConfig { slow_start: Some(SlowStart::HyStart), ..standard }.slow_start(), SlowStart::HyStart);
}

#[test]
fn the_congestion_window_is_limited_by_the_lesser_of_both_limits() {
    for (most, window, expected) in [(None, 50, 50), (Some(20), 50, 20), (Some(80), 50, 50)] {
        let config =
            TcpConfig { max_congestion_window_segments: most, max_window_segments: window, ..TcpConfig::default() };
        assert_eq!(config.congestion_window_limit(), expected);
    }
}

#[test]
fn the_setup_of_controllers_has_the_same_defaults() {
    let (setup, default) = (TcpConfig::default().setup(), Setup::default());
    assert_eq!((setup.payload_bytes, setup.header_bytes), (default.payload_bytes, default.header_bytes));
    assert_eq!(setup.initial_window_segments, default.initial_window_segments);
    assert_eq!((setup.initial_threshold, setup.slow_start), (default.initial_threshold, default.slow_start));
    assert_eq!((setup.ecn, setup.ecn_floor), (default.ecn, default.ecn_floor));
    assert_eq!(setup.whole_segment_reduction, default.whole_segment_reduction);
    assert_eq!(setup.timeout_response, default.timeout_response);
}
