//! The sender of a queue pair: its window, its pace and its retransmissions.
//!
//! A queue pair may send if data is left, the data in flight is less than the window, and the time has come at which
//! its rate allows the next packet. The host chooses among its queue pairs, and obeys PAUSE.
//!
//! Source: `rdma-hw.cc`, `rdma-queue-pair.cc` and `qbb-net-device.cc` of HPCC's and ConWeave's simulators.

use alloc::boxed::Box;

use forebay_units::control::{AckSample, CongestionSample, Control, Phase, RoundTrips};
use forebay_units::{Rate, Span, Time};

use crate::controller::{NicController, Setup};
use crate::irn::IrnSender;
use crate::roce::{Acknowledgement, DataPacket, Recovery, RoceConfig, RoceWindow};

/// The next step of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This packet leaves now.
    Send(DataPacket),
    /// The rate allows the next packet at this time.
    At(Time),
    /// The window is full.
    Window,
    /// All data has been sent, and some is not acknowledged.
    Idle,
    /// All data is acknowledged.
    Done,
}

/// A queue pair that sends.
#[derive(Debug)]
pub struct QueuePair {
    size: u64,
    /// The first byte that is not acknowledged.
    una: u64,
    /// The next byte to send, and the highest one so far.
    next: u64,
    highest: u64,
    /// The rate allows no packet before.
    next_available: Time,
    timeout_at: Time,
    control: Control,
    controller: Box<dyn NicController>,
    window_bytes: u64,
    line_rate: Rate,
    irn: Option<IrnSender>,
    last_packet_bytes: u32,
    retransmitted_packets: u32,
    timeouts: u32,
}

impl QueuePair {
    /// A queue pair with `size` bytes to send.
    #[must_use]
    pub fn new(size: u64, controller: Box<dyn NicController>, setup: &Setup, config: &RoceConfig) -> Self {
        let window = controller.initial_window(f64::INFINITY);
        Self {
            size,
            una: 0,
            next: 0,
            highest: 0,
            next_available: Time::ZERO,
            timeout_at: Time::NEVER,
            control: Control::new(window, f64::INFINITY),
            controller,
            window_bytes: setup.window_bytes,
            line_rate: setup.line_rate,
            irn: (config.recovery == Recovery::Irn).then(IrnSender::default),
            last_packet_bytes: 0,
            retransmitted_packets: 0,
            timeouts: 0,
        }
    }

    /// Adds data to send.
    pub fn add(&mut self, bytes: u64) {
        self.size += bytes;
    }

