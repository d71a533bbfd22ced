//! DualPI2: a queue for L4S and one for other traffic, with coupled marks and drops.
//!
//! # What it does
//! Packets with ECT(1) or CE wait in the L4S queue, all others in the Classic queue. Every 16 ms a controller compares
//! the queueing delay with its target and adjusts a base probability. Classic packets are dropped, or marked, with its
//! square, L4S packets are marked with twice its value. TCP's window shrinks with the square root of the probability,
//! that of an L4S sender with the probability itself: so both get about the same rate. L4S packets that have waited for
//! more than 1 ms are marked in addition. The L4S queue is served first, but at least every tenth byte is Classic.
//!
//! # When to use it
//! Use it at an access link for L4S senders such as TCP Prague: they wait about a millisecond, next to Classic TCP with
//! its 15 ms. It does not separate flows and does not hold back those that do not respond: use `fq_codel` there.
//!
//! # Example
//! ```toml
//! queue.dualpi2 = { target = "15 ms", step_threshold = "1 ms" }
//! ```
//!
//! Set `typical_rtt` and `max_rtt` first, if they are not those of the Internet: the target and the gains follow from
//! them. Senders need an L4S congestion controller, such as `prague`. `preset = "rfc"` selects the rules of the RFC.
//!
//! # Source
//! K. De Schepper, B. Briscoe and G. White, "Dual-Queue Coupled Active Queue Management (AQM) for Low Latency, Low
//! Loss, and Scalable Throughput (L4S)", RFC 9332, 2023, appendix A.1; Linux's `sch_dualpi2.c` of 2025 and `tc`.
//!
//! # Where we differ
//! - `preset = "rfc"` selects the RFC's rules where Linux has its own, each with a key: period and gains in real
//!   numbers, not in integers of 2^-32 (`update_interval`, `alpha`, `beta`). The controller sees the age of the Classic
//!   head, not of the older of both (`delay`). The L4S queue has a ramp, of which the larger of ramp and coupled
//!   probability counts, and not a step in addition (`l4s_aqm`). The order is a time-shifted FIFO, not weighted round
//!   robin (`scheduler`). Packets are chosen at regular gaps, not by random numbers (`classic_draw`, `l4s_draw`). There
//!   is no `min_backlog` and no `memory_limit`. Overload has the same rule in both.
//! - The RFC's buffer is what the link sends in 250 ms. Here it is Linux's; set `limit`.
//! - An event of probability p happens if a random number is below p. In Linux it also happens at p, so that a
//!   probability of 0 fires once in 2^32 draws.
//! - A step of the probability of 1 or more stops at the bound. In Linux it is cut to 32 bits and may come out small,
//!   with delays of 300 ms and more.
//! - The ticks of the controller are at whole multiples of its period since the start of the run. They are made up for
//!   when a packet arrives or leaves, with the ages that the heads of the queues had at each tick; a tick at the same
//!   time comes first. Linux's timer starts each period late by its own delay.
//! - `memory_limit` and the gauges of memory count the bytes of packets, not the kernel's buffers. Segments that Linux
//!   splits (`split_gso`) come one by one here.
//! - Linux's `tc` ignores `target`, `tupdate`, `alpha` and `beta` next to `max_rtt`; here they take precedence.
//! - With `ramp`, the length and the age of the L4S queue are those after and of the packet that leaves. L4S packets
//!   that are not ECN-capable (`l4s_classes`) are dropped where others are marked, as in Linux; in overload they pass.
//!   `drop_on_enqueue` needs `step`.
//! - A packet that the coupled probability and the step both mark counts twice in the gauge `ecn_mark`, as in Linux,
//!   and once in the results of the queue.
//! - The DOCSIS form of the RFC's appendix A and queue protection are not offered.
//!
//! # Cost
//! About 450 bytes, and 16 bytes for each packet queued. O(1) a packet: each is dropped or sent, with at most two
//! random numbers. One call may drop all packets queued. Missed ticks cost about as much as 20 of them at most, with
//! the default gains, however long the idle period was.
//!
//! # Parameters
//! See [`DualPi2Config`].

use forebay_units::Rate;

