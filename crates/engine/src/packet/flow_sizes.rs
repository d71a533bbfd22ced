//! The sizes of flows, for queues that rank packets by the bytes left. The table exists only if a queue asks for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::packet::{FlowId, Packet};

/// The place of a flow without a size.
const NONE: u32 = u32::MAX;

/// The number of the first byte of data: the SYN has number 0.
const FIRST_BYTE: u64 = 1;

/// The size of a flow, as far as it is known at the start.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FlowSize {
    /// None, or none that packets show.
    Unknown,
    /// Bytes of payload.
    Fixed(u64),
    /// A slot of transfers, each of which has a size.
    OfTransfers,
}

/// Sizes by flow and generation. All threads share them. A source writes the size of a transfer before its first packet
/// leaves, and a packet reaches another thread at a barrier: any order of memory accesses will do. A slot has an entry
/// for each generation, since late packets of earlier ones may be on their way on a slower thread.
#[derive(Clone, Debug)]
pub(crate) struct FlowSizes {
    /// Where the sizes of a flow begin.
    places: Arc<[u32]>,
    sizes: Arc<[AtomicU64]>,
}

impl FlowSizes {
    /// The sizes of all flows, in their order. Transfers state theirs when they begin.
    pub fn new(flows: impl Iterator<Item = FlowSize>) -> Self {
        let mut sizes = Vec::new();
        let place = |flow| {
            let (entries, size) = match flow {
                FlowSize::Unknown => return NONE,
                FlowSize::Fixed(bytes) => (1, bytes),
                FlowSize::OfTransfers => (Packet::GENERATIONS, 0),
            };
            let place = sizes.len();
            sizes.extend((0..entries).map(|_| AtomicU64::new(size)));
            u32::try_from(place).unwrap_or(NONE)
        };
        let places = flows.map(place).collect();
        Self { places, sizes: sizes.into() }
    }

    fn entry(&self, flow: FlowId, generation: u8) -> Option<&AtomicU64> {
        let place = *self.places.get(flow as usize)?;
        if place == NONE { None } else { self.sizes.get(place as usize + usize::from(generation)) }
    }

    /// A transfer of this size begins.
    pub fn begin(&self, flow: FlowId, generation: u8, bytes: u64) {
        if let Some(entry) = self.entry(flow, generation) {
            entry.store(bytes, Ordering::Relaxed);
        }
    }

    /// Bytes of the flow from the first of this data packet on. `None` without a size, and for sizes of 4 GiB or more:
    /// the number of a packet has 32 bits.
    pub fn remaining(&self, packet: &Packet) -> Option<u64> {
        let size = self.entry(packet.flow_id(), packet.generation())?.load(Ordering::Relaxed);
        let number = u64::from(packet.number()).max(FIRST_BYTE);
        (size <= u64::from(u32::MAX)).then(|| (size + FIRST_BYTE).saturating_sub(number))
    }
}

#[cfg(test)]
mod tests {
    use forebay_qdisc::{Ecn, Time};

    use super::*;
    use crate::packet::PacketFields;

    fn sizes<const N: usize>(flows: [FlowSize; N]) -> FlowSizes {
        FlowSizes::new(flows.into_iter())
    }

    fn packet(flow: u32, number: u32, generation: u8) -> Packet {
        let (time, stamp, len_bytes, flags, class, ecn) = (Time::ZERO, 0, 1500, 0, 0, Ecn::NotCapable);
        Packet::new(PacketFields { time, stamp, number, flow, len_bytes, flags, class, ecn }).of_generation(generation)
    }

    #[test]
    fn the_bytes_left_begin_with_the_first_of_the_packet() {
        let sizes = sizes([FlowSize::Unknown, FlowSize::Fixed(3000)]);
        // The SYN, the first and the third segment, the FIN.
        let left = [0, 1, 2001, 3001].map(|number| sizes.remaining(&packet(1, number, 0)));
        assert_eq!(left, [Some(3000), Some(3000), Some(1000), Some(0)]);
        assert_eq!(sizes.remaining(&packet(0, 1, 0)), None);
        // Control frames have numbers beyond the flows.
        assert_eq!(sizes.remaining(&packet(2, 1, 0)), None);
    }

    #[test]
    fn sizes_beyond_the_numbers_of_packets_are_unknown() {
        let most = u64::from(u32::MAX);
        let sizes = sizes([FlowSize::Fixed(most), FlowSize::Fixed(most + 1)]);
        assert_eq!([0, 1].map(|flow| sizes.remaining(&packet(flow, 1, 0))), [Some(most), None]);
    }

    #[test]
    fn late_packets_of_a_slot_keep_the_size_of_their_transfer() {
        let sizes = sizes([FlowSize::Fixed(7), FlowSize::OfTransfers, FlowSize::OfTransfers]);
        for (flow, generation, bytes) in [(1, 0, 1000), (2, 0, 5000), (1, 1, 200), (1, 63, 90)] {
            sizes.begin(flow, generation, bytes);
        }
        let left = |flow, generation| sizes.remaining(&packet(flow, 101, generation));
        assert_eq!([left(1, 0), left(1, 1), left(2, 0), left(1, 63)], [Some(900), Some(100), Some(4900), Some(0)]);
    }
}
