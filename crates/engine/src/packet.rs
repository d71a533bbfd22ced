//! The simulated packet: 32 bytes, by value.

pub(crate) mod flow_sizes;
pub(crate) mod header;
pub(crate) mod side_tables;

use forebay_qdisc::{Ecn, FlowKey, RateLabel, Span, Time};

/// Which of the network's flows a packet belongs to: an index.
///
/// Below 2^31, for a packet keeps flow and direction in 32 bits.
pub type FlowId = u32;

/// The kind of a packet, as bits of [`Packet::flags`].
pub mod flags {
    /// The packet travels against the data: a TCP acknowledgement.
    pub const ACK: u8 = 1;
    /// TCP SYN.
    pub const SYN: u8 = 1 << 1;
    /// TCP FIN.
    pub const FIN: u8 = 1 << 2;
    /// TCP ECN echo.
    pub const ECE: u8 = 1 << 3;
    /// TCP congestion window reduced.
    pub const CWR: u8 = 1 << 4;
    /// A SYN that offers, or a SYN-ACK that accepts, ECN.
    pub const ECN_SETUP: u8 = 1 << 5;
    /// Sent before.
    pub const RETRANSMISSION: u8 = 1 << 6;
    /// A packet of an RDMA transport, whose number is the slot of its [header](super::header::Header). No TCP segment
    /// has both of these.
    pub const HEADER: u8 = SYN | FIN;
    /// TCP AE: with CWR and ECE the counter of accurate ECN or, on a SYN, the question for it.
    pub const AE: u8 = 1 << 7;
}

/// A packet in flight. 32 bytes on purpose: at 40 bytes a packet-hop was measured to cost an eighth more, at 64 a
/// third. Data that only some packets need is in side tables ([`side_tables::SideTables`]).
///
/// Four 64-bit words; a change of a part stores the whole word. A processor cannot forward a narrow store to the wide
/// load of a copy that follows it. With a field for each part every hop waited for that several times. Aligned, because
/// the words travel as one wide load, and half of the packets in an unaligned buffer would cross a cache line. Runs
/// were a fifth slower or not, depending on the allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(32))]
pub struct Packet {
    /// The time of arrival at the next node.
    pub time: Time,
    /// The time at which data left its source, in picoseconds modulo 2^54 ([`departure_stamp`]), below the code of its
    /// rate label (0: none). For an ACK, see [`ack_stamp`].
    pub stamp: u64,
    /// Flow and direction (low half, see [`Packet::direction_index`]) and number (high half).
    identity: u64,
    /// Length (16 bits), input port (23), whether it can be trimmed (1), flags (8), class (8), ECN codepoint (2),
    /// generation (6), from the lowest bit.
    header: u64,
}

const _: () = assert!(size_of::<Packet>() == 32);

/// Bits of a data packet's stamp that say when it left: enough for any delay below 2^54 ps, five hours.
const DEPARTURE_BITS: u32 = u64::BITS - RateLabel::BITS;
const DEPARTURE_MASK: u64 = (1 << DEPARTURE_BITS) - 1;

/// The [`Packet::stamp`] of a data packet that leaves its source at `now`, without a rate label.
#[inline]
#[must_use]
pub const fn departure_stamp(now: Time) -> u64 {
    now.picoseconds() & DEPARTURE_MASK
}

/// The contents of an ACK's stamp: in the low bits its slot in the [`side_tables::SideTables`] (0: none), above them
/// the timestamp that it returns, in nanoseconds, plus one (0: none).
pub mod ack_stamp {
    use forebay_qdisc::Time;

    /// Enough for the blocks of 67 million ACKs in flight.
    const SLOT_BITS: u32 = 26;
    /// The timestamps are known modulo this: 274 seconds. A longer round trip is measured short by that; the timeout,
    /// at most 120 s in any preset, has expired long before.
    const ECHO_PERIOD: u64 = (1 << (u64::BITS - SLOT_BITS)) - 1;
    const PICOSECONDS: u64 = 1000;

