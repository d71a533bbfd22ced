//! CBQ, class-based queueing: a queue for each class of traffic, with a share, a shaping rate and a priority.
//!
//! # What it does
//! CBQ puts each packet into the queue of its traffic class; any discipline may manage such a queue. Among the classes
//! that may send, those of the first priority are served first; classes of equal priority divide the link by their
//! shares. A class with a shaping rate never gets more than that rate. The others get the unused part of a class: the
//! link idles only while all classes with packets are limited by their shaping rates.
//!
//! # When to use it
//! Use it to give classes of traffic a share of the link, a shaping rate or a priority each. It protects classes from
//! each other, not the flows within a class: that depends on the discipline of the class.
//!
//! # Example
//! ```toml
//! queue.cbq.classes = [
//!     { name = "voice", classes = [1], rate = "2 Mbps", queue = "drop_tail" },
//!     { name = "rest", priority = 1, queue = "fq_codel" },
//! ]
//! ```
//!
//! The `class` of a group of flows is its traffic class. Give a class of high priority a `rate`, or it can starve the
//! others. Classes of the same priority need no `rate`, only their `share`.
//!
//! # Source
//! The class queues of the DBL paper (Ertemalp, Cheriton, Bechtolsheim, ICNP 2001, section 7): "a share of the output
//! bandwidth as well as a shaping rate and a priority". Link sharing by classes: S. Floyd and V. Jacobson,
//! "Link-sharing and Resource Management Models for Packet Networks", IEEE/ACM Transactions on Networking 3(4), 1995.
//! Shares: P. Goyal, H. Vin and H. Cheng, "Start-time Fair Queuing", SIGCOMM 1996.
//!
//! # Where we differ
//! - There is one level of classes, and no borrowing beyond a shaping rate. Floyd and Jacobson regulate classes by
//!   estimates of their rates. Start-time fair queueing needs no estimates: for any two busy classes of one priority,
//!   the amounts that they sent, each divided by its share, differ by at most one packet of each class.
//! - Bandwidth that an idle class leaves unused also goes to the busy classes by their shares. In ns-2 it does not.
//!   There a class that borrows needs a parent below its limit. If no class may send, the next one in the round sends a
//!   packet whatever its share, and no estimate counts that packet. The division thus depends on the estimators. With
//!   shares of 0.1 and 0.4 at 10 Mb/s, and a class of 0.5 idle, the busy classes get 2.0 and 8.0 Mb/s here and 2.95 and
//!   7.05 in ns-2. With all classes busy both follow the shares.
//! - The length of a packet is known only when the queue of its class has released it, because a discipline may drop
//!   packets at the head. A shaped class therefore takes its next packet out of its queue and lets it wait for its
//!   tokens, as Linux's tbf does. A discipline that acts on delay does not see this wait.
//! - A packet longer than `burst` goes when the bucket is full, and the class owes the rest. Linux's tbf drops it.
//!
//! # Cost
//! A few numbers for each class, and its queue. O(c) a packet with c classes, plus the work of the queue of its class.
//! A class may release no packet although it has some (because it is shaped or drops them all). When the link requests
//! a packet, each such class costs O(c) and the work of its queue again. No class is called twice, and a class that has
//! refused is not called before the time that it gave, unless a packet of it arrives.
//!
//! # Parameters
//! See [`CbqConfig`] and [`CbqClass`].

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use forebay_units::{Bytes, Rate};

use self::shaper::Shaper;
use crate::class_weight::WEIGHTS;
use crate::inner_queues::{CLASSES, FIFO_LIMIT, InnerQueue, InnerQueues, PlacedError};
use crate::memory::{heap_bytes, inline_bytes};
use crate::require;
use crate::token_bucket::TokenBucket;
use crate::{Backlog, ClassQueues, Cx, Discipline, Packet, ParameterError, Served};

mod shaper;

/// Parameters of CBQ. `Q` describes the queue of a class.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(deny_unknown_fields))]
pub struct CbqConfig<Q> {
    /// The classes: at least one.
    pub classes: Vec<CbqClass<Q>>,
    /// Name of the class for packets whose traffic class none of them lists. Default: the last.
    #[cfg_attr(feature = "config", serde(default))]
    pub default_class: Option<String>,
}

