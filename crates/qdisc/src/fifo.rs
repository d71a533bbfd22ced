//! One FIFO queue behind an admission law.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use crate::{Admission, Backlog, Cx, Discipline, FlowKey, Offer, Packet, Served, Ticket, Verdict};

/// An admission law with the FIFO queue that it guards.
pub struct Fifo<P, A: ?Sized = dyn Admission> {
    /// An optional packet is copied out of its place in one piece. Without the option the compiler stores it field by
    /// field, and a vector load of the copy stalls until these stores have retired.
    packets: VecDeque<(Option<P>, Ticket)>,
    backlog: Backlog,
    idle: bool,
    law: Box<A>,
}

impl<P, A: Admission + ?Sized> Fifo<P, A> {
    /// An empty queue behind `law`.
    #[must_use]
    pub fn new(law: Box<A>) -> Self {
        Self { packets: VecDeque::new(), backlog: Backlog::default(), idle: true, law }
    }

    /// The law.
    #[must_use]
    pub fn law(&self) -> &A {
        &self.law
    }
}

impl<P: Packet, A: Admission + ?Sized> Discipline<P> for Fifo<P, A> {
    fn enqueue(&mut self, mut packet: P, cx: &mut Cx<'_, P>) {
        let arrival = packet.arrival();
        let verdict = self.law.admit(&arrival, &mut Offer { now: cx.now, backlog: self.backlog, rng: &mut *cx.rng });
        let ticket = match verdict {
            Verdict::Enqueue(ticket) => ticket,
            Verdict::Mark(ticket, reason) => {
                packet.mark_ce();
                cx.sink.marked(&packet, reason);
                ticket
            }
            Verdict::Drop(reason) => return cx.sink.dropped(packet, reason, false),
        };
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(arrival.len_bytes);
        self.packets.push_back((Some(packet), ticket));
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        let Some((Some(first), ticket)) = self.packets.front() else {
            if !self.idle {
                self.law.idle(cx.now);
                self.idle = true;
            }
            return Served::Idle;
        };
        let (len_bytes, ticket) = (first.len_bytes(), *ticket);
        self.idle = false;
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(len_bytes);
        self.law.release(ticket, len_bytes, self.backlog, cx.now);
        let packet = self.packets.front_mut().and_then(|(packet, _)| packet.take());
        self.packets.pop_front();
        packet.into()
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn state_bytes(&self) -> u64 {
        self.law.state_bytes()
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.law.gauges(visit);
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        self.law.flow_gauges(flow, visit);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use forebay_units::QueueSize;

    use super::*;
    use crate::test_support::{Bench, LINK, Labelled};
    use crate::{DropReason, DropTail, DropTailConfig};

    #[test]
    fn a_packet_that_leaves_makes_room_for_as_many_bytes() {
        let law = DropTail::new(&DropTailConfig { limit: QueueSize::Bytes(1000) }, LINK, 0).unwrap();
        let mut bench = Bench::new(Fifo::new(Box::new(law)));
        let packets = [(1, 600), (2, 400), (3, 40)].map(|(label, len_bytes)| Labelled::new(label, 1, len_bytes, 0));
        packets.into_iter().for_each(|packet| bench.enqueue(packet));
        assert_eq!(bench.dropped.0, [(packets[2], DropReason::Overflow, false)]);
        assert_eq!(bench.discipline.backlog(), Backlog { packets: 2, bytes: 1000 });
        assert_eq!(bench.dequeue(), Some(packets[0]));
        assert_eq!(bench.discipline.backlog(), Backlog { packets: 1, bytes: 400 });
        for packet in [Labelled::new(4, 1, 601, 0), Labelled::new(5, 1, 600, 0)] {
            bench.enqueue(packet);
        }
        assert_eq!(bench.drain(), vec![2, 5]);
        assert_eq!(bench.serve(), Served::Idle);
        assert_eq!(bench.discipline.backlog(), Backlog::default());
    }
}
