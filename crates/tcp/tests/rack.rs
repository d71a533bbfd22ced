//! RACK-TLP (RFC 8985), and the undoing of reductions (RFC 3522, 3708, 4015), end to end.

mod network;

use forebay_tcp::{Segment, Span, TcpConfig, Time};
use network::{Fate, Network, Path, at_ms, at_seconds};

const DELAY: Span = Span::from_milliseconds(50);

fn config() -> TcpConfig {
    TcpConfig { handshake: false, delayed_ack: false, ..TcpConfig::rfc() }
}

fn payload(config: &TcpConfig) -> u64 {
    u64::from(config.payload_bytes())
}

fn transfer(config: TcpConfig, bytes: u64, fate: impl FnMut(usize, &Segment) -> Fate + 'static) -> Network {
    let mut network = Network::new(config, Path::delay(DELAY).with_segment_fate(fate));
    network.transfer(bytes);
    network.run_until(Time::NEVER);
    assert!(network.sender.is_finished());
    network
}

/// The retransmissions with their times.
fn resent(network: &Network) -> Vec<(u64, Time)> {
    network.retransmissions().iter().map(|sent| (sent.segment.seq, sent.at)).collect()
}

#[test]
fn a_lost_retransmission_is_found_by_time() {
    for (rack, timeouts) in [(true, 0), (false, 1)] {
        let config = TcpConfig { rack, tail_loss_probe: rack, ..config() };
        let bytes = 60 * payload(&config);
        // The first segment is lost, and so is its first retransmission.
        let mut lost = 0;
        let network = transfer(config, bytes, move |_, segment| {
            let is_lost = segment.seq == 1 && lost < 2;
            lost += usize::from(is_lost);
            if is_lost { Fate::Drop } else { Fate::Pass }
        });
        assert_eq!(network.sender.counters().timeouts, timeouts, "rack {rack}");
    }
}

/// Section 7: the loss of the last segments is repaired after two round trips by a probe, which counts as a loss.
#[test]
fn the_last_segment_is_mended_by_a_probe() {
    let bytes = 10 * payload(&config());
    let last = 1 + 9 * payload(&config());
    let is_last = move |segment: &Segment| segment.seq == last && !segment.retransmission;
    let lose = move |_: usize, segment: &Segment| if is_last(segment) { Fate::Drop } else { Fate::Pass };
    // The FIN is behind it: its SACK shows the loss, after a quarter of a round trip for reordering.
    let network = transfer(config(), bytes, lose);
    let counters = network.sender.counters();
    assert_eq!((counters.timeouts, counters.probes), (0, 0));
    assert_eq!(resent(&network), [(last, at_ms(125))]);
    // Nothing is behind it.
    let without = TcpConfig { tail_loss_probe: false, ..config() };
    let mut network = Network::new(without, Path::delay(DELAY).with_segment_fate(lose));
    network.drive_sender(|sender, now, out| {
        sender.open(now, out);
        sender.write(bytes, now, out);
    });
    network.run_until(Time::NEVER);
    assert_eq!(network.sender.counters().timeouts, 1);
    let mut network = Network::new(config(), Path::delay(DELAY).with_segment_fate(lose));
    network.drive_sender(|sender, now, out| {
        sender.open(now, out);
        sender.write(bytes, now, out);
    });
    network.run_until(Time::NEVER);
    let counters = network.sender.counters();
    assert_eq!((counters.timeouts, counters.probes), (0, 1));
    // The ACKs of the others came at 100 ms; one segment in flight must wait for a delayed ACK, too: 2 x 100 + 200 ms.
    assert_eq!(resent(&network), [(last, at_ms(500))]);
    // The reduction stays: the ACKs of what is sent later return older timestamps than it, and repeat nothing.
    assert_eq!(network.sender.slow_start_threshold_bytes(), None);
    network.drive_sender(|sender, now, out| sender.write(bytes, now, out));
    network.run_until(Time::NEVER);
    assert!(network.sender.slow_start_threshold_bytes().is_some());
    assert_eq!(network.sender.counters().spurious_reductions, 0);
}

/// A probe that finds nothing missing changes nothing: the ACK was only late.
#[test]
fn a_probe_in_vain_leaves_the_window_alone() {
    let bytes = 8 * payload(&config());
    let mut network = Network::new(config(), Path::delay(DELAY));
    // The ACKs of the last two are lost.
    network.path.ack_is_lost = Box::new(|n, _| n == 6 || n == 7);
    network.drive_sender(|sender, now, out| {
        sender.open(now, out);
        sender.write(bytes, now, out);
    });
    network.run_until(Time::NEVER);
    let counters = network.sender.counters();
    assert_eq!((counters.timeouts, counters.probes, counters.fast_recoveries), (0, 1, 0));
    assert_eq!(network.sender.slow_start_threshold_bytes(), None);
    // The D-SACK reported it.
    assert!(network.acks.last().unwrap().1.duplicate_block().is_some());
}

