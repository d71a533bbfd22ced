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

/// The state of a flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowCounts {
    /// Its key.
    pub key: FlowKey,
    /// Its two ends.
    pub identity: FlowIdentity,
    /// Bytes that arrived, with framing, and the error below.
    pub bytes: u64,
    /// Bytes of these that may belong to earlier flows at this place.
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

/// The fields that every arrival changes: half a cache line, so that a set is two.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    key: FlowKey,
    bytes: u64,
    /// Zero in a free place.
    packets: u64,
    last: Time,
}

/// The other fields of the flow at the same place.
#[derive(Clone, Copy, Debug)]
struct Known {
    identity: FlowIdentity,
    error_bytes: u64,
    dropped: u64,
    marked: u64,
}

/// The table.
pub struct TopFlows {
    counted: Vec<[Counted; WAYS]>,
    known: Vec<[Known; WAYS]>,
}

/// A place in the table.
type Place = (usize, usize);

impl TopFlows {
    /// A table of `flows` entries, rounded up to a power of two.
    #[must_use]
    pub fn new(flows: usize) -> Self {
        let sets = flows.div_ceil(WAYS).next_power_of_two();
        // Replaced when a flow takes the place.
        let vacant = Known { identity: FlowIdentity::NotIp { ether_type: 0 }, error_bytes: 0, dropped: 0, marked: 0 };
        Self { counted: vec![[Counted::default(); WAYS]; sets], known: vec![[vacant; WAYS]; sets] }
    }

    fn set(&self, key: FlowKey) -> usize {
        (key.0 >> 32) as usize & (self.counted.len() - 1)
    }

    fn find(&self, key: FlowKey) -> Option<Place> {
        let set = self.set(key);
        let way = self.counted[set].iter().position(|entry| entry.key == key && entry.packets > 0)?;
        Some((set, way))
    }

    /// A packet of a flow has arrived. `identify` is called if the flow has no place in the table yet.
    #[inline]
    pub fn arrived(&mut self, key: FlowKey, len_bytes: u32, now: Time, identify: impl FnOnce() -> FlowIdentity) {
        let (set, way) = match self.find(key) {
            Some(place) => place,
            None => self.take_place(key, identify()),
        };
        let entry = &mut self.counted[set][way];
        entry.bytes += u64::from(len_bytes);
        entry.packets += 1;
        entry.last = now;
    }

    /// Gives a flow the place of the smallest one of its set.
    #[cold]
    fn take_place(&mut self, key: FlowKey, identity: FlowIdentity) -> Place {
        let set = self.set(key);
        let way = (0..WAYS).min_by_key(|&way| self.counted[set][way].bytes).unwrap_or(0);
        let bytes = self.counted[set][way].bytes;
        self.counted[set][way] = Counted { key, bytes, packets: 0, last: Time::ZERO };
        self.known[set][way] = Known { identity, error_bytes: bytes, dropped: 0, marked: 0 };
        (set, way)
    }

    /// A packet of a flow was dropped.
    pub fn dropped(&mut self, key: FlowKey) {
        if let Some((set, way)) = self.find(key) {
            self.known[set][way].dropped += 1;
        }
    }

    /// A packet of a flow was marked.
    pub fn marked(&mut self, key: FlowKey) {
        if let Some((set, way)) = self.find(key) {
            self.known[set][way].marked += 1;
        }
    }

    /// The flows with the most bytes, at most this many, the largest first.
    #[must_use]
    pub fn top(&self, most: usize) -> Vec<FlowCounts> {
        let all = self.counted.iter().flatten().zip(self.known.iter().flatten());
        let mut all: Vec<FlowCounts> = all
            .filter(|(counted, _)| counted.packets > 0)
            .map(|(&Counted { key, bytes, packets, last }, &Known { identity, error_bytes, dropped, marked })| {
                FlowCounts { key, identity, bytes, error_bytes, packets, dropped, marked, last }
            })
            .collect();
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
                table.arrived(identity(flow).key(), len_bytes, Time::ZERO, || identity(flow));
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
            table.arrived(identity(flow).key(), 100 * u32::from(flow), Time::ZERO, || identity(flow));
        }
        table.dropped(identity(2).key());
        table.marked(identity(1).key());
        table.dropped(identity(3).key());
        let counts: Vec<_> = table.top(5).iter().map(|flow| (flow.bytes, flow.dropped, flow.marked)).collect();
        assert_eq!(counts, [(200, 1, 0), (100, 0, 1)]);
        assert_eq!(table.top(1).len(), 1);
    }
}