/// A class of CBQ.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(deny_unknown_fields))]
pub struct CbqClass<Q> {
    /// Name of the class.
    pub name: String,
    /// The traffic classes whose packets belong to it. Default: none, which is useful for the default class only.
    #[cfg_attr(feature = "config", serde(default))]
    pub classes: Vec<u8>,
    /// Share of the link, in proportion to the sum of the shares of all classes of the same priority. From 0.001 to
    /// 1000000. Default: 1.
    #[cfg_attr(feature = "config", serde(default = "default_share"))]
    pub share: f64,
    /// Shaping rate, which the class does not exceed. Default: none.
    #[cfg_attr(feature = "config", serde(default))]
    pub rate: Option<Rate>,
    /// Bytes that the class may send at once after an idle time, beyond its shaping rate: over any time t it sends at
    /// most `burst` + `rate` x t. A packet longer than `burst` goes after an idle time that fills `burst`. Default:
    /// 3000 B, two packets.
    #[cfg_attr(feature = "config", serde(default = "default_burst"))]
    pub burst: Bytes,
    /// Priority: a class sends only while no class with a smaller number can. Default: 0.
    #[cfg_attr(feature = "config", serde(default))]
    pub priority: u8,
    /// The queue of the class.
    pub queue: Q,
}

fn default_share() -> f64 {
    1.0
}

fn default_burst() -> Bytes {
    Bytes(3000)
}

impl<Q> CbqClass<Q> {
    /// A class with the default parameters.
    #[must_use]
    pub fn new(name: &str, classes: &[u8], queue: Q) -> Self {
        Self {
            name: name.into(),
            classes: classes.to_vec(),
            share: default_share(),
            rate: None,
            burst: default_burst(),
            priority: 0,
            queue,
        }
    }
}

impl<Q> CbqConfig<Q> {
    /// The rate of class `index` when all of its priority are busy, for disciplines that are built for a rate. It is
    /// the share of the link, at least 1 b/s and at most the shaping rate.
    ///
    /// # Panics
    /// If there is no such class.
    #[must_use]
    pub fn class_rate(&self, index: usize, link_rate: Rate) -> Rate {
        let class = &self.classes[index];
        let peers = self.classes.iter().filter(|peer| peer.priority == class.priority);
        let fraction = class.share / peers.map(|peer| peer.share).sum::<f64>();
        let share = link_rate.scaled(fraction);
        class.rate.map_or(share, |rate| rate.min(share))
    }

    /// The index of the class of each traffic class.
    fn class_map(&self) -> Result<Vec<u8>, PlacedError> {
        let classes: Vec<_> = self.classes.iter().map(|class| (class.name.as_str(), &class.classes[..])).collect();
        let map = CLASSES.full_map(&classes, self.default_class.as_deref())?;
        for (index, class) in self.classes.iter().enumerate() {
            CLASSES.require(WEIGHTS.contains(&class.share), index, "share", "be between 0.001 and 1000000")?;
        }
        Ok(map)
    }
}

impl<Q> InnerQueues<Q> for CbqConfig<Q> {
    fn inner_queues(&self) -> Vec<InnerQueue<'_, Q>> {
        CLASSES.inner_queues(self.classes.iter().map(|class| Some(&class.queue)), FIFO_LIMIT)
    }

    fn inner_rate(&self, index: usize, link_rate: Rate) -> Rate {
        self.class_rate(index, link_rate)
    }

    fn check(&self, _link_rate: Rate) -> Result<(), PlacedError> {
        self.class_map().map(drop)
    }
}

/// The share of a class, and its place in the order of service.
#[derive(Clone, Copy, Debug)]
struct Share {
    share: f64,
    priority: usize,
    /// Whether it could send when it was last looked at; if not, it may not catch up later.
    competing: bool,
    /// Start tag of its next packet, in bytes per unit of share.
    start: f64,
}

/// CBQ: class-based queueing.
pub struct Cbq<P> {
    queues: ClassQueues<P>,
    shares: Shares,
    class_of: Vec<u8>,
}

