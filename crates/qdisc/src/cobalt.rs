//! COBALT: CoDel for flows that respond and BLUE for those that do not, on one queue.
//!
//! # What it does
//! CoDel's control law acts on the delay of the packet at the head of the queue, with one difference. The number of
//! drops is not reset when the delay falls below the target, but decreases by the schedule by which it increased. The
//! law thus finds its rate again at once. In addition, BLUE keeps a drop probability that grows when the queue
//! overflows and shrinks when it runs empty. A flood that ignores CoDel's signals thus meets a loss rate that it cannot
//! outrun.
//!
//! # When to use it
//! Use it in place of CoDel where a flood must not fill the one queue that all flows share. The delay then stays short
//! for all, but the flood keeps most of the link: for fair shares use `fq_codel`.
//!
//! # Example
//! ```toml
//! queue.cobalt = { target = "5 ms", interval = "100 ms", ecn = true }
//! ```
//!
//! Set `interval` to the longest usual round-trip time, and `target` to 5 to 10 % of it. `limit` must be reached before
//! BLUE acts, unless `blue_threshold` is set.
//!
//! # Source
//! Cake's queue management in Linux, described in T. Hoeiland-Joergensen, D. Taht and J. Morton, "Piece of CAKE: A
//! Comprehensive Queue Management Solution for Home Gateways", LANMAN 2018; and J. Palmei et al., "Design and
//! Evaluation of COBALT Queue Discipline", LANMAN 2019, which adds it to ns-3. `blue_threshold` is ns-3's.
//!
//! # Where we differ
//! - A full queue drops the arriving packet, as in ns-3; CAKE drops the head of its longest queue.
//! - The last packet in the queue is marked but not dropped. The delay must exceed the transmission time of four
//!   packets of the maximum size as well as the target. Both rules are CAKE's, not those of ns-3.
//! - BLUE decides first: a packet that it drops is not reported as marked before. BLUE never marks, as in both.
//! - BLUE's probability is a double instead of a 32-bit fraction.
//!
//! # Cost
//! Less than 200 bytes, and 8 bytes per queued packet. O(1) a packet: each is dropped or sent, and the number of drops
//! decreases by what it increased. One call may drop all packets but the last, with a random number for each packet
//! while BLUE's probability is not 0.
//!
//! # Parameters
//! See [`CobaltConfig`].

use forebay_units::{Bytes, QueueSize, Rate};

use crate::inverse_sqrt::{ONE, newton_step, shortened};
use crate::limit::{Limit, check_probability};
use crate::memory::inline_bytes;
use crate::require;
use crate::timed_fifo::{TimedFifo, TimedQueue};
use crate::{Backlog, Cx, Discipline, DropReason, MarkReason, Packet, ParameterError, Served, Span, Time, uniform};

parameters! {
    /// Parameters of COBALT.
    pub struct CobaltConfig {
        queue limit = QueueSize::Packets(1000), "1000 packets";
        /// Delay above which the control law considers the queue congested; also the minimum time between two steps of
        /// BLUE's probability. Default: 5 ms (CAKE).
        codel target = Span::from_milliseconds(5);
        /// Time for which the delay must stay above the target before the first drop; also the longest gap between
        /// drops. Default: 100 ms (CAKE).
        codel interval = Span::from_milliseconds(100);
        /// Maximum packet size: a delay below the transmission time of four such packets is not congestion. Default:
        /// 1500 B.
        codel max_packet_size = Bytes(1500);
        /// Increase of BLUE's drop probability when the queue overflows. Default: 1/256 (CAKE).
        pub increment: f64 = 1.0 / 256.0;
        /// Decrease of BLUE's drop probability when the queue runs empty. Default: 1/4096 (CAKE).
        pub decrement: f64 = 1.0 / 4096.0;
        /// Delay above which BLUE's drop probability grows as if the queue had overflowed. Default: none (CAKE); 400 ms
        /// in ns-3.
        pub blue_threshold: Option<Span> = None;
        codel ecn = false, "no (ns-3); CAKE marks";
        codel ce_threshold = None, "none";
    }
}