/// The ACK of an unnecessary probe without D-SACK is a bare duplicate, which says as much (section 7.4.2).
#[test]
fn a_probe_in_vain_is_told_by_a_bare_duplicate_too() {
    let config = TcpConfig { dsack: false, ..config() };
    let bytes = 8 * payload(&config);
    let mut network = Network::new(config, Path::delay(DELAY));
    // The ACKs of the last two come late: after the probe, and before its own.
    network.path.ack_is_lost = Box::new(|n, _| n == 6 || n == 7);
    network.drive_sender(|sender, now, out| {
        sender.open(now, out);
        sender.write(bytes, now, out);
    });
    network.run_until(at_ms(650));
    let counters = network.sender.counters();
    assert_eq!((counters.timeouts, counters.probes), (0, 1));
    // The probe's ACK again, as a duplicate; then more is sent.
    let last = network.acks.last().unwrap().1;
    network.drive_sender(|sender, now, out| sender.on_ack(&last, now, out));
    network.drive_sender(|sender, now, out| sender.write(bytes, now, out));
    network.run_until(Time::NEVER);
    assert_eq!(network.sender.slow_start_threshold_bytes(), None);
}

/// Once reordering has been seen, segments that are late by less than a quarter of a round trip are not sent again.
#[test]
fn reordering_is_tolerated_once_it_is_known() {
    let bytes = 400 * payload(&config());
    let resent_with = |rack: bool| {
        let config = TcpConfig { rack, tail_loss_probe: rack, ..config() };
        let mut network = Network::new(
            config,
            Path { late: Span::from_milliseconds(20), ..Path::delay(DELAY) }
                .with_segment_fate(|n, _| if n % 20 == 10 { Fate::Late } else { Fate::Pass }),
        );
        network.transfer(bytes);
        network.run_until(Time::NEVER);
        assert!(network.sender.is_finished());
        network.retransmissions().len()
    };
    let (with, without) = (resent_with(true), resent_with(false));
    assert!(with <= 3 && without > 10, "{with}, {without}");
}

/// RFC 3522: everything is late by more than the timeout, and the timestamps of the ACKs show that nothing was lost.
#[test]
fn a_spurious_timeout_is_undone() {
    for ((undo, spurious), fack) in [((true, 1), false), ((false, 0), false), ((true, 1), true)] {
        let config = TcpConfig { undo, rack: !fack, fack, tail_loss_probe: false, dsack: false, ..config() };
        let bytes = 200 * payload(&config);
        let is_slow = |segment: &Segment| (at_ms(300)..at_ms(1600)).contains(&segment.sent);
        let spike = move |_: usize, segment: &Segment| if is_slow(segment) { Fate::Late } else { Fate::Pass };
        let path = Path { late: Span::from_seconds(2), ..Path::delay(DELAY) };
        let mut network = Network::new(config.clone(), path.with_segment_fate(spike));
        network.transfer(bytes);
        network.run_until(Time::NEVER);
        let counters = network.sender.counters();
        assert_eq!((counters.timeouts, counters.spurious_reductions), (1, spurious), "{undo}");
        assert_eq!(network.sender.slow_start_threshold_bytes().is_none(), undo);
        // The timeout's own retransmission, and no more than that once it is known to have been unnecessary.
        assert!(!undo || network.retransmissions().len() <= 2, "{}", network.retransmissions().len());
    }
}

/// RFC 3708: without timestamps D-SACK shows that a fast retransmission was unnecessary.
#[test]
fn a_spurious_fast_retransmit_is_undone_by_dsack() {
    for (undo, spurious) in [(true, 1), (false, 0)] {
        let config = TcpConfig { timestamps: false, rack: false, tail_loss_probe: false, undo, ..config() };
        let bytes = 100 * payload(&config);
        let late = |n: usize, _: &Segment| if n == 30 { Fate::Late } else { Fate::Pass };
        let mut network = Network::new(config, Path::delay(DELAY).with_segment_fate(late));
        network.transfer(bytes);
        network.run_until(at_seconds(60));
        let counters = network.sender.counters();
        assert_eq!((counters.fast_recoveries, counters.spurious_reductions), (1, spurious), "{undo}");
    }
}
