//! Taprio, gates by time (IEEE 802.1Qbv): a cyclic schedule decides which classes may send.
//!
//! # What it does
//! Each packet belongs to the class of its traffic class, and each class has a queue with a gate. A schedule of
//! intervals, which repeats in each cycle, opens and closes the gates. The link sends the first packet of the first
//! class whose gate is open, provided that the whole packet leaves before the gate closes. So the end of a window is
//! free for as long as the next packet would take (the guard band), and nothing delays the classes of the next window.
//! Gates open and close to the picosecond.
//!
//! # When to use it
//! Use it to model time-sensitive networks, in which control traffic has the link to itself at known times. Senders and
//! gates need a common clock, which every part of a scenario has. For priorities without times use `prio`.
//!
//! # Example
//! ```toml
//! queue.taprio.classes = [
//!     { name = "control", classes = [7] },
//!     { name = "rest", queue = "fq_codel" },
//! ]
//! queue.taprio.schedule = [
//!     { open = ["control"], interval = "1 ms" },
//!     { open = ["control", "rest"], interval = "9 ms" },
//! ]
//! ```
//!
//! The `class` of a group of flows is its traffic class. The order of the classes is their priority while several gates
//! are open. Each class needs a window for its longest packet: longer ones are dropped.
//!
//! # Source
//! IEEE 802.1Q-2018. Section 8.6.8.4: a gate must stay open for the whole frame. Section 8.6.9.2: the last interval
//! lasts to the end of the cycle, and the cycle's end cuts the list. Section 8.6.9.4.5: all gates are open before the
//! first cycle. These rules and section numbers are those that Linux's source gives; the standard itself was not read.
//! Linux 6.18, `net/sched/sch_taprio.c`, in its software mode, where the standard leaves choices.
//!
//! # Where we differ
//! - A frame may end as its gate closes. Linux, whose clock has nanoseconds, wants it to end earlier.
//! - Before the first cycle a frame must still end before its gate closes; in Linux it may reach into the first cycle.
//! - In Linux a cycle longer than its intervals begins again early. Here the last interval is extended, as in 802.1Q.
//! - The order of the list is the priority; in Linux the last traffic class is the first.
//! - A schedule never changes during a run, so there is no `cycle-time-extension`. There is no hold and release of
//!   frame preemption, and no assistance by launch times.
//! - The time for a frame follows from the rate of the link without a `service`: a link that slows down may send into a
//!   closed window.
//!
//! # Cost
//! Less than 1 KB, 32 bytes for each window of a class, and the queue of each class. O(n + log w) a packet with n
//! classes and w windows, with two divisions, in addition to the work of the queue of its class. No random numbers.
//!
//! # Parameters
//! See [`TaprioConfig`], [`TaprioClass`] and [`TaprioInterval`].

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use forebay_units::{Bytes, Rate, Span};

use self::gate::{Gate, Gated, Window};
use crate::inner_queues::{CLASSES, FIFO_LIMIT, InnerQueue, InnerQueues, PlacedError};
use crate::memory::{heap_bytes, inline_bytes};
use crate::require;
use crate::{Backlog, ClassQueues, Cx, Discipline, DropReason, Packet, ParameterError, Served, Time};

mod gate;

/// Parameters of taprio. `Q` describes the queue of a class.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(deny_unknown_fields))]
pub struct TaprioConfig<Q> {
    /// The classes, the first priority first: at least one.
    pub classes: Vec<TaprioClass<Q>>,
    /// The intervals of a cycle, in order: at least one.
    pub schedule: Vec<TaprioInterval>,
    /// Name of the class for packets whose traffic class none of them lists. Default: the last.
    #[cfg_attr(feature = "config", serde(default))]
    pub default_class: Option<String>,
    /// Length of a cycle. The last interval lasts to its end, and intervals after its end do not begin. At most 24 h.
    /// Default: the sum of the intervals.
    #[cfg_attr(feature = "config", serde(default))]
    pub cycle_time: Option<Span>,
    /// Start of the first cycle, from the start of the run. Before it all gates are open. Default: 0.
    #[cfg_attr(feature = "config", serde(default = "zero"))]
    pub base_time: Span,
}

#[cfg(feature = "config")]
fn zero() -> Span {
    Span::ZERO
}

/// A class of taprio.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(deny_unknown_fields))]
pub struct TaprioClass<Q> {
    /// Name of the class.
    pub name: String,
    /// The traffic classes whose packets belong to it. Default: none, which is useful for the default class only.
    #[cfg_attr(feature = "config", serde(default))]
    pub classes: Vec<u8>,
    /// The queue of the class. Default: a FIFO queue of 1000 packets.
    pub queue: Option<Q>,
}

impl<Q> TaprioClass<Q> {
    /// A class with a FIFO queue.
    #[must_use]
    pub fn new(name: &str, classes: &[u8]) -> Self {
        Self { name: name.into(), classes: classes.to_vec(), queue: None }
    }
}

/// An interval of taprio's schedule.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(deny_unknown_fields))]
pub struct TaprioInterval {
    /// Names of the classes whose gates are open.
    pub open: Vec<String>,
    /// Length of the interval.
    pub interval: Span,
}

impl TaprioInterval {
    /// An interval in which the gates of these classes are open.
    #[must_use]
    pub fn new(open: &[&str], interval: Span) -> Self {
        Self { open: open.iter().map(|&name| name.into()).collect(), interval }
    }
}

