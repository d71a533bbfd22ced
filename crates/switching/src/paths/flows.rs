//! Values by flow, which are forgotten when they are old.

use alloc::boxed::Box;

use forebay_units::{Span, Time};

/// The last packet of a flow, and its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastPacket {
    pub flow: u32,
    pub port: u32,
    pub time: Time,
}

const FREE: LastPacket = LastPacket { flow: 0, port: 0, time: Time::NEVER };

/// A hash table with linear probing. It grows only if at least half of its flows are younger than a limit: so a node
/// has memory for the flows of a few limits, however many pass it during a run.
#[derive(Debug)]
pub(crate) struct RecentFlows {
    limit: Span,
    /// A power of two.
    slots: Box<[LastPacket]>,
    used: usize,
}

impl RecentFlows {
    pub fn new(limit: Span) -> Self {
        Self { limit, slots: [FREE; 8].into(), used: 0 }
    }

    /// The entry of a flow; a new one has no port and is older than the limit. The caller sets port and time.
    pub fn entry(&mut self, flow: u32, now: Time) -> (&mut LastPacket, bool) {
        let mut slot = find(&self.slots, flow);
        let is_new = self.slots[slot].time == Time::NEVER;
        if is_new {
            if self.used >= self.slots.len() / 4 * 3 {
                self.tidy(now);
                slot = find(&self.slots, flow);
            }
            self.used += 1;
            self.slots[slot] = LastPacket { flow, port: u32::MAX, time: now };
        }
        (&mut self.slots[slot], is_new)
    }

    /// Removes the old flows. If many are left, there is room for twice as many.
    #[cold]
    fn tidy(&mut self, now: Time) {
        let young = |last: &&LastPacket| last.time != Time::NEVER && now.since(last.time) <= self.limit;
        self.used = self.slots.iter().filter(young).count();
        let len = if self.used > self.slots.len() / 8 * 3 { 2 * self.slots.len() } else { self.slots.len() };
        let mut slots: Box<[LastPacket]> = core::iter::repeat_n(FREE, len).collect();
        for last in self.slots.iter().filter(young) {
            slots[find(&slots, last.flow)] = *last;
        }
        self.slots = slots;
    }
}

/// The slot of a flow, or the free one that it would take.
fn find(slots: &[LastPacket], flow: u32) -> usize {
    // Multiplicative hashing by the golden ratio (Knuth, The Art of Computer Programming, section 6.4).
    let hash = flow.wrapping_mul(0x9e37_79b9);
    let mut slot = ((u64::from(hash) * slots.len() as u64) >> 32) as usize;
    while slots[slot].time != Time::NEVER && slots[slot].flow != flow {
        slot = (slot + 1) & (slots.len() - 1);
    }
    slot
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn us(microseconds: u64) -> Time {
        Time::ZERO + Span::from_microseconds(microseconds)
    }

    proptest! {
        /// A young flow is always found with its port, whatever is forgotten.
        #[test]
        fn young_flows_are_known(packets in prop::collection::vec((0_u32..60, 0_u64..40), 1..600)) {
            let limit = Span::from_microseconds(100);
            let (mut flows, mut model, mut now) = (RecentFlows::new(limit), BTreeMap::new(), 0);
            for ((flow, gap), port) in packets.into_iter().zip(0..) {
                now += gap;
                let (entry, is_new) = flows.entry(flow, us(now));
                if let Some((known, time)) = model.insert(flow, (port, now)) && now - time <= 100 {
                    prop_assert!(!is_new);
                    prop_assert_eq!((entry.port, entry.time), (known, us(time)));
                }
                (entry.port, entry.time) = (port, us(now));
            }
        }
    }

    #[test]
    fn memory_is_that_of_the_young_flows() {
        let mut flows = RecentFlows::new(Span::from_microseconds(100));
        for flow in 0..100_000 {
            // A hundred flows within the limit.
            flows.entry(flow, us(u64::from(flow)));
        }
        assert!(flows.slots.len() <= 512, "{}", flows.slots.len());
    }
}
