//! A virtual output queue of an adapter: the frames of one flow, and its rate limiter.
//!
//! A generator's frames are equal, so their queue is a counter.

use forebay_qdisc::{Ecn, Rate, Span, Time};
use forebay_switching::RateLimiter;
use forebay_switching::congestion::ReactionPoint;
use rand_pcg::Pcg64Mcg;

use crate::driver::ring::Ring;
use crate::observe::flow_counters::SendCounters;
use crate::packet::{FlowId, Packet, PacketFields, departure_stamp};

/// A flow that begins here, or the ACKs of a flow that ends here.
pub(crate) struct SourceFlow {
    pub flow: FlowId,
    pub class: u8,
    pub is_ack: bool,
    pub supply: Supply,
    pub reaction: Option<Box<dyn ReactionPoint>>,
    /// For the reaction point.
    pub rng: Pcg64Mcg,
    pub counters: SendCounters,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Supply {
    Generator {
        generator: usize,
        /// Weight of this flow among those of the generator.
        share: f64,
        len_bytes: u16,
        ecn: Ecn,
    },
    Endpoint,
}

/// The queue of a flow, or of its ACKs. Hot fields first.
#[repr(C, align(64))]
pub(crate) struct VirtualQueue {
    /// From a generator: the template of all frames. Otherwise the packet sent last.
    pub frame: Packet,
    pub backlog: u32,
    /// Whether the frames are in `packets`. Otherwise they equal `frame`.
    pub has_packets: bool,
    /// When the limiter lets the next frame go.
    pub eligible_at: Time,
    /// Gap that the limiter leaves after the start of `frame`.
    pub interval: Span,
    /// Transmission time of `frame`.
    pub transmission: Span,
    pub counters: SendCounters,
    /// Above this count of bytes in the counters, the byte counter of the reaction point has expired.
    pub counter_expires: u64,
    limiter: RateLimiter,
    /// Bytes reported to the reaction point.
    pub heard_bytes: u64,
    /// Of the limiter, in bit/s. `None`: no limiter.
    pub rate_bps: Option<f64>,
    pub reaction: Option<Box<dyn ReactionPoint>>,
    pub rng: Pcg64Mcg,
    /// The source of `frame`. `number` is the limiter tag of all frames.
    pub fields: PacketFields,
    pub packets: Ring<Packet>,
}

impl VirtualQueue {
    /// Frames are generated ahead for at most the transmission time of this many frames.
    const AHEAD: u32 = 16;

    pub fn new(source: SourceFlow, line: Rate) -> Self {
        let SourceFlow { flow, class, supply, reaction, rng, mut counters, .. } = source;
        let record = &mut counters.record;
        if let Some(series) = &mut record.series {
            series.rate_limit = reaction.as_ref().map(|_| Vec::new());
            if matches!(supply, Supply::Endpoint) {
                // The endpoint has its own.
                series.sent = None;
            }
        }
        let (len_bytes, ecn) = match supply {
            Supply::Generator { len_bytes, ecn, .. } => (len_bytes, ecn),
            Supply::Endpoint => (0, Ecn::NotCapable),
        };
        let fields = PacketFields {
            time: Time::ZERO,
            stamp: 0,
            number: 0,
            flow,
            len_bytes,
            flags: 0,
            // Three bits on the wire (IEEE 802.1Q).
            class: class & 7,
            ecn,
        };
        Self {
            frame: Packet::new(fields),
            backlog: 0,
            has_packets: matches!(supply, Supply::Endpoint),
            heard_bytes: 0,
            counter_expires: u64::MAX,
            eligible_at: Time::ZERO,
            interval: Span::ZERO,
            limiter: RateLimiter::default(),
            rate_bps: None,
            transmission: line.transmission_time(u64::from(len_bytes)),
            reaction,
            rng,
            counters,
            fields,
            packets: Ring::default(),
        }
    }

