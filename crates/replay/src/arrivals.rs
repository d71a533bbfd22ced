//! The packets of a capture as they arrive at a port: selected, in order of time, each with the number of its flow.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::IpAddr;

use forebay_qdisc::{Ecn, FlowKey, Packet, Time};

use crate::capture::{CaptureReader, CapturedFrame};
use crate::dissect::{FlowIdentity, LinkType};
use crate::error::{CaptureError, ReplayError};
use crate::facts::PacketFacts;
use crate::frames::SharedFrames;
use crate::warnings::LONGEST_FRAME_BYTES;

/// This many packets are held back to bring packets into order: captures of several interfaces or queues of a network
/// card are out of order by far less.
pub const ORDER_WINDOW_PACKETS: usize = 1 << 16;

const DAY_PS: i128 = 86_400_000_000_000_000;
/// Later than this no packet arrives: picoseconds are counted in 64 bits, for 213 days, and queues must drain.
const LATEST_PS: i128 = 200 * DAY_PS;

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

    fn set_class(&mut self, class: u8) {
        self.class = class;
    }
}

/// Picoseconds since the epoch; the packet's number in the file, from 1, so that equal times keep the file's order.
type Order = (i128, u64);

/// A packet held back, and where it is; compared by its order alone.
struct Held(Order, usize);

/// The packets held back, and the slots of their bytes. Places are used again.
#[derive(Default)]
struct HeldFrames {
    frames: Vec<(CapturedFrame, u32)>,
    free: Vec<usize>,
}

impl HeldFrames {
    fn put(&mut self, frame: CapturedFrame, slot: u32) -> usize {
        match self.free.pop() {
            Some(place) => {
                self.frames[place] = (frame, slot);
                place
            }
            None => {
                self.frames.push((frame, slot));
                self.frames.len() - 1
            }
        }
    }

    fn take(&mut self, place: usize) -> (CapturedFrame, u32) {
        self.free.push(place);
        self.frames[place]
    }
}

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

/// Pauses that were shortened to a day, since simulated time would not hold them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pauses {
    pub count: u64,
    /// The number in the file of the packet after the first of them.
    pub first_packet: u64,
    /// How long the first of them was.
    pub first_ps: i128,
    skipped_ps: i128,
}

/// Packets longer than common links carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LongPackets {
    pub packets: u64,
    pub longest_bytes: u32,
}

