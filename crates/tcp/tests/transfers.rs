//! Whatever the network does, a transfer arrives: every byte, in order, once, and the connection closes.

mod network;

use forebay_tcp::{
    Bbr3Config, BbrConfig, CongestionControl, CubicConfig, FullAckWindow, PartialAckTimer, Preset, RateReduction,
    RecoveryKind, Span, TcpConfig, Time,
};
use forebay_units::Rate;
use network::{Fate, Network, Path, at_ms};
use proptest::prelude::*;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// Something with probability `percent` / 100.
fn happens(rng: &mut Pcg64Mcg, percent: u32) -> bool {
    rng.next_u32() % 100 < percent
}

/// A configuration or, where this is possible, the same one with QUIC's recovery.
fn any_recovery() -> impl Strategy<Value = TcpConfig> {
    let controller = proptest::option::of(proptest::sample::select(vec![
        CongestionControl::Cubic(CubicConfig::default()),
        CongestionControl::Bbr(BbrConfig::default()),
        CongestionControl::Bbr3(Bbr3Config::default()),
    ]));
    let switches = (any::<bool>(), any::<bool>(), any::<bool>());
    (any_config(), switches, controller).prop_map(|(config, (is_quic, dsack, pacing), controller)| {
        if !is_quic {
            return config;
        }
        TcpConfig {
            recovery: RecoveryKind::Quic,
            congestion_control: controller.unwrap_or(config.congestion_control),
            pacing,
            sack: true,
            timestamps: true,
            dsack,
            rate_reduction: None,
            fack: false,
            rack: false,
            tail_loss_probe: false,
            undo: false,
            max_rto: Span::from_seconds(10).max(config.initial_rto),
            ..config
        }
    })
}

