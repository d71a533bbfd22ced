//! The port of one direction: a queue in front of a line with a rate, with its counters. Knows no clock: time is an
//! argument, so that a recorded trace passes it exactly as live traffic does.

use std::collections::VecDeque;
use std::num::NonZeroU16;

use forebay_qdisc::{
    Discipline, DropReason, FlowInfo, Hosts, Line, MarkReason, Rate, Sink, Span, TcpHeader, Time, Watcher,
};
use forebay_replay::{LinkType, PacketFacts, dissect, identify, tcp_header};
use rand_pcg::Pcg64Mcg;

use crate::counters::{Count, Counters, Refusal};
use crate::flows::TopFlows;
use crate::handover::HandoverQueue;
use crate::io::VlanTag;
use crate::packet::LivePacket;
use crate::pool::{Buffer, Pool};
use crate::shadow::Shadow;

const ETHERNET_HEADER_BYTES: usize = 14;

/// Flows that the table of the largest ones has room for.
const FLOWS_KEPT: usize = 1024;

/// The parts of a port.
pub struct PortParts {
    /// Rate of the line.
    pub rate: Rate,
    /// Framing counted in addition to each frame, in bytes.
    pub overhead_bytes: u32,
    /// The most time that is caught up after a stall.
    pub burst: Span,
    /// The discipline.
    pub queue: Box<dyn Discipline<LivePacket>>,
    /// The discipline's random stream.
    pub rng: Pcg64Mcg,
    /// The buffers of frames: of the MTU, an Ethernet header and a VLAN tag.
    pub pool: Pool,
}

/// Observers of frames, in addition to the counters.
pub trait Tap: Send {
    /// A frame has arrived.
    fn arrived(&mut self, _packet: &LivePacket, _frame: &[u8]) {}

    /// The discipline has dropped a frame.
    fn dropped(&mut self, _now: Time, _packet: &LivePacket, _frame: &[u8], _reason: DropReason) {}

    /// The discipline has marked a frame.
    fn marked(&mut self, _now: Time, _packet: &LivePacket, _frame: &[u8], _reason: MarkReason) {}

    /// Whether no observer is left.
    fn is_over(&self) -> bool;
}

/// A frame that has passed its port.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    pub buffer: Buffer,
    /// The time at which its last bit was due to leave.
    pub due: Time,
    /// Its length with framing.
    pub len_bytes: u32,
}

/// The port of one direction.
pub struct Port {
    line: Line<LivePacket>,
    queue: HandoverQueue,
    rng: Pcg64Mcg,
    rate: Rate,
    overhead_bytes: u32,
    burst: Span,
    bypass: bool,
    shadow: Option<Shadow>,
    yard: Yard,
}

/// The events of the line.
struct Yard {
    now: Time,
    pool: Pool,
    counters: Counters,
    flows: TopFlows,
    departures: VecDeque<Departure>,
    taps: Vec<Box<dyn Tap>>,
}

impl Port {
    /// An empty port.
    #[must_use]
    pub fn new(parts: PortParts) -> Self {
        let PortParts { rate, overhead_bytes, burst, queue, rng, pool } = parts;
        let yard = Yard {
            now: Time::ZERO,
            departures: VecDeque::with_capacity(pool.capacity() as usize),
            pool,
            counters: Counters::default(),
            flows: TopFlows::new(FLOWS_KEPT),
            taps: Vec::new(),
        };
        Self {
            line: Line::new(rate),
            queue: HandoverQueue::new(queue),
            rng,
            rate,
            overhead_bytes,
            burst,
            bypass: false,
            shadow: None,
            yard,
        }
    }

    /// Returns the time at which the line must act if nothing arrives.
    #[must_use]
    pub fn next(&self) -> Option<Time> {
        self.line.next()
    }

    /// Does all that is due at `now` or before. After a stall of more than the burst the line starts again at the
    /// beginning of the burst: earlier time is lost.
    pub fn run_until(&mut self, now: Time) {
        let earliest = Time::from_picoseconds(now.picoseconds().saturating_sub(self.burst.picoseconds()));
        self.line.start_no_earlier(earliest);
        self.line.run_until(now, self.queue.working(), &mut self.rng, &mut self.yard);
        if let Some(shadow) = &mut self.shadow {
            shadow.run_until(now, earliest);
        }
    }