/// The arrivals of a replay.
pub struct Arrivals<'a> {
    capture: CaptureReader<'a>,
    /// Where the bytes of packets go, if they are kept.
    frames: Option<SharedFrames>,
    destination: Option<IpAddr>,
    held: BinaryHeap<Reverse<Held>>,
    held_frames: HeldFrames,
    /// Facts about the last arrival.
    facts: PacketFacts,
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
    /// Of each flow, the packets that may carry IP which cannot be seen.
    opaque: Vec<u64>,
    numbers: BTreeMap<FlowIdentity, u32>,
    /// Time of the last arrival in the replay.
    clock_ps: i128,
    pub(crate) pauses: Pauses,
    pub(crate) long: LongPackets,
    /// Packets replayed so far.
    pub packets_replayed: u64,
    /// Packets left out because they go elsewhere.
    pub unselected: u64,
    /// Packets left out because they show no destination.
    pub unaddressed: u64,
    /// Those of them that may carry IP which cannot be seen.
    pub unaddressed_opaque: u64,
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
            held_frames: HeldFrames::default(),
            facts: PacketFacts::default(),
            read: false,
            start_ps: i128::MAX,
            last_ps: i128::MIN,
            previous_ps: i128::MIN,
            flows: Vec::new(),
            cut: Vec::new(),
            opaque: Vec::new(),
            numbers: BTreeMap::new(),
            clock_ps: 0,
            pauses: Pauses::default(),
            long: LongPackets::default(),
            packets_replayed: 0,
            unselected: 0,
            unaddressed: 0,
            unaddressed_opaque: 0,
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

    /// Frames of zero bytes, which are skipped.
    pub fn empty(&self) -> u64 {
        self.capture.empty()
    }

    /// Why the file ended within a packet, if it did.
    pub fn ended_early(&self) -> Option<&CaptureError> {
        self.capture.ended_early()
    }

    /// The replay's time zero as the last arrival sees it, in picoseconds since the Unix epoch.
    pub fn epoch_ps(&self) -> i128 {
        self.start_ps + self.pauses.skipped_ps
    }

    /// Facts about the packet that [`Arrivals::next_packet`] returned last.
    pub fn facts(&self) -> &PacketFacts {
        &self.facts
    }

    /// How many packets of each flow were captured without all the headers that tell their flow.
    pub fn cut(&self) -> &[u64] {
        &self.cut
    }

    /// How many packets of each flow may carry IP that cannot be seen.
    pub fn opaque(&self) -> &[u64] {
        &self.opaque
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
    /// A fault of the capture, or that it is out of order by more than [`ORDER_WINDOW_PACKETS`].
    pub fn next_packet(&mut self) -> Result<Option<CapturedPacket>, ReplayError> {
        while !self.read && self.held.len() < ORDER_WINDOW_PACKETS {
            self.read_one()?;
        }
        let Some(Reverse(Held((time_ps, number), place))) = self.held.pop() else { return Ok(None) };
        let (frame, slot) = self.held_frames.take(place);
        if time_ps < self.last_ps {
            return Err(ReplayError::OutOfOrder { packet: number, window: ORDER_WINDOW_PACKETS });
        }
        self.last_ps = time_ps;
        let time = self.time_of(time_ps, number)?;
        let flow = self.number(frame.flow);
        let ip_at = frame.ip_at.map(|at| u32::from(at).saturating_sub(frame.added_bytes));
        let link_type = LinkType::from_number(frame.link_type).filter(|_| !self.is_record());
        self.facts = PacketFacts::of_capture(&frame.flow, link_type, ip_at, frame.tcp);
        self.cut[flow as usize] += u64::from(frame.cut);
        self.opaque[flow as usize] += u64::from(frame.opaque);
        if frame.len_bytes > LONGEST_FRAME_BYTES {
            self.long.packets += 1;
            self.long.longest_bytes = self.long.longest_bytes.max(frame.len_bytes);
        }
        self.packets_replayed += 1;
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

    /// The time of a packet in the replay. A pause that would end too late is shortened to a day.
    fn time_of(&mut self, time_ps: i128, packet: u64) -> Result<Time, ReplayError> {
        // Before the start come only packets that were not selected and are out of order beyond correction.
        let mut since_start_ps = (time_ps - self.epoch_ps()).max(0);
        let pause_ps = since_start_ps - self.clock_ps;
        if since_start_ps > LATEST_PS && pause_ps > DAY_PS {
            if self.pauses.count == 0 {
                (self.pauses.first_packet, self.pauses.first_ps) = (packet, pause_ps);
            }
            self.pauses.count += 1;
            self.pauses.skipped_ps += pause_ps - DAY_PS;
            since_start_ps = self.clock_ps + DAY_PS;
        }
        match u64::try_from(since_start_ps) {
            Ok(picoseconds) if since_start_ps <= LATEST_PS => {
                self.clock_ps = since_start_ps;
                Ok(Time::from_picoseconds(picoseconds))
            }
            _ => {
                let days = u64::try_from(since_start_ps / DAY_PS).unwrap_or(u64::MAX);
                Err(ReplayError::TooLate { packet, before: packet - 1, days })
            }
        }
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
            let place = self.held_frames.put(frame, slot);
            self.held.push(Reverse(Held((frame.time_ps, self.capture.number()), place)));
        } else if frame.flow.destination().is_some() {
            self.unselected += 1;
        } else {
            self.unaddressed += 1;
            self.unaddressed_opaque += u64::from(frame.opaque);
        }
        Ok(())
    }

    fn number(&mut self, flow: FlowIdentity) -> u32 {
        *self.numbers.entry(flow).or_insert_with(|| {
            self.flows.push(flow);
            self.cut.push(0);
            self.opaque.push(0);
            self.flows.len() as u32 - 1
        })
    }
}