use crate::limit::Limit;
use crate::memory::inline_bytes;
use crate::pi2_controller::{Choice, Pi2Controller};
use crate::signal::Signal;
use crate::timed_fifo::{TimedFifo, TimedQueue};
use crate::{
    Arrival, Backlog, Cx, Discipline, DropReason, Ecn, MarkReason, Packet, ParameterError, Served, Span, Time,
};

mod config;
mod scheduler;

pub use config::{DualPi2Config, DualPi2Delay, DualPi2EcnMask, DualPi2L4sAqm, DualPi2Scheduler};
use scheduler::Scheduler;

/// Where a packet waits, and whether congestion is signalled by it (`dualpi2_skb_classify`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Service {
    /// The Classic queue.
    Classic,
    /// The L4S queue.
    L4s,
    /// "LLLL": the L4S queue, without marks and drops.
    Llll,
}

/// Facts about a packet of the L4S queue that are settled on its arrival.
#[derive(Clone, Copy, Debug)]
struct L4sTag {
    service: Service,
    /// Whether the queue was long enough for the step.
    may_step: bool,
    /// Whether it was marked on its arrival.
    is_marked: bool,
}

/// The AQM of the L4S queue itself.
#[derive(Clone, Copy, Debug, PartialEq)]
enum NativeAqm {
    /// Linux: marks packets that waited for longer.
    Step(Step),
    /// RFC 9332, appendix A.1: `laqm`, with more than `min_packets` queued.
    Ramp { min: Span, max: Span, min_packets: u64 },
}

/// The unit of the step's threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Time(Span),
    Packets(u64),
}

/// DualPI2: a dual queue with a coupled PI2.
#[derive(Clone, Debug)]
pub struct DualPi2<P> {
    limit: Limit,
    memory_limit: u64,
    min_backlog: u64,
    ecn_mask: u8,
    /// Traffic classes of each service, a bit for each class.
    l4s_classes: [u64; 4],
    llll_classes: [u64; 4],
    older_head: bool,
    drop_on_enqueue: bool,
    native: NativeAqm,
    min_qlen_step: u64,

    controller: Pi2Controller,
    scheduler: Scheduler,
    classic_choice: Choice,
    l4s_choice: Choice,
    classic: TimedFifo<P>,
    l4s: TimedFifo<P, L4sTag>,
    backlog: Backlog,
    statistics: Statistics,
}

/// Counters by the names of `tc -s qdisc`.
#[derive(Clone, Copy, Debug, Default)]
struct Statistics {
    now: Time,
    packets_in_c: u64,
    packets_in_l: u64,
    maxq: u64,
    ecn_mark: u64,
    step_marks: u64,
    max_memory_used: u64,
}

