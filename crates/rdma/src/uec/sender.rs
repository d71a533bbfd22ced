//! The sender of Ultra Ethernet: window or credit, entropies, retransmissions.
//!
//! The adapter serves one flow at a time and asks it for a packet whenever its port is free.
//!
//! Source: UecSrc of the Consortium's simulator.
//!
//! # Where we differ
//! - A request to send has no packet number and no record. The sender repeats it until credit comes.
//! - The window of DCTCP has an upper bound, 2^40 bytes.

use alloc::collections::VecDeque;

use forebay_units::{Span, Time};
use rand_core::Rng;

use super::{HEADER_BYTES, Record, RequestToSend, SenderControl, State, UecAck, UecNack, UecNetwork, UecPacket};
use crate::control::nscc::{Nscc, NsccAck};
use crate::control::rccc::Credit;
use crate::entropy::{Entropies, PathFeedback};

const MAX_WINDOW: i64 = 1 << 40;

/// The next step of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UecNext {
    /// This packet leaves now.
    Send(UecPacket),
    /// The window or the credit is used up.
    Blocked,
    /// Everything was sent, and something is not acknowledged.
    Idle,
    /// All data is acknowledged.
    Done,
}

#[derive(Clone, Copy, Debug)]
enum Window {
    Nscc(Nscc),
    Dctcp(i64),
    Constant(i64),
    None,
}

/// The sender of a flow.
#[derive(Clone, Debug)]
pub struct UecSender {
    /// Payload that has not been sent.
    unsent_bytes: u64,
    /// The packets from `first` on that have been sent.
    records: VecDeque<Record>,
    first: u64,
    /// When packets were sent, and their numbers, in this order. Some have been acknowledged or sent again since.
    sent: VecDeque<(Time, u64)>,
    /// Packets that wait to be sent again: their bytes, their number, and a bound below the lowest one.
    queued_bytes: i64,
    queued: u32,
    lowest_queued: u64,
    in_flight: i64,
    received_bytes: u64,
    /// No packet times out before; the exact time is computed when it comes.
    timeout_at: Time,
    /// A request to send waits for its answer until then.
    request_at: Time,
    last_request: Option<Time>,
    window: Window,
    credit: Credit,
    entropies: Entropies,
    retransmitted_packets: u32,
    timeouts: u32,
}

impl UecSender {
    /// A flow of `bytes` of payload, on a path with this base round trip. `window_bytes` replaces the first window of
    /// 1.5 bandwidth-delay products.
    #[must_use]
    pub fn new(
        bytes: u64,
        base_round_trip: Span,
        window_bytes: Option<u64>,
        network: &UecNetwork,
        rng: &mut dyn Rng,
    ) -> Self {
        let max = i64::try_from(network.max_window_bytes(base_round_trip)).unwrap_or(MAX_WINDOW).min(MAX_WINDOW);
        let first = window_bytes.map_or(max, |bytes| i64::try_from(bytes).unwrap_or(MAX_WINDOW).min(MAX_WINDOW));
        let first = first.max(i64::from(network.mtu_bytes));
        Self {
            unsent_bytes: bytes,
            records: VecDeque::new(),
            first: 0,
            sent: VecDeque::new(),
            queued_bytes: 0,
            queued: 0,
            lowest_queued: 0,
            in_flight: 0,
            received_bytes: 0,
            timeout_at: Time::NEVER,
            request_at: Time::NEVER,
            last_request: None,
            window: match network.sender_control {
                SenderControl::Nscc => Window::Nscc(Nscc::new(&network.law, base_round_trip, Some(first as u64))),
                SenderControl::Dctcp => Window::Dctcp(first),
                SenderControl::Constant => Window::Constant(first),
                SenderControl::None => Window::None,
            },
            credit: Credit::new(max),
            entropies: Entropies::new(network.balancing, network.paths, rng),
            retransmitted_packets: 0,
            timeouts: 0,
        }
    }

    /// Adds payload to send.
    pub fn add(&mut self, bytes: u64) {
        self.unsent_bytes += bytes;
    }

