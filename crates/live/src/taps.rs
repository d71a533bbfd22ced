//! Listeners of a port: a capture of drops and marks, and a record of arrivals.
//!
//! A tap runs on the thread that forwards packets, and so never waits: it puts what it has seen into a channel of fixed
//! size, and counts what finds no room. No thread sleeps on the other end of the channel ([`Encoder`] is polled a few
//! hundred times a second). Sending therefore never wakes a thread, which would cost a call of the kernel for each
//! packet.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};

use forebay_qdisc::{DropReason, MarkReason, Span, Time};
use forebay_records::pcapng::{PcapngWriter, TraceFrame};
use forebay_replay::{FlowIdentity, LinkType, RecordWriter, RecordedArrival, identify};

use crate::counters::MARK_REASONS;
use crate::packet::LivePacket;
use crate::port::Tap;

/// Drops and marks that wait to be written.
const CAPTURE_ROOM: usize = 1 << 12;
/// Arrivals that wait to be written.
const RECORD_ROOM: usize = 1 << 16;
const LINKTYPE_ETHERNET: u16 = 1;

/// The counters of one tap.
#[derive(Debug, Default)]
pub struct Tally {
    /// Events put into the channel.
    pub taken: AtomicU64,
    /// Events without room there.
    pub missed: AtomicU64,
}

/// The end of a tap on the forwarding thread.
struct Sender<T> {
    events: SyncSender<T>,
    tally: Arc<Tally>,
    over: Arc<AtomicBool>,
}

impl<T> Sender<T> {
    /// Sends an event that is made only if there is a listener.
    fn send(&self, event: impl FnOnce(u64) -> T) {
        if self.over.load(Ordering::Relaxed) {
            return;
        }
        let missed = self.tally.missed.load(Ordering::Relaxed);
        match self.events.try_send(event(missed)) {
            Ok(()) => {
                self.tally.taken.fetch_add(1, Ordering::Relaxed);
            }
            Err(TrySendError::Full(_)) => {
                self.tally.missed.fetch_add(1, Ordering::Relaxed);
            }
            Err(TrySendError::Disconnected(_)) => self.over.store(true, Ordering::Relaxed),
        }
    }
}

/// Turns what a tap sends into the bytes of a file.
pub trait Encoder: Send {
    /// Takes what is there into [`Encoder::bytes`], as long as these are fewer than `most`. Returns whether anything
    /// was.
    ///
    /// # Errors
    /// A failed write.
    fn fill(&mut self, most: usize) -> io::Result<bool>;

    /// Nothing more comes: says what was missed last.
    ///
    /// # Errors
    /// A failed write.
    fn end(&mut self) -> io::Result<()>;

    /// The bytes that were not taken away yet.
    fn bytes(&mut self) -> &mut Vec<u8>;
}

/// A tap with the other end of its channel.
pub struct Tapped {
    /// The taps, one for each requested direction.
    pub taps: Vec<Box<dyn Tap>>,
    /// Their counters.
    pub tallies: Vec<Arc<Tally>>,
    /// Ends the taps when it is set.
    pub over: Arc<AtomicBool>,
    /// The other end.
    pub encoder: Box<dyn Encoder>,
}

/// The fate of a frame.
#[derive(Clone, Copy)]
enum Fate {
    Dropped(DropReason),
    Marked(MarkReason),
}

struct CapturedEvent {
    interface: u32,
    at: Time,
    sojourn: Span,
    fate: Fate,
    frame: Box<[u8]>,
}

/// Tells of drops and marks, with the bytes of the frames as they arrived.
struct CaptureTap {
    interface: u32,
    sender: Sender<CapturedEvent>,
}

impl CaptureTap {
    fn tell(&self, at: Time, packet: &LivePacket, frame: &[u8], fate: Fate) {
        let (interface, sojourn) = (self.interface, at.since(packet.arrived));
        self.sender.send(|_| CapturedEvent { interface, at, sojourn, fate, frame: frame.into() });
    }
}

impl Tap for CaptureTap {
    fn dropped(&mut self, now: Time, packet: &LivePacket, frame: &[u8], reason: DropReason) {
        self.tell(now, packet, frame, Fate::Dropped(reason));
    }

    fn marked(&mut self, now: Time, packet: &LivePacket, frame: &[u8], reason: MarkReason) {
        self.tell(now, packet, frame, Fate::Marked(reason));
    }

    fn is_over(&self) -> bool {
        self.sender.over.load(Ordering::Relaxed)
    }
}

/// Drops and marks as pcapng. The comment of a packet is the reason and how long the packet had been queued.
struct CaptureEncoder {
    events: Receiver<CapturedEvent>,
    writer: PcapngWriter<Vec<u8>>,
    tallies: Vec<Arc<Tally>>,
    unix_ns_at_zero: u64,
    last_ns: u64,
}

