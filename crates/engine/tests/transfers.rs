//! Transfers that arrive during the run.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::{Arc, Mutex};

use forebay_engine::{
    Distribution, Impairments, Jitter, Packet, PacketOrder, RunError, RunResult, TcpData, Transfer, TransferTable,
    Transfers, Transport,
};
use forebay_qdisc::{FqCodel, FqCodelConfig, Queue, Rate, Span, Time};
use forebay_tcp::TcpConfig;
use support::{Star, drop_tail};

const MILLISECOND_PS: f64 = 1e9;

fn transfers(gap: Distribution, size: Distribution, connections: u32) -> Transport {
    let data = TcpData::Transfers(Transfers { gap, size, connections });
    Transport::Tcp { config: TcpConfig { sack: true, delayed_ack: true, ..TcpConfig::default() }, data }
}

/// Two sources of short transfers, more than the bottleneck takes at times.
fn bursts(connections: u32) -> Star {
    let (gap, size) = (Distribution::Exponential(20.0 * MILLISECOND_PS), Distribution::Exponential(10_000.0));
    let transfers = transfers(gap, size, connections);
    Star::default().flow("one", transfers.clone(), 0).flow("two", transfers, 0)
}

fn counts(result: &RunResult, column: &str) -> Vec<u64> {
    result.transfers.counts(column).to_vec()
}

/// Keeps all rows.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<(String, Transfer)>>>);

impl TransferTable for Kept {
    fn add(&mut self, flow: &str, transfers: &[Transfer]) -> Result<(), RunError> {
        self.0.lock().unwrap().extend(transfers.iter().map(|transfer| (flow.to_owned(), *transfer)));
        Ok(())
    }

    fn close(&mut self) -> Result<(), RunError> {
        Ok(())
    }
}

fn run_with_rows(star: Star, queue: Queue<Packet>) -> (RunResult, Vec<(String, Transfer)>) {
    let kept = Kept::default();
    let mut builder = star.builder(queue);
    builder.write_transfers(Box::new(kept.clone()));
    let result = builder.build().unwrap().run(&mut |_| true).unwrap();
    let rows = std::mem::take(&mut *kept.0.lock().unwrap());
    (result, rows)
}

#[test]
fn the_driver_changes_no_result() {
    for connections in [1, 3, 200] {
        for queue in [
            || drop_tail(10),
            || Queue::Discipline(Box::new(FqCodel::new(&FqCodelConfig::default(), Rate::megabits(10), 1).unwrap())),
        ] {
            let in_windows = bursts(connections).run(queue());
            let in_order = bursts(connections).network(queue()).run_in_order(&mut |_| true).unwrap();
            assert_eq!(in_order.digest, in_windows.digest);
        }
    }
}

#[test]
fn transfers_arrive_at_their_rate_and_are_completed() {
    let result = bursts(1000).run(drop_tail(1000));
    for (arrived, completed) in counts(&result, "arrived").into_iter().zip(counts(&result, "completed")) {
        // A Poisson process of 500 in the measured 10 s: five standard deviations are 112.
        assert!(arrived.abs_diff(500) < 112, "{arrived}");
        assert!(arrived.abs_diff(completed) < 50, "{completed} of {arrived}");
    }
    assert_eq!(counts(&result, "waited"), [0, 0]);
    assert_eq!(result.flows.counts("transfers_completed"), counts(&result, "completed"));
    // One row for each source, however many transfers it had.
    assert_eq!(result.flows.texts("name").iter().collect::<Vec<_>>(), ["one", "two"]);
    assert!(result.warnings.iter().all(|warning| !warning.text.contains("waited")));
}

#[test]
fn the_rows_of_transfers_add_up() {
    let star = Star { warmup: Span::ZERO, ..bursts(1000) };
    let (result, rows) = run_with_rows(star, drop_tail(20));
    assert_eq!(rows.len() as u64, counts(&result, "completed").iter().sum::<u64>());
    for (name, place) in [("one", 0), ("two", 1)] {
        let rows: Vec<Transfer> = rows.iter().filter(|(flow, _)| flow == name).map(|(_, row)| *row).collect();
        let mut numbers: Vec<u64> = rows.iter().map(|row| row.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), rows.len());
        assert!(rows.iter().all(|row| row.arrived == row.started && row.started < row.finished));
        let mean_s = rows.iter().map(|row| row.finished.since(row.arrived).seconds()).sum::<f64>() / rows.len() as f64;
        assert!((mean_s / result.transfers.floats("time_mean_s")[place] - 1.0).abs() < 1e-9);
        // Other transfers were delivered in part.
        let payload: u64 = rows.iter().map(|row| row.bytes).sum();
        let delivered = result.flows.floats("goodput_bps")[place] * (result.duration_s - result.warmup_s) / 8.0;
        assert!(delivered >= payload as f64 && delivered < payload as f64 * 1.05, "{delivered} {payload}");
    }
}

#[test]
fn with_one_connection_transfers_wait_for_each_other() {
    let (gap, size) = (Distribution::Constant(10.0 * MILLISECOND_PS), Distribution::Constant(100_000.0));
    let star = Star { warmup: Span::ZERO, ..Star::default() }.flow("all", transfers(gap, size, 1), 0);
    let (result, rows) = run_with_rows(star, drop_tail(1000));
    // 100 kB take 80 ms at 10 Mb/s.
    assert!(counts(&result, "waited")[0] >= counts(&result, "completed")[0] - 1);
    assert_eq!(counts(&result, "connections_max"), [1]);
    for pair in rows.windows(2) {
        assert_eq!(pair[1].1.started, pair[0].1.finished);
        assert_eq!(pair[1].1.arrived.since(pair[0].1.arrived).seconds(), 0.01);
    }
    assert!(result.warnings.iter().any(|warning| warning.text.contains("waited until one of its connections ended")));
}

#[test]
fn late_packets_of_earlier_connections_are_counted_and_freed() {
    // Copies and jitter bring packets after the end of their connection, in a slot that is used again at once.
    let impairments = Impairments {
        duplication: 0.2,
        jitter: Some(Jitter { distribution: Distribution::Exponential(50.0 * MILLISECOND_PS), correlation: 0.0 }),
        order: PacketOrder::ByDelay,
        ..Impairments::default()
    };
    let (gap, size) = (Distribution::Constant(MILLISECOND_PS), Distribution::Constant(3_000.0));
    let star = Star { impairments, ..Star::default() }.flow("all", transfers(gap, size, 1), 0);
    let result = star.run(drop_tail(1000));
    assert!(counts(&result, "completed")[0] > 20, "{:?}", counts(&result, "completed"));
    assert!(counts(&result, "packets_stale")[0] > 10, "{:?}", counts(&result, "packets_stale"));
}

#[test]
fn nothing_arrives_after_the_stop() {
    let (gap, size) = (Distribution::Constant(100.0 * MILLISECOND_PS), Distribution::Constant(1_000.0));
    let star = Star { warmup: Span::ZERO, stop: Time::from_picoseconds(1_050_000_000_000), ..Star::default() };
    let result = star.flow("all", transfers(gap, size, 10), 0).run(drop_tail(1000));
    assert_eq!((counts(&result, "arrived"), counts(&result, "completed")), (vec![10], vec![10]));
}
