//! Cells on the slots of a line, as in switch theory: each slot has a cell for a drawn output, or none. One source for
//! each line; each (line, output) pair is a flow.

use forebay_qdisc::{Ecn, Span, Time, uniform};
use rand_pcg::Pcg64Mcg;

use crate::host::endpoint::Endpoint;
use crate::host::outbox::Outbox;
use crate::observe::flow_counters::{EndpointContext, SendCounters};
use crate::observe::interval::Checkpoints;
use crate::observe::report::Report;
use crate::packet::{Packet, PacketFields, departure_stamp};
use crate::spec::CellArrivals;

/// One of the flows that share a line.
pub(crate) struct CellFlow {
    pub context: EndpointContext,
    /// The share of the cells, relative to the other flows' shares.
    pub share: f64,
    pub counters: SendCounters,
}

/// The source of a line.
pub(crate) struct CellSource {
    flows: Vec<CellFlow>,
    /// Sum of the shares up to each flow.
    cumulative: Vec<f64>,
    arrivals: CellArrivals,
    len_bytes: u16,
    slot: Span,
    stop: Time,
    checkpoints: Checkpoints,
    rng: Pcg64Mcg,
    /// The slot of the next cell.
    next: u64,
    /// Whose burst it is, and its cells still to come.
    burst: (usize, u64),
}

pub(crate) struct CellSourceParts {
    pub flows: Vec<CellFlow>,
    pub arrivals: CellArrivals,
    pub len_bytes: u16,
    pub slot: Span,
    pub start: Time,
    pub stop: Time,
    pub checkpoints: Checkpoints,
    pub rng: Pcg64Mcg,
}

impl CellSource {
    pub fn new(parts: CellSourceParts) -> Self {
        let CellSourceParts { flows, arrivals, len_bytes, slot, start, stop, checkpoints, rng } = parts;
        let cumulative = flows
            .iter()
            .scan(0.0, |sum, flow| {
                *sum += flow.share;
                Some(*sum)
            })
            .collect();
        let mut source = Self {
            flows,
            cumulative,
            arrivals,
            len_bytes,
            slot,
            stop,
            checkpoints,
            rng,
            next: start.picoseconds().div_ceil(slot.picoseconds()),
            burst: (0, 0),
        };
        source.next = source.next.saturating_add(match arrivals {
            CellArrivals::Bernoulli { load } => source.failures_before_success(load),
            CellArrivals::Bursty { load, burst_cells } => source.pause(load, burst_cells),
        });
        source
    }

    /// Failures before the first success: geometric, from 0.
    fn failures_before_success(&mut self, success: f64) -> u64 {
        if success >= 1.0 {
            return 0;
        }
        if success <= 0.0 {
            return u64::MAX;
        }
        // 1 - U is in (0, 1], where the logarithm is finite.
        (libm::log(1.0 - uniform(&mut self.rng)) / libm::log1p(-success)) as u64
    }

    /// Empty slots between two bursts: geometric, from 0, with the mean that gives the load.
    fn pause(&mut self, load: f64, burst_cells: f64) -> u64 {
        let mean = burst_cells * (1.0 - load) / load;
        self.failures_before_success(1.0 / (1.0 + mean))
    }

    fn draw_flow(&mut self) -> usize {
        let total = self.cumulative.last().copied().unwrap_or(0.0);
        let point = uniform(&mut self.rng) * total;
        self.cumulative.partition_point(|&sum| sum <= point).min(self.flows.len() - 1)
    }

    /// Whose cell is next; settles the slot of the one after it.
    fn step(&mut self) -> usize {
        match self.arrivals {
            CellArrivals::Bernoulli { load } => {
                let flow = self.draw_flow();
                self.next = self.next.saturating_add(1).saturating_add(self.failures_before_success(load));
                flow
            }
            CellArrivals::Bursty { load, burst_cells } => {
                if self.burst.1 == 0 {
                    self.burst = (self.draw_flow(), 1 + self.failures_before_success(1.0 / burst_cells));
                }
                self.burst.1 -= 1;
                self.next = self.next.saturating_add(1);
                if self.burst.1 == 0 {
                    self.next = self.next.saturating_add(self.pause(load, burst_cells));
                }
                self.burst.0
            }
        }
    }

    fn next_time(&self) -> Time {
        Time::from_picoseconds(self.next.saturating_mul(self.slot.picoseconds()))
    }