    /// Whether all data is acknowledged.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.una >= self.size
    }

    /// The first byte that is not acknowledged.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        self.una
    }

    /// The current rate.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.control.pacing_rate.unwrap_or(self.line_rate)
    }

    /// Packets sent again, and timeouts.
    #[must_use]
    pub fn repairs(&self) -> (u32, u32) {
        (self.retransmitted_packets, self.timeouts)
    }

    /// Whether the flow should change its path now. Resets the request.
    pub fn takes_new_path(&mut self) -> bool {
        self.controller.takes_new_path()
    }

    /// The window in bytes.
    #[must_use]
    pub fn window(&self, config: &RoceConfig) -> u64 {
        let of_path = match config.window {
            RoceWindow::None => u64::MAX,
            RoceWindow::Fixed => self.window_bytes,
            RoceWindow::Variable => {
                let share = self.rate().bits_per_second() as f64 / self.line_rate.bits_per_second() as f64;
                ((self.window_bytes as f64 * share) as u64).max(1)
            }
        };
        // A float-to-integer cast saturates.
        of_path.min((self.control.congestion_window * config.payload.0 as f64) as u64)
    }

    fn is_blocked_at(&self, next: u64, bytes: u64, config: &RoceConfig) -> bool {
        let window = self.window(config);
        match &self.irn {
            Some(irn) => !irn.allows(next, bytes, window),
            None => next - self.una >= window,
        }
    }

    /// The bytes of the next packet: the first one and the end.
    fn next_range(&self, config: &RoceConfig) -> (u64, u64) {
        let next = self.irn.as_ref().map_or(self.next, |irn| irn.skip(self.next));
        let end = (next + config.payload.0).min(self.size);
        (next, self.irn.as_ref().map_or(end, |irn| irn.clip(next, end)))
    }

    /// When the pace lets the next packet go; [`Time::NEVER`] if the window or the lack of data keeps it.
    #[must_use]
    pub fn next_departure(&self, config: &RoceConfig) -> Time {
        let (next, end) = self.next_range(config);
        let waits = self.is_complete() || next >= self.size || self.is_blocked_at(next, end - next, config);
        if waits { Time::NEVER } else { self.next_available }
    }

    /// The packet that leaves at `now`, or what it waits for.
    pub fn next_packet(&mut self, now: Time, config: &RoceConfig) -> Next {
        if self.is_complete() {
            return Next::Done;
        }
        let (next, end) = self.next_range(config);
        self.next = next;
        if self.next >= self.size {
            return Next::Idle;
        }
        if self.is_blocked_at(self.next, end - self.next, config) {
            return Next::Window;
        }
        if now < self.next_available {
            return Next::At(self.next_available);
        }
        Next::Send(self.send(end, now, config))
    }

    fn send(&mut self, end: u64, now: Time, config: &RoceConfig) -> DataPacket {
        let payload_bytes = (end - self.next) as u32;
        let wire_bytes = payload_bytes + config.header_bytes() as u32;
        let packet =
            DataPacket { sequence: self.next, payload_bytes, wire_bytes, is_retransmission: self.next < self.highest };
        if let Some(irn) = &mut self.irn {
            irn.on_sent(self.next);
        }
        self.retransmitted_packets += u32::from(packet.is_retransmission);
        self.next = end;
        self.highest = self.highest.max(end);
        self.last_packet_bytes = wire_bytes;
        self.next_available = now.saturating_add(self.rate().transmission_time(u64::from(wire_bytes)));
        self.timeout_at = now.saturating_add(self.timeout(config));
        self.controlled(|controller, control| controller.on_sent(wire_bytes, now, control));
        packet
    }

    /// Lets the controller act. A change of the rate moves the time of the next packet by the difference of the sending
    /// times of the last one (ChangeRate in the source).
    fn controlled(&mut self, act: impl FnOnce(&mut dyn NicController, &mut Control)) {
        let before = self.rate();
        act(&mut *self.controller, &mut self.control);
        let after = self.rate();
        if before != after {
            let bytes = u64::from(self.last_packet_bytes);
            let later = self.next_available.saturating_add(after.transmission_time(bytes));
            let moved = later.since(Time::ZERO).saturating_sub(before.transmission_time(bytes));
            self.next_available = Time::ZERO.saturating_add(moved);
        }
    }

    /// The retransmission timeout; without one, longer than any run.
    fn timeout(&self, config: &RoceConfig) -> Span {
        match &self.irn {
            None => config.timeout.unwrap_or(Span::MAX),
            Some(_) if !config.irn_timeouts => Span::MAX,
            Some(irn) if irn.in_flight() > 3 * config.payload.0 => config.irn_long_timeout,
            Some(_) => config.irn_short_timeout,
        }
    }

    fn congestion(&self, now: Time, config: &RoceConfig) -> CongestionSample {
        CongestionSample {
            now,
            used_segments: (self.next - self.una) as f64 / config.payload.0 as f64,
            acknowledged: self.una,
            next: self.next,
            keeps_threshold: false,
        }
    }

    /// An ACK or a NACK has arrived.
    pub fn on_ack(&mut self, ack: &Acknowledgement<'_>, now: Time, config: &RoceConfig) {
        if self.is_complete() {
            return;
        }
        let before = self.una;
        // A broken peer could acknowledge what was never sent.
        self.una = self.una.max(ack.cumulative.min(self.highest));
        self.next = self.next.max(self.una);
        let is_lost = match &mut self.irn {
            Some(irn) => irn.on_ack(ack, &mut self.una, &mut self.next),
            None if ack.is_nack => {
                self.next = self.una;
                true
            }
            None => false,
        };
        let is_waiting = !self.is_complete() && self.highest > self.una;
        self.timeout_at = if is_waiting { now.saturating_add(self.timeout(config)) } else { Time::NEVER };
        let segments = (self.una - before) as f64 / config.payload.0 as f64;
        let is_marked = ack.notifies;
        let sample = AckSample {
            now,
            acked_segments: segments,
            delivered_segments: segments,
            acknowledged: self.una,
            next: self.next,
            is_window_used: true,
            echoes_mark: is_marked,
            marked_segments: if is_marked { segments } else { 0.0 },
            phase: Phase::Open,
            round_trips: RoundTrips { latest: ack.sent_at.map(|sent| now.since(sent)), ..RoundTrips::default() },
            delivery: None,
        };
        let congestion = self.congestion(now, config);
        self.controlled(|controller, control| {
            if is_lost {
                controller.on_loss(&congestion, control);
            }
            if is_marked && !controller.needs().answers_marks {
                controller.on_ecn(&congestion, control);
            }
            controller.on_acknowledgement(&sample, ack.telemetry, control);
        });
    }

    /// A notification of congestion has arrived in a packet of its own (CNP).
    pub fn on_notification(&mut self, now: Time, config: &RoceConfig) {
        let congestion = self.congestion(now, config);
        self.controlled(|controller, control| controller.on_ecn(&congestion, control));
    }

    /// The next expiry of a timer: of the retransmission timer or of the controller.
    #[must_use]
    pub fn timer(&self) -> Time {
        if self.is_complete() { Time::NEVER } else { self.timeout_at.min(self.controller.timer()) }
    }

    /// [`QueuePair::timer`] has expired.
    pub fn on_timer(&mut self, now: Time, config: &RoceConfig) {
        if self.is_complete() {
            return;
        }
        if self.controller.timer() <= now {
            self.controlled(|controller, control| controller.on_timer(now, control));
        }
        if self.timeout_at <= now && self.timeout_at != Time::NEVER {
            let congestion = self.congestion(now, config);
            self.timeouts += 1;
            if let Some(irn) = &mut self.irn {
                irn.on_timeout(self.next);
            }
            self.next = self.una;
            self.timeout_at = Time::NEVER;
            self.controlled(|controller, control| controller.on_timeout(&congestion, control));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RdmaControl;
    use crate::control::tests::setup;

    fn at(nanoseconds: u64) -> Time {
        Time::from_picoseconds(nanoseconds * 1_000)
    }

    fn pair(size: u64, name: &str, config: &RoceConfig) -> QueuePair {
        let control = RdmaControl::every().into_iter().find(|control| control.name() == name).unwrap();
        QueuePair::new(size, control.build(&setup()), &setup(), config)
    }

    fn ack(cumulative: u64, is_nack: bool, notifies: bool) -> Acknowledgement<'static> {
        Acknowledgement { cumulative, is_nack, selective: None, notifies, sent_at: None, telemetry: &[] }
    }

    fn sequence(next: Next) -> u64 {
        let Next::Send(packet) = next else { panic!("{next:?}") };
        packet.sequence
    }

    #[test]
    fn packets_leave_at_the_rate_up_to_the_window() {
        let config = RoceConfig::default();
        let mut pair = pair(1_000_000, "dcqcn", &config);
        assert_eq!(sequence(pair.next_packet(at(0), &config)), 0);
        // 1048 bytes at 100 Gb/s: 83.84 ns.
        let next = Time::from_picoseconds(83_840);
        assert_eq!(pair.next_packet(at(1), &config), Next::At(next));
        let mut now = next;
        for packet in 1..153 {
            assert_eq!(sequence(pair.next_packet(now, &config)), packet * 1_000);
            now += Span::from_picoseconds(83_840);
        }
        assert_eq!(pair.next_packet(now, &config), Next::Window);
        pair.on_ack(&ack(1_000, false, false), now, &config);
        assert_eq!(sequence(pair.next_packet(now, &config)), 153_000);
        // Without a window only the rate is left.
        let config = RoceConfig { window: RoceWindow::None, ..config };
        assert_eq!(pair.next_packet(now, &config), Next::At(now + Span::from_picoseconds(83_840)));
    }

    #[test]
    fn a_change_of_the_rate_moves_the_next_packet_and_the_window() {
        let config = RoceConfig { window: RoceWindow::Variable, ..RoceConfig::default() };
        let mut pair = pair(1_000_000, "dcqcn", &config);
        pair.next_packet(at(0), &config);
        pair.on_notification(at(0), &config);
        let expiry = pair.timer();
        assert_eq!(expiry, at(4_001));
        assert_eq!(pair.next_available, Time::from_picoseconds(83_840));
        pair.on_timer(expiry, &config);
        let rate = pair.rate();
        assert_eq!(rate.bits_per_second() / 100_000, 507_766);
        assert_eq!(pair.next_available, Time::ZERO + rate.transmission_time(1_048));
        assert_eq!(pair.window(&config), 77_688);
    }

    #[test]
    fn a_nack_and_a_timeout_go_back() {
        let config = RoceConfig::default();
        let mut pair = pair(10_000, "timely", &config);
        for packet in 0..10 {
            assert_eq!(sequence(pair.next_packet(at(packet * 100), &config)), packet * 1_000);
        }
        assert_eq!(pair.next_packet(at(1_000), &config), Next::Idle);
        pair.on_ack(&ack(3_000, true, false), at(20_000), &config);
        let Next::Send(packet) = pair.next_packet(at(20_000), &config) else { panic!() };
        assert_eq!((packet.sequence, packet.is_retransmission), (3_000, true));
        assert_eq!(pair.timer(), at(20_000) + Span::from_milliseconds(4));
        pair.on_timer(pair.timer(), &config);
        assert_eq!(sequence(pair.next_packet(at(5_000_000), &config)), 3_000);
        assert_eq!(pair.repairs(), (2, 1));
        pair.on_ack(&ack(10_000, false, false), at(5_020_000), &config);
        assert_eq!((pair.next_packet(at(5_020_000), &config), pair.timer()), (Next::Done, Time::NEVER));
    }

    #[test]
    fn irn_has_short_timeouts_and_none_with_pfc() {
        let config = RoceConfig { recovery: Recovery::Irn, ..RoceConfig::default() };
        let mut pair = pair(10_000, "timely", &config);
        let timeouts: alloc::vec::Vec<_> = (0..6)
            .map(|packet| {
                pair.next_packet(at(packet * 100), &config);
                pair.timer().since(at(packet * 100)).picoseconds() / 1_000_000
            })
            .collect();
        // The source counts from the first byte of the highest packet.
        assert_eq!(timeouts, [100, 100, 100, 100, 320, 320]);
        let config = RoceConfig { irn_timeouts: false, ..config };
        pair.next_packet(at(600), &config);
        assert_eq!(pair.timer(), Time::NEVER);
    }

    #[test]
    fn a_queue_pair_is_small() {
        assert!(size_of::<QueuePair>() <= 224, "{}", size_of::<QueuePair>());
    }
}
