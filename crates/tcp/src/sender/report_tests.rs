//! The samples of ACKs that a controller gets.

extern crate std;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use std::sync::{Mutex, MutexGuard};

use super::*;
use crate::{
    Ack, CongestionSample, Control, Controller, DeliveredSegment, Needs, Rate, Segment, SegmentOut, Span, TcpConfig,
};

/// A report to a controller, as far as these tests need it.
#[derive(Clone, Copy, Debug)]
struct Report {
    phase: Phase,
    delivered_segments: f64,
    marked_segments: f64,
    delivery: Delivery,
}

/// The calls of a controller.
#[derive(Debug, Default)]
struct Calls {
    reports: Vec<Report>,
    /// Segments reported as lost, each with the number lost by then.
    lost: Vec<(DeliveredSegment, u64)>,
    idle: u32,
}

/// A controller with a constant window, which records its calls.
#[derive(Debug)]
struct Recorder(Arc<Mutex<Calls>>);

impl Controller for Recorder {
    fn on_ack(&mut self, ack: &AckSample<'_>, _control: &mut Control) {
        let (delivered_segments, marked_segments) = (ack.delivered_segments, ack.marked_segments);
        let delivery = ack.delivery.copied().unwrap_or_default();
        let report = Report { phase: ack.phase, delivered_segments, marked_segments, delivery };
        self.0.lock().unwrap().reports.push(report);
    }

    fn on_loss(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}

    fn on_ecn(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}

    fn on_lost_segment(&mut self, segment: &DeliveredSegment, lost: u64, _control: &mut Control) {
        self.0.lock().unwrap().lost.push((*segment, lost));
    }

    fn on_sent_after_idle(&mut self, _now: Time, _control: &mut Control) {
        self.0.lock().unwrap().idle += 1;
    }

    fn on_timeout(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}
}

struct Nowhere;

impl SegmentOut for Nowhere {
    fn segment(&mut self, _segment: Segment) {}
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_milliseconds(ms)
}

/// An open sender with a window of ten segments of 1000 B, and its calls.
struct Flow {
    sender: Sender,
    calls: Arc<Mutex<Calls>>,
}

impl Flow {
    fn new(ecn: bool) -> Self {
        let segment = forebay_units::Bytes(1040);
        let config = TcpConfig { segment, ecn, rack: true, sack: true, handshake: false, ..TcpConfig::default() };
        let mut sender = Sender::new(&config);
        let calls = Arc::new(Mutex::new(Calls::default()));
        sender.controller = Box::new(Recorder(calls.clone()));
        sender.needs = Needs { delivery: true, marks: true, owns_recovery: true, ..Needs::default() };
        sender.reports_every_ack = true;
        sender.connection.delivery = Some(Box::default());
        sender.connection.controller_owns_recovery = true;
        sender.open(at(0), &mut Nowhere);
        Self { sender, calls }
    }

    fn write(&mut self, bytes: u64, ms: u64) {
        self.sender.write(bytes, at(ms), &mut Nowhere);
    }

    /// An ACK of everything below this number and of this block above it; returns the report.
    fn ack(&mut self, ms: u64, acknowledged: u64, held: Option<(u64, u64)>, ece: bool) -> Report {
        let mut ack = Ack { ack: acknowledged, ece, ..Ack::default() };
        held.into_iter().for_each(|(left, right)| assert!(ack.sack.push(left, right)));
        self.sender.on_ack(&ack, at(ms), &mut Nowhere);
        *self.calls().reports.last().unwrap()
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap()
    }
}

fn is_limited(report: &Report) -> bool {
    report.delivery.segment.unwrap().is_application_limited
}

#[test]
fn the_application_is_the_limit_where_all_is_sent_and_the_window_has_room() {
    // draft-cheng-iccrg-delivery-rate-estimation, section 3.4.
    let mut flow = Flow::new(false);
    flow.write(3000, 0);
    assert_eq!(flow.calls().idle, 1, "nothing is in flight yet");
    flow.write(2000, 1);
    assert_eq!(flow.calls().idle, 1);
    assert!(is_limited(&flow.ack(100, 3001, None, false)));
    assert!(is_limited(&flow.ack(101, 5001, None, false)));
}

