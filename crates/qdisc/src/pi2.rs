//! PI2: PI improved with a square, which drops packets with the square of a probability steered by the delay.
//!
//! # What it does
//! Every 16 ms a controller compares the queueing delay with its target and adjusts a base probability: up while the
//! delay is above the target or growing, down while it is below or shrinking. Packets are dropped, or marked if they
//! are ECN-capable, with the square of it. TCP's window follows the square root of the drop probability, that is, the
//! base probability. So the controller sees a linear system and needs no table of gains as PIE has. With `scalable`,
//! packets of L4S senders are marked with twice the base probability itself, in the same queue.
//!
//! # When to use it
//! Use it in place of `pie`: it holds the delay near a target with fewer parameters, and takes L4S flows into the same
//! queue with fair rates. It does not hold back a flow that does not respond: use `fq_codel` there. L4S flows wait as
//! long as the others: use `dualpi2` for a short delay.
//!
//! # Example
//! ```toml
//! queue.pi2 = { target = "15 ms", scalable = true }
//! ```
//!
//! Set `target` first, or `typical_rtt` and `max_rtt`, from which the target and the gains follow. `scalable = true`
//! takes packets with ECT(1) or CE as those of L4S senders.
//!
//! # Source
//! K. De Schepper, O. Bondarenko, I. Tsang and B. Briscoe, "PI2: A Linearized AQM for both Classic and Scalable TCP",
//! CoNEXT 2016. The rules are those of DualPI2's Classic queue in Linux's `sch_dualpi2.c` of 2025, and in RFC 9332,
//! appendix A.1.
//!
//! # Where we differ
//! - The defaults are those of DualPI2 in Linux. The paper's experiments have a target of 20 ms, a period of 32 ms and
//!   gains of 0.3125 and 3.125 Hz, and drop packets when they arrive (`drop_on_enqueue`).
//! - The presets differ as those of `dualpi2`: in `update_interval`, `alpha`, `beta`, `min_backlog` and
//!   `classic_draw`.
//! - An event of probability p happens if a random number is below p, not if it is equal.
//! - The ticks of the controller are made up for when a packet arrives or leaves, with the age that the head of the
//!   queue had at each tick. A tick at the time of a packet comes before it.
//!
//! # Cost
//! About 200 bytes, and 8 bytes for each packet queued. O(1) a packet: each is dropped or sent, with at most two random
//! numbers. One call may drop all packets queued. Missed ticks cost about as much as 20 of them at most, with the
//! default gains, however long the idle period was.
//!
//! # Parameters
//! See [`Pi2Config`].

use forebay_units::{Bytes, QueueSize, Rate};

use crate::limit::Limit;
use crate::memory::inline_bytes;
use crate::pi2_controller::{Choice, Pi2Controller, Pi2Draw, Pi2Preset};
use crate::require;
use crate::signal::Signal;
use crate::timed_fifo::{TimedFifo, TimedQueue};
use crate::{Backlog, Cx, Discipline, DropReason, Ecn, MarkReason, Packet, ParameterError, Served, Span, Time};

parameters! {
    /// Parameters of PI2.
    pub struct Pi2Config {
        pi2 preset = Pi2Preset::Linux, "`linux`";
        queue limit = QueueSize::Packets(10_000), "10000 packets (Linux)";
        pi2 mtu = Bytes(1514), "1514 B, an Ethernet's MTU with its header (Linux)";
        pi2 target = None, "15 ms";
        pi2 update_interval = None, "16 ms (rfc: the smaller of `target` and a third of `max_rtt`)";
        pi2 alpha = None, "41/256 (rfc: 0.1 times the period divided by the square of `max_rtt`)";
        pi2 beta = None, "819/256 (rfc: 0.3 divided by `max_rtt`)";
        pi2 typical_rtt = None, "none; with `linux` and `max_rtt`, a sixth of that";
        pi2 max_rtt = None, "6 times `typical_rtt` if that is given, otherwise none (rfc: 100 ms)";
        /// Whether packets with ECT(1) or CE are those of scalable senders, such as `prague`. They are marked with `k`
        /// times the base probability instead of its square. Default: no.
        pub scalable: bool = false;
        pi2 coupling_factor = 2.0, "2";
        pi2 min_backlog = None, "twice `mtu` (rfc: 0)";
        pi2 classic_draw = None, "`random`, with a number for each factor of the square (rfc: `recur`)";
        pi2 drop_on_overload = true, "yes";
        pi2 drop_on_enqueue = false, "no";
    }
}

