//! HTB, hierarchical token buckets: a tree of classes, each with a guaranteed rate and a ceiling for what it borrows.
//!
//! # What it does
//! HTB gives each class a guaranteed `rate`. A class that needs more borrows from its parent what others leave, up to
//! its `ceil`. The classes form a tree: packets wait in the leaves, each of which has a queue of any kind. The link
//! idles while every leaf with packets is at its ceiling, or at its rate with no ancestor that can lend.
//!
//! Each class has two buckets, for `rate` and for `ceil`, whose tokens may be owed. A class *can send* while it owes
//! neither, *may borrow* while it owes `rate` only, and *cannot send* while it owes `ceil`. Guarantees come first:
//! leaves that can send, then those that borrow, from the nearest ancestor that can send. The deepest lenders lend
//! first. Of the leaves of one level those of the first `priority` go first, and leaves of equal priority take turns by
//! `quantum`. A packet is paid for by the lender and all classes above it, and by the ceilings of all on its way.
//!
//! # When to use it
//! Use it where classes of traffic need rates in bits per second, or where groups share a link and divide their parts
//! again. Its root shapes to a rate below that of the link, so that the queue is here. For plain shares of a link
//! `cbq` needs fewer numbers, and `prio` or `ets` need no rates at all.
//!
//! # Example
//! ```toml
//! queue.htb.default_class = "rest"
//! queue.htb.classes = [
//!     { name = "home", rate = "20 Mbps" },
//!     { name = "voice", parent = "home", rate = "2 Mbps", classes = [46] },
//!     { name = "rest", parent = "home", rate = "10 Mbps", ceil = "20 Mbps" },
//! ]
//! ```
//!
//! The `class` of a group of flows is its traffic class. Set `rate` and `ceil` first; without `ceil` a class never
//! borrows. Without `default_class` unlisted traffic is not shaped and goes first. `queue = "fq_codel"` gives a leaf
//! that queue in place of a FIFO.
//!
//! # Source
//! Linux 6.18, `net/sched/sch_htb.c`, by M. Devera, without hysteresis (`htb_hysteresis` is 0 by default); iproute2's
//! `tc/q_htb.c` for the default bursts. Borrowing: S. Floyd and V. Jacobson, "Link-sharing and Resource Management
//! Models for Packet Networks", IEEE/ACM Transactions on Networking 3(4), 1995.
//!
//! # Where we differ
//! - Rates of children above that of their parent in sum are an error, as is a `ceil` below `rate`. Linux accepts both.
//!   The guarantees of such children do not hold: each sends at its own rate, and the parent goes into debt.
//! - Traffic classes decide the leaf; Linux has filters and the priority of a socket. `quantum` and `priority` of a
//!   class with children are an error, because they have no effect. So is a `priority` above 7, which Linux lowers.
//! - Time is in picoseconds, in Linux in nanoseconds with a reciprocal of the rate.
//! - A leaf's queue may hold its packets back, if it shapes. Linux then complains, and asks it again with each packet.
//!   Here the leaf leaves the round until the time that its queue has given, or the next arrival.
//! - At most 256 classes. There is no offload to hardware, and no bound on the events of one call.
//!
//! # Cost
//! About 6 KB, 300 bytes for each leaf and its queue, and 600 for each class with children. A packet takes O(depth),
//! with two divisions for each class on its way if its length differs from the last one's. A change of mode takes O(log
//! n) with n classes. One call looks at each leaf that has nothing to send once, and changes the mode of each class
//! whose time has come. No random numbers.
//!
//! # Parameters
//! See [`HtbConfig`] and [`HtbClass`].

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use forebay_units::{Bytes, QueueSize, Rate};

use self::bucket::Bucket;
use self::ring::MOST_CLASSES;
use self::tree::{Class, LEVELS, PRIORITIES, Tree};
use crate::indexed_heap::IndexedHeap;
use crate::inner_queues::{CLASSES, ClassMap, FIFO_LIMIT, InnerQueue, InnerQueues, PlacedError};
use crate::limit::Limit;
use crate::memory::{heap_bytes, inline_bytes};
use crate::require;
use crate::{Backlog, ClassQueues, Cx, Discipline, Packet, ParameterError, Served, Time};

mod bucket;
mod ring;
mod tree;