/// Start-time fair queueing among the classes of each priority.
struct Shares {
    classes: Vec<Share>,
    /// Indices of the classes, by priority and then as configured.
    order: Vec<usize>,
    /// Virtual time of each priority: the start tag of the packet sent last.
    virtual_time: Vec<f64>,
}

impl<P: Packet + 'static> Cbq<P> {
    /// A CBQ over `queues`, which were built from the `queue` of each class in order. The link's rate does not matter.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new<Q>(
        config: &CbqConfig<Q>,
        _link_rate: Rate,
        queues: Vec<Box<dyn Discipline<P>>>,
    ) -> Result<Self, ParameterError> {
        let class_of = config.class_map()?;
        require(queues.len() == config.classes.len(), "classes", "have a queue each")?;
        let shaped = |(class, queue): (&CbqClass<Q>, Box<dyn Discipline<P>>)| match class.rate {
            Some(rate) => Box::new(Shaper::new(queue, TokenBucket::new(rate, class.burst.0))),
            None => queue,
        };
        let queues = ClassQueues::new(config.classes.iter().zip(queues).map(shaped).collect());
        Ok(Self { queues, shares: Shares::new(config), class_of })
    }
}

impl Shares {
    fn new<Q>(config: &CbqConfig<Q>) -> Self {
        let mut priorities: Vec<u8> = config.classes.iter().map(|class| class.priority).collect();
        priorities.sort_unstable();
        priorities.dedup();
        let share = |class: &CbqClass<Q>| Share {
            share: class.share,
            priority: priorities.partition_point(|priority| *priority < class.priority),
            competing: false,
            start: 0.0,
        };
        let classes: Vec<Share> = config.classes.iter().map(share).collect();
        let mut order: Vec<usize> = (0..classes.len()).collect();
        order.sort_by_key(|index| classes[*index].priority);
        Self { classes, order, virtual_time: vec![0.0; priorities.len()] }
    }

    /// The class to send next: of those that may, the first priority, and in it the smallest start tag. A class that is
    /// held back does not catch up later on what it could not send.
    fn pick(&mut self, may_send: impl Fn(usize) -> bool) -> Option<usize> {
        let mut best: Option<usize> = None;
        for &index in &self.order {
            let class = &mut self.classes[index];
            if !may_send(index) {
                class.competing = false;
                continue;
            }
            if !core::mem::replace(&mut class.competing, true) {
                class.start = class.start.max(self.virtual_time[class.priority]);
            }
            let Share { priority, start, .. } = *class;
            let better = best.is_none_or(|best| {
                let best = &self.classes[best];
                priority == best.priority && start < best.start
            });
            if better {
                best = Some(index);
            }
        }
        best
    }

    /// Class `index` sends a packet of `len_bytes`.
    fn sent(&mut self, index: usize, len_bytes: u32) {
        let class = &mut self.classes[index];
        self.virtual_time[class.priority] = class.start;
        class.start += f64::from(len_bytes) / class.share;
    }
}

impl<P: Packet + 'static> Discipline<P> for Cbq<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let class = self.class_of[usize::from(packet.class())];
        self.queues.enqueue(usize::from(class), packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        let Self { queues, shares, .. } = self;
        let now = cx.now;
        if let Some((class, packet)) = queues.dequeue(cx, |queues| shares.pick(|class| queues.may_send(class, now))) {
            shares.sent(class, packet.len_bytes());
            return Served::Packet(packet);
        }
        queues.held()
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn state_bytes(&self) -> u64 {
        let Shares { classes, order, virtual_time } = &self.shares;
        let shares = heap_bytes(classes) + heap_bytes(order) + heap_bytes(virtual_time);
        inline_bytes(self) + shares + heap_bytes(&self.class_of) + self.queues.state_bytes()
    }

    fn children(&self, visit: &mut dyn FnMut(&dyn Discipline<P>)) {
        self.queues.disciplines().for_each(visit);
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("backlogged_classes", self.queues.backlogged() as f64);
    }
}

#[cfg(test)]
#[path = "cbq_tests.rs"]
mod tests;
