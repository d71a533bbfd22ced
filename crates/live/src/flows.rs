//! The flows with the most traffic, in a table of fixed size.
//!
//! # Source
//! Metwally, Agrawal, El Abbadi, "Efficient computation of frequent and top-k elements in data streams" (ICDT 2005),
//! section 3: Space-Saving. A flow that is not in the table takes the place of the smallest one and inherits its count
//! as its possible error.
//!
//! # Where we differ
//! The smallest is searched in a set of a few entries that the flow's key names, as in a processor's cache, so that a
//! packet touches one place in memory. A flow that carries more than all others of its set together is never missed.

use forebay_qdisc::{FlowKey, Time};
use forebay_replay::FlowIdentity;

/// Entries of a set.
const WAYS: usize = 4;

/// What is known of a flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowCounts {
    /// Its key.
    pub key: FlowKey,
    /// Who talks to whom.
    pub identity: FlowIdentity,
    /// Bytes that arrived, with framing, and the error below.
    pub bytes: u64,
    /// Of these, bytes that may be of flows that had the place before.
    pub error_bytes: u64,
    /// Packets that arrived since it has the place.
    pub packets: u64,
    /// Packets dropped since then.
    pub dropped: u64,
    /// Packets marked since then.
    pub marked: u64,
    /// Its last arrival.
    pub last: Time,
}

/// The table.
pub struct TopFlows {
    sets: Vec<[Option<FlowCounts>; WAYS]>,
}

impl TopFlows {
    /// A table of `flows` entries, rounded up to a power of two.
    #[must_use]
    pub fn new(flows: usize) -> Self {
        Self { sets: vec![[None; WAYS]; flows.div_ceil(WAYS).next_power_of_two()] }
    }

    fn set(&mut self, key: FlowKey) -> &mut [Option<FlowCounts>; WAYS] {
        let index = (key.0 >> 32) as usize & (self.sets.len() - 1);
        &mut self.sets[index]
    }

    fn entry(&mut self, key: FlowKey) -> Option<&mut FlowCounts> {
        self.set(key).iter_mut().flatten().find(|entry| entry.key == key)
    }

    /// A packet of a flow has arrived.
    #[inline]
    pub fn arrived(&mut self, key: FlowKey, identity: &FlowIdentity, len_bytes: u32, now: Time) {
        let set = self.set(key);
        let known = set.iter_mut().flatten().find(|entry| entry.key == key);
        let entry = match known {
            Some(entry) => entry,
            None => Self::take_place(set, key, *identity, now),
        };
        entry.bytes += u64::from(len_bytes);
        entry.packets += 1;
        entry.last = now;
    }

    #[cold]
    fn take_place(
        set: &mut [Option<FlowCounts>; WAYS],
        key: FlowKey,
        identity: FlowIdentity,
        now: Time,
    ) -> &mut FlowCounts {
        let bytes_of = |place: &Option<FlowCounts>| place.map_or(0, |entry| entry.bytes);
        let smallest = (0..WAYS).min_by_key(|&way| bytes_of(&set[way])).unwrap_or(0);
        let bytes = bytes_of(&set[smallest]);
        let (packets, dropped, marked) = (0, 0, 0);
        set[smallest].insert(FlowCounts {
            key,
            identity,
            bytes,
            error_bytes: bytes,
            packets,
            dropped,
            marked,
            last: now,
        })
    }

    /// A packet of a flow was dropped.
    pub fn dropped(&mut self, key: FlowKey) {
        if let Some(entry) = self.entry(key) {
            entry.dropped += 1;
        }
    }

    /// A packet of a flow was marked.
    pub fn marked(&mut self, key: FlowKey) {
        if let Some(entry) = self.entry(key) {
            entry.marked += 1;
        }
    }

    /// The flows with the most bytes, at most this many, the largest first.
    #[must_use]
    pub fn top(&self, most: usize) -> Vec<FlowCounts> {
        let mut all: Vec<FlowCounts> = self.sets.iter().flatten().flatten().copied().collect();
        all.sort_by_key(|entry| (std::cmp::Reverse(entry.bytes - entry.error_bytes), entry.key));
        all.truncate(most);
        all
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn identity(number: u16) -> FlowIdentity {
        FlowIdentity::NotIp { ether_type: 0x600 + number }
    }

    proptest! {
        #[test]
        fn counts_are_bounds_and_a_flow_with_most_of_the_bytes_is_found(
            flows in prop::collection::vec((0_u16..200, 1_u32..1500), 1..2000),
        ) {
            let mut table = TopFlows::new(32);
            let mut bytes = vec![0_u64; 200];
            for &(flow, len_bytes) in &flows {
                table.arrived(identity(flow).key(), &identity(flow), len_bytes, Time::ZERO);
                bytes[usize::from(flow)] += u64::from(len_bytes);
            }
            for entry in table.top(usize::MAX) {
                let FlowIdentity::NotIp { ether_type } = entry.identity else { unreachable!() };
                let exact = bytes[usize::from(ether_type - 0x600)];
                prop_assert!(entry.bytes >= exact && entry.bytes - entry.error_bytes <= exact);
            }
            let total: u64 = bytes.iter().sum();
            for (flow, &bytes) in (0_u16..).zip(&bytes) {
                if bytes * 2 > total {
                    prop_assert!(table.top(usize::MAX).iter().any(|entry| entry.identity == identity(flow)));
                }
            }
        }
    }

    #[test]
    fn drops_and_marks_belong_to_their_flow() {
        let mut table = TopFlows::new(8);
        for flow in [1, 2] {
            table.arrived(identity(flow).key(), &identity(flow), 100 * u32::from(flow), Time::ZERO);
        }
        table.dropped(identity(2).key());
        table.marked(identity(1).key());
        table.dropped(identity(3).key());
        let counts: Vec<_> = table.top(5).iter().map(|flow| (flow.bytes, flow.dropped, flow.marked)).collect();
        assert_eq!(counts, [(200, 1, 0), (100, 0, 1)]);
        assert_eq!(table.top(1).len(), 1);
    }
}