impl<P: Packet> DualPi2<P> {
    /// An empty DualPI2. Neither the link's rate nor the salt matters.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &DualPi2Config, _link_rate: Rate, _salt: u64) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        config.check()?;
        Ok(Self {
            limit,
            memory_limit: config.memory_limit(),
            min_backlog: config.min_backlog(),
            ecn_mask: match config.ecn_mask {
                DualPi2EcnMask::L4sEct => 0b01,
                DualPi2EcnMask::AnyEct => 0b11,
            },
            l4s_classes: set_of(&config.l4s_classes),
            llll_classes: set_of(&config.llll_classes),
            older_head: config.delay() == DualPi2Delay::OlderHead,
            drop_on_enqueue: config.drop_on_enqueue,
            native: config.native_aqm(),
            min_qlen_step: config.min_qlen_step.unwrap_or(0).into(),
            controller: Pi2Controller::new(&config.inner())?,
            scheduler: config.new_scheduler(),
            classic_choice: Choice::new(config.preset.draw(config.classic_draw)),
            l4s_choice: Choice::new(config.preset.draw(config.l4s_draw)),
            classic: TimedFifo::new(),
            l4s: TimedFifo::new(),
            backlog: Backlog::default(),
            statistics: Statistics::default(),
        })
    }

    /// The base probability, as of the last packet that came or went.
    #[must_use]
    pub fn probability(&self) -> f64 {
        self.controller.probability()
    }

    /// `dualpi2_skb_classify`.
    fn classify(&self, arrival: &Arrival) -> Service {
        let is_in = |classes: &[u64; 4]| classes[usize::from(arrival.class >> 6)] >> (arrival.class & 63) & 1 == 1;
        if arrival.ecn.codepoint() & self.ecn_mask != 0 || is_in(&self.l4s_classes) {
            Service::L4s
        } else if is_in(&self.llll_classes) {
            Service::Llll
        } else {
            Service::Classic
        }
    }

    /// Makes up for the ticks until `now`. Between packets the heads of the queues are the same.
    fn catch_up(&mut self, now: Time) {
        self.statistics.now = now;
        let head = match (self.classic.head(), self.l4s.head()) {
            (Some(classic), Some(l4s)) if self.older_head => Some(classic.min(l4s)),
            (None, l4s) if self.older_head => l4s,
            (classic, _) => classic,
        };
        self.controller.catch_up(now, head);
    }

    /// `must_drop`: the signal with the base probability. `native` is the probability of the L4S queue's own ramp.
    fn coupled_signal(&mut self, service: Service, ecn: Ecn, native: f64, cx: &mut Cx<'_, P>) -> Signal {
        if self.backlog.bytes < self.min_backlog {
            return Signal::None;
        }
        match service {
            Service::Classic => self.controller.classic_signal(&mut self.classic_choice, ecn, cx.rng),
            Service::L4s => self.controller.l4s_signal(&mut self.l4s_choice, ecn, native, cx.rng),
            Service::Llll => Signal::None,
        }
    }

    /// The RFC's `laqm`, the probability of the ramp for a packet that has left the queue after this time.
    fn ramp(&self, sojourn_time: Span) -> f64 {
        match self.native {
            NativeAqm::Ramp { min, max, min_packets } if self.l4s.backlog().packets > min_packets => {
                let above = sojourn_time.saturating_sub(min).picoseconds() as f64;
                (above / max.saturating_sub(min).picoseconds() as f64).min(1.0)
            }
            _ => 0.0,
        }
    }

    /// `do_step_aqm`.
    fn step_signal(&self, tag: L4sTag, ecn: Ecn, sojourn_time: Span) -> Signal {
        let is_above = match self.native {
            NativeAqm::Step(Step::Time(threshold)) => sojourn_time > threshold,
            NativeAqm::Step(Step::Packets(threshold)) => self.l4s.backlog().packets > threshold,
            NativeAqm::Ramp { .. } => false,
        };
        match tag.may_step && is_above {
            true if ecn.is_capable() => Signal::Mark,
            true => Signal::Drop,
            false => Signal::None,
        }
    }

    /// Marks a packet. One that is already marked counts again, as in Linux.
    fn mark(&mut self, packet: &mut P) {
        packet.mark_ce();
        self.statistics.ecn_mark += 1;
    }

    /// Takes bytes out of the backlog of both queues.
    fn has_left(&mut self, packet: &P) -> u32 {
        let len_bytes = packet.len_bytes();
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(len_bytes);
        len_bytes
    }

    /// The next packet of the Classic queue, unless it is dropped.
    fn serve_classic(&mut self, cx: &mut Cx<'_, P>) -> Option<P> {
        let (mut packet, _) = self.classic.pop()?;
        let len_bytes = self.has_left(&packet);
        if !self.drop_on_enqueue {
            match self.coupled_signal(Service::Classic, packet.ecn(), 0.0, cx) {
                Signal::Drop => {
                    cx.sink.dropped(packet, DropReason::Early, true);
                    return None;
                }
                Signal::Mark => {
                    self.mark(&mut packet);
                    cx.sink.marked(&packet, MarkReason::Early);
                }
                Signal::None => {}
            }
        }
        if self.l4s.backlog().packets > 0 {
            self.scheduler.served_classic(len_bytes);
        }
        Some(packet)
    }

    /// The next packet of the L4S queue, unless it is dropped.
    fn serve_l4s(&mut self, cx: &mut Cx<'_, P>) -> Option<P> {
        let (mut packet, came_at, tag) = self.l4s.pop_tagged()?;
        let (len_bytes, ecn) = (self.has_left(&packet), packet.ecn());
        let sojourn_time = cx.now.since(came_at);
        let coupled = if self.drop_on_enqueue {
            Signal::None
        } else {
            self.coupled_signal(tag.service, ecn, self.ramp(sojourn_time), cx)
        };
        let step = if coupled == Signal::Drop { Signal::None } else { self.step_signal(tag, ecn, sojourn_time) };
        for (signal, reason) in [(coupled, DropReason::Early), (step, DropReason::Forced)] {
            if signal == Signal::Drop {
                cx.sink.dropped(packet, reason, true);
                return None;
            }
        }
        if coupled == Signal::Mark {
            self.mark(&mut packet);
        }
        if step == Signal::Mark {
            self.mark(&mut packet);
            self.statistics.step_marks += 1;
        }
        if (coupled == Signal::Mark || step == Signal::Mark) && !tag.is_marked {
            cx.sink.marked(&packet, if coupled == Signal::Mark { MarkReason::Early } else { MarkReason::Forced });
        }
        if self.classic.backlog().packets > 0 {
            self.scheduler.served_l4s(len_bytes);
        }
        Some(packet)
    }
}

