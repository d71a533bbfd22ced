//! What runs: processes, joined by lanes.
//!
//! A process (an endpoint of a flow, a queue with its link, later a switch) sees the packets that reach it, its own
//! state and its outbox, and nothing else. Packets come to it in the order of their times. That is the whole boundary:
//! a driver may run a process ahead of the others while its input is known, and the results are the same.

use forebay_qdisc::Time;

use crate::observe::report::Report;
use crate::observe::window::Window;
use crate::packet::Packet;
use crate::packet::sack::SackTable;

/// A part of the network with state of its own.
pub trait Process {
    /// Asks for the first wake-up, before anything moves.
    fn start(&mut self, _out: &mut Outbox) {}

    /// A packet arrives, at `packet.time`. A process whose timer is due no later has to run it first: the driver
    /// sees to that only for timers that it has been told of by [`Outbox::wake_at`], and only where it keeps
    /// the global order.
    fn receive(&mut self, packet: &Packet, out: &mut Outbox);

    /// A wake-up that was asked for. May come late or for nothing: the process looks at its own deadlines.
    fn expire(&mut self, now: Time, out: &mut Outbox);

    /// The run is over: brings the books up to `end` and hands them in.
    fn finish(&mut self, end: Time, report: &mut Report);

    /// A packet of this [`Packet::direction_index`] is going to come soon: asks for the memory that
    /// [`Process::receive`] is going to look at. Changes nothing.
    fn prefetch(&self, _direction: usize) {}

    /// After [`Process::prefetch`]: asks for what pointers there lead to.
    fn prefetch_further(&self) {}
}

/// Where a process puts what it sends, and asks to be woken; and what all processes share.
#[derive(Debug)]
pub struct Outbox {
    /// (sender, packet with its arrival time at the next process), in the order of sending.
    pub(crate) packets: Vec<(u32, Packet)>,
    /// (process, when).
    pub(crate) wake_ups: Vec<(u32, Time)>,
    /// The process that is running.
    pub(crate) running: u32,
    /// The measured interval.
    pub window: Window,
    /// SACK blocks of the ACKs in flight.
    pub sacks: SackTable,
}

impl Outbox {
    pub(crate) fn new(window: Window) -> Self {
        Self { packets: Vec::new(), wake_ups: Vec::new(), running: 0, window, sacks: SackTable::default() }
    }

    /// Sends a packet on along its path. `packet.time` is its arrival at the next process; it never decreases from
    /// packet to packet of one process.
    #[inline(always)]
    pub fn send(&mut self, packet: Packet) {
        self.packets.push((self.running, packet));
    }

    /// Asks for a wake-up of the running process.
    #[inline]
    pub fn wake_at(&mut self, at: Time) {
        self.wake_ups.push((self.running, at));
    }

    /// Lets go of what a packet holds in side tables, when it ends.
    #[inline]
    pub fn release(&mut self, packet: &Packet) {
        if packet.is_ack() && packet.stamp != 0 {
            self.sacks.take(packet.stamp);
        }
    }
}

/// A lazy timer: one pending wake-up at or before the deadline. A deadline that moves later costs nothing; the wake-up
/// finds out and asks again. A deadline that moves earlier asks at once.
#[derive(Clone, Copy, Debug)]
pub struct LazyTimer {
    armed: Time,
}

impl Default for LazyTimer {
    fn default() -> Self {
        Self { armed: Time::NEVER }
    }
}

impl LazyTimer {
    /// Makes sure that a wake-up comes no later than `deadline`.
    #[inline]
    pub fn ensure(&mut self, deadline: Time, out: &mut Outbox) {
        if deadline < self.armed {
            self.armed = deadline;
            out.wake_at(deadline);
        }
    }

    /// A wake-up came at `now`: false if an earlier one has taken its place.
    #[inline]
    pub fn woken(&mut self, now: Time) -> bool {
        let current = now == self.armed;
        if current {
            self.armed = Time::NEVER;
        }
        current
    }
}