    /// Whether all data is acknowledged.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.unsent_bytes == 0 && self.records.is_empty()
    }

    /// Packets that were sent again.
    #[must_use]
    pub fn retransmitted_packets(&self) -> u32 {
        self.retransmitted_packets
    }

    /// Packets that timed out.
    #[must_use]
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// The window in bytes; `None` if only credit bounds the sender.
    #[must_use]
    pub fn window(&self) -> Option<i64> {
        match &self.window {
            Window::Nscc(nscc) => Some(nscc.window()),
            Window::Dctcp(window) | Window::Constant(window) => Some(*window),
            Window::None => None,
        }
    }

    /// Whether it has something to send and may: if so the adapter counts it among its active flows.
    #[must_use]
    pub fn is_ready(&self, network: &UecNetwork) -> bool {
        self.next_wire_bytes(network).is_some_and(|bytes| self.allows(bytes, network))
    }

    /// The size of the packet that comes next.
    fn next_wire_bytes(&self, network: &UecNetwork) -> Option<u32> {
        if self.queued > 0 {
            return self.lowest_queued_record().map(|(_, record)| u32::from(record.wire_bytes));
        }
        let payload = self.unsent_bytes.min(u64::from(network.payload_bytes()));
        (payload > 0).then_some(payload as u32 + HEADER_BYTES)
    }

    fn lowest_queued_record(&self) -> Option<(u64, &Record)> {
        let skipped = self.lowest_queued.saturating_sub(self.first);
        let queued = |record: &&Record| record.state == State::Queued;
        let index = self.records.iter().skip(skipped as usize).position(|record| queued(&record))? as u64;
        let number = self.first + skipped + index;
        Some((number, &self.records[(number - self.first) as usize]))
    }

    fn allows(&self, wire_bytes: u32, network: &UecNetwork) -> bool {
        let has_credit = !network.has_receiver_control || self.credit.is_left();
        has_credit && self.window().is_none_or(|window| window >= self.in_flight + i64::from(wire_bytes))
    }

    /// The packet that leaves at `now`, or why none does. `active_flows` are those of the adapter that wait to send,
    /// with this one.
    pub fn next_packet(&mut self, now: Time, active_flows: u32, rng: &mut dyn Rng, network: &UecNetwork) -> UecNext {
        let Some(wire_bytes) = self.next_wire_bytes(network) else {
            return if self.is_complete() { UecNext::Done } else { UecNext::Idle };
        };
        if !self.allows(wire_bytes, network) {
            return UecNext::Blocked;
        }
        let number = self.take_next(now, wire_bytes);
        if network.has_receiver_control {
            self.credit.spend(wire_bytes);
        }
        self.in_flight += i64::from(wire_bytes);
        self.sent.push_back((now, number));
        self.timeout_at = self.timeout_at.min(now.saturating_add(network.timeout));
        let is_retransmission = self.records[(number - self.first) as usize].retransmissions > 0;
        self.retransmitted_packets += u32::from(is_retransmission);
        let is_blocked = network.has_receiver_control && !self.credit.is_left()
            || self.window().is_some_and(|window| self.in_flight + i64::from(wire_bytes) >= window);
        UecNext::Send(UecPacket {
            number,
            wire_bytes,
            entropy: self.entropies.next(rng),
            is_retransmission,
            requests_ack: is_retransmission || self.unsent_bytes == 0 || is_blocked,
            pull_target: self.pull_target(active_flows, network),
        })
    }

    /// Takes the next packet from the queue of retransmissions or from the data, and returns its number.
    fn take_next(&mut self, now: Time, wire_bytes: u32) -> u64 {
        if let Some((number, _)) = (self.queued > 0).then(|| self.lowest_queued_record()).flatten() {
            let record = &mut self.records[(number - self.first) as usize];
            record.state = State::InFlight;
            record.sent_at = now;
            record.retransmissions = record.retransmissions.saturating_add(1);
            self.queued -= 1;
            self.queued_bytes -= i64::from(wire_bytes);
            self.lowest_queued = number + 1;
            return number;
        }
        self.unsent_bytes -= u64::from(wire_bytes - HEADER_BYTES);
        let wire_bytes = wire_bytes as u16;
        self.records.push_back(Record { sent_at: now, wire_bytes, retransmissions: 0, state: State::InFlight });
        self.first + self.records.len() as u64 - 1
    }

    fn pull_target(&self, active_flows: u32, network: &UecNetwork) -> i64 {
        if !network.has_receiver_control {
            return 0;
        }
        let packets = self.unsent_bytes.div_ceil(u64::from(network.payload_bytes()));
        let backlog = self.unsent_bytes + packets * u64::from(HEADER_BYTES);
        let wanted = i64::try_from(backlog).unwrap_or(MAX_WINDOW) + self.queued_bytes;
        self.credit.target(wanted, self.window(), i64::from(network.mtu_bytes), backlog > 0, active_flows)
    }

    /// A packet has arrived, by an ACK. Its bytes leave the flight through the receiver's counter only.
    fn arrive(&mut self, number: u64) {
        let Some(index) = number.checked_sub(self.first) else { return };
        let Some(record) = self.records.get_mut(index as usize) else { return };
        if record.state == State::Queued {
            self.queued -= 1;
            let bytes = i64::from(record.wire_bytes);
            self.queued_bytes -= bytes;
            // It left the flight when it was queued.
            self.in_flight += bytes;
        }
        record.state = State::Arrived;
    }

    /// Takes packets that have arrived off the front.
    fn release(&mut self, cumulative: u64) {
        let end = cumulative.min(self.first + self.records.len() as u64);
        for number in self.first..end {
            self.arrive(number);
        }
        while self.first < end && self.records.pop_front().is_some() {
            self.first += 1;
        }
        self.oldest();
    }

    /// The oldest packet in flight, and when it was sent.
    fn oldest(&mut self) -> Option<(Time, u64)> {
        loop {
            let &(sent_at, number) = self.sent.front()?;
            let record = number.checked_sub(self.first).and_then(|index| self.records.get(index as usize));
            if record.is_some_and(|record| record.state == State::InFlight && record.sent_at == sent_at) {
                return Some((sent_at, number));
            }
            self.sent.pop_front();
        }
    }

    /// The round trip of a packet, unless it is unclear which transmission the ACK belongs to.
    fn round_trip(&self, ack: &UecAck, now: Time) -> Option<Span> {
        let record = self.records.get(usize::try_from(ack.number?.checked_sub(self.first)?).ok()?)?;
        let is_clear = record.retransmissions == u8::from(ack.is_of_retransmission);
        (is_clear && record.state == State::InFlight).then(|| now.since(record.sent_at))
    }

    /// An ACK has arrived.
    pub fn on_ack(&mut self, ack: &UecAck, now: Time, network: &UecNetwork) {
        let new_bytes = ack.received_bytes.saturating_sub(self.received_bytes);
        self.received_bytes = self.received_bytes.max(ack.received_bytes);
        self.in_flight -= i64::try_from(new_bytes).unwrap_or(i64::MAX);
        let round_trip = self.round_trip(ack, now);
        let mut delay_ps = 0;
        if let Window::Nscc(nscc) = &mut self.window {
            nscc.on_received(new_bytes);
            delay_ps = match round_trip {
                Some(round_trip) => nscc.on_round_trip(round_trip, ack.is_marked, &network.law),
                None => nscc.average_delay_ps(),
            };
        }
        self.release(ack.cumulative);
        let mut bitmap = ack.bitmap;
        while bitmap != 0 {
            self.arrive(ack.bitmap_base + u64::from(bitmap.trailing_zeros()));
            bitmap &= bitmap - 1;
        }
        if ack.number.is_some() {
            let feedback = if ack.is_marked { PathFeedback::Marked } else { PathFeedback::Good };
            self.entropies.feedback(Some(ack.entropy), feedback, now);
        }
        let mtu_bytes = i64::from(network.mtu_bytes);
        match &mut self.window {
            Window::Nscc(nscc) => {
                let in_flight = self.in_flight;
                nscc.on_ack(&NsccAck { now, is_marked: ack.is_marked, delay_ps, new_bytes, in_flight }, &network.law);
            }
            Window::Dctcp(window) => {
                let new_bytes = i64::try_from(new_bytes).unwrap_or(MAX_WINDOW).min(MAX_WINDOW / mtu_bytes);
                let change = if ack.is_marked { -new_bytes / 3 } else { new_bytes * mtu_bytes / *window };
                *window = (*window + change).clamp(mtu_bytes, MAX_WINDOW);
            }
            Window::Constant(_) | Window::None => {}
        }
        self.credit.stop_speculating();
        self.forget_timers(now, network);
    }

    /// A notice of a trimmed packet has arrived.
    pub fn on_nack(&mut self, nack: &UecNack, now: Time, network: &UecNetwork) {
        let Some(index) = nack.number.checked_sub(self.first) else { return };
        let Some(record) = self.records.get(index as usize).copied() else { return };
        if record.state != State::InFlight {
            return;
        }
        let (bytes, in_flight) = (u32::from(record.wire_bytes), self.in_flight);
        match &mut self.window {
            Window::Nscc(nscc) => {
                let round_trip = now.since(record.sent_at);
                nscc.on_trimmed(bytes, nack.is_last_hop, round_trip, in_flight, now, &network.law);
            }
            Window::Dctcp(window) => *window = (*window - i64::from(bytes)).max(i64::from(network.mtu_bytes)),
            Window::Constant(_) | Window::None => {}
        }
        self.credit.stop_speculating();
        self.queue(nack.number);
        let feedback = match (nack.is_last_hop, nack.is_marked) {
            (false, _) => PathFeedback::Trimmed,
            (true, true) => PathFeedback::Marked,
            (true, false) => PathFeedback::Good,
        };
        self.entropies.feedback(Some(nack.entropy), feedback, now);
        self.await_credit(now, network);
    }

    /// A grant has arrived.
    pub fn on_pull(&mut self, granted: i64) {
        self.credit.stop_speculating();
        self.credit.on_pull(granted);
    }

    /// Queues a packet in flight for retransmission.
    fn queue(&mut self, number: u64) {
        let record = &mut self.records[(number - self.first) as usize];
        let bytes = i64::from(record.wire_bytes);
        record.state = State::Queued;
        self.lowest_queued = if self.queued == 0 { number } else { self.lowest_queued.min(number) };
        self.queued += 1;
        self.queued_bytes += bytes;
        self.in_flight -= bytes;
    }

    fn forget_timers(&mut self, now: Time, network: &UecNetwork) {
        if self.is_complete() {
            (self.timeout_at, self.request_at) = (Time::NEVER, Time::NEVER);
        } else {
            self.await_credit(now, network);
        }
    }

    /// Starts the time after which a sender without credit asks for it: pulls may be lost.
    fn await_credit(&mut self, now: Time, network: &UecNetwork) {
        let waits =
            network.has_receiver_control && !self.credit.is_left() && (self.queued > 0 || self.unsent_bytes > 0);
        if !waits {
            self.request_at = Time::NEVER;
        } else if self.request_at == Time::NEVER {
            self.request_at = now.saturating_add(network.timeout);
        }
    }

    /// The next expiry of a timer.
    #[must_use]
    pub fn timer(&self) -> Time {
        if self.is_complete() { Time::NEVER } else { self.timeout_at.min(self.request_at) }
    }

    /// [`UecSender::timer`] has expired. Returns a request to send for the receiver, if one is due.
    pub fn on_timer(&mut self, now: Time, rng: &mut dyn Rng, network: &UecNetwork) -> Option<RequestToSend> {
        let mut asks = false;
        if self.timeout_at <= now {
            asks = self.time_out(now, network);
        }
        self.await_credit(now, network);
        if self.request_at <= now {
            asks = true;
            self.request_at = now.saturating_add(network.timeout);
        }
        // At most one in a round trip, or a lost window would cause an incast of requests.
        let is_recent = self.last_request.is_some_and(|last| now.since(last) < network.round_trip);
        if !asks || is_recent {
            return None;
        }
        self.last_request = Some(now);
        Some(RequestToSend { entropy: self.entropies.next(rng), pull_target: self.pull_target(1, network) })
    }

    /// Queues the packets that have timed out. Returns whether one of them must wait for window or credit.
    fn time_out(&mut self, now: Time, network: &UecNetwork) -> bool {
        let mut waits = false;
        self.timeout_at = Time::NEVER;
        while let Some((sent_at, number)) = self.oldest() {
            let expiry = sent_at.saturating_add(network.timeout);
            if expiry > now {
                self.timeout_at = expiry;
                break;
            }
            let bytes = u32::from(self.records[(number - self.first) as usize].wire_bytes);
            self.timeouts += 1;
            match &mut self.window {
                Window::Nscc(nscc) => nscc.on_timeout(bytes, &network.law),
                Window::Dctcp(window) | Window::Constant(window) => {
                    *window = (*window - i64::from(bytes)).max(i64::from(network.mtu_bytes));
                }
                Window::None => {}
            }
            if self.queued > 0 {
                self.credit.stop_speculating();
                waits |= network.has_receiver_control;
            }
            self.queue(number);
            self.entropies.feedback(None, PathFeedback::TimedOut, now);
            waits |= !self.allows(bytes, network);
        }
        waits
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use forebay_units::Rate;
    use rand_core::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    const ROUND_TRIP: Span = Span::from_picoseconds(14_022_720);

    fn network() -> UecNetwork {
        UecNetwork::new(Rate::megabits(100_000), ROUND_TRIP)
    }

    fn sender(bytes: u64, network: &UecNetwork) -> (UecSender, Pcg64Mcg) {
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        (UecSender::new(bytes, ROUND_TRIP, None, network, &mut rng), rng)
    }

    fn packets(sender: &mut UecSender, now: Time, rng: &mut Pcg64Mcg, network: &UecNetwork) -> Vec<UecPacket> {
        core::iter::from_fn(|| match sender.next_packet(now, 1, rng, network) {
            UecNext::Send(packet) => Some(packet),
            _ => None,
        })
        .collect()
    }

    fn ack(cumulative: u64, received_bytes: u64) -> UecAck {
        UecAck {
            cumulative,
            number: Some(cumulative.saturating_sub(1)),
            bitmap_base: cumulative + 1,
            bitmap: 0,
            received_bytes,
            is_marked: false,
            is_of_retransmission: false,
            entropy: 3,
        }
    }

    fn at(microseconds: u64) -> Time {
        Time::ZERO + Span::from_microseconds(microseconds)
    }

    #[test]
    fn the_first_window_is_one_and_a_half_bandwidth_delay_products() {
        let network = network();
        let (mut sender, mut rng) = sender(2_000_000, &network);
        let sent = packets(&mut sender, at(0), &mut rng, &network);
        assert_eq!(sent.len(), 63);
        // Only the last one asks for an ACK: the window is full then.
        assert!(sent.iter().enumerate().all(|(index, packet)| packet.requests_ack == (index == 62)));
        assert_eq!(sender.next_packet(at(0), 1, &mut rng, &network), UecNext::Blocked);
        sender.on_ack(&ack(4, 16_600), at(20), &network);
        assert_eq!(packets(&mut sender, at(20), &mut rng, &network).len(), 4);
    }

    #[test]
    fn a_short_flow_ends_with_a_short_packet_that_asks_for_an_ack() {
        let network = network();
        let (mut sender, mut rng) = sender(5_000, &network);
        let sent = packets(&mut sender, at(0), &mut rng, &network);
        assert_eq!(sent.iter().map(|packet| packet.wire_bytes).collect::<Vec<_>>(), [4_150, 978]);
        assert!(!sent[0].requests_ack && sent[1].requests_ack);
        assert_eq!(sender.next_packet(at(0), 1, &mut rng, &network), UecNext::Idle);
        sender.on_ack(&ack(2, 5_128), at(20), &network);
        assert_eq!((sender.next_packet(at(20), 1, &mut rng, &network), sender.in_flight), (UecNext::Done, 0));
        assert_eq!(sender.timer(), Time::NEVER);
    }

    #[test]
    fn a_trimmed_packet_is_repeated_first_and_shrinks_the_window() {
        let network = network();
        let (mut sender, mut rng) = sender(2_000_000, &network);
        packets(&mut sender, at(0), &mut rng, &network);
        for number in [9, 7] {
            let nack = UecNack { number, entropy: 1, is_last_hop: false, is_marked: false };
            sender.on_nack(&nack, at(20), &network);
            sender.on_nack(&nack, at(20), &network);
        }
        assert_eq!((sender.window(), sender.in_flight), (Some(262_926 - 8_300), 61 * 4_150));
        // One packet less in flight lets none go, as the window shrank too.
        assert_eq!(sender.next_packet(at(20), 1, &mut rng, &network), UecNext::Blocked);
        sender.on_ack(&ack(2, 8_300), at(21), &network);
        let sent = packets(&mut sender, at(21), &mut rng, &network);
        let numbers: Vec<_> = sent.iter().map(|packet| (packet.number, packet.is_retransmission)).collect();
        assert_eq!(numbers, [(7, true), (9, true)]);
        assert!(sent.iter().all(|packet| packet.requests_ack));
    }

    #[test]
    fn an_ack_of_a_queued_packet_takes_it_off_the_queue() {
        let network = network();
        let (mut sender, mut rng) = sender(40_860, &network);
        packets(&mut sender, at(0), &mut rng, &network);
        sender.on_timer(at(101), &mut rng, &network);
        assert_eq!((sender.queued, sender.in_flight), (10, 0));
        sender.on_ack(&UecAck { bitmap_base: 5, bitmap: 0b11, ..ack(4, 6 * 4_150) }, at(102), &network);
        assert_eq!((sender.queued, sender.in_flight), (4, 0));
        let numbers: Vec<_> =
            packets(&mut sender, at(102), &mut rng, &network).iter().map(|packet| packet.number).collect();
        assert_eq!(numbers, [4, 7, 8, 9]);
    }

    #[test]
    fn the_oldest_packet_decides_when_the_timer_expires() {
        let network = network();
        let (mut sender, mut rng) = sender(8_172, &network);
        let mut send =
            |sender: &mut UecSender, microseconds| sender.next_packet(at(microseconds), 1, &mut rng, &network);
        send(&mut sender, 0);
        send(&mut sender, 50);
        assert_eq!(sender.timer(), at(0) + network.timeout);
        sender.on_ack(&ack(1, 4_150), at(60), &network);
        // The timer is lazy: it expires early, and is set to the packet that is left.
        assert_eq!(sender.on_timer(sender.timer(), &mut Pcg64Mcg::seed_from_u64(1), &network), None);
        assert_eq!((sender.timer(), sender.queued), (at(50) + network.timeout, 0));
        sender.on_timer(sender.timer(), &mut Pcg64Mcg::seed_from_u64(1), &network);
        assert_eq!(sender.queued, 1);
    }

    #[test]
    fn credit_alone_bounds_a_sender_of_rccc() {
        let network = network().with_control(SenderControl::None, true);
        let (mut sender, mut rng) = sender(2_000_000, &network);
        // Any credit is enough for a packet: 63 packets leave 1 476 bytes.
        assert_eq!(packets(&mut sender, at(0), &mut rng, &network).len(), 64);
        sender.on_ack(&ack(1, 4_150), at(20), &network);
        assert_eq!(sender.next_packet(at(20), 1, &mut rng, &network), UecNext::Blocked);
        sender.on_pull(63);
        let sent = packets(&mut sender, at(21), &mut rng, &network);
        // 16 128 bytes less the debt of 2 674.
        assert_eq!(sent.len(), 4);
        assert!(sent[3].requests_ack && sent[3].pull_target > 1_000);
        // Without a pull the sender asks after a timeout, at most once in a round trip.
        let expiry = sender.timer();
        assert!(sender.on_timer(expiry, &mut rng, &network).is_some_and(|request| request.pull_target > 1_000));
        assert_eq!(sender.on_timer(expiry + Span::from_microseconds(1), &mut rng, &network), None);
    }

    #[test]
    fn the_sources_dctcp() {
        let network = network().with_control(SenderControl::Dctcp, false);
        let (mut sender, mut rng) = sender(2_000_000, &network);
        packets(&mut sender, at(0), &mut rng, &network);
        sender.on_ack(&ack(4, 16_600), at(20), &network);
        assert_eq!(sender.window(), Some(262_926 + 16_600 * 4_150 / 262_926));
        sender.on_ack(&UecAck { is_marked: true, ..ack(8, 33_200) }, at(21), &network);
        assert_eq!(sender.window(), Some(262_926 + 262 - 5_533));
    }

    #[test]
    fn a_sender_is_small() {
        assert!(size_of::<UecSender>() <= 448, "{}", size_of::<UecSender>());
        assert_eq!(size_of::<Record>(), 16);
    }
}
