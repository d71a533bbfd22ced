//! A discipline from outside Forebay, which knows packets by their numbers.
//!
//! A [`GuestDiscipline`] decides; [`GuestQueue`] holds the packets. No packet can therefore be lost, duplicated or
//! invented by a guest. An order for a packet that is not queued is a [`GuestFault`], which is reported to the guest.
//! From then on the queue is a plain FIFO until the caller ends the run.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;

use crate::{
    Admission, Arrival, Backlog, Cx, Discipline, DropReason, FlowKey, MarkReason, Packet, Queue, Served, Time,
};

/// Either kind of guest.
pub enum Guest {
    /// A law in front of one FIFO.
    Law(Box<dyn Admission>),
    /// A discipline.
    Discipline(Box<dyn GuestDiscipline>),
}

impl Guest {
    /// The queue that the guest decides about.
    #[must_use]
    pub fn into_queue<P: Packet + 'static>(self) -> Queue<P> {
        match self {
            Self::Law(law) => Queue::Law(law),
            Self::Discipline(guest) => Queue::Discipline(Box::new(GuestQueue::new(guest))),
        }
    }
}

/// A guest's order for a queued packet, named by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Drop it.
    Drop(u64, DropReason),
    /// Set its ECN codepoint to CE.
    Mark(u64, MarkReason),
}

/// An order that cannot be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestFault {
    /// No packet of that number is queued.
    NotQueued,
    /// A mark for a packet that is not ECN-capable.
    NotCapable,
}

impl fmt::Display for GuestFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotQueued => "no packet of this number is queued",
            Self::NotCapable => "a packet that is not ECN-capable cannot be marked",
        })
    }
}

/// When a guest is called, and what is queued then.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The time; never decreases.
    pub now: Time,
    /// The queue; at an arrival, its state before the packet is added.
    pub backlog: Backlog,
}

/// A discipline that decides about packets which another holds.
pub trait GuestDiscipline: Send {
    /// A packet arrives and gets the `number`, from 0 on. It is queued, unless an order drops it.
    fn enqueue(&mut self, number: u64, arrival: &Arrival, moment: Moment, orders: &mut Vec<Order>);

    /// The number of the next packet to send, if one may go now. Orders are carried out first.
    fn dequeue(&mut self, moment: Moment, orders: &mut Vec<Order>) -> Served<u64>;

    /// An order about packet `number`, or its choice as the next, cannot be carried out.
    fn refused(&mut self, number: u64, flow: Option<FlowKey>, now: Time, fault: GuestFault);

    /// Whether it has failed, and is not to be called again.
    fn has_failed(&self) -> bool;

    /// Bytes of memory that its own state takes.
    fn state_bytes(&self) -> u64;

    /// Shows each named gauge with its current value.
    fn gauges(&self, _visit: &mut dyn FnMut(&'static str, f64)) {}
}

/// The packets that a guest decides about.
pub struct GuestQueue<P> {
    guest: Box<dyn GuestDiscipline>,
    packets: BTreeMap<u64, P>,
    bytes: u64,
    arrived: u64,
    /// Empty between calls; kept for its memory.
    orders: Vec<Order>,
}

impl<P: Packet> GuestQueue<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(guest: Box<dyn GuestDiscipline>) -> Self {
        Self { guest, packets: BTreeMap::new(), bytes: 0, arrived: 0, orders: Vec::new() }
    }

    fn moment(&self, now: Time) -> Moment {
        Moment { now, backlog: self.backlog() }
    }

    fn take(&mut self, number: u64) -> Option<P> {
        let packet = self.packets.remove(&number)?;
        self.bytes -= u64::from(packet.len_bytes());
        Some(packet)
    }

    /// Carries out the orders of a call, up to the first that is impossible. `arriving` is the packet that the call is
    /// about.
    fn carry_out(&mut self, mut orders: Vec<Order>, arriving: Option<u64>, cx: &mut Cx<'_, P>) {
        for order in orders.drain(..) {
            let fault = match order {
                Order::Drop(number, reason) => match self.take(number) {
                    Some(packet) => {
                        cx.sink.dropped(packet, reason, arriving != Some(number));
                        continue;
                    }
                    None => (number, None, GuestFault::NotQueued),
                },
                Order::Mark(number, reason) => match self.packets.get_mut(&number) {
                    Some(packet) if packet.ecn().is_capable() => {
                        packet.mark_ce();
                        cx.sink.marked(packet, reason);
                        continue;
                    }
                    Some(packet) => (number, Some(packet.flow()), GuestFault::NotCapable),
                    None => (number, None, GuestFault::NotQueued),
                },
            };
            self.guest.refused(fault.0, fault.1, cx.now, fault.2);
            break;
        }
        self.orders = orders;
    }

    /// The next packet without asking the guest: in the order of arrival.
    fn first(&mut self) -> Option<P> {
        let (&number, _) = self.packets.first_key_value()?;
        self.take(number)
    }
}

impl<P: Packet> Discipline<P> for GuestQueue<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let (number, moment, arrival) = (self.arrived, self.moment(cx.now), packet.arrival());
        self.arrived += 1;
        self.bytes += u64::from(arrival.len_bytes);
        self.packets.insert(number, packet);
        if self.guest.has_failed() {
            return;
        }
        let mut orders = core::mem::take(&mut self.orders);
        self.guest.enqueue(number, &arrival, moment, &mut orders);
        self.carry_out(orders, Some(number), cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        if self.guest.has_failed() {
            return self.first().into();
        }
        let mut orders = core::mem::take(&mut self.orders);
        let next = self.guest.dequeue(self.moment(cx.now), &mut orders);
        self.carry_out(orders, None, cx);
        if self.guest.has_failed() {
            return self.first().into();
        }
        let number = match next {
            Served::Packet(number) => number,
            Served::PollAt(at) if !self.packets.is_empty() => return Served::PollAt(at),
            _ => return Served::Idle,
        };
        self.take(number).map_or_else(
            || {
                self.guest.refused(number, None, cx.now, GuestFault::NotQueued);
                self.first().into()
            },
            Served::Packet,
        )
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }

    fn state_bytes(&self) -> u64 {
        self.guest.state_bytes()
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.guest.gauges(visit);
    }
}

#[cfg(test)]
#[path = "guest_tests.rs"]
mod tests;