/// Parameters of HTB. `Q` describes the queue of a leaf.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(deny_unknown_fields))]
pub struct HtbConfig<Q> {
    /// The classes in any order: at least one.
    pub classes: Vec<HtbClass<Q>>,
    /// Name of the leaf for packets whose traffic class no leaf lists. Default: none (Linux's `default 0`). Such
    /// packets are not shaped and go before all others.
    #[cfg_attr(feature = "config", serde(default))]
    pub default_class: Option<String>,
    /// Limit of the FIFO queue of packets that belong to no leaf. Default: 1000 packets (Linux's `direct_qlen`).
    #[cfg_attr(feature = "config", serde(default = "default_direct_limit"))]
    pub direct_limit: QueueSize,
    /// The default `quantum` of a leaf is the bytes of `rate` in a second divided by this. Default: 10 (Linux).
    #[cfg_attr(feature = "config", serde(default = "default_r2q"))]
    pub r2q: u32,
}

#[cfg(feature = "config")]
fn default_direct_limit() -> QueueSize {
    FIFO_LIMIT
}

#[cfg(feature = "config")]
fn default_r2q() -> u32 {
    10
}

/// A class of HTB.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(deny_unknown_fields))]
pub struct HtbClass<Q> {
    /// Name of the class.
    pub name: String,
    /// Name of the class from which it borrows, and whose rate it shares. Default: none, a root.
    #[cfg_attr(feature = "config", serde(default))]
    pub parent: Option<String>,
    /// The traffic classes whose packets belong to it. Only for a leaf. Default: none, which is useful for the default
    /// class.
    #[cfg_attr(feature = "config", serde(default))]
    pub classes: Vec<u8>,
    /// Guaranteed rate. The rates of the children of a class are at most its own in sum.
    pub rate: Rate,
    /// Ceiling: the rate that it does not exceed, with what it borrows. Default: `rate`, so that it borrows nothing.
    #[cfg_attr(feature = "config", serde(default))]
    pub ceil: Option<Rate>,
    /// Bytes that it may send at once after an idle time, beyond `rate`. Default: 1600 B, and a byte for each 8 Gb/s of
    /// `rate` (`tc`).
    #[cfg_attr(feature = "config", serde(default))]
    pub burst: Option<Bytes>,
    /// Bytes that it may send at once after an idle time, beyond `ceil`. Default: 1600 B, and a byte for each 8 Gb/s of
    /// `ceil` (`tc`).
    #[cfg_attr(feature = "config", serde(default))]
    pub cburst: Option<Bytes>,
    /// Priority, from 0 to 7: of the leaves that may send at one level, the smallest number goes first. Only for a
    /// leaf. Default: 0.
    #[cfg_attr(feature = "config", serde(default))]
    pub priority: Option<u8>,
    /// Bytes that it sends in its turn, when leaves of equal priority share what is left. Only for a leaf. Default:
    /// `rate` / `r2q`, at least 1000 B and at most 200000 B (Linux).
    #[cfg_attr(feature = "config", serde(default))]
    pub quantum: Option<Bytes>,
    /// The queue of the class. Only for a leaf. Default: a FIFO queue of 1000 packets.
    pub queue: Option<Q>,
}

impl<Q> HtbClass<Q> {
    /// A root of this guaranteed rate, for the packets of these traffic classes.
    #[must_use]
    pub fn new(name: &str, classes: &[u8], rate: Rate) -> Self {
        Self {
            name: name.into(),
            parent: None,
            classes: classes.to_vec(),
            rate,
            ceil: None,
            burst: None,
            cburst: None,
            priority: None,
            quantum: None,
            queue: None,
        }
    }

    fn ceil(&self) -> Rate {
        self.ceil.unwrap_or(self.rate)
    }

    /// Its quantum in bytes, which follows from its rate unless it is given.
    fn quantum(&self, r2q: u32) -> u64 {
        let of_rate = self.rate.bits_per_second() / 8 / u64::from(r2q);
        self.quantum.map_or(of_rate.clamp(1000, 200_000), |quantum| quantum.0)
    }

    fn built(&self, r2q: u32) -> Class {
        let bucket = |rate, burst: Option<Bytes>| Bucket::new(rate, burst.unwrap_or(default_burst(rate)).0);
        let (rate, ceil) = (bucket(self.rate, self.burst), bucket(self.ceil(), self.cburst));
        Class::new(rate, ceil, self.priority.unwrap_or(0), self.quantum(r2q))
    }
}

/// The default of `tc`: an Ethernet packet with room to spare, and the bytes of a tick of its clock, a nanosecond.
fn default_burst(rate: Rate) -> Bytes {
    Bytes(rate.bits_per_second() / 8 / 1_000_000_000 + 1600)
}

