//! The way of a packet from an endpoint to the uplink: the processing time of the host, then, for datagrams, the queue
//! of the network device.
//!
//! A host needs some microseconds for a packet, and never the same number of them. Without this the packets of flows
//! that share a bottleneck stay in step, and the same flow loses all of them (Floyd and Jacobson 1992, "On traffic
//! phase effects in packet-switched gateways").

use forebay_qdisc::Time;
use rand_pcg::Pcg64Mcg;

use crate::driver::ring::Ring;
use crate::link::Link;
use crate::observe::interval::MeasuredInterval;
use crate::observe::loss_counters::LossCounters;
use crate::packet::Packet;
use crate::spec::Distribution;

pub(crate) struct SendPath {
    /// Processing times by endpoint, in picoseconds; only one where they are equal.
    delays: Box<[Distribution]>,
    /// The place there of the endpoint that sends.
    sender: usize,
    /// Whether any endpoint has a processing time.
    processes: bool,
    rng: Pcg64Mcg,
    /// The time at which the last packet left. Packets of a host keep their order.
    released: Time,
    /// The times at which the datagrams in the device queue begin their transmission.
    waiting: Ring<Time>,
    /// Datagrams that may wait; `None` for any number.
    limit: Option<u32>,
    dropped: LossCounters,
}

impl SendPath {
    /// `None` if packets pass at once: the endpoints have no processing time and no limit.
    pub fn new(delays: Vec<Distribution>, limit: Option<u32>, rng: Pcg64Mcg) -> Option<Box<Self>> {
        let first = delays.first()?;
        let processes = delays.iter().any(|delay| *delay != Distribution::ZERO);
        if limit.is_none() && !processes {
            return None;
        }
        let is_same = delays.iter().all(|delay| delay == first);
        let delays = if is_same { [first.clone()].into() } else { delays.into() };
        let (released, waiting, dropped) = (Time::ZERO, Ring::default(), LossCounters::default());
        Some(Box::new(Self { delays, sender: 0, processes, rng, released, waiting, limit, dropped }))
    }

    /// The endpoint at `place` sends the next packets.
    #[inline]
    pub fn turn_to(&mut self, place: u32) {
        if self.delays.len() > 1 {
            self.sender = place as usize;
        }
    }

    /// Delays a packet by the processing time.
    #[inline]
    pub fn process(&mut self, packet: &mut Packet) {
        if self.processes {
            packet.time = (packet.time + self.delays[self.sender].draw_span(&mut self.rng)).max(self.released);
            self.released = packet.time;
        }
    }

    /// Takes a datagram into the device queue of `uplink`. Returns false if the queue is full.
    #[inline]
    pub fn admit(&mut self, datagram: &Packet, uplink: &Link, measured: &MeasuredInterval) -> bool {
        let Some(limit) = self.limit else { return true };
        let now = datagram.time;
        if uplink.free_at <= now {
            return true;
        }
        while self.waiting.front().is_some_and(|start| *start <= now) {
            self.waiting.pop();
        }
        if self.waiting.len() >= limit as usize {
            self.dropped.add(datagram, measured);
            return false;
        }
        self.waiting.push(uplink.free_at);
        true
    }

    /// The datagrams that found the queue full.
    pub fn dropped(&self) -> &LossCounters {
        &self.dropped
    }
}

#[cfg(test)]
#[path = "send_path_tests.rs"]
mod tests;
