//! CoDel, controlled delay: drops at the head of the queue when packets have waited too long for too long.
//!
//! # What it does
//! CoDel measures how long each packet was queued when the packet leaves. A queue that absorbs a burst has packets
//! below the target delay again within one interval. If no packet gets below the target for a whole interval, the queue
//! is a standing queue. CoDel then drops a packet. It continues at intervals that shrink with the square root of the
//! number of drops, to make TCP's rate fall linearly, until a packet leaves with less than the target delay. There is
//! no probability and nothing to tune to the link: delay is a time at every rate.
//!
//! # When to use it
//! Use it for a short delay at any link rate, with one queue and almost nothing to set, where the flows respond. It
//! does not hold back a flow that does not respond, and a flood can fill the buffer. Use `fq_codel` where that matters.
//!
//! # Example
//! ```toml
//! queue.codel = { target = "5 ms", interval = "100 ms" }
//! ```
//!
//! Set `interval` to the longest usual round-trip time, and `target` to 5 to 10 % of it. Below 2.4 Mb/s raise `target`
//! above the transmission time of one packet. `ecn = true` marks instead of dropping.
//!
//! # Source
//! K. Nichols, V. Jacobson, A. McGregor and J. Iyengar, "Controlled Delay Active Queue Management", RFC 8289, 2018.
//! `ecn` and `ce_threshold` follow Linux.
//!
//! # Where we differ
//! - Time has 64 bits and counts picoseconds, so that nothing wraps. ns-3 mistakes a next drop in the future for one
//!   long past when it decides whether to resume a dropping state.
//! - The square root is exact. `newton16` has the 16 bits of Linux and ns-3 and their one step of Newton's method for
//!   each drop; its second gap is half of the interval instead of 71 % of it. Linux's clock of 1.024 µs is not copied.
//! - With `ecn`, a mark replaces a drop and the packet leaves: one mark for each call, as in Linux. The next mark is
//!   scheduled from the time at which this one was due, as after a drop; ns-3 schedules it from the present.
//!
//! # Cost
//! Less than 200 bytes, and 8 bytes per queued packet. O(1) a packet: each is dropped or sent. A call takes as long as
//! there are packets to drop, with a square root for each drop; after an idle period that may be all packets but the
//! last. No random numbers.
//!
//! # Parameters
//! See [`CodelConfig`].

use forebay_units::{Bytes, QueueSize, Rate};

use crate::inverse_sqrt::{ONE, newton_step, shortened};
use crate::limit::Limit;
use crate::memory::inline_bytes;
use crate::require;
use crate::timed_fifo::{TimedFifo, TimedQueue};
use crate::{Backlog, Cx, Discipline, DropReason, MarkReason, Packet, ParameterError, Served, Span, Time};

parameters! {
    /// Parameters of CoDel.
    pub struct CodelConfig {
        queue limit = QueueSize::Packets(1000), "1000 packets (Linux)";
        codel target = Span::from_milliseconds(5), "5 ms (RFC 8289)";
        codel interval = Span::from_milliseconds(100), "100 ms (RFC 8289)";
        codel max_packet_size = Bytes(1500), "1500 B";
        /// How the square root of the number of drops is computed. Default: `exact`.
        pub square_root: SquareRoot = SquareRoot::Exact;
        codel ecn = false, "no";
        codel ce_threshold = None, "none";
    }
}

/// The bits of the inverse square root that `newton16` keeps.
const NEWTON16_BITS: u32 = 0xffff_0000;

/// Method by which CoDel computes the square root of the number of drops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum SquareRoot {
    /// To the precision of a double.
    #[default]
    Exact,
    /// As in Linux and ns-3: 16 bits, one step of Newton's method for each drop.
    Newton16,
}

/// The parameters of the control law; one for all queues that are under it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ControlLaw {
    target: Span,
    interval: Span,
    /// How long after a dropping state the next one takes up where it ended.
    memory: Span,
    max_packet_bytes: u64,
    square_root: SquareRoot,
    ecn: bool,
    ce_threshold: Option<Span>,
}

impl ControlLaw {
    /// The control law with these parameters; FQ-CoDel has them under the same names.
    pub fn new(config: &CodelConfig) -> Result<Self, ParameterError> {
        require(config.target > Span::ZERO, "target", "be more than 0")?;
        require(config.interval >= config.target, "interval", "be at least `target`")?;
        require(config.max_packet_size.0 > 0, "max_packet_size", "be at least 1 B")?;
        Ok(Self {
            target: config.target,
            interval: config.interval,
            memory: Span::from_picoseconds(config.interval.picoseconds().saturating_mul(16)),
            max_packet_bytes: config.max_packet_size.0,
            square_root: config.square_root,
            ecn: config.ecn,
            ce_threshold: config.ce_threshold,
        })
    }

    /// Signals congestion by a packet: marks it if it may be marked, and says so; else it is dropped.
    fn marks<P: Packet>(&self, packet: &mut Option<P>, cx: &mut Cx<'_, P>) -> bool {
        let Some(mut taken) = packet.take() else { return false };
        if !(self.ecn && taken.ecn().is_capable()) {
            cx.sink.dropped(taken, DropReason::Early, true);
            return false;
        }
        taken.mark_ce();
        cx.sink.marked(&taken, MarkReason::Early);
        *packet = Some(taken);
        true
    }
}