fn any_config() -> impl Strategy<Value = TcpConfig> {
    let variant = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let switches = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let windows = (1u32..40, 1u32..12, proptest::option::of(2u32..20), 1u32..3);
    let reductions =
        proptest::sample::select(vec![RateReduction::AtOnce, RateReduction::RateHalving, RateReduction::Proportional]);
    let preset = proptest::option::of(proptest::sample::select(vec![Preset::Rfc, Preset::Linux, Preset::Ns2]));
    let presets = (preset, reductions, proptest::option::of(1u32..20), any::<bool>(), any::<bool>());
    (variant, switches, windows, presets).prop_map(
        |((is_reno, sack, is_steady, bursts), (delayed_ack, limited_transmit, ecn, handshake), windows, presets)| {
            let (preset, rate_reduction, max_congestion_window_segments, fack, duplicate_acks_restart_timer) = presets;
            let base = preset.map_or_else(TcpConfig::default, TcpConfig::preset);
            let sack = sack || base.sack;
            TcpConfig {
                congestion_control: if is_reno { CongestionControl::Reno } else { CongestionControl::NewReno },
                sack,
                rate_reduction: sack.then_some(rate_reduction),
                fack: sack && fack && !base.rack,
                duplicate_acks_restart_timer,
                partial_ack_timer: if is_steady { PartialAckTimer::SlowButSteady } else { PartialAckTimer::Impatient },
                full_ack_window: if bursts { FullAckWindow::SlowStartThreshold } else { FullAckWindow::FlightSize },
                delayed_ack,
                limited_transmit,
                ecn,
                handshake,
                max_window_segments: windows.0,
                max_congestion_window_segments,
                initial_window_segments: windows.1,
                initial_ssthresh_segments: windows.2,
                byte_counting_limit: windows.3,
                ..base
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn every_byte_arrives_once_whatever_is_lost_late_or_marked(
        config in any_recovery(),
        bytes in 0u64..120_000,
        loss_percent in 0u32..60,
        ack_loss_percent in 0u32..60,
        late_percent in 0u32..30,
        mark_percent in 0u32..30,
        buffer in 1usize..30,
        seed in any::<u64>(),
    ) {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut ack_rng = Pcg64Mcg::seed_from_u64(!seed);
        let mut path = Path::delay(Span::from_milliseconds(10)).with_segment_fate(move |_, segment| {
            if happens(&mut rng, loss_percent) {
                Fate::Drop
            } else if happens(&mut rng, late_percent) {
                Fate::Late
            } else if segment.ect && happens(&mut rng, mark_percent) {
                Fate::Mark
            } else {
                Fate::Pass
            }
        });
        path.ack_is_lost = Box::new(move |_, _| happens(&mut ack_rng, ack_loss_percent));
        path.rate = Some(Rate::megabits(5));
        path.limit = buffer;
        let mut network = Network::new(config, path);
        network.transfer(bytes);
        network.run_until(Time::NEVER);
        prop_assert!(network.sender.is_finished());
        prop_assert!(network.receiver.is_closed());
        prop_assert_eq!(network.receiver.delivered_bytes(), bytes);
        prop_assert_eq!(network.sender.acked_bytes(), bytes);
        prop_assert_eq!(network.sender.deadline(), Time::NEVER);
        prop_assert_eq!(network.sender.counters().segments_sent, network.log.len() as u64);
    }

    #[test]
    fn writes_of_any_sizes_add_up(writes in proptest::collection::vec((0u64..5000, 0u64..400), 1..20), sack: bool) {
        let config = TcpConfig { sack, ..TcpConfig::default() };
        let path = Path::delay(Span::from_milliseconds(20))
            .with_segment_fate(|n, _| if n % 7 == 3 { Fate::Drop } else { Fate::Pass });
        let mut network = Network::new(config, path);
        network.drive_sender(|sender, now, out| sender.open(now, out));
        for &(bytes, pause_ms) in &writes {
            network.drive_sender(|sender, now, out| sender.write(bytes, now, out));
            network.run_until(network.now + Span::from_milliseconds(pause_ms));
        }
        network.drive_sender(|sender, now, out| sender.close(now, out));
        network.run_until(Time::NEVER);
        prop_assert!(network.sender.is_finished());
        prop_assert_eq!(network.receiver.delivered_bytes(), writes.iter().map(|&(bytes, _)| bytes).sum::<u64>());
    }
}

#[test]
fn a_clean_transfer_sends_each_segment_once() {
    let mut network = Network::new(TcpConfig::default(), Path::delay(Span::from_milliseconds(50)));
    network.transfer(1460 * 25 + 100);
    network.run_until(Time::NEVER);
    // The SYN; 10 + 16 segments in two windows, the last of them partial; the FIN.
    assert_eq!(network.log.len(), 1 + 26 + 1);
    let last = &network.log[26..];
    assert_eq!((last[0].segment.payload_bytes, last[0].segment.fin), (100, false));
    assert_eq!((last[1].segment.payload_bytes, last[1].segment.fin), (0, true));
    assert_eq!(network.sender.counters().segments_retransmitted, 0);
    assert_eq!(network.now, at_ms(300));
    assert!(network.receiver.is_closed());
}

#[test]
fn closing_endless_data_ends_it() {
    let mut network = Network::new(TcpConfig::ns2(8), Path::delay(Span::from_milliseconds(50)));
    network.unlimited();
    network.run_until(at_ms(1000));
    assert!(!network.sender.is_finished());
    network.drive_sender(|sender, now, out| sender.close(now, out));
    // Ignored from now on.
    network.drive_sender(|sender, now, out| sender.write(5000, now, out));
    network.run_until(Time::NEVER);
    assert!(network.sender.is_finished());
    assert_eq!(network.receiver.delivered_bytes(), network.sender.acked_bytes());
    assert_eq!(network.receiver.delivered_bytes() % 1000, 0);
    assert!(network.now < at_ms(1200));
}

#[test]
fn a_lost_fin_is_sent_again() {
    let path = Path::delay(Span::from_milliseconds(50))
        .with_segment_fate(|_, s| if s.fin && !s.retransmission { Fate::Drop } else { Fate::Pass });
    let mut network = Network::new(TcpConfig::default(), path);
    network.drive_sender(|sender, now, out| {
        sender.open(now, out);
        sender.write(3000, now, out);
    });
    network.run_until(at_ms(500));
    network.drive_sender(|sender, now, out| sender.close(now, out));
    let bare_fin = network.log.last().unwrap().segment;
    assert_eq!((bare_fin.seq, bare_fin.payload_bytes, bare_fin.fin), (3001, 0, true));
    network.run_until(Time::NEVER);
    assert!(network.sender.is_finished() && network.receiver.is_closed());
    assert_eq!(network.receiver.delivered_bytes(), 3000);
    assert_eq!(network.sender.counters().timeouts, 1);
}

#[test]
fn an_empty_transfer_opens_and_closes() {
    let mut network = Network::new(TcpConfig::default(), Path::delay(Span::from_milliseconds(50)));
    network.transfer(0);
    network.run_until(Time::NEVER);
    assert!(network.sender.is_finished() && network.receiver.is_closed());
    assert_eq!(network.receiver.delivered_bytes(), 0);
    assert_eq!(network.log.len(), 2);
}
