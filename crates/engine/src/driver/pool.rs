//! What all inboxes share: vectors to be used again, and what sorting needs.

use crate::packet::Packet;

/// Vectors to be used again, and what sorting needs: one for all inboxes, so that little memory is touched.
#[derive(Default)]
pub(crate) struct Pool {
    spare: Vec<Vec<Packet>>,
    scratch: Vec<Packet>,
    counts: Vec<u32>,
}

impl Pool {
    pub fn vector(&mut self) -> Vec<Packet> {
        self.spare.pop().unwrap_or_default()
    }

    /// Gives back what an inbox has given.
    pub fn give_back(&mut self, mut packets: Vec<Packet>) {
        if packets.capacity() > 0 {
            packets.clear();
            self.spare.push(packets);
        }
    }

    /// Sorts by (time, feeder). Nearly all that comes from one feeder is in order; what comes from several is put into
    /// buckets of about one packet each, and then in order within a few places.
    pub fn sort(&mut self, packets: &mut [Packet], feeder: impl Fn(&Packet) -> u32) {
        const FEW: usize = 24;
        let after = |one: &Packet, other: &Packet| {
            one.time > other.time || (one.time == other.time && feeder(one) > feeder(other))
        };
        if packets.is_sorted_by(|one, other| !after(one, other)) {
            return;
        }
        if packets.len() <= FEW {
            for place in 1..packets.len() {
                let packet = packets[place];
                insert(packets, place, packet, after);
            }
        } else if self.scatter(packets) {
            for (place, packet) in self.scratch[..packets.len()].iter().enumerate() {
                insert(packets, place, *packet, after);
            }
        } else {
            packets.sort_by_key(|packet| (packet.time, feeder(packet)));
        }
    }

    /// Leaves the packets roughly in order in `scratch`: those of a bucket together, as they came. Returns false if too
    /// many of them crowd into one bucket for that.
    fn scatter(&mut self, packets: &[Packet]) -> bool {
        const CROWD: u32 = 32;
        let times = || packets.iter().map(|packet| packet.time.picoseconds());
        let first = times().min().unwrap_or(0);
        let span = times().max().unwrap_or(0) - first;
        let buckets = packets.len().next_power_of_two();
        let shift = (u64::BITS - span.leading_zeros()).saturating_sub(buckets.trailing_zeros());
        let bucket = |packet: &Packet| ((packet.time.picoseconds() - first) >> shift) as usize;
        let Self { scratch, counts, .. } = self;
        counts.clear();
        counts.resize(buckets, 0);
        for packet in packets {
            counts[bucket(packet)] += 1;
        }
        let (mut place, mut most) = (0, 0);
        for count in counts.iter_mut() {
            most = most.max(*count);
            place += std::mem::replace(count, place);
        }
        if most > CROWD {
            return false;
        }
        if scratch.len() < packets.len() {
            scratch.resize(packets.len(), packets[0]);
        }
        for packet in packets {
            let place = &mut counts[bucket(packet)];
            scratch[*place as usize] = *packet;
            *place += 1;
        }
        true
    }
}

/// Puts a packet at `place`, or before those there that come after it.
#[inline(always)]
fn insert(packets: &mut [Packet], mut place: usize, packet: Packet, after: impl Fn(&Packet, &Packet) -> bool) {
    while place > 0 && after(&packets[place - 1], &packet) {
        packets[place] = packets[place - 1];
        place -= 1;
    }
    packets[place] = packet;
}