    /// Whether a frame generated at `at` finds room, and still finds queued frames if they are sent from `now` on. Then
    /// it can join early and no result changes.
    #[inline]
    pub fn has_room_until(&self, at: Time, limit: u32, now: Time) -> bool {
        let backlog = self.backlog.min(Self::AHEAD);
        // One branch in place of three, none of which can be predicted.
        (backlog > 0) & (at < now + self.transmission * u64::from(backlog)) & (self.backlog < limit)
    }

    /// Whether the reaction point must be notified on time of the frame sent last.
    #[inline]
    pub fn is_heard(&self) -> bool {
        self.counters.count.bytes > self.counter_expires
    }

    /// Takes the first frame. Its transmission begins at `now`.
    #[inline]
    pub fn send(&mut self, now: Time, line: Rate) -> Packet {
        self.backlog -= 1;
        if self.has_packets {
            self.take_packet(line);
        } else {
            self.frame.stamp = departure_stamp(now);
        }
        let mut frame = self.frame;
        frame.time = now;
        if self.counters.count.packets == 0 {
            self.counters.record.started = Some(now);
        }
        self.counters.sent(&frame, false);
        self.limiter.sent(frame.len_bytes(), now);
        self.eligible_at = now.saturating_add(self.interval);
        frame
    }

    #[inline(never)]
    fn take_packet(&mut self, line: Rate) {
        let Some(packet) = self.packets.pop() else { return };
        if packet.len_bytes() != self.frame.len_bytes() {
            self.transmission = line.transmission_time(u64::from(packet.len_bytes()));
        }
        self.frame = if packet.is_ack() { packet } else { packet.with_limiter_tag(self.fields.number) };
        self.interval = self.limited_interval();
    }

    fn limited_interval(&self) -> Span {
        self.rate_bps.map_or(Span::ZERO, |rate| RateLimiter::interval(self.frame.len_bytes(), rate))
    }

    /// Sets the tag of frames sent from now on. 0 is no congestion point.
    pub fn tag(&mut self, number: u32) {
        self.fields.number = number;
        if !self.has_packets {
            self.frame = Packet::new(self.fields);
        }
    }

    /// Sets the limiter's rate. `None` removes the limiter.
    pub fn limit(&mut self, rate_bps: Option<f64>) {
        self.rate_bps = rate_bps;
        self.eligible_at = rate_bps.map_or(Time::ZERO, |rate| self.limiter.eligible_at(rate));
        self.interval = self.limited_interval();
    }
}

#[cfg(test)]
mod tests {
    use forebay_records::random::stream;

    use super::*;

    const LINE: Rate = Rate::megabits(10_000);

    fn at(nanoseconds: u64) -> Time {
        Time::ZERO + Span::from_nanoseconds(nanoseconds)
    }

    fn queue() -> VirtualQueue {
        let supply = Supply::Generator { generator: 0, share: 1.0, len_bytes: 1500, ecn: Ecn::NotCapable };
        let (rng, counters) = (stream(1, "reaction"), SendCounters::new(false));
        let source = SourceFlow { flow: 7, class: 3, is_ack: false, supply, reaction: None, rng, counters };
        VirtualQueue { backlog: 3, ..VirtualQueue::new(source, LINE) }
    }

    #[test]
    fn a_limiter_spaces_frames_and_gives_them_its_tag() {
        let mut queue = queue();
        queue.tag(5);
        queue.limit(Some(1e9));
        let frame = queue.send(at(100), LINE);
        assert_eq!((frame.flow_id(), frame.number(), frame.class(), frame.time), (7, 5, 3, at(100)));
        // 1500 B at 1 Gb/s.
        assert_eq!((queue.backlog, queue.eligible_at), (2, at(12_100)));
        queue.limit(Some(2e9));
        assert_eq!(queue.eligible_at, at(6100));
        queue.limit(None);
        assert!(queue.eligible_at <= at(100));
    }

    #[test]
    fn a_frame_may_join_early_while_others_are_sent_before_it_comes() {
        let queue = queue();
        // Three frames of 1.2 us are queued at 1 us.
        assert!(queue.has_room_until(at(4599), 10, at(1000)));
        assert!(!queue.has_room_until(at(4600), 10, at(1000)));
        assert!(!queue.has_room_until(at(2000), 3, at(1000)), "the queue is full");
    }
}