    /// The stamp of an ACK with blocks in `slot` that returns the timestamp `echo` ([`Time::NEVER`] for none).
    #[inline]
    #[must_use]
    pub const fn of(slot: u64, echo: Time) -> u64 {
        assert!(slot < 1 << SLOT_BITS, "memory ends before the slots do");
        let echo = echo.picoseconds();
        if echo == Time::NEVER.picoseconds() {
            return slot;
        }
        slot | (echo / PICOSECONDS % ECHO_PERIOD + 1) << SLOT_BITS
    }

    /// The same stamp with another slot.
    #[inline]
    #[must_use]
    pub(crate) const fn with_slot(stamp: u64, new: u64) -> u64 {
        assert!(new < 1 << SLOT_BITS, "memory ends before the slots do");
        stamp & !((1 << SLOT_BITS) - 1) | new
    }

    /// The slot of its blocks.
    #[inline]
    #[must_use]
    pub const fn slot(stamp: u64) -> u64 {
        stamp & ((1 << SLOT_BITS) - 1)
    }

    /// The timestamp that an ACK returns which arrives at `now`; [`Time::NEVER`] for none. Truncated to a nanosecond.
    #[inline]
    #[must_use]
    pub const fn echo(stamp: u64, now: Time) -> Time {
        let code = stamp >> SLOT_BITS;
        if code == 0 {
            return Time::NEVER;
        }
        let now = now.picoseconds() / PICOSECONDS;
        let age = (now % ECHO_PERIOD + ECHO_PERIOD - (code - 1)) % ECHO_PERIOD;
        Time::from_picoseconds((now - age) * PICOSECONDS)
    }
}

const INPUT_PORT_SHIFT: u32 = 16;
const INPUT_PORT_BITS: u32 = 23;
const INPUT_PORT_MASK: u64 = (1 << INPUT_PORT_BITS) - 1;
const TRIMMABLE: u64 = 1 << (INPUT_PORT_SHIFT + INPUT_PORT_BITS);
const FLAGS_SHIFT: u32 = 40;
const CLASS_SHIFT: u32 = 48;
const ECN_SHIFT: u32 = 56;
const GENERATION_SHIFT: u32 = 58;

/// The description of a packet that an endpoint sends.
#[derive(Clone, Copy, Debug)]
pub struct PacketFields {
    /// The time of sending.
    pub time: Time,
    /// See [`Packet::stamp`].
    pub stamp: u64,
    /// The sequence number of data, or the acknowledged number of an ACK. The low 32 bits, as on the wire.
    pub number: u32,
    /// Its flow.
    pub flow: FlowId,
    /// Length on the wire in bytes.
    pub len_bytes: u16,
    /// See [`flags`].
    pub flags: u8,
    /// Traffic class.
    pub class: u8,
    /// ECN codepoint.
    pub ecn: Ecn,
}

impl Packet {
    /// Generations wrap at this number.
    pub(crate) const GENERATIONS: u8 = 1 << (u64::BITS - GENERATION_SHIFT);

    /// A packet at the start of its path.
    #[inline]
    #[must_use]
    pub const fn new(fields: PacketFields) -> Self {
        let PacketFields { time, stamp, number, flow, len_bytes, flags, class, ecn } = fields;
        Self {
            time,
            stamp,
            identity: (flow as u64) << 1 | (flags & flags::ACK) as u64 | (number as u64) << 32,
            header: len_bytes as u64
                | (flags as u64) << FLAGS_SHIFT
                | (class as u64) << CLASS_SHIFT
                | (ecn as u64) << ECN_SHIFT,
        }
    }

    /// Its flow.
    #[inline]
    #[must_use]
    pub const fn flow_id(&self) -> FlowId {
        self.identity as u32 >> 1
    }

    /// The sequence number of data, or the acknowledged number of an ACK. The low 32 bits, as on the wire.
    #[inline]
    #[must_use]
    pub const fn number(&self) -> u32 {
        (self.identity >> 32) as u32
    }

    /// Length on the wire in bytes.
    #[inline]
    #[must_use]
    pub const fn len_bytes(&self) -> u32 {
        self.header as u16 as u32
    }

    /// See [`flags`].
    #[inline]
    #[must_use]
    pub const fn flags(&self) -> u8 {
        (self.header >> FLAGS_SHIFT) as u8
    }

