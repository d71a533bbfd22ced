//! The time that a flow takes alone on a shortest path.

use forebay_engine::forwarding::{Edge, Forwarding};
use forebay_qdisc::Rate;
use forebay_qdisc::framing::Framing;

use crate::plan::found_paths::Paths;
use crate::schema::SlowdownBase;

/// The packets of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketSizes {
    /// Payload of a full packet.
    pub payload_bytes: u64,
    pub header_bytes: u64,
    pub ack_bytes: u64,
}

impl PacketSizes {
    /// Full packets of so many bytes on the wire, with ACKs as long as the header.
    pub fn with_headers(packet_bytes: u64, header_bytes: u32) -> Self {
        let header_bytes = u64::from(header_bytes);
        Self { payload_bytes: packet_bytes - header_bytes, header_bytes, ack_bytes: header_bytes }
    }
}

/// A link on a path.
#[derive(Clone, Copy, Debug)]
struct Hop {
    rate: Rate,
    delay_s: f64,
    framing: Option<Framing>,
}

impl Hop {
    fn on_link(&self, bytes: u64) -> f64 {
        let packet = u32::try_from(bytes).unwrap_or(u32::MAX);
        let bytes = self.framing.map_or(packet, |framing| framing.adjusted_bytes(packet));
        8.0 * f64::from(bytes) / self.bps()
    }

    fn bps(&self) -> f64 {
        self.rate.bits_per_second() as f64
    }
}

/// The paths of a network without other traffic.
pub(super) struct Alone<'a> {
    hops: Vec<Hop>,
    edges: &'a [Edge],
    forwarding: &'a Forwarding,
}

impl<'a> Alone<'a> {
    pub fn new(paths: &Paths<'a, '_>) -> Self {
        let &Paths { plan, forwarding, edges } = paths;
        let hop = |link| {
            let spec = plan.spec(link);
            let framing = spec.framing.and_then(|framing| framing.rule().ok());
            Hop { rate: spec.rate, delay_s: link.propagation.seconds(), framing }
        };
        Self { hops: plan.links.iter().map(hop).collect(), edges, forwarding }
    }

    /// The time that a flow of so many bytes takes; `None` where no path leads there and back.
    pub fn seconds(&self, base: SlowdownBase, bytes: u64, sizes: PacketSizes, [from, to]: [u32; 2]) -> Option<f64> {
        let (there, back) = (self.path(from, to)?, self.path(to, from)?);
        Some(match base {
            SlowdownBase::StoreAndForward => store_and_forward(bytes, sizes, &there, &back),
            SlowdownBase::Hpcc => hpcc(bytes, sizes, &there, &back),
        })
    }

    /// A shortest path, which takes a link of the highest rate where several lead on.
    fn path(&self, from: u32, to: u32) -> Option<Vec<Hop>> {
        let number = self.forwarding.number(to)?;
        let (mut node, mut path) = (from, Vec::new());
        while node != to {
            let links = self.forwarding.next_hops(node, number).iter();
            let fastest = links.rev().max_by_key(|link| self.hops[**link as usize].rate)?;
            path.push(self.hops[*fastest as usize]);
            node = self.edges[*fastest as usize].to;
        }
        Some(path)
    }
}

/// From the first bit until the sender has the last ACK, where every node stores a packet before it passes it on and
/// the window never stops the sender.
///
/// A packet leaves a link after the one before it has left that link and after it has left the link before. Consider a
/// grid with a row for each of n packets and a column for each link, whose cells have the time of that packet on that
/// link. The last packet arrives after the longest way through it. All rows but the last are alike: such a way stays
/// in them up to some link, crosses the slowest link so far n - 2 times more, and takes the last row from there.
fn store_and_forward(bytes: u64, sizes: PacketSizes, there: &[Hop], back: &[Hop]) -> f64 {
    let packets = bytes.div_ceil(sizes.payload_bytes.max(1)).max(1);
    let last_bytes = bytes - (packets - 1) * sizes.payload_bytes + sizes.header_bytes;
    let last_row = |from: usize| there[from..].iter().map(|hop| hop.on_link(last_bytes)).sum::<f64>();
    let data_s = if packets == 1 {
        last_row(0)
    } else {
        let (mut sum, mut slowest, mut longest) = (0.0, 0.0_f64, 0.0_f64);
        for (place, hop) in there.iter().enumerate() {
            let full = hop.on_link(sizes.payload_bytes + sizes.header_bytes);
            sum += full;
            slowest = slowest.max(full);
            longest = longest.max(sum + (packets - 2) as f64 * slowest + last_row(place));
        }
        longest
    };
    let ack_s: f64 = back.iter().map(|hop| hop.on_link(sizes.ack_bytes)).sum();
    data_s + ack_s + delays(there) + delays(back)
}