    fn send(&mut self, now: Time, out: &mut Outbox<'_>) {
        if self.checkpoints.next() <= now {
            self.check(now);
        }
        let flow = self.step();
        let CellFlow { context, counters, .. } = &mut self.flows[flow];
        let packet = Packet::new(PacketFields {
            time: now,
            stamp: departure_stamp(now),
            number: counters.count.packets as u32,
            flow: context.flow,
            len_bytes: self.len_bytes,
            flags: 0,
            class: context.class,
            ecn: Ecn::NotCapable,
        });
        counters.record.started.get_or_insert(now);
        counters.sent(&packet, false);
        out.send(packet);
    }

    #[cold]
    fn check(&mut self, now: Time) {
        while let Some((_, due)) = self.checkpoints.take(now) {
            for flow in &mut self.flows {
                flow.counters.check(due, self.checkpoints.interval());
            }
        }
    }
}

impl Endpoint for CellSource {
    fn next(&self) -> Time {
        let next = self.next_time();
        if next < self.stop { next } else { Time::NEVER }
    }

    fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        loop {
            let next = self.next_time();
            if next > now || next >= self.stop {
                return;
            }
            self.send(next, out);
            out.channels.generated += 1;
        }
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        self.check(end);
        for flow in &mut self.flows {
            report.sender(flow.context.flow, std::mem::take(&mut flow.counters));
        }
    }
}

#[cfg(test)]
mod tests {
    use forebay_records::random::stream;

    use super::*;

    fn source(arrivals: CellArrivals, shares: &[f64]) -> CellSource {
        let checkpoints = Checkpoints::new(None, None);
        let flows = shares.iter().zip(0..).map(|(&share, flow)| CellFlow {
            context: EndpointContext { flow, class: 0, checkpoints },
            share,
            counters: SendCounters::new(false),
        });
        CellSource::new(CellSourceParts {
            flows: flows.collect(),
            arrivals,
            len_bytes: 64,
            slot: Span::from_nanoseconds(10),
            start: Time::ZERO,
            stop: Time::NEVER,
            checkpoints,
            rng: stream(1, "cells"),
        })
    }

    /// Slots used of the first `cells`, cells of each flow, and bursts: runs of one flow in slots without a gap.
    fn drawn(source: &mut CellSource, cells: u32) -> (f64, Vec<u32>, u32) {
        let mut of_flow = vec![0; source.flows.len()];
        let (mut bursts, mut last) = (0, None);
        for _ in 0..cells {
            let slot = source.next;
            let flow = source.step();
            of_flow[flow] += 1;
            bursts += u32::from(last != Some((slot.wrapping_sub(1), flow)));
            last = Some((slot, flow));
        }
        (f64::from(cells) / source.next as f64, of_flow, bursts)
    }

    #[test]
    fn bernoulli_cells_fill_their_share_of_the_slots() {
        for load in [0.1, 0.5, 0.95, 1.0] {
            let (seen, of_flow, _) = drawn(&mut source(CellArrivals::Bernoulli { load }, &[1.0, 0.0, 2.0]), 200_000);
            // Three standard deviations of the number of slots for 200 000 cells, relative.
            let tolerance = 3.0 * ((1.0 - load) / 200_000.0_f64).sqrt() + 1e-9;
            assert!((seen / load - 1.0).abs() <= tolerance, "load {load}: {seen}");
            assert_eq!(of_flow[1], 0);
            assert!((f64::from(of_flow[2]) / 200_000.0 - 2.0 / 3.0).abs() < 0.004, "{of_flow:?}");
        }
    }

    #[test]
    fn bursts_have_their_mean_length_and_the_load() {
        // Two bursts of one flow without an empty slot between them look like one: with many flows that is rare.
        let shares = [1.0; 64];
        let (seen, _, bursts) =
            drawn(&mut source(CellArrivals::Bursty { load: 0.6, burst_cells: 16.0 }, &shares), 1_000_000);
        assert!((seen - 0.6).abs() < 0.01, "{seen}");
        let mean = 1_000_000.0 / f64::from(bursts);
        assert!((mean - 16.0).abs() < 0.4, "{mean}");
    }

    #[test]
    fn a_line_without_load_is_silent() {
        assert_eq!(source(CellArrivals::Bernoulli { load: 0.0 }, &[1.0]).next_time(), Time::NEVER);
    }
}