/// The set of these traffic classes.
fn set_of(classes: &[u8]) -> [u64; 4] {
    let mut set = [0; 4];
    classes.iter().for_each(|class| set[usize::from(class >> 6)] |= 1 << (class & 63));
    set
}

impl<P: Packet> Discipline<P> for DualPi2<P> {
    /// `dualpi2_enqueue_skb`.
    fn enqueue(&mut self, mut packet: P, cx: &mut Cx<'_, P>) {
        self.catch_up(cx.now);
        let arrival = packet.arrival();
        let memory_used = self.backlog.bytes + u64::from(arrival.len_bytes);
        if !self.limit.fits(self.backlog, arrival.len_bytes) || memory_used > self.memory_limit {
            return cx.sink.dropped(packet, DropReason::Overflow, false);
        }
        let service = self.classify(&arrival);
        let mut is_marked = false;
        if self.drop_on_enqueue {
            match self.coupled_signal(service, arrival.ecn, 0.0, cx) {
                Signal::Drop => return cx.sink.dropped(packet, DropReason::Early, false),
                Signal::Mark => {
                    is_marked = true;
                    self.mark(&mut packet);
                    cx.sink.marked(&packet, MarkReason::Early);
                }
                Signal::None => {}
            }
        }
        self.statistics.max_memory_used = self.statistics.max_memory_used.max(memory_used);
        self.statistics.maxq = self.statistics.maxq.max(self.backlog.packets);
        self.backlog.packets += 1;
        self.backlog.bytes = memory_used;
        if service == Service::Classic {
            self.statistics.packets_in_c += 1;
            self.classic.push(packet, cx.now);
        } else {
            self.statistics.packets_in_l += 1;
            let may_step = service == Service::L4s && self.l4s.backlog().packets >= self.min_qlen_step;
            self.l4s.push_tagged(packet, cx.now, L4sTag { service, may_step, is_marked });
        }
    }

    /// `dualpi2_qdisc_dequeue`: a packet that is dropped does not count for the scheduler.
    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        self.catch_up(cx.now);
        while self.backlog.packets > 0 {
            let packet = if self.scheduler.chooses_l4s(self.classic.head(), self.l4s.head()) {
                self.serve_l4s(cx)
            } else {
                self.serve_classic(cx)
            };
            if let Some(packet) = packet {
                return Served::Packet(packet);
            }
        }
        self.scheduler.reset();
        Served::Idle
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self)
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let Statistics { now, packets_in_c, packets_in_l, maxq, ecn_mark, step_marks, max_memory_used } =
            self.statistics;
        let microseconds = |head: Option<Time>| head.map_or(0.0, |head| now.since(head).seconds() * 1e6);
        visit("prob", self.controller.probability());
        visit("delay_c", microseconds(self.classic.head()));
        visit("delay_l", microseconds(self.l4s.head()));
        visit("length_c", self.classic.backlog().packets as f64);
        visit("length_l", self.l4s.backlog().packets as f64);
        visit("packets_in_c", packets_in_c as f64);
        visit("packets_in_l", packets_in_l as f64);
        visit("maxq", maxq as f64);
        visit("ecn_mark", ecn_mark as f64);
        visit("step_marks", step_marks as f64);
        visit("credit", self.scheduler.credit() as f64);
        visit("memory_used", self.backlog.bytes as f64);
        visit("max_memory_used", max_memory_used as f64);
        if self.memory_limit < u64::MAX {
            visit("memory_limit", self.memory_limit as f64);
        }
    }
}

#[cfg(test)]
#[path = "dualpi2_tests.rs"]
mod tests;
