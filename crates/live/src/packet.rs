//! A frame as queue disciplines see it.

use std::num::NonZeroU16;

use forebay_qdisc::{Ecn, FlowKey, Packet, Time};
use forebay_replay::{Headers, mark_ce, set_class};

use crate::pool::Buffer;

/// A frame on its way through a port: the data of its headers, and the buffer of its bytes.
#[derive(Clone, Copy, Debug)]
pub struct LivePacket {
    pub arrived: Time,
    /// Its flow.
    pub key: FlowKey,
    /// The length with the framing that the port counts.
    pub len_bytes: u32,
    /// The place of its bytes; none of a packet that only a shadow discipline holds.
    pub buffer: Option<Buffer>,
    /// The offset of the IP header in the frame.
    pub ip_at: Option<NonZeroU16>,
    /// Its ECN codepoint, as a discipline has left it. The frame is marked when it leaves.
    pub ecn: Ecn,
    /// Its traffic class: the DSCP, as a discipline has left it.
    pub class: u8,
    /// Whether a discipline has set the class. The frame is changed when it leaves.
    pub class_is_set: bool,
}

// Queues copy packets: this is two vector registers.
const _: () = assert!(size_of::<Option<LivePacket>>() == 32);

impl LivePacket {
    /// A frame of `len_bytes`, framing included, with these headers.
    #[must_use]
    #[inline]
    pub fn new(headers: &Headers, len_bytes: u32, arrived: Time, buffer: Option<Buffer>) -> Self {
        Self {
            arrived,
            key: headers.key,
            len_bytes,
            buffer,
            ip_at: headers.ip_at.and_then(NonZeroU16::new),
            ecn: headers.ecn(),
            class: headers.class(),
            class_is_set: false,
        }
    }

    /// Returns the offset of the IP header of a frame that must be changed before it leaves.
    #[inline]
    pub fn changed_at(&self) -> Option<u16> {
        let is_changed = self.ecn == Ecn::CongestionExperienced || self.class_is_set;
        if is_changed { self.ip_at.map(NonZeroU16::get) } else { None }
    }

    /// Writes into the IP header at `ip_at` of its frame what a discipline has changed.
    pub fn write_changes(&self, frame: &mut [u8], ip_at: u16) {
        if self.ecn == Ecn::CongestionExperienced {
            mark_ce(frame, ip_at);
        }
        if self.class_is_set {
            set_class(frame, ip_at, self.class);
        }
    }
}

impl Packet for LivePacket {
    fn flow(&self) -> FlowKey {
        self.key
    }

    fn len_bytes(&self) -> u32 {
        self.len_bytes
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn class(&self) -> u8 {
        self.class
    }

    /// Each direction has one input.
    fn input_port(&self) -> u16 {
        0
    }

    fn mark_ce(&mut self) {
        self.ecn = Ecn::CongestionExperienced;
    }

    fn set_class(&mut self, class: u8) {
        (self.class, self.class_is_set) = (class, true);
    }
}
