//! The sizes of flows, for queues that rank packets by the bytes left. The table exists only if a queue asks for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::packet::{FlowId, Packet};
use crate::spec::flows::Flows;
use crate::spec::{TcpData, Transport};

/// The place of a flow without a size.
const NONE: u32 = u32::MAX;

/// The number of the first byte of data: the SYN has number 0.
const FIRST_BYTE: u64 = 1;

/// Sizes by flow and generation. All threads share them. A source writes the size of a transfer before its first packet
/// leaves, and a packet reaches another thread at a barrier, so that any order of memory accesses will do. A slot has an
/// entry for each generation, since late packets of earlier ones may be on their way on a slower thread.
#[derive(Clone, Debug)]
pub(crate) struct FlowSizes {
    /// Where the sizes of a flow begin.
    places: Arc<[u32]>,
    sizes: Arc<[AtomicU64]>,
}

impl FlowSizes {
    /// The sizes of all flows of TCP that have one; those of transfers are stated when they begin.
    pub fn new(flows: &Flows) -> Self {
        let mut sizes = Vec::new();
        let mut place = |flow: &Transport| {
            let (entries, size) = match flow {
                Transport::Tcp { data: TcpData::Fixed { bytes }, .. } => (1, *bytes),
                Transport::Tcp { data: TcpData::Transfers(_), .. } => (Packet::GENERATIONS.into(), 0),
                _ => return NONE,
            };
            let place = sizes.len();
            sizes.extend((0..entries).map(|_| AtomicU64::new(size)));
            u32::try_from(place).unwrap_or(NONE)
        };
        let places = flows.iter().map(|flow| place(flow.transport)).collect();
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
    use forebay_tcp::TcpConfig;

    use super::*;
    use crate::packet::PacketFields;
    use crate::spec::{Distribution, FlowSpec, Transfers};

    fn sizes(data: &[TcpData]) -> FlowSizes {
        let mut flows = Flows::default();
        for data in data {
            flows.add(FlowSpec {
                name: String::new(),
                group: String::new(),
                transport: Transport::Tcp { config: TcpConfig::default(), data: data.clone() },
                source: 0,
                destination: 1,
                start: Time::ZERO,
                stop: Time::NEVER,
                class: 0,
                host_jitter: [Distribution::Constant(0.0), Distribution::Constant(0.0)],
            });
        }
        FlowSizes::new(&flows)
    }

    fn packet(flow: u32, number: u32, generation: u8) -> Packet {
        let (time, stamp, len_bytes, flags, class, ecn) = (Time::ZERO, 0, 1500, 0, 0, Ecn::NotCapable);
        Packet::new(PacketFields { time, stamp, number, flow, len_bytes, flags, class, ecn }).of_generation(generation)
    }

    #[test]
    fn the_bytes_left_begin_with_the_first_of_the_packet() {
        let sizes = sizes(&[TcpData::Unlimited, TcpData::Fixed { bytes: 3000 }]);
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
        let sizes = sizes(&[TcpData::Fixed { bytes: most }, TcpData::Fixed { bytes: most + 1 }]);
        assert_eq!([0, 1].map(|flow| sizes.remaining(&packet(flow, 1, 0))), [Some(most), None]);
    }

    #[test]
    fn late_packets_of_a_slot_keep_the_size_of_their_transfer() {
        let one = Distribution::Constant(1.0);
        let transfers = Transfers { gap: one.clone(), size: one, connections: 2 };
        let sizes = sizes(&[TcpData::Fixed { bytes: 7 }, TcpData::Transfers(transfers)]);
        for (flow, generation, bytes) in [(1, 0, 1000), (2, 0, 5000), (1, 1, 200), (1, 63, 90)] {
            sizes.begin(flow, generation, bytes);
        }
        let left = |flow, generation| sizes.remaining(&packet(flow, 101, generation));
        assert_eq!([left(1, 0), left(1, 1), left(2, 0), left(1, 63)], [Some(900), Some(100), Some(4900), Some(0)]);
    }
}