    /// Whether it is a packet of an RDMA transport.
    #[inline]
    #[must_use]
    pub const fn has_header(&self) -> bool {
        self.flags() & flags::HEADER == flags::HEADER
    }

    /// Whether it carries this flag.
    #[inline]
    #[must_use]
    pub const fn has(&self, flag: u8) -> bool {
        self.flags() & flag != 0
    }

    /// The same packet, of this generation, which is below [`Packet::GENERATIONS`]; it must be of generation 0.
    #[inline]
    #[must_use]
    pub(crate) const fn of_generation(self, generation: u8) -> Self {
        Self { header: self.header | (generation as u64) << GENERATION_SHIFT, ..self }
    }

    /// Which of the connections that used its flow one after the other it belongs to.
    #[inline]
    #[must_use]
    pub const fn generation(&self) -> u8 {
        (self.header >> GENERATION_SHIFT) as u8
    }

    /// Whether it travels against the data of its flow.
    #[inline]
    #[must_use]
    pub const fn is_ack(&self) -> bool {
        self.identity & 1 != 0
    }

    /// Index of (flow, direction): even for data, odd for ACKs.
    #[inline]
    #[must_use]
    pub const fn direction_index(&self) -> usize {
        self.identity as u32 as usize
    }

    /// Flow, direction and number in one.
    pub(crate) const fn identity(&self) -> u64 {
        self.identity
    }

    /// The [`Packet::direction_index`] of packets with this key.
    pub(crate) const fn direction_of(key: FlowKey) -> usize {
        key.0 as u32 as usize
    }

    /// The time since data left its source.
    #[inline]
    #[must_use]
    pub const fn age(&self) -> Span {
        Span::from_picoseconds(self.time.picoseconds().wrapping_sub(self.stamp) & DEPARTURE_MASK)
    }

    /// The time at which data left its source.
    #[inline]
    #[must_use]
    pub const fn departure(&self) -> Time {
        Time::from_picoseconds(self.time.picoseconds() - self.age().picoseconds())
    }

    /// The congestion point that limits the flow of data from behind an adapter, counted from 1 (0: none). It has the
    /// place of the rate label: such a flow crosses Ethernet nodes only, where no discipline is that uses labels.
    #[inline]
    #[must_use]
    pub(crate) const fn limiter_tag(&self) -> u32 {
        (self.stamp >> DEPARTURE_BITS) as u32
    }

    /// The same packet with this tag, which is at most [`Packet::MOST_TAGS`].
    #[must_use]
    pub(crate) const fn with_limiter_tag(&self, tag: u32) -> Self {
        Self { stamp: self.stamp & DEPARTURE_MASK | (tag as u64) << DEPARTURE_BITS, ..*self }
    }

    /// The number of congestion points that tags can tell apart.
    pub(crate) const MOST_TAGS: u32 = (1 << RateLabel::BITS) - 1;

    /// The most inputs that a node may have.
    pub(crate) const MOST_INPUTS: u32 = 1 << INPUT_PORT_BITS;

    /// The number of the input by which it came to its node.
    #[inline]
    pub(crate) const fn input(&self) -> u32 {
        (self.header >> INPUT_PORT_SHIFT & INPUT_PORT_MASK) as u32
    }

    /// The same packet as it arrives at the next node, at `time`, by the input of this number.
    #[inline(always)]
    pub(crate) const fn arriving(&self, time: Time, input: u32) -> Self {
        let header = self.header & !(INPUT_PORT_MASK << INPUT_PORT_SHIFT) | (input as u64) << INPUT_PORT_SHIFT;
        Self { time, stamp: self.stamp, identity: self.identity, header }
    }

    /// The same packet with another number.
    #[inline]
    pub(crate) const fn with_number(&self, number: u32) -> Self {
        Self { identity: self.identity as u32 as u64 | (number as u64) << 32, ..*self }
    }

    /// The same packet at `time`.
    #[inline(always)]
    pub(crate) const fn at(&self, time: Time) -> Self {
        Self { time, ..*self }
    }

    #[inline(always)]
    pub(crate) const fn words(&self) -> [u64; 4] {
        [self.time.picoseconds(), self.stamp, self.identity, self.header]
    }