/// 1/sqrt(n) for n = 0, 1, … in units of 2^-32: CAKE's table, since one step of Newton's method is far off where n is
/// small.
const INVERSE_SQRT: [u32; 16] = [
    ONE,
    ONE,
    3_037_000_500,
    2_479_700_525,
    2_147_483_647,
    1_920_767_767,
    1_753_413_056,
    1_623_345_051,
    1_518_500_250,
    1_431_655_765,
    1_358_187_914,
    1_294_981_364,
    1_239_850_263,
    1_191_209_601,
    1_147_878_294,
    1_108_955_788,
];

/// The law of COBALT; one for all queues that are under it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CobaltLaw {
    /// Delay above which the queue is congested.
    pub congestion_delay: Span,
    pub interval: Span,
    pub ecn: bool,
    pub ce_threshold: Option<Span>,
    /// BLUE's steps up and down, and the least time between two.
    pub increment: f64,
    pub decrement: f64,
    pub freeze: Span,
    pub blue_threshold: Option<Span>,
}

/// A decision about the packet at the head of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CobaltVerdict {
    Pass,
    /// It has been marked.
    Mark,
    Drop,
}

/// The law's state for one queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CobaltState {
    /// When `count` changes next, up or down.
    pub drop_next: Time,
    /// `p_drop`: BLUE's probability.
    pub probability: f64,
    /// When BLUE's probability was changed.
    stepped_at: Time,
    /// Drops that the control law has made and not yet run down.
    pub count: u32,
    /// 1/sqrt(`count`) in units of 2^-32.
    inverse_sqrt: u32,
    pub dropping: bool,
}

impl CobaltState {
    /// A queue that is not congested.
    pub const NEW: Self = Self {
        drop_next: Time::ZERO,
        probability: 0.0,
        stepped_at: Time::ZERO,
        count: 0,
        inverse_sqrt: ONE,
        dropping: false,
    };