#[test]
fn the_application_is_no_limit_while_something_waits_or_the_window_is_full() {
    // Section 3.4: unsent data, lost data, a full window.
    let is_noted = |prepare: fn(&mut Flow)| {
        let mut flow = Flow::new(false);
        flow.write(5000, 0);
        flow.ack(100, 2001, None, false);
        prepare(&mut flow);
        flow.sender.note_application_limit(at(101));
        flow.sender.phase = ConnectionPhase::Established;
        flow.sender.connection.data_end = flow.sender.connection.next;
        flow.sender.connection.window.congestion_window = 20.0;
        flow.sender.connection.apply_window();
        let end = flow.sender.connection.data_end;
        flow.sender.connection.data_end = end + 1000;
        flow.sender.send(at(101), &mut Nowhere);
        is_limited(&flow.ack(200, end + 1000, None, false))
    };
    // `tcp_rate_check_app_limited`: less than a segment may wait.
    assert!(is_noted(|_| {}));
    assert!(is_noted(|flow| flow.sender.connection.data_end += 999));
    assert!(!is_noted(|flow| flow.sender.connection.data_end += 1000));
    assert!(!is_noted(|flow| flow.sender.connection.window.congestion_window = 3.0));
    assert!(is_noted(|flow| flow.sender.connection.window.congestion_window = 3.5));
    assert!(!is_noted(|flow| flow.sender.phase = ConnectionPhase::SynSent));
}

#[test]
fn an_ack_of_one_short_segment_may_be_delayed() {
    // `tcp_clean_rtx_queue`: the sender's peer may wait for a second one.
    let mut flow = Flow::new(false);
    for (bytes, expected) in [(500, true), (1000, false), (1500, false)] {
        let end = flow.sender.connection.data_end;
        flow.write(bytes, 0);
        let report = flow.ack(100, end + bytes, None, false);
        assert_eq!(report.delivery.may_be_delayed, expected, "{bytes}");
        assert_eq!(report.delivered_segments, bytes as f64 / 1000.0);
    }
}

#[test]
fn losses_and_phases_are_reported() {
    let mut flow = Flow::new(false);
    flow.write(20_000, 0);
    assert_eq!(flow.ack(100, 2001, None, false).phase, Phase::Open);
    // The third segment is lost, and the ACK of the fourth to the sixth shows it.
    let report = flow.ack(200, 2001, Some((3001, 6001)), false);
    assert_eq!((report.phase, report.delivery.newly_lost), (Phase::Recovery, 1));
    let (segment, lost) = flow.calls().lost[0];
    assert_eq!((segment.in_flight, lost), (3, 1));
    assert_eq!(flow.ack(201, 2001, Some((3001, 7001)), false).phase, Phase::Recovery);
    assert_eq!(flow.ack(300, 12_001, None, false).phase, Phase::Open);
    // A timeout: until the data from before it is acknowledged.
    let deadline = flow.sender.deadline();
    flow.sender.on_timer(deadline, &mut Nowhere);
    assert!(flow.calls().lost.len() > 1);
    let now = deadline.picoseconds() / 1_000_000_000 + 100;
    assert_eq!(flow.ack(now, 13_001, None, false).phase, Phase::Timeout);
    assert_eq!(flow.ack(now, 20_001, None, false).phase, Phase::Open);
}

#[test]
fn marks_count_where_they_are_agreed_on() {
    // The echo of an ACK counts for all that it reports.
    for (ecn, marked) in [(true, 2), (false, 0)] {
        let mut flow = Flow::new(ecn);
        flow.write(5000, 0);
        let report = flow.ack(100, 2001, None, true);
        assert_eq!(report.delivery.marked, marked);
        let report = flow.ack(101, 3001, None, false);
        assert_eq!((report.delivery.marked, report.marked_segments), (marked, 0.0));
    }
    let mut flow = Flow::new(true);
    flow.write(5000, 0);
    assert_eq!(flow.ack(100, 2001, None, true).marked_segments, 2.0);
}

#[test]
fn the_next_departure_is_that_of_the_pacer_and_not_past() {
    let mut flow = Flow::new(false);
    flow.write(5000, 0);
    assert_eq!(flow.ack(100, 1001, None, false).delivery.next_departure, at(100));
    let mut pacer = crate::pacer::Pacer::new(Some(crate::Pacing::LINUX), false, 1000);
    // After ten segments, one at 80 kb/s takes 100 ms.
    let rate = Rate::new(80_000);
    (0..11).for_each(|_| pacer.pace(1000, rate, at(100)));
    flow.sender.connection.pacer = Some(Box::new(pacer));
    assert_eq!(flow.ack(101, 2001, None, false).delivery.next_departure, at(200));
    assert_eq!(flow.ack(300, 3001, None, false).delivery.next_departure, at(300));
}