    #[inline(always)]
    pub(crate) const fn from_words([time, stamp, identity, header]: [u64; 4]) -> Self {
        Self { time: Time::from_picoseconds(time), stamp, identity, header }
    }

    /// The same packet, copied word by word. A processor waits if words that were just stored are loaded as a whole. A
    /// packet that is passed unchanged to code that is not inlined must stay in memory all the way.
    #[inline(always)]
    pub(crate) const fn word_by_word(&self) -> Self {
        self.at(self.time)
    }

    /// The same packet, whose payload a switch may cut off: its transport repairs that.
    #[must_use]
    pub const fn trimmable(self) -> Self {
        Self { header: self.header | TRIMMABLE, ..self }
    }

    /// Whether a switch may cut off its payload. No longer so once one has: a packet that its source sent as trimmable
    /// has been trimmed if it is not.
    #[inline]
    #[must_use]
    pub const fn is_trimmable(&self) -> bool {
        self.header & TRIMMABLE != 0
    }

    /// The same packet without its payload, of this length.
    #[must_use]
    const fn trimmed(&self, len_bytes: u16) -> Self {
        Self { header: self.header & !(TRIMMABLE | u16::MAX as u64) | len_bytes as u64, ..*self }
    }

    /// The same packet with its ECN codepoint set to CE.
    #[must_use]
    pub(crate) const fn marked(&self) -> Self {
        Self { header: self.header | 3 << ECN_SHIFT, ..*self }
    }

    /// Traffic class.
    #[inline]
    #[must_use]
    pub const fn class(&self) -> u8 {
        (self.header >> CLASS_SHIFT) as u8
    }

    /// ECN codepoint.
    #[inline]
    #[must_use]
    pub const fn ecn(&self) -> Ecn {
        match (self.header >> ECN_SHIFT) & 3 {
            0 => Ecn::NotCapable,
            1 => Ecn::Capable0,
            2 => Ecn::Capable1,
            _ => Ecn::CongestionExperienced,
        }
    }
}

impl forebay_qdisc::Packet for Packet {
    fn flow(&self) -> FlowKey {
        FlowKey(self.direction_index() as u64 | (self.header >> GENERATION_SHIFT) << u32::BITS)
    }

    fn len_bytes(&self) -> u32 {
        self.len_bytes()
    }

    fn ecn(&self) -> Ecn {
        self.ecn()
    }

    fn class(&self) -> u8 {
        self.class()
    }

    fn input_port(&self) -> u16 {
        self.input().min(u32::from(u16::MAX)) as u16
    }

    fn mark_ce(&mut self) {
        *self = self.marked();
    }

    fn set_class(&mut self, class: u8) {
        self.header = self.header & !(u64::from(u8::MAX) << CLASS_SHIFT) | u64::from(class) << CLASS_SHIFT;
    }

    fn trim(&mut self, len_bytes: u32) -> bool {
        let is_trimmable = self.is_trimmable();
        if is_trimmable {
            *self = self.trimmed(len_bytes as u16);
        }
        is_trimmable
    }

    fn rate_label(&self) -> Option<RateLabel> {
        if self.is_ack() { None } else { RateLabel::from_code((self.stamp >> DEPARTURE_BITS) as u16) }
    }

    /// An ACK has no room for it.
    fn set_rate_label(&mut self, label: RateLabel) {
        if !self.is_ack() {
            self.stamp = self.stamp & DEPARTURE_MASK | u64::from(label.code()) << DEPARTURE_BITS;
        }
    }
}

/// The key under which queue disciplines know the first connection of a simulated flow: its ACKs are a flow of their
/// own, as a five-tuple is.
#[must_use]
pub const fn flow_key(flow: FlowId, ack: bool) -> FlowKey {
    FlowKey((flow as u64) << 1 | ack as u64)
}

/// The 64-bit number nearest to `reference` whose low 32 bits are `low`: undoes the wrap of a 32-bit sequence number.
#[must_use]
pub const fn unwrap_number(low: u32, reference: u64) -> u64 {
    let difference = low.wrapping_sub(reference as u32) as i32;
    reference.wrapping_add_signed(difference as i64)
}

#[cfg(test)]
#[path = "packet_tests.rs"]
mod tests;
