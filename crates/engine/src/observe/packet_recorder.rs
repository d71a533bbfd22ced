//! Records the packets of a queue, one event after the other.
//!
//! A packet has no number of its own. In a queue its time of arrival, its flow and its sequence number do not change,
//! so these find it again. Of packets that have all of them in common, the first to come is the first to go.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use forebay_qdisc::{Rate, Time};

use crate::observe::event_log::EventLog;
use crate::observe::watched::{LoggedPacket, PacketEvent, PacketLog};
use crate::packet::Packet;
use crate::spec::Watch;

/// By which a packet in a queue is found. Behind a law it is the first of its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PacketKey([u64; 2]);

impl PacketKey {
    pub fn of(packet: &Packet) -> Self {
        Self([packet.time.picoseconds(), packet.identity()])
    }

    /// The packets of a FIFO, of which the recorded queue may have several.
    pub fn of_fifo(number: usize) -> Self {
        Self([number as u64, 0])
    }
}

/// The length of a packet and its [`Packet::direction_index`].
#[derive(Clone, Copy)]
pub(crate) struct Traits {
    pub direction: u32,
    pub len_bytes: u32,
}

impl Traits {
    pub fn of(packet: &Packet) -> Self {
        Self { direction: packet.direction_index() as u32, len_bytes: packet.len_bytes() }
    }
}

#[derive(Clone, Copy)]
struct Recorded {
    packet: u64,
    traits: Traits,
    event: PacketEvent,
}

/// The log of a queue while it fills. The queue, and what reports its counters, share it.
#[derive(Clone)]
pub(crate) struct SharedRecorder(Arc<Mutex<PacketRecorder>>);

impl SharedRecorder {
    /// The recorder of the queue that feeds a link of this `rate`. `place` is that of the link in `watch`.
    pub fn new(watch: &Watch, place: usize, rate: Rate) -> Self {
        let log = EventLog::new(watch);
        let (queued, marked) = (BTreeMap::new(), BTreeMap::new());
        let recorder =
            PacketRecorder { place, rate, log, queued, marked, next: 0, has_begun: false, departures_are_drops: false };
        Self(Arc::new(Mutex::new(recorder)))
    }

    pub fn lock(&self) -> MutexGuard<'_, PacketRecorder> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Times of calls do not decrease, but for [`PacketRecorder::pass`] and [`PacketRecorder::evict`].
pub(crate) struct PacketRecorder {
    /// Its place among the logs of the run.
    pub place: usize,
    rate: Rate,
    log: EventLog<Recorded>,
    /// The packets in the queue, by key and number.
    queued: BTreeMap<(PacketKey, u64), Traits>,
    /// The numbers of marked packets whose passage is still to be recorded, by time of arrival and direction.
    marked: BTreeMap<(Time, u32), u64>,
    /// The number of the next packet.
    next: u64,
    has_begun: bool,
    /// Whether packets that leave the queue are dropped.
    pub departures_are_drops: bool,
}

impl PacketRecorder {
    /// A packet joins the queue. Returns its number.
    pub fn enqueue(&mut self, key: PacketKey, traits: Traits, now: Time) -> u64 {
        self.advance(now);
        let packet = self.number();
        if !self.log.is_over(now) {
            self.queued.insert((key, packet), traits);
            self.log.add(now, Recorded { packet, traits, event: PacketEvent::Enqueued });
        }
        packet
    }

    /// The packet that has just joined the queue was dropped on arrival.
    pub fn take_back(&mut self, key: PacketKey, packet: u64) {
        self.queued.remove(&(key, packet));
        let is_same = |recorded: &Recorded| recorded.packet == packet && recorded.event == PacketEvent::Enqueued;
        self.log.change_latest(is_same, |recorded| recorded.event = PacketEvent::DroppedOnArrival);
    }

    /// A packet arrives and is dropped.
    pub fn refuse(&mut self, traits: Traits, now: Time) {
        self.advance(now);
        let packet = self.number();
        self.log.add(now, Recorded { packet, traits, event: PacketEvent::DroppedOnArrival });
    }

    /// A packet leaves the queue.
    pub fn leave(&mut self, key: PacketKey, event: PacketEvent, now: Time) {
        self.advance(now);
        let event = if self.departures_are_drops { PacketEvent::DroppedLater } else { event };
        if let Some((packet, traits)) = self.find(key) {
            self.queued.remove(&(key, packet));
            self.log.add(now, Recorded { packet, traits, event });
        }
    }

