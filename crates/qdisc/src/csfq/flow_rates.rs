//! The edge router's estimates of the flows' rates.

use super::rate_estimator::{AveragingTime, RateEstimator};
use crate::flow_slots::FlowSlots;
use crate::{FlowKey, Span, Time};

/// The end of the list.
const NONE: u32 = u32::MAX;

/// The estimate of one flow, and its neighbours in the order of last packets.
#[derive(Clone, Copy, Debug, Default)]
struct FlowRate {
    estimator: RateEstimator,
    older: u32,
    newer: u32,
}

/// An estimate for each flow seen of late. A flow that has been silent for longer than the timeout is forgotten, and
/// when the table is full the flow that has been silent longest makes room for a new one.
#[derive(Clone, Debug)]
pub(super) struct FlowRates {
    averaging_time: AveragingTime,
    timeout: Span,
    max_flows: usize,
    flows: FlowSlots<FlowRate>,
    oldest: u32,
    newest: u32,
}

impl FlowRates {
    pub fn new(averaging_time: AveragingTime, timeout: Span, max_flows: u32, salt: u64) -> Self {
        let flows = FlowSlots::new(salt);
        Self { averaging_time, timeout, max_flows: max_flows as usize, flows, oldest: NONE, newest: NONE }
    }

    /// The rate of `flow` with a packet of `len_bits` that arrives at `now`.
    pub fn update(&mut self, flow: FlowKey, len_bits: f64, now: Time) -> f64 {
        // One flow comes with a packet at most and two go, to keep the table no longer than necessary.
        self.forget_if_silent(now);
        self.forget_if_silent(now);
        if let Some(slot) = self.flows.find(flow) {
            let rate = self.flows[slot].estimator.update(len_bits, self.averaging_time, now);
            if slot != self.newest {
                self.unlink(slot);
                self.append(slot);
            }
            return rate;
        }
        if self.flows.len() == self.max_flows {
            self.forget(self.oldest);
        }
        let (slot, _) = self.flows.find_or_insert(flow);
        self.flows[slot].estimator = RateEstimator::starting(len_bits, self.averaging_time, now);
        self.append(slot);
        self.flows[slot].estimator.rate()
    }

    /// The rate of `flow` as of its last packet, if it is known.
    pub fn rate(&self, flow: FlowKey) -> Option<f64> {
        self.flows.find(flow).map(|slot| self.flows[slot].estimator.rate())
    }

    /// How many flows are known.
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Bytes that the table holds on the heap.
    pub fn heap_bytes(&self) -> u64 {
        self.flows.heap_bytes()
    }

    fn forget_if_silent(&mut self, now: Time) {
        if self.oldest != NONE && now.since(self.flows[self.oldest].estimator.last()) > self.timeout {
            self.forget(self.oldest);
        }
    }

    fn forget(&mut self, slot: u32) {
        self.unlink(slot);
        self.flows.remove(slot);
    }

    fn append(&mut self, slot: u32) {
        let older = core::mem::replace(&mut self.newest, slot);
        self.flows[slot].older = older;
        self.flows[slot].newer = NONE;
        match older {
            NONE => self.oldest = slot,
            older => self.flows[older].newer = slot,
        }
    }

    fn unlink(&mut self, slot: u32) {
        let FlowRate { older, newer, .. } = self.flows[slot];
        match older {
            NONE => self.oldest = newer,
            older => self.flows[older].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.flows[newer].older = older,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    const TIMEOUT: Span = Span::from_seconds(10);

    fn table(max_flows: u32) -> FlowRates {
        FlowRates::new(AveragingTime::new(Span::from_milliseconds(100)), TIMEOUT, max_flows, 3)
    }

    #[test]
    fn a_flow_is_forgotten_after_the_timeout_and_not_before() {
        let mut rates = table(100);
        rates.update(FlowKey(1), 8000.0, Time::ZERO);
        rates.update(FlowKey(2), 8000.0, Time::ZERO + TIMEOUT);
        assert_eq!((rates.len(), rates.rate(FlowKey(1))), (2, Some(80_000.0)));
        rates.update(FlowKey(2), 8000.0, Time::ZERO + TIMEOUT + Span::from_picoseconds(1));
        assert_eq!((rates.len(), rates.rate(FlowKey(1))), (1, None));
    }

    #[test]
    fn a_full_table_forgets_the_flow_that_was_silent_longest() {
        let mut rates = table(3);
        let mut now = Time::ZERO;
        for flow in [1, 2, 3, 1, 4] {
            now += Span::from_milliseconds(1);
            rates.update(FlowKey(flow), 8000.0, now);
        }
        let known: Vec<u64> = (0..6).filter(|flow| rates.rate(FlowKey(*flow)).is_some()).collect();
        assert_eq!(known, [1, 3, 4]);
    }

    #[test]
    fn distinct_flows_without_end_do_not_grow_the_table() {
        let mut rates = table(1000);
        for flow in 0..2000 {
            rates.update(FlowKey(flow), 8000.0, Time::ZERO);
        }
        let bytes = rates.heap_bytes();
        for flow in 2000..300_000 {
            rates.update(FlowKey(flow), 8000.0, Time::ZERO);
        }
        assert_eq!((rates.len(), rates.heap_bytes()), (1000, bytes));
    }

    proptest! {
        #[test]
        fn the_table_holds_the_flows_seen_last(
            packets in prop::collection::vec((0_u64..12, 0_u64..4_000), 1..200),
            max_flows in 1_u32..8,
        ) {
            let mut rates = table(max_flows);
            let mut now = Time::ZERO;
            // Flows by last packet, the newest at the end.
            let mut model: Vec<(u64, Time)> = Vec::new();
            for (flow, gap_ms) in packets {
                now += Span::from_milliseconds(gap_ms);
                rates.update(FlowKey(flow), 8000.0, now);
                let silent = model.iter().take(2).take_while(|(_, last)| now.since(*last) > TIMEOUT).count();
                model.drain(..silent);
                let before = model.len();
                model.retain(|(known, _)| *known != flow);
                if before == model.len() && before == max_flows as usize {
                    model.remove(0);
                }
                model.push((flow, now));
                prop_assert_eq!(rates.len(), model.len());
                for key in 0..12 {
                    let known = model.iter().any(|(flow, _)| *flow == key);
                    prop_assert_eq!(rates.rate(FlowKey(key)).is_some(), known, "flow {}", key);
                }
            }
        }
    }
}
