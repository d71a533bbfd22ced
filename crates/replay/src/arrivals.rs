//! The packets of a capture as they arrive at a port: selected, in order of time, each with the number of its flow.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::IpAddr;

use forebay_qdisc::{Ecn, FlowKey, Packet, Time};

use crate::capture::{CaptureReader, CapturedFrame};
use crate::dissect::FlowIdentity;
use crate::error::ReplayError;
use crate::frames::SharedFrames;

/// This many packets are held back to bring packets into order: captures of several interfaces or queues of a network
/// card are out of order by far less.
pub const ORDER_WINDOW_PACKETS: usize = 1 << 16;

/// A captured packet on its way through a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedPacket {
    /// When it arrived, since the capture's first packet.
    pub time: Time,
    /// The key of its flow.
    pub key: FlowKey,
    /// The number of its flow, in the order of first arrival.
    pub flow: u32,
    /// Its original length in bytes.
    pub len_bytes: u32,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// Its traffic class, the DSCP.
    pub class: u8,
    /// The interface by which it was captured.
    pub input_port: u16,
    /// Where its bytes are kept, if they are.
    pub(crate) slot: u32,
}

impl Packet for CapturedPacket {
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

    fn input_port(&self) -> u16 {
        self.input_port
    }

    fn mark_ce(&mut self) {
        self.ecn = Ecn::CongestionExperienced;
    }
}

/// Picoseconds since the epoch; the packet's number in the file, from 1, so that equal times keep the file's order.
type Order = (i128, u64);

/// A packet held back, with the slot of its bytes; compared by its order alone.
struct Held(Order, CapturedFrame, u32);

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

/// The arrivals of a replay.
pub struct Arrivals<'a> {
    capture: CaptureReader<'a>,
    /// Where the bytes of packets go, if they are kept.
    frames: Option<SharedFrames>,
    destination: Option<IpAddr>,
    held: BinaryHeap<Reverse<Held>>,
    /// The whole file has been read.
    read: bool,
    /// Timestamp of the earliest packet, selected or not.
    start_ps: i128,
    /// Timestamp of the last arrival.
    last_ps: i128,
    /// Timestamp of the packet read last.
    previous_ps: i128,
    flows: Vec<FlowIdentity>,
    /// Of each flow, the packets of which too little was captured to tell their flow from others.
    cut: Vec<u64>,
    numbers: BTreeMap<FlowIdentity, u32>,
    /// Packets left out because they go elsewhere.
    pub unselected: u64,
    /// Packets stamped earlier than the one before them in the file.
    pub out_of_order: u64,
}

impl<'a> Arrivals<'a> {
    /// The packets of `capture` that go to `destination`, or all of them.
    pub fn new(capture: CaptureReader<'a>, destination: Option<IpAddr>) -> Self {
        Self {
            capture,
            frames: None,
            destination,
            held: BinaryHeap::new(),
            read: false,
            start_ps: i128::MAX,
            last_ps: i128::MIN,
            previous_ps: i128::MIN,
            flows: Vec::new(),
            cut: Vec::new(),
            numbers: BTreeMap::new(),
            unselected: 0,
            out_of_order: 0,
        }
    }

    /// Keeps the bytes of all packets from now on in `frames`.
    pub fn keep_bytes(&mut self, frames: SharedFrames) {
        self.capture.keep_bytes();
        self.frames = Some(frames);
    }

    /// Whether they come from a record, which has no bytes.
    pub fn is_record(&self) -> bool {
        self.capture.is_record()
    }

    /// Packets that a record leaves out.
    pub fn missed(&self) -> u64 {
        self.capture.missed()
    }

    /// When the replay began, after its first packet: picoseconds since the Unix epoch.
    pub fn start_ps(&self) -> i128 {
        self.start_ps
    }

    /// How many packets of each flow were captured without all the headers that tell their flow.
    pub fn cut(&self) -> &[u64] {
        &self.cut
    }

    /// The flows that have arrived so far, by number.
    pub fn flows(&self) -> &[FlowIdentity] {
        &self.flows
    }

    /// All packets of the capture that have been read.
    pub fn packets_read(&self) -> u64 {
        self.capture.packets()
    }

    /// The next packet in order of time.
    ///
    /// # Errors
    /// What is wrong with the capture, or that it is out of order by more than [`ORDER_WINDOW_PACKETS`].
    pub fn next_packet(&mut self) -> Result<Option<CapturedPacket>, ReplayError> {
        while !self.read && self.held.len() < ORDER_WINDOW_PACKETS {
            self.read_one()?;
        }
        let Some(Reverse(Held((time_ps, number), frame, slot))) = self.held.pop() else { return Ok(None) };
        if time_ps < self.last_ps {
            return Err(ReplayError::OutOfOrder { packet: number, window: ORDER_WINDOW_PACKETS });
        }
        self.last_ps = time_ps;
        // Before the start come only packets that were not selected and are out of order beyond mending.
        let since_start = u64::try_from((time_ps - self.start_ps).max(0)).map_err(|_| ReplayError::TooLong)?;
        let time = Time::from_picoseconds(since_start);
        if time == Time::NEVER {
            return Err(ReplayError::TooLong);
        }
        let flow = self.number(frame.flow);
        self.cut[flow as usize] += u64::from(frame.cut);
        Ok(Some(CapturedPacket {
            time,
            key: frame.key,
            flow,
            len_bytes: frame.len_bytes,
            ecn: frame.ecn,
            class: frame.class,
            input_port: frame.interface,
            slot,
        }))
    }

    fn read_one(&mut self) -> Result<(), ReplayError> {
        let Some(frame) = self.capture.next_frame()? else {
            self.read = true;
            return Ok(());
        };
        self.out_of_order += u64::from(frame.time_ps < self.previous_ps);
        self.previous_ps = frame.time_ps;
        if self.last_ps == i128::MIN {
            self.start_ps = self.start_ps.min(frame.time_ps);
        }
        if self.destination.is_none() || self.destination == frame.flow.destination() {
            let slot = match &self.frames {
                Some(frames) => frames.borrow_mut().put(&frame, self.capture.bytes()),
                None => 0,
            };
            self.held.push(Reverse(Held((frame.time_ps, self.capture.packets()), frame, slot)));
        } else {
            self.unselected += 1;
        }
        Ok(())
    }

    fn number(&mut self, flow: FlowIdentity) -> u32 {
        *self.numbers.entry(flow).or_insert_with(|| {
            self.flows.push(flow);
            self.cut.push(0);
            self.flows.len() as u32 - 1
        })
    }
}