    /// A queued packet is marked.
    pub fn mark(&mut self, key: PacketKey, now: Time) {
        self.advance(now);
        if let Some((packet, traits)) = self.find(key) {
            self.log.add(now, Recorded { packet, traits, event: PacketEvent::Marked });
        }
    }

    /// A queued packet has this length from now on.
    pub fn trim(&mut self, key: PacketKey, len_bytes: u32) {
        if let Some((packet, _)) = self.find(key)
            && let Some(traits) = self.queued.get_mut(&(key, packet))
        {
            traits.len_bytes = len_bytes;
        }
    }

    /// The packet that has just joined the queue is marked.
    pub fn mark_latest(&mut self, traits: Traits, now: Time) {
        self.log.add(now, Recorded { packet: self.next - 1, traits, event: PacketEvent::Marked });
    }

    /// The packet that joins the queue next is marked.
    pub fn mark_next(&mut self, traits: Traits, now: Time) {
        self.advance(now);
        self.log.add(now, Recorded { packet: self.next, traits, event: PacketEvent::Marked });
    }

    /// The packet that arrives, and whose passage is recorded later, is marked.
    pub fn mark_passing(&mut self, traits: Traits, now: Time) {
        let packet = self.number();
        self.marked.insert((now, traits.direction), packet);
        self.log.add(now, Recorded { packet, traits, event: PacketEvent::Marked });
    }

    /// A packet joined the queue at `arrived`, and left it at `departed`, unless it is still there.
    pub fn pass(&mut self, traits: Traits, arrived: Time, departed: Option<Time>) {
        self.stay(traits, arrived, departed.map(|departed| (departed, PacketEvent::Departed)));
    }

    /// A packet joined the queue at `arrived`, and was pushed out at `now`.
    pub fn evict(&mut self, traits: Traits, arrived: Time, now: Time) {
        self.stay(traits, arrived, Some((now, PacketEvent::DroppedLater)));
    }

    /// A packet joined the queue at `arrived`, and left it at a time and in a way, unless it is still there.
    fn stay(&mut self, traits: Traits, arrived: Time, left: Option<(Time, PacketEvent)>) {
        let marked = self.marked.remove(&(arrived, traits.direction));
        let packet = marked.unwrap_or_else(|| self.number());
        let enqueued = Recorded { packet, traits, event: PacketEvent::Enqueued };
        if arrived >= self.log.from() {
            self.log.add(arrived, enqueued);
        } else if left.is_none_or(|(at, _)| at >= self.log.from()) {
            self.log.add_at_begin(enqueued);
        }
        if let Some((at, event)) = left {
            self.log.add(at, Recorded { event, ..enqueued });
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// The first packet with this key.
    fn find(&self, key: PacketKey) -> Option<(u64, Traits)> {
        let ((_, packet), traits) = self.queued.range((key, 0)..=(key, u64::MAX)).next()?;
        Some((*packet, *traits))
    }

    fn advance(&mut self, now: Time) {
        if !self.has_begun && now >= self.log.from() {
            self.has_begun = true;
            let mut queued: Vec<(u64, Traits)> = self.queued.iter().map(|(&(_, packet), &it)| (packet, it)).collect();
            queued.sort_unstable_by_key(|&(packet, _)| packet);
            for (packet, traits) in queued {
                self.log.add_at_begin(Recorded { packet, traits, event: PacketEvent::Enqueued });
            }
        }
        if self.log.is_over(now) {
            // Nothing more is recorded.
            self.queued.clear();
        }
    }

    /// The log at the end of the run. `name` is that of a flow, with its direction.
    pub fn close(&mut self, link: &str, end: Time, name: impl Fn(usize) -> String) -> PacketLog {
        self.advance(end);
        let nothing = Watch { links: Vec::new(), from: Time::NEVER, to: Time::ZERO, most: 0 };
        let (recorded, is_cut) = std::mem::replace(&mut self.log, EventLog::new(&nothing)).close(end);
        let (mut flows, mut packets, mut flow_names) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let events = recorded.map(|(time, Recorded { packet, traits, event })| {
            let next = packets.len() as u32;
            let packet = *packets.entry(packet).or_insert(next);
            let Traits { direction, len_bytes } = traits;
            let flow = *flows.entry(direction).or_insert_with(|| {
                let name = name(direction as usize);
                // Connections of an application have one name together.
                let known = flow_names.iter().position(|known| *known == name);
                known.unwrap_or_else(|| {
                    flow_names.push(name);
                    flow_names.len() - 1
                }) as u32
            });
            LoggedPacket { time, event, flow, len_bytes, packet }
        });
        let events = events.collect();
        PacketLog { link: link.to_owned(), rate: self.rate, events, flow_names, is_cut }
    }
}