/// The base of HPCC's analysis: the base round trip and the time of the flow with its headers on the slowest link. In
/// the round trip a full payload takes its time on each link there, and an ACK takes none.
fn hpcc(bytes: u64, sizes: PacketSizes, there: &[Hop], back: &[Hop]) -> f64 {
    let packets = bytes.div_ceil(sizes.payload_bytes.max(1));
    let round_trip_s = delays(there)
        + delays(back)
        + there.iter().map(|hop| 8.0 * sizes.payload_bytes as f64 / hop.bps()).sum::<f64>();
    let slowest_bps = there.iter().map(Hop::bps).fold(f64::INFINITY, f64::min);
    round_trip_s + 8.0 * (bytes + sizes.header_bytes * packets) as f64 / slowest_bps
}

fn delays(hops: &[Hop]) -> f64 {
    hops.iter().map(|hop| hop.delay_s).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(gigabits: &[u64]) -> Vec<Hop> {
        let hop = |gigabits: &u64| Hop { rate: Rate::megabits(gigabits * 1000), delay_s: 1e-6, framing: None };
        gigabits.iter().map(hop).collect()
    }

    /// The packets of the Ultra Ethernet Consortium's simulator, with the length of its ACKs.
    fn uec(payload_bytes: u64) -> PacketSizes {
        PacketSizes { payload_bytes, header_bytes: 64, ack_bytes: 64 }
    }

    fn microseconds(bytes: u64, payload_bytes: u64, gigabits: u64, links: usize) -> f64 {
        let path = path(&vec![gigabits; links]);
        store_and_forward(bytes, uec(payload_bytes), &path, &path) * 1e6
    }

    #[test]
    fn times_are_those_of_a_simulator_to_the_digits_that_it_prints() {
        for (bytes, payload, gigabits, printed) in [
            (2_000_000, 4086, 100, 176.1995),
            (40_860, 4086, 100, 17.0107),
            (408_600, 4086, 100, 46.8907),
            (2_000_000, 4086, 25, 668.798),
            (2_000_000, 4086, 400, 53.0499),
            (2_000_000, 8936, 100, 176.778),
        ] {
            let time = microseconds(bytes, payload, gigabits, 6);
            assert!((time / printed - 1.0).abs() < 1e-5, "{bytes} B at {gigabits} Gb/s: {time} instead of {printed}");
        }
        // A single packet: each link takes its own length.
        let expected = 6.0 * 8.0 * 564.0 / 100e3 + 12.0 + 6.0 * 8.0 * 64.0 / 100e3;
        assert!((microseconds(500, 4086, 100, 6) - expected).abs() < 1e-9);
    }

    /// The recursion itself, packet by packet.
    fn by_recursion(lengths: &[u64], path: &[Hop]) -> f64 {
        let mut left = vec![0.0_f64; path.len() + 1];
        for &bytes in lengths {
            left[0] = 0.0;
            for (place, hop) in path.iter().enumerate() {
                left[place + 1] = left[place + 1].max(left[place]) + hop.on_link(bytes);
            }
        }
        left[path.len()]
    }

    proptest::proptest! {
        #[test]
        fn times_are_those_of_the_recursion(
            gigabits in proptest::collection::vec(1_u64..50, 1..7),
            packets in 1_u64..30,
            last in 1_u64..=1000,
        ) {
            let (path, sizes) = (path(&gigabits), PacketSizes { payload_bytes: 1000, header_bytes: 40, ack_bytes: 0 });
            let bytes = (packets - 1) * 1000 + last;
            let mut lengths = vec![1040; packets as usize];
            lengths[packets as usize - 1] = last + 40;
            let expected = by_recursion(&lengths, &path) + 2.0 * delays(&path);
            let time = store_and_forward(bytes, sizes, &path, &path);
            proptest::prop_assert!((time / expected - 1.0).abs() < 1e-9, "{} instead of {}", time, expected);
        }
    }

    #[test]
    fn the_base_of_hpcc_is_that_of_its_analysis() {
        let path = path(&[100, 400, 400, 400, 400, 100]);
        let sizes = PacketSizes { payload_bytes: 1000, header_bytes: 48, ack_bytes: 60 };
        // In whole nanoseconds.
        for (bytes, nanoseconds) in [(1_000, 12_323), (10_000, 13_078), (1_000_000, 96_080)] {
            assert_eq!((hpcc(bytes, sizes, &path, &path) * 1e9 + 1e-3) as u64, nanoseconds, "{bytes} B");
        }
    }
}