/// A capture of the drops and marks of these directions, as pcapng with an interface for each. `unix_ns_at_zero` is
/// the time of day at [`Time::ZERO`].
///
/// # Errors
/// None of the writer, whose output is memory.
pub fn capture(directions: &[&str], unix_ns_at_zero: u64) -> io::Result<Tapped> {
    let (events, received) = mpsc::sync_channel(CAPTURE_ROOM);
    let over = Arc::new(AtomicBool::new(false));
    let mut writer = PcapngWriter::without_interfaces(Vec::new(), 0)?;
    let (mut taps, mut tallies) = (Vec::<Box<dyn Tap>>::new(), Vec::new());
    for direction in directions {
        let interface = writer.interface(direction, LINKTYPE_ETHERNET)?;
        let tally = Arc::new(Tally::default());
        let sender = Sender { events: events.clone(), tally: Arc::clone(&tally), over: Arc::clone(&over) };
        taps.push(Box::new(CaptureTap { interface, sender }));
        tallies.push(tally);
    }
    let encoder = CaptureEncoder {
        events: received,
        writer,
        tallies: tallies.clone(),
        unix_ns_at_zero,
        last_ns: unix_ns_at_zero,
    };
    Ok(Tapped { taps, tallies, over, encoder: Box::new(encoder) })
}

fn unix_ns(unix_ns_at_zero: u64, time: Time) -> u64 {
    unix_ns_at_zero.saturating_add(time.picoseconds() / 1_000)
}

impl Encoder for CaptureEncoder {
    fn fill(&mut self, most: usize) -> io::Result<bool> {
        let mut any = false;
        while self.writer.output().len() < most
            && let Ok(CapturedEvent { interface, at, sojourn, fate, frame }) = self.events.try_recv()
        {
            any = true;
            let time_ns = unix_ns(self.unix_ns_at_zero, at);
            self.last_ns = time_ns;
            let reason = match fate {
                Fate::Dropped(reason) => reason.column().to_owned(),
                Fate::Marked(reason) => format!("marked_{}", MARK_REASONS[reason as usize].1),
            };
            let comment = format!("{reason}, queued {:.3} ms", sojourn.seconds() * 1e3);
            let frame = TraceFrame { time_ns, original_bytes: frame.len() as u32, data: &frame, comment: &comment };
            self.writer.frame(interface, &frame)?;
        }
        Ok(any)
    }

    fn end(&mut self) -> io::Result<()> {
        for (interface, tally) in self.tallies.iter().enumerate() {
            self.writer.left_out(interface as u32, self.last_ns, tally.missed.load(Ordering::Relaxed))?;
        }
        Ok(())
    }

    fn bytes(&mut self) -> &mut Vec<u8> {
        self.writer.output()
    }
}

struct RecordedEvent {
    arrived: Time,
    flow: FlowIdentity,
    len_bytes: u32,
    ecn: forebay_qdisc::Ecn,
    class: u8,
    /// Arrivals that were missed before this one.
    missed: u64,
}

/// Tells of arrivals.
struct RecordTap(Sender<RecordedEvent>);

impl Tap for RecordTap {
    fn arrived(&mut self, packet: &LivePacket, frame: &[u8]) {
        let LivePacket { arrived, len_bytes, ecn, class, .. } = *packet;
        self.0.send(|missed| {
            let flow = identify(LinkType::Ethernet, frame);
            RecordedEvent { arrived, flow, len_bytes, ecn, class, missed }
        });
    }

    fn is_over(&self) -> bool {
        self.0.over.load(Ordering::Relaxed)
    }
}

struct RecordEncoder {
    events: Receiver<RecordedEvent>,
    writer: RecordWriter<Vec<u8>>,
    tally: Arc<Tally>,
    /// The record so far.
    missed: u64,
    unix_ns_at_zero: u64,
}

/// A record of the arrivals of one direction from `start` on.
///
/// # Errors
/// None of the writer, whose output is memory.
pub fn record(start: Time, unix_ns_at_zero: u64) -> io::Result<Tapped> {
    let (events, received) = mpsc::sync_channel(RECORD_ROOM);
    let (over, tally) = (Arc::new(AtomicBool::new(false)), Arc::new(Tally::default()));
    let tap = RecordTap(Sender { events, tally: Arc::clone(&tally), over: Arc::clone(&over) });
    let writer = RecordWriter::new(Vec::new(), unix_ns(unix_ns_at_zero, start))?;
    let tallies = vec![Arc::clone(&tally)];
    let encoder = RecordEncoder { events: received, writer, tally, missed: 0, unix_ns_at_zero };
    Ok(Tapped { taps: vec![Box::new(tap)], tallies, over, encoder: Box::new(encoder) })
}

impl RecordEncoder {
    fn tell_missed(&mut self, missed: u64) -> io::Result<()> {
        if missed > self.missed {
            self.writer.missed(missed - self.missed)?;
            self.missed = missed;
        }
        Ok(())
    }
}

impl Encoder for RecordEncoder {
    fn fill(&mut self, most: usize) -> io::Result<bool> {
        let mut any = false;
        while self.writer.output().len() < most
            && let Ok(RecordedEvent { arrived, flow, len_bytes, ecn, class, missed }) = self.events.try_recv()
        {
            any = true;
            self.tell_missed(missed)?;
            let time_ns = unix_ns(self.unix_ns_at_zero, arrived);
            self.writer.arrival(&RecordedArrival { time_ns, flow, len_bytes, ecn, class })?;
        }
        Ok(any)
    }

    fn end(&mut self) -> io::Result<()> {
        self.tell_missed(self.tally.missed.load(Ordering::Relaxed))
    }

    fn bytes(&mut self) -> &mut Vec<u8> {
        self.writer.output()
    }
}

#[cfg(test)]
#[path = "taps_tests.rs"]
mod tests;
