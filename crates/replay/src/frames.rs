//! The bytes of packets on their way through queues: read once, kept until no queue holds the packet any more, written
//! into captures of what was let through and of what was dropped.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;

use forebay_qdisc::{DropReason, Ecn, Time};
use forebay_records::pcapng::{PcapngWriter, TraceFrame};

use crate::arrivals::CapturedPacket;
use crate::capture::CapturedFrame;
use crate::dissect::{mark_ce, set_class};

/// The bytes of one packet, and what is needed to write them again.
struct Kept {
    bytes: Vec<u8>,
    interface: u16,
    link_type: u16,
    ip_at: Option<u16>,
    class: u8,
    /// Of the bytes, those that were not on the wire.
    added_bytes: u32,
    /// How many queues have not done with it.
    holders: usize,
}

/// The bytes of all packets that are in a queue, or not yet in one. Their buffers are used again.
pub struct FrameStore {
    frames: Vec<Kept>,
    free: Vec<u32>,
    queues: usize,
}

/// One store for all queues of a replay.
pub type SharedFrames = Rc<RefCell<FrameStore>>;

impl FrameStore {
    /// An empty store for this many queues.
    pub fn shared(queues: usize) -> SharedFrames {
        Rc::new(RefCell::new(Self { frames: Vec::new(), free: Vec::new(), queues }))
    }

    /// Takes the bytes of a frame and leaves other ones; returns the slot in which they are.
    pub fn put(&mut self, frame: &CapturedFrame, bytes: &mut Vec<u8>) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            let (bytes, ip_at) = (Vec::new(), None);
            self.frames.push(Kept { bytes, interface: 0, link_type: 0, ip_at, class: 0, added_bytes: 0, holders: 0 });
            self.frames.len() as u32 - 1
        });
        let kept = &mut self.frames[slot as usize];
        std::mem::swap(&mut kept.bytes, bytes);
        (kept.interface, kept.link_type, kept.ip_at) = (frame.interface, frame.link_type, frame.ip_at);
        (kept.class, kept.added_bytes) = (frame.class, frame.added_bytes);
        kept.holders = self.queues;
        slot
    }

    /// A queue has done with it.
    fn release(&mut self, slot: u32) {
        let kept = &mut self.frames[slot as usize];
        kept.holders -= 1;
        if kept.holders == 0 {
            self.free.push(slot);
        }
    }
}

/// A capture of what became of packets. The first error stays, and ends the replay.
pub struct CaptureOutput<'a> {
    writer: PcapngWriter<Box<dyn Write + 'a>>,
    /// The interfaces described so far, by link type and number in the capture that was read.
    interfaces: BTreeMap<(u16, u16), u32>,
    /// The bytes of a packet that a queue has changed: the other queues have it as it came.
    changed: Vec<u8>,
}

impl<'a> CaptureOutput<'a> {
    /// An empty capture.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(out: Box<dyn Write + 'a>) -> io::Result<Self> {
        let writer = PcapngWriter::without_interfaces(out, 0)?;
        Ok(Self { writer, interfaces: BTreeMap::new(), changed: Vec::new() })
    }

    /// Writes a packet with this comment, with the ECN codepoint and the class that it has now if it `is_sent`.
    fn write(
        &mut self,
        kept: &Kept,
        time_ps: i128,
        packet: &CapturedPacket,
        is_sent: bool,
        comment: &str,
    ) -> io::Result<()> {
        let key = (kept.link_type, kept.interface);
        let interface = match self.interfaces.get(&key) {
            Some(&interface) => interface,
            None => {
                let interface = self.writer.interface(&format!("interface {}", kept.interface), kept.link_type)?;
                self.interfaces.insert(key, interface);
                interface
            }
        };
        let time_ns = u64::try_from(time_ps.div_euclid(1_000)).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, "the capture's times are before 1970 or after 2554")
        })?;
        let is_marked = packet.ecn == Ecn::CongestionExperienced;
        let data = match kept.ip_at.filter(|_| is_sent && (is_marked || packet.class != kept.class)) {
            None => &kept.bytes,
            Some(ip_at) => {
                self.changed.clone_from(&kept.bytes);
                if is_marked {
                    mark_ce(&mut self.changed, ip_at);
                }
                set_class(&mut self.changed, ip_at, packet.class);
                &self.changed
            }
        };
        let original_bytes = packet.len_bytes + kept.added_bytes;
        self.writer.frame(interface, &TraceFrame { time_ns, original_bytes, data, comment })
    }
}

/// The captures that are written of one queue.
pub struct Outputs<'a> {
    frames: SharedFrames,
    /// The time zero of the replay, in picoseconds since the Unix epoch; later after each pause that was shortened.
    pub epoch_ps: i128,
    delivered: Option<CaptureOutput<'a>>,
    dropped: Option<CaptureOutput<'a>>,
    error: Option<io::Error>,
}

impl<'a> Outputs<'a> {
    /// Nothing has been written yet.
    pub fn new(frames: SharedFrames, delivered: Option<CaptureOutput<'a>>, dropped: Option<CaptureOutput<'a>>) -> Self {
        Self { frames, epoch_ps: 0, delivered, dropped, error: None }
    }

    /// The last bit of a packet leaves. One that was marked has CE in its bytes, and any has its class.
    pub fn sent(&mut self, packet: &CapturedPacket, now: Time) {
        let mut frames = self.frames.borrow_mut();
        if let Some(capture) = &mut self.delivered
            && self.error.is_none()
        {
            let kept = &frames.frames[packet.slot as usize];
            let time_ps = self.epoch_ps + i128::from(now.picoseconds());
            self.error = capture.write(kept, time_ps, packet, true, "").err();
        }
        frames.release(packet.slot);
    }

    /// A packet is dropped. Its bytes are those with which it arrived.
    pub fn dropped(&mut self, packet: &CapturedPacket, reason: DropReason, now: Time) {
        let mut frames = self.frames.borrow_mut();
        if let Some(capture) = &mut self.dropped
            && self.error.is_none()
        {
            let kept = &frames.frames[packet.slot as usize];
            let time_ps = self.epoch_ps + i128::from(now.picoseconds());
            self.error = capture.write(kept, time_ps, packet, false, reason.column()).err();
        }
        frames.release(packet.slot);
    }

    /// The error since the last call, if any.
    pub fn take_error(&mut self) -> Option<io::Error> {
        self.error.take()
    }

    /// Writes what is still in buffers.
    ///
    /// # Errors
    /// Those of the outputs.
    pub fn finish(self) -> io::Result<()> {
        for capture in [self.delivered, self.dropped].into_iter().flatten() {
            capture.writer.finish()?;
        }
        Ok(())
    }
}