/// The longest cycle, so that no sum of times overflows.
const LONGEST_CYCLE: Span = Span::from_seconds(24 * 3600);

impl<Q> TaprioConfig<Q> {
    /// The class of each traffic class, and the gate of each class.
    fn checked(&self) -> Result<(Vec<u8>, Vec<Gate>), PlacedError> {
        let classes: Vec<_> = self.classes.iter().map(|class| (class.name.as_str(), &class.classes[..])).collect();
        let class_of = CLASSES.full_map(&classes, self.default_class.as_deref())?;
        let cycle = self.cycle()?;
        let base = Time::ZERO + self.base_time;
        let gates: Vec<_> = self.classes.iter().map(|class| Gate::new(base, cycle, self.parts(class, cycle))).collect();
        for (index, gate) in gates.iter().enumerate() {
            let bound = "be in `open` of an interval of the cycle, or its gate never opens";
            CLASSES.require(gate.longest() > Span::ZERO, index, "name", bound)?;
        }
        Ok((class_of, gates))
    }

    fn cycle(&self) -> Result<Span, PlacedError> {
        require(!self.schedule.is_empty(), "schedule", "have at least one interval")?;
        let mut sum = Span::ZERO;
        for (index, TaprioInterval { open, interval }) in self.schedule.iter().enumerate() {
            let at = |error| PlacedError { table: alloc::format!("schedule.{index}"), error };
            require(*interval > Span::ZERO, "interval", "be more than 0").map_err(at)?;
            require(*interval <= LONGEST_CYCLE, "interval", "be at most 24 h").map_err(at)?;
            let is_class = |name: &String| self.classes.iter().any(|class| class.name == *name);
            require(open.iter().all(is_class), "open", "have names of `classes`").map_err(at)?;
            sum = (sum + *interval).min(LONGEST_CYCLE + Span::from_picoseconds(1));
        }
        let cycle = self.cycle_time.unwrap_or(sum);
        require(cycle > Span::ZERO && cycle <= LONGEST_CYCLE, "cycle_time", "be more than 0 and at most 24 h")?;
        Ok(cycle)
    }

    /// The parts of a cycle in which the gate of a class is open.
    fn parts(&self, class: &TaprioClass<Q>, cycle: Span) -> impl Iterator<Item = Window> {
        let mut start = Span::ZERO;
        self.schedule.iter().enumerate().filter_map(move |(index, interval)| {
            let is_last = index + 1 == self.schedule.len();
            let left = cycle.saturating_sub(start);
            let window = Window { start, length: if is_last { left } else { interval.interval.min(left) } };
            start += window.length;
            interval.open.contains(&class.name).then_some(window)
        })
    }
}

impl<Q> InnerQueues<Q> for TaprioConfig<Q> {
    fn inner_queues(&self) -> Vec<InnerQueue<'_, Q>> {
        CLASSES.inner_queues(self.classes.iter().map(|class| class.queue.as_ref()), FIFO_LIMIT)
    }

    /// The class's part of the link, as far as its gate is open.
    fn inner_rate(&self, index: usize, link_rate: Rate) -> Rate {
        self.checked().map_or(link_rate, |(_, gates)| link_rate.scaled(gates[index].share()))
    }

    fn check(&self, _link_rate: Rate) -> Result<(), PlacedError> {
        self.checked().map(drop)
    }

    fn longest_packet(&self, link_rate: Rate) -> Option<Bytes> {
        let (_, gates) = self.checked().ok()?;
        let longest = gates.iter().map(Gate::longest).max().filter(|longest| *longest < Span::MAX)?;
        Some(Bytes(link_rate.bytes_in(longest)))
    }
}

/// Taprio: gates by time.
pub struct Taprio<P> {
    /// The queues, each behind its gate.
    queues: ClassQueues<P>,
    class_of: Vec<u8>,
    /// The longest window of each class.
    longest: Vec<Span>,
    link_rate: Rate,
}

impl<P: Packet + 'static> Taprio<P> {
    /// A taprio over `queues`, which were built from the `queue` of each class in order.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new<Q>(
        config: &TaprioConfig<Q>,
        link_rate: Rate,
        queues: Vec<Box<dyn Discipline<P>>>,
    ) -> Result<Self, ParameterError> {
        let (class_of, gates) = config.checked()?;
        require(queues.len() == gates.len(), CLASSES.key, "have a queue each")?;
        let longest = gates.iter().map(Gate::longest).collect();
        let gated = |(queue, gate)| -> Box<dyn Discipline<P>> { Box::new(Gated::new(queue, gate, link_rate)) };
        let queues = ClassQueues::new(queues.into_iter().zip(gates).map(gated).collect());
        Ok(Self { queues, class_of, longest, link_rate })
    }
}

impl<P: Packet + 'static> Discipline<P> for Taprio<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let class = usize::from(self.class_of[usize::from(packet.class())]);
        if self.link_rate.transmission_time(u64::from(packet.len_bytes())) > self.longest[class] {
            return cx.sink.dropped(packet, DropReason::RateLimit, false);
        }
        self.queues.enqueue(class, packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        self.queues.serve_in_order(cx)
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + heap_bytes(&self.class_of) + heap_bytes(&self.longest) + self.queues.state_bytes()
    }

    fn children(&self, visit: &mut dyn FnMut(&dyn Discipline<P>)) {
        self.queues.disciplines().for_each(visit);
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("backlogged_classes", self.queues.backlogged() as f64);
    }
}

#[cfg(test)]
#[path = "taprio_tests.rs"]
mod tests;
