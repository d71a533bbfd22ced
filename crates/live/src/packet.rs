//! A frame as queue disciplines see it.

use forebay_qdisc::{Ecn, FlowKey, Packet, Time};
use forebay_replay::Headers;

use crate::pool::Buffer;

/// A frame on its way through a port: what its headers say, and the buffer in which its bytes are.
#[derive(Clone, Copy, Debug)]
pub struct LivePacket {
    /// When it arrived.
    pub arrived: Time,
    /// Its flow.
    pub key: FlowKey,
    /// With the framing that the port counts.
    pub len_bytes: u32,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// Its traffic class: the DSCP.
    pub class: u8,
    /// Where in the frame its IP header begins.
    pub ip_at: Option<u16>,
    /// A discipline has marked it here. Its bytes are marked when it leaves.
    pub marked: bool,
    /// Where its bytes are; none of a packet that only a shadow discipline holds.
    pub buffer: Option<Buffer>,
}

// Queues move packets: two registers' worth.
const _: () = assert!(size_of::<LivePacket>() == 32);

impl LivePacket {
    /// A frame of `frame_bytes` with these headers; `overhead_bytes` of framing count beside it.
    #[must_use]
    pub fn new(headers: &Headers, frame_bytes: usize, overhead_bytes: u32, arrived: Time) -> Self {
        Self {
            arrived,
            key: headers.key,
            len_bytes: frame_bytes as u32 + overhead_bytes,
            ecn: headers.ecn,
            class: headers.class,
            ip_at: headers.ip_at,
            marked: false,
            buffer: None,
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
        self.marked |= self.ecn != Ecn::CongestionExperienced;
        self.ecn = Ecn::CongestionExperienced;
    }
}