    /// The queue has overflowed.
    pub fn overflowed(&mut self, law: &CobaltLaw, now: Time) {
        self.raise(law, now);
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The queue was asked in vain.
    pub fn ran_empty(&mut self, law: &CobaltLaw, now: Time) {
        if self.probability > 0.0 && now.since(self.stepped_at) > law.freeze {
            self.probability = (self.probability - law.decrement).max(0.0);
            self.stepped_at = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.run_down(law);
        }
    }

    /// The control law and BLUE at the head of the queue, for a packet that waited for `sojourn_time`. It is marked
    /// here. The last packet of a queue is not dropped.
    pub fn judge<P: Packet>(
        &mut self,
        law: &CobaltLaw,
        packet: &mut P,
        sojourn_time: Span,
        is_last: bool,
        cx: &mut Cx<'_, P>,
    ) -> CobaltVerdict {
        let now = cx.now;
        // Both before this packet.
        let due = self.count > 0 && now >= self.drop_next;
        let mut overdue = now > self.drop_next;
        if sojourn_time > law.congestion_delay {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.next_drop_after(now, law);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let signal = due && self.dropping;
        if signal {
            self.set_count(self.count.saturating_add(1));
            self.drop_next = self.next_drop_after(self.drop_next, law);
            overdue = now > self.drop_next;
        } else if due {
            while self.count > 0 && now >= self.drop_next {
                self.run_down(law);
            }
            overdue = now > self.drop_next;
        }
        if law.blue_threshold.is_some_and(|threshold| sojourn_time > threshold) {
            self.raise(law, now);
        }
        let blue = self.probability > 0.0 && uniform(cx.rng) < self.probability;
        let verdict = if blue && !is_last { CobaltVerdict::Drop } else { law.signal(signal, packet, sojourn_time, cx) };
        let drop = blue || verdict == CobaltVerdict::Drop;
        // While nothing is due, `drop_next` is the time at which the law was last active.
        if self.count == 0 {
            self.drop_next = now.saturating_add(law.interval);
        } else if overdue && !drop {
            self.drop_next = now;
        }
        if is_last && verdict == CobaltVerdict::Drop { CobaltVerdict::Pass } else { verdict }
    }

    fn raise(&mut self, law: &CobaltLaw, now: Time) {
        if now.since(self.stepped_at) > law.freeze {
            self.probability = (self.probability + law.increment).min(1.0);
            self.stepped_at = now;
        }
    }

    /// Counts one drop less, as is due.
    fn run_down(&mut self, law: &CobaltLaw) {
        self.set_count(self.count - 1);
        self.drop_next = self.next_drop_after(self.drop_next, law);
    }

    fn next_drop_after(&self, time: Time, law: &CobaltLaw) -> Time {
        time.saturating_add(shortened(law.interval, self.inverse_sqrt))
    }

    fn set_count(&mut self, count: u32) {
        self.count = count;
        self.inverse_sqrt = match INVERSE_SQRT.get(count as usize) {
            Some(inverse) => *inverse,
            None => newton_step(self.inverse_sqrt, count),
        };
    }
}

impl CobaltLaw {
    /// Marks a packet for the control law's `signal` or for its delay, if it may be marked; else a signal drops it.
    fn signal<P: Packet>(&self, signal: bool, packet: &mut P, sojourn_time: Span, cx: &mut Cx<'_, P>) -> CobaltVerdict {
        let is_late = self.ce_threshold.is_some_and(|threshold| sojourn_time > threshold);
        if !signal && !is_late {
            return CobaltVerdict::Pass;
        }
        let capable = packet.ecn().is_capable();
        if signal && !(self.ecn && capable) {
            return CobaltVerdict::Drop;
        }
        if !capable {
            return CobaltVerdict::Pass;
        }
        packet.mark_ce();
        cx.sink.marked(packet, if signal { MarkReason::Early } else { MarkReason::Forced });
        CobaltVerdict::Mark
    }
}

/// COBALT: CoDel and BLUE alternate.
#[derive(Clone, Debug)]
pub struct Cobalt<P> {
    limit: Limit,
    law: CobaltLaw,
    queue: TimedFifo<P>,
    state: CobaltState,
    /// How long the last packet that was taken out had been queued.
    sojourn_time: Span,
}

impl<P: Packet> Cobalt<P> {
    /// An empty COBALT queue for a link of `link_rate`. The salt does not matter.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &CobaltConfig, link_rate: Rate, _salt: u64) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        require(config.target > Span::ZERO, "target", "be more than 0")?;
        require(config.interval >= config.target, "interval", "be at least `target`")?;
        require(config.max_packet_size.0 > 0, "max_packet_size", "be at least 1 B")?;
        check_probability(config.increment, "increment")?;
        check_probability(config.decrement, "decrement")?;
        let four_packets = link_rate.transmission_time(config.max_packet_size.0.saturating_mul(4));
        let law = CobaltLaw {
            congestion_delay: config.target.max(four_packets),
            interval: config.interval,
            ecn: config.ecn,
            ce_threshold: config.ce_threshold,
            increment: config.increment,
            decrement: config.decrement,
            freeze: config.target,
            blue_threshold: config.blue_threshold,
        };
        Ok(Self { limit, law, queue: TimedFifo::new(), state: CobaltState::NEW, sojourn_time: Span::ZERO })
    }
}

impl<P: Packet> Discipline<P> for Cobalt<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        if !self.limit.fits(self.queue.backlog(), packet.len_bytes()) {
            self.state.overflowed(&self.law, cx.now);
            return cx.sink.dropped(packet, DropReason::Overflow, false);
        }
        self.queue.push(packet, cx.now);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        while let Some((mut packet, came_at)) = self.queue.pop() {
            self.sojourn_time = cx.now.since(came_at);
            let is_last = self.queue.backlog().packets == 0;
            match self.state.judge(&self.law, &mut packet, self.sojourn_time, is_last, cx) {
                CobaltVerdict::Pass | CobaltVerdict::Mark => return Served::Packet(packet),
                CobaltVerdict::Drop => cx.sink.dropped(packet, DropReason::Early, true),
            }
        }
        self.state.ran_empty(&self.law, cx.now);
        Served::Idle
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self)
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("sojourn_time_s", self.sojourn_time.seconds());
        visit("p_drop", self.state.probability);
        visit("count", f64::from(self.state.count));
        visit("dropping", f64::from(u8::from(self.state.dropping)));
        visit("drop_next_s", self.state.drop_next.seconds());
    }
}

#[cfg(test)]
#[path = "cobalt_tests.rs"]
mod tests;