    /// A frame arrives at `now`, when all that was due has been done; `vlan` is a tag to be put back. A frame that does
    /// not fit into a buffer is refused.
    pub fn arrive(&mut self, frame: &[u8], vlan: Option<VlanTag>, now: Time) {
        let frame_bytes = frame.len() + if vlan.is_some() { VlanTag::BYTES } else { 0 };
        let len_bytes = frame_bytes as u32 + self.overhead_bytes;
        let tagged = vlan.is_some() || matches!(frame.get(12..14), Some([0x81, 0x00] | [0x88, 0xa8]));
        // A buffer has room for a tag in addition to the MTU.
        let longest = self.yard.pool.buffer_bytes() - if tagged { 0 } else { VlanTag::BYTES };
        let buffer = match frame_bytes {
            too_short if too_short < ETHERNET_HEADER_BYTES => Err(Refusal::TooShort),
            too_long if too_long > longest => Err(Refusal::TooLong),
            _ => self.yard.pool.put(frame, vlan).ok_or(Refusal::NoBuffer),
        };
        let buffer = match buffer {
            Ok(buffer) => buffer,
            Err(refusal) => return self.refuse(refusal, len_bytes),
        };
        let yard = &mut self.yard;
        // With a tag the copy is read, which contains it; else the original, since loads of bytes just written stall.
        let whole = if vlan.is_some() { yard.pool.frame(buffer) } else { frame };
        let headers = dissect(LinkType::Ethernet, whole);
        yard.counters.received.add(len_bytes);
        yard.flows.arrived(headers.key, len_bytes, now, || identify(LinkType::Ethernet, whole));
        // Built where it is used: a copy of one that was just built would stall.
        let packet = || LivePacket::new(&headers, len_bytes, now, Some(buffer));
        if !yard.taps.is_empty() {
            let (packet, frame) = (packet(), yard.pool.frame(buffer));
            yard.taps.iter_mut().for_each(|tap| tap.arrived(&packet, frame));
        }
        if let Some(shadow) = &mut self.shadow {
            let packet = packet();
            shadow.arrive(packet, yard.facts(&packet), now);
        }
        if self.bypass {
            yard.counters.bypassed.add(len_bytes);
            yard.now = now;
            return yard.sent(&packet());
        }
        self.line.arrive(packet(), now, self.queue.working(), &mut self.rng, yard);
    }

    /// Counts a frame that was refused.
    pub fn refuse(&mut self, refusal: Refusal, len_bytes: u32) {
        self.yard.counters.refuse(refusal, len_bytes);
    }

    /// Frames that are to leave, the first one first. [`Port::departed`] takes them off.
    #[must_use]
    pub fn departures(&self) -> &VecDeque<Departure> {
        &self.yard.departures
    }

    /// The bytes of a frame.
    #[must_use]
    pub fn frame(&self, buffer: Buffer) -> &[u8] {
        self.yard.pool.frame(buffer)
    }

    /// The first `count` departures were handed over at `now`.
    pub fn departed(&mut self, count: usize, now: Time) {
        let Yard { pool, counters, departures, .. } = &mut self.yard;
        for departure in departures.drain(..count) {
            counters.sent.add(departure.len_bytes);
            counters.lateness.record(now.since(departure.due));
            pool.free(departure.buffer);
        }
    }

    /// The first departure cannot be sent and is given up.
    pub fn give_up_first(&mut self) {
        if let Some(departure) = self.yard.departures.pop_front() {
            self.yard.counters.refuse(Refusal::NotSendable, departure.len_bytes);
            self.yard.pool.free(departure.buffer);
        }
    }

    /// The direction ends at `now`: all that is still held is given up. Returns how much that was; the counters, which
    /// are not read any more, do not have it.
    pub fn give_up_all(mut self, now: Time) -> Count {
        let mut at = now;
        // Packets that a shaper holds become due later, at most one at each of these times.
        for _ in 0..=self.held_packets() {
            self.line.flush(at, &mut self.queue, &mut self.rng, &mut self.yard);
            let Some(next) = self.line.next() else { break };
            at = next;
        }
        let mut given_up = Count::default();
        self.yard.departures.iter().for_each(|departure| given_up.add(departure.len_bytes));
        given_up
    }