/// The control law's state for one queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ControlState {
    /// `first_above_time`: when the delay will have been above the target for an interval; none while it is below.
    first_above: Option<Time>,
    /// `drop_next`: time of the next drop in the dropping state.
    pub drop_next: Time,
    /// `count`: drops since the dropping state began, including those of the state before from which it continues.
    pub count: u32,
    /// `lastcount`: `count` when the dropping state began.
    last_count: u32,
    /// 1/sqrt(`count`) in units of 2^-32, the lower 16 bits zero; for `newton16`.
    inverse_sqrt: u32,
    /// `dropping`: whether it is in the dropping state.
    pub dropping: bool,
    /// How long the last packet that was taken out had been queued.
    pub sojourn_time: Span,
}

impl ControlState {
    /// A queue that is not congested.
    pub const NEW: Self = Self {
        first_above: None,
        drop_next: Time::ZERO,
        count: 0,
        last_count: 0,
        inverse_sqrt: ONE & NEWTON16_BITS,
        dropping: false,
        sojourn_time: Span::ZERO,
    };

    /// RFC 8289, routine `dequeue`: the next packet of `queue` to send; packets dropped on the way go to the sink.
    pub fn dequeue<P: Packet>(
        &mut self,
        law: &ControlLaw,
        queue: &mut impl TimedQueue<P>,
        cx: &mut Cx<'_, P>,
    ) -> Option<P> {
        let (mut packet, mut ok_to_drop) = self.take(law, queue, cx.now);
        let mut marked = false;
        if self.dropping {
            self.dropping = ok_to_drop;
            while self.dropping && !marked && cx.now >= self.drop_next {
                self.set_count(self.count.saturating_add(1));
                marked = law.marks(&mut packet, cx);
                if !marked {
                    (packet, ok_to_drop) = self.take(law, queue, cx.now);
                    self.dropping = ok_to_drop;
                }
                if self.dropping {
                    self.drop_next = self.next_drop_after(self.drop_next, law);
                }
            }
        } else if ok_to_drop {
            marked = law.marks(&mut packet, cx);
            if !marked {
                (packet, _) = self.take(law, queue, cx.now);
            }
            self.enter_dropping(law, cx.now);
        }
        let is_late = law.ce_threshold.is_some_and(|threshold| self.sojourn_time > threshold);
        if let Some(packet) = packet.as_mut().filter(|packet| is_late && !marked && packet.ecn().is_capable()) {
            packet.mark_ce();
            cx.sink.marked(packet, MarkReason::Forced);
        }
        packet
    }

    /// RFC 8289, routine `dodequeue`: the first packet, and whether the law would have it dropped: the delay has
    /// been above the target for an interval.
    fn take<P>(&mut self, law: &ControlLaw, queue: &mut impl TimedQueue<P>, now: Time) -> (Option<P>, bool) {
        let Some((packet, came_at)) = queue.pop() else {
            self.first_above = None;
            return (None, false);
        };
        self.sojourn_time = now.since(came_at);
        if self.sojourn_time < law.target || queue.bytes() <= law.max_packet_bytes {
            self.first_above = None;
            return (Some(packet), false);
        }
        match self.first_above {
            Some(first_above) => (Some(packet), now >= first_above),
            None => {
                self.first_above = Some(now.saturating_add(law.interval));
                (Some(packet), false)
            }
        }
    }

    /// RFC 8289, routine `dequeue`: begins a dropping state by its first drop. Soon after the last one it takes up the
    /// rate of drops that had been reached, less what the one before had contributed.
    fn enter_dropping(&mut self, law: &ControlLaw, now: Time) {
        self.dropping = true;
        let reached = self.count - self.last_count;
        let recent = now.since(self.drop_next) < law.memory;
        if reached > 1 && recent {
            self.set_count(reached);
        } else {
            self.count = 1;
            self.inverse_sqrt = Self::NEW.inverse_sqrt;
        }
        self.last_count = self.count;
        self.drop_next = self.next_drop_after(now, law);
    }

    fn set_count(&mut self, count: u32) {
        self.count = count;
        self.inverse_sqrt = newton_step(self.inverse_sqrt, count) & NEWTON16_BITS;
    }

    /// RFC 8289, routine `control_law`: an interval over the square root of `count` after `time`.
    fn next_drop_after(&self, time: Time, law: &ControlLaw) -> Time {
        time.saturating_add(match law.square_root {
            SquareRoot::Exact => {
                let gap = law.interval.picoseconds() as f64 / libm::sqrt(f64::from(self.count));
                Span::from_picoseconds(libm::round(gap) as u64)
            }
            SquareRoot::Newton16 => shortened(law.interval, self.inverse_sqrt),
        })
    }
}

/// CoDel: controlled delay.
#[derive(Clone, Debug)]
pub struct Codel<P> {
    limit: Limit,
    law: ControlLaw,
    state: ControlState,
    queue: TimedFifo<P>,
}

impl<P: Packet> Codel<P> {
    /// An empty CoDel queue. Neither the link's rate nor the salt matters.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &CodelConfig, _link_rate: Rate, _salt: u64) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        let law = ControlLaw::new(config)?;
        Ok(Self { limit, law, state: ControlState::NEW, queue: TimedFifo::new() })
    }
}

impl<P: Packet> Discipline<P> for Codel<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        if !self.limit.fits(self.queue.backlog(), packet.len_bytes()) {
            return cx.sink.dropped(packet, DropReason::Overflow, false);
        }
        self.queue.push(packet, cx.now);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        self.state.dequeue(&self.law, &mut self.queue, cx).into()
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self)
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("sojourn_time_s", self.state.sojourn_time.seconds());
        visit("count", f64::from(self.state.count));
        visit("dropping", f64::from(u8::from(self.state.dropping)));
        visit("drop_next_s", self.state.drop_next.seconds());
    }
}

#[cfg(test)]
#[path = "codel_tests.rs"]
mod tests;
