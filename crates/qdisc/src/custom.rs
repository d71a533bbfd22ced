//! A discipline from outside Forebay, which knows packets by their numbers.
//!
//! A [`NumberedDiscipline`] decides; [`CustomQueue`] holds the packets. No packet can therefore be lost, duplicated or
//! invented by a custom discipline. An order for a packet that is not queued is a [`CustomFault`], which is reported to
//! the custom discipline. From then on the queue is a plain FIFO until the caller ends the run.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;

use crate::{
    Admission, Arrival, Backlog, Cx, Discipline, DropReason, FlowKey, MarkReason, Packet, Queue, Served, Time,
};

/// Either kind of custom discipline.
pub enum CustomDiscipline {
    /// A law in front of one FIFO.
    Law(Box<dyn Admission>),
    /// A discipline.
    Discipline(Box<dyn NumberedDiscipline>),
}

impl CustomDiscipline {
    /// The queue that the custom discipline decides about.
    #[must_use]
    pub fn into_queue<P: Packet + 'static>(self) -> Queue<P> {
        match self {
            Self::Law(law) => Queue::Law(law),
            Self::Discipline(custom) => Queue::Discipline(Box::new(CustomQueue::new(custom))),
        }
    }
}

/// A custom discipline's order for a queued packet, named by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Drop it.
    Drop(u64, DropReason),
    /// Set its ECN codepoint to CE.
    Mark(u64, MarkReason),
}

/// An order that cannot be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CustomFault {
    /// No packet of that number is queued.
    NotQueued,
    /// A mark for a packet that is not ECN-capable.
    NotCapable,
}

impl fmt::Display for CustomFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotQueued => "no packet of this number is queued",
            Self::NotCapable => "a packet that is not ECN-capable cannot be marked",
        })
    }
}

/// When a custom discipline is called, and what is queued then.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The time; never decreases.
    pub now: Time,
    /// The queue; at an arrival, its state before the packet is added.
    pub backlog: Backlog,
}

/// A discipline that decides about packets which another holds.
pub trait NumberedDiscipline: Send {
    /// A packet arrives and gets the `number`, from 0 on. It is queued, unless an order drops it.
    fn enqueue(&mut self, number: u64, arrival: &Arrival, moment: Moment, orders: &mut Vec<Order>);

    /// The number of the next packet to send, if one may go now. Orders are carried out first.
    fn dequeue(&mut self, moment: Moment, orders: &mut Vec<Order>) -> Served<u64>;

    /// An order about packet `number`, or its choice as the next, cannot be carried out.
    fn refused(&mut self, number: u64, flow: Option<FlowKey>, now: Time, fault: CustomFault);

    /// Whether it has failed, and is not to be called again.
    fn has_failed(&self) -> bool;

    /// Bytes of memory that its own state takes.
    fn state_bytes(&self) -> u64;

    /// Shows each named gauge with its current value.
    fn gauges(&self, _visit: &mut dyn FnMut(&'static str, f64)) {}
}

/// The packets that a custom discipline decides about.
pub struct CustomQueue<P> {
    custom: Box<dyn NumberedDiscipline>,
    packets: BTreeMap<u64, P>,
    bytes: u64,
    arrived: u64,
    /// Empty between calls; kept for its memory.
    orders: Vec<Order>,
}

impl<P: Packet> CustomQueue<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(custom: Box<dyn NumberedDiscipline>) -> Self {
        Self { custom, packets: BTreeMap::new(), bytes: 0, arrived: 0, orders: Vec::new() }
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
                    None => (number, None, CustomFault::NotQueued),
                },
                Order::Mark(number, reason) => match self.packets.get_mut(&number) {
                    Some(packet) if packet.ecn().is_capable() => {
                        packet.mark_ce();
                        cx.sink.marked(packet, reason);
                        continue;
                    }
                    Some(packet) => (number, Some(packet.flow()), CustomFault::NotCapable),
                    None => (number, None, CustomFault::NotQueued),
                },
            };
            self.custom.refused(fault.0, fault.1, cx.now, fault.2);
            break;
        }
        self.orders = orders;
    }

    /// The next packet without asking the custom discipline: in the order of arrival.
    fn first(&mut self) -> Option<P> {
        let (&number, _) = self.packets.first_key_value()?;
        self.take(number)
    }
}

impl<P: Packet> Discipline<P> for CustomQueue<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let (number, moment, arrival) = (self.arrived, self.moment(cx.now), packet.arrival());
        self.arrived += 1;
        self.bytes += u64::from(arrival.len_bytes);
        self.packets.insert(number, packet);
        if self.custom.has_failed() {
            return;
        }
        let mut orders = core::mem::take(&mut self.orders);
        self.custom.enqueue(number, &arrival, moment, &mut orders);
        self.carry_out(orders, Some(number), cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        if self.custom.has_failed() {
            return self.first().into();
        }
        let mut orders = core::mem::take(&mut self.orders);
        let next = self.custom.dequeue(self.moment(cx.now), &mut orders);
        self.carry_out(orders, None, cx);
        if self.custom.has_failed() {
            return self.first().into();
        }
        let number = match next {
            Served::Packet(number) => number,
            Served::PollAt(at) if !self.packets.is_empty() => return Served::PollAt(at),
            _ => return Served::Idle,
        };
        self.take(number).map_or_else(
            || {
                self.custom.refused(number, None, cx.now, CustomFault::NotQueued);
                self.first().into()
            },
            Served::Packet,
        )
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }

    fn state_bytes(&self) -> u64 {
        self.custom.state_bytes()
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.custom.gauges(visit);
    }
}

#[cfg(test)]
#[path = "custom_tests.rs"]
mod tests;