    /// Changes the rate of the line from the next transmission on.
    pub fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
        self.line.set_rate(rate);
    }

    /// Changes how much framing counts, for packets that arrive from now on.
    pub fn set_overhead(&mut self, overhead_bytes: u32) {
        self.overhead_bytes = overhead_bytes;
    }

    /// Changes how much time is caught up after a stall.
    pub fn set_burst(&mut self, burst: Span) {
        self.burst = burst;
    }

    /// Replaces the current discipline; queued packets keep their places.
    ///
    /// # Errors
    /// Gives it back if too many of those replaced before still hold packets.
    pub fn replace_queue(
        &mut self,
        queue: Box<dyn Discipline<LivePacket>>,
    ) -> Result<(), Box<dyn Discipline<LivePacket>>> {
        self.queue.replace(queue)
    }

    /// Lets a second discipline see all arrivals from now on, or none.
    pub fn set_shadow(&mut self, shadow: Option<Shadow>) {
        self.shadow = shadow;
    }

    /// Switches bypass, in which arrivals leave at once, behind the queue, which also leaves at once.
    pub fn set_bypass(&mut self, bypass: bool, now: Time) {
        self.bypass = bypass;
        if bypass {
            self.line.flush(now, &mut self.queue, &mut self.rng, &mut self.yard);
        }
    }

    /// Adds an observer.
    pub fn add_tap(&mut self, tap: Box<dyn Tap>) {
        self.yard.taps.push(tap);
    }

    /// Removes observers without a listener.
    pub fn remove_taps(&mut self) {
        self.yard.taps.retain(|tap| !tap.is_over());
    }

    /// Packets queued or in transmission, and those that wait to be handed over.
    #[must_use]
    pub fn held_packets(&self) -> u64 {
        u64::from(self.yard.pool.in_use())
    }

    /// The rate of the line.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Framing counted in addition to each frame.
    #[must_use]
    pub fn overhead_bytes(&self) -> u32 {
        self.overhead_bytes
    }

    /// Time that is caught up after a stall.
    #[must_use]
    pub fn burst(&self) -> Span {
        self.burst
    }

    /// Whether arrivals pass around the queue.
    #[must_use]
    pub fn is_bypassed(&self) -> bool {
        self.bypass
    }

    /// The queue.
    #[must_use]
    pub fn queue(&self) -> &HandoverQueue {
        &self.queue
    }

    /// The counters.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.yard.counters
    }

    /// The flows with the most traffic.
    #[must_use]
    pub fn flows(&self) -> &TopFlows {
        &self.yard.flows
    }

    /// The buffers.
    #[must_use]
    pub fn pool(&self) -> &Pool {
        &self.yard.pool
    }

    /// The second discipline, if there is one.
    #[must_use]
    pub fn shadow(&self) -> Option<&Shadow> {
        self.shadow.as_ref()
    }

    /// Checks that no packet was lost but by the discipline.
    ///
    /// # Errors
    /// The counters that do not balance.
    pub fn check(&self) -> Result<(), String> {
        let Yard { counters, pool, departures, .. } = &self.yard;
        let backlog = self.queue.backlog().packets;
        let on_line = u64::from(self.line.is_sending());
        let given_up = counters.refused[Refusal::NotSendable as usize].packets;
        let left = counters.sent.packets + given_up + departures.len() as u64;
        let (received, dropped) = (counters.received.packets, counters.dropped_packets());
        let buffers = u64::from(pool.in_use());
        if received != dropped + backlog + on_line + left || buffers != backlog + on_line + departures.len() as u64 {
            return Err(format!(
                "{received} frames received, {dropped} dropped, {backlog} queued, {on_line} on the line, {left} left; \
                 {buffers} buffers in use"
            ));
        }
        Ok(())
    }
}