/// The checked structure of the tree.
struct Structure {
    parents: Vec<Option<usize>>,
    leaf_of: ClassMap,
    default: Option<usize>,
}

impl<Q> HtbConfig<Q> {
    fn is_leaf(&self, class: &HtbClass<Q>) -> bool {
        !self.classes.iter().any(|child| child.parent.as_ref() == Some(&class.name))
    }

    fn structure(&self) -> Result<Structure, PlacedError> {
        let classes: Vec<_> = self.classes.iter().map(|class| (class.name.as_str(), &class.classes[..])).collect();
        let leaf_of = CLASSES.map(&classes)?;
        let parents = self.parents()?;
        for (index, class) in self.classes.iter().enumerate() {
            let require = |holds, field, bound| CLASSES.require(holds, index, field, bound);
            require(class.ceil() >= class.rate, "ceil", "be at least `rate`")?;
            require(class.priority.is_none_or(|priority| usize::from(priority) < PRIORITIES), "priority", "be 0 to 7")?;
            let quantum = class.quantum.is_none_or(|quantum| (1..=1 << 32).contains(&quantum.0));
            require(quantum, "quantum", "be between 1 B and 4294967296 B")?;
            let children = || self.classes.iter().zip(&parents).filter(|(_, parent)| **parent == Some(index));
            if children().next().is_none() {
                continue;
            }
            let bps = |class: &HtbClass<Q>| u128::from(class.rate.bits_per_second());
            let sum: u128 = children().map(|(child, _)| bps(child)).sum();
            require(bps(class) >= sum, "rate", "be at least the sum of the rates of its children")?;
            for (field, is_given) in [
                ("queue", class.queue.is_some()),
                ("classes", !class.classes.is_empty()),
                ("priority", class.priority.is_some()),
                ("quantum", class.quantum.is_some()),
            ] {
                require(!is_given, field, "be left out of a class with children: packets wait in leaves")?;
            }
        }
        require(self.r2q > 0, "r2q", "be at least 1")?;
        Limit::new(self.direct_limit, "direct_limit")?;
        let default = self.default_class.as_deref().map(|name| CLASSES.default(&classes, name)).transpose()?;
        let is_leaf = default.is_none_or(|default| !parents.contains(&Some(default)));
        require(is_leaf, "default_class", "be the name of a class without children")?;
        Ok(Structure { parents, leaf_of, default })
    }

    /// The index of the parent of each class.
    fn parents(&self) -> Result<Vec<Option<usize>>, PlacedError> {
        let mut parents = vec![None; self.classes.len()];
        for (index, class) in self.classes.iter().enumerate() {
            let Some(name) = &class.parent else { continue };
            parents[index] = self.classes.iter().position(|other| other.name == *name);
            CLASSES.require(parents[index].is_some(), index, "parent", "be the name of one of `classes`")?;
        }
        for index in 0..parents.len() {
            let way = core::iter::successors(parents[index], |&parent| parents[parent]);
            let ancestors = way.take(MOST_CLASSES).collect::<Vec<_>>();
            CLASSES.require(!ancestors.contains(&index), index, "parent", "not be a class below it")?;
            CLASSES.require(ancestors.len() < LEVELS, index, "parent", "be at most 7 levels below a root")?;
        }
        Ok(parents)
    }
}

impl<Q> InnerQueues<Q> for HtbConfig<Q> {
    fn inner_queues(&self) -> Vec<InnerQueue<'_, Q>> {
        let mut queues = CLASSES.inner_queues(self.classes.iter().map(|class| class.queue.as_ref()), FIFO_LIMIT);
        queues.retain(|inner| self.is_leaf(&self.classes[inner.index]));
        let (index, fifo_limit) = (self.classes.len(), self.direct_limit);
        queues.push(InnerQueue { index, keys: "direct_limit".into(), queue: None, fifo_limit });
        queues
    }

    fn inner_rate(&self, index: usize, link_rate: Rate) -> Rate {
        self.classes.get(index).map_or(link_rate, |class| class.rate)
    }

    fn check(&self, _link_rate: Rate) -> Result<(), PlacedError> {
        self.structure().map(drop)
    }
}