/// PI2: PI improved with a square.
#[derive(Clone, Debug)]
pub struct Pi2<P> {
    limit: Limit,
    min_backlog: u64,
    scalable: bool,
    drop_on_enqueue: bool,

    controller: Pi2Controller,
    classic_choice: Choice,
    scalable_choice: Choice,
    queue: TimedFifo<P>,
    now: Time,
}

impl<P: Packet> Pi2<P> {
    /// An empty PI2 queue. Neither the link's rate nor the salt matters.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &Pi2Config, _link_rate: Rate, _salt: u64) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        require(config.mtu.0 > 0, "mtu", "be at least 1 B")?;
        let twice = Bytes(config.mtu.0.saturating_mul(2));
        let choice = Choice::new(config.preset.draw(config.classic_draw));
        Ok(Self {
            limit,
            min_backlog: config.preset.rule(config.min_backlog, twice, Bytes(0)).0,
            scalable: config.scalable,
            drop_on_enqueue: config.drop_on_enqueue,
            controller: Pi2Controller::new(config)?,
            classic_choice: choice,
            scalable_choice: choice,
            queue: TimedFifo::new(),
            now: Time::ZERO,
        })
    }

    /// The base probability, as of the last packet that came or went.
    #[must_use]
    pub fn probability(&self) -> f64 {
        self.controller.probability()
    }

    /// Makes up for the ticks until `now`. Between packets the head of the queue is the same.
    fn catch_up(&mut self, now: Time) {
        self.now = now;
        self.controller.catch_up(now, self.queue.head());
    }

    /// Drops or marks a packet by the base probability, or returns it as it is.
    fn signalled(&mut self, mut packet: P, is_queued: bool, cx: &mut Cx<'_, P>) -> Option<P> {
        if self.queue.bytes() < self.min_backlog {
            return Some(packet);
        }
        let ecn = packet.ecn();
        let is_scalable = self.scalable && matches!(ecn, Ecn::Capable1 | Ecn::CongestionExperienced);
        let signal = if is_scalable {
            self.controller.l4s_signal(&mut self.scalable_choice, ecn, 0.0, cx.rng)
        } else {
            self.controller.classic_signal(&mut self.classic_choice, ecn, cx.rng)
        };
        match signal {
            Signal::Drop => {
                cx.sink.dropped(packet, DropReason::Early, is_queued);
                return None;
            }
            Signal::Mark => {
                packet.mark_ce();
                cx.sink.marked(&packet, MarkReason::Early);
            }
            Signal::None => {}
        }
        Some(packet)
    }
}

impl<P: Packet> Discipline<P> for Pi2<P> {
    fn enqueue(&mut self, mut packet: P, cx: &mut Cx<'_, P>) {
        self.catch_up(cx.now);
        if !self.limit.fits(self.queue.backlog(), packet.len_bytes()) {
            return cx.sink.dropped(packet, DropReason::Overflow, false);
        }
        if self.drop_on_enqueue {
            let Some(kept) = self.signalled(packet, false, cx) else { return };
            packet = kept;
        }
        self.queue.push(packet, cx.now);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        self.catch_up(cx.now);
        while let Some((packet, _)) = self.queue.pop() {
            if self.drop_on_enqueue {
                return Served::Packet(packet);
            }
            if let Some(packet) = self.signalled(packet, true, cx) {
                return Served::Packet(packet);
            }
        }
        Served::Idle
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self)
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let probability = self.controller.probability();
        visit("p_base", probability);
        visit("p_drop", probability * probability);
        visit("queueing_delay_s", self.queue.head().map_or(0.0, |head| self.now.since(head).seconds()));
    }
}

#[cfg(test)]
#[path = "pi2_tests.rs"]
mod tests;