impl Yard {
    /// Facts about a packet with its frame.
    fn facts(&self, packet: &LivePacket) -> PacketFacts {
        let Some(buffer) = packet.buffer else { return PacketFacts::default() };
        PacketFacts::of_frame(self.pool.frame(buffer), packet.ip_at.map(NonZeroU16::get), packet.len_bytes)
    }
}

impl FlowInfo<LivePacket> for Yard {
    fn hosts(&self, packet: &LivePacket) -> Hosts {
        self.facts(packet).hosts
    }

    fn tcp_header(&self, packet: &LivePacket) -> Option<TcpHeader> {
        tcp_header(self.pool.frame(packet.buffer?), packet.ip_at?.get())
    }

    fn framing_bytes(&self, packet: &LivePacket) -> u32 {
        let Some(buffer) = packet.buffer else { return 0 };
        let ip_at = packet.ip_at.map(NonZeroU16::get);
        PacketFacts::framing_bytes_of_frame(self.pool.frame(buffer), ip_at, packet.len_bytes)
    }

    fn is_arp(&self, packet: &LivePacket) -> bool {
        packet.ip_at.is_none() && self.facts(packet).is_arp
    }
}

impl Sink<LivePacket> for Yard {
    fn dropped(&mut self, packet: LivePacket, reason: DropReason, queued: bool) {
        self.counters.drop(reason, packet.len_bytes, queued);
        self.flows.dropped(packet.key);
        let Some(buffer) = packet.buffer else { return };
        for tap in &mut self.taps {
            tap.dropped(self.now, &packet, self.pool.frame(buffer), reason);
        }
        self.pool.free(buffer);
    }

    fn marked(&mut self, packet: &LivePacket, reason: MarkReason) {
        self.counters.marked[reason as usize] += 1;
        self.flows.marked(packet.key);
        let Some(buffer) = packet.buffer else { return };
        for tap in &mut self.taps {
            tap.marked(self.now, packet, self.pool.frame(buffer), reason);
        }
    }

    /// Live packets cannot be cut.
    fn trimmed(&mut self, _packet: &LivePacket, _cut_bytes: u32) {}

    fn flow_info(&self) -> &dyn FlowInfo<LivePacket> {
        self
    }
}

impl Watcher<LivePacket> for Yard {
    fn advance(&mut self, now: Time, _: &dyn Discipline<LivePacket>) {
        self.now = now;
    }

    fn sent(&mut self, packet: &LivePacket) {
        self.counters.sojourn.record(self.now.since(packet.arrived));
        let Some(buffer) = packet.buffer else { return };
        if let Some(ip_at) = packet.changed_at() {
            packet.write_changes(self.pool.frame_mut(buffer), ip_at);
        }
        self.departures.push_back(Departure { buffer, due: self.now, len_bytes: packet.len_bytes });
    }
}

#[cfg(test)]
mod tests {
    use forebay_replay::rng;

    use super::*;
    use crate::config::LiveConfig;
    use crate::test_direction::frame;

    #[test]
    fn what_a_shaper_holds_is_given_up_as_well() {
        const TEXT: &str = "
            interfaces = { inside = 'lan0', outside = 'wan0' }
            outbound.rate = '1 Gbps'
            outbound.queue.cbq.classes = [{ name = 'all', classes = [0], rate = '8 kbps', queue.drop_tail = {} }]
        ";
        let config = LiveConfig::load(TEXT, "live.toml", &[]).unwrap();
        let direction = config.outbound.unwrap();
        let queue = direction.build(&direction.queue, 1).unwrap().discipline;
        let (rate, pool) = (direction.rate, Pool::new(64, 1518));
        let mut port = Port::new(PortParts { rate, overhead_bytes: 24, burst: Span::ZERO, queue, rng: rng(1), pool });
        for number in 0..20 {
            port.arrive(&frame(number, 1000), None, Time::ZERO);
        }
        let now = Time::ZERO + Span::from_seconds(1);
        port.run_until(now);
        let left = port.departures().len();
        port.departed(left, now);
        let given_up = port.give_up_all(now);
        assert!((1..5).contains(&left), "the shaper lets {left} leave");
        assert_eq!(given_up.packets as usize, 20 - left);
    }
}