/// HTB: hierarchical token buckets.
pub struct Htb<P> {
    tree: Tree,
    /// The queues of the leaves, and behind them that of packets that belong to none.
    queues: ClassQueues<P>,
    /// The class of each queue but the last, and the queue of each leaf.
    leaves: Vec<usize>,
    queue_of: Vec<usize>,
    /// The queue of each traffic class.
    queue_of_traffic_class: Vec<usize>,
    /// Leaves whose queues hold their packets back, and when to ask these.
    resting: IndexedHeap<Time>,
    direct_packets: u64,
}

impl<P: Packet + 'static> Htb<P> {
    /// An HTB over `queues`: those that were built from the `queue` of each leaf in order, and the FIFO queue of
    /// packets that belong to no leaf. The link's rate does not matter.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new<Q>(
        config: &HtbConfig<Q>,
        _link_rate: Rate,
        queues: Vec<Box<dyn Discipline<P>>>,
    ) -> Result<Self, ParameterError> {
        let Structure { parents, leaf_of, default } = config.structure()?;
        let leaves: Vec<usize> = (0..parents.len()).filter(|&class| !parents.contains(&Some(class))).collect();
        require(queues.len() == leaves.len() + 1, "classes", "have a queue for each leaf, and one for other packets")?;

        let mut queue_of = vec![usize::MAX; parents.len()];
        leaves.iter().enumerate().for_each(|(queue, &class)| queue_of[class] = queue);
        let unlisted = default.map_or(leaves.len(), |class| queue_of[class]);
        let queue = |class: Option<u8>| class.map_or(unlisted, |class| queue_of[usize::from(class)]);
        let classes = config.classes.iter().map(|class| class.built(config.r2q)).collect();
        Ok(Self {
            tree: Tree::new(classes, &parents),
            queues: ClassQueues::new(queues),
            queue_of_traffic_class: leaf_of.into_iter().map(queue).collect(),
            leaves,
            queue_of,
            resting: IndexedHeap::new(),
            direct_packets: 0,
        })
    }

    /// Leaves return to the round when it is time to ask their queues again.
    fn wake(&mut self, now: Time) {
        while let Some((_, class)) = self.resting.first().filter(|&(at, _)| at <= now) {
            self.resting.remove(class);
            self.tree.activate(class as usize);
        }
    }
}

impl<P: Packet + 'static> Discipline<P> for Htb<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let queue = self.queue_of_traffic_class[usize::from(packet.class())];
        self.queues.enqueue(queue, packet, cx);
        if let Some(&class) = self.leaves.get(queue)
            && self.queues.holds(queue)
        {
            self.resting.remove(class as u32);
            self.tree.activate(class);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        let now = cx.now;
        self.wake(now);
        let Self { tree, queues, leaves, queue_of, resting, .. } = self;
        let (direct, mut picked) = (leaves.len(), None);
        let served = queues.dequeue(cx, |queues| {
            if queues.may_send(direct, now) {
                return Some(direct);
            }
            picked = tree.pick(now, |class| {
                let queue = queue_of[class];
                let may_send = queues.may_send(queue, now);
                if !may_send && queues.holds(queue) {
                    resting.set(class as u32, queues.ask_at(queue));
                }
                may_send
            });
            picked.map(|(class, _)| queue_of[class])
        });
        match (served, picked) {
            (Some((queue, packet)), Some((leaf, level))) if queue != direct => {
                tree.send(leaf, level, packet.len_bytes(), !queues.holds(queue), now);
                Served::Packet(packet)
            }
            (Some((_, packet)), _) => {
                self.direct_packets += 1;
                Served::Packet(packet)
            }
            (None, _) if queues.backlog().packets == 0 => Served::Idle,
            (None, _) => {
                let rested = resting.first().map_or(Time::NEVER, |(at, _)| at);
                Served::PollAt(rested.min(tree.next_event()))
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn state_bytes(&self) -> u64 {
        let maps = heap_bytes(&self.leaves) + heap_bytes(&self.queue_of) + heap_bytes(&self.queue_of_traffic_class);
        inline_bytes(self) + self.tree.heap_bytes() + self.resting.heap_bytes() + maps + self.queues.state_bytes()
    }

    fn children(&self, visit: &mut dyn FnMut(&dyn Discipline<P>)) {
        self.queues.disciplines().for_each(visit);
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("backlogged_classes", self.queues.backlogged() as f64);
        visit("borrowed_packets", self.tree.borrowed as f64);
        visit("direct_packets", self.direct_packets as f64);
        visit("overlimits", self.tree.overlimits as f64);
    }
}

#[cfg(test)]
#[path = "htb_tests.rs"]
mod tests;
