//! Spare vectors and space for sorting, shared by all inboxes so that little memory is touched.

use std::cmp::Ordering;

use crate::packet::Packet;

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

    pub fn give_back(&mut self, mut packets: Vec<Packet>) {
        if packets.capacity() > 0 {
            packets.clear();
            self.spare.push(packets);
        }
    }

    /// Sorts by time, and by `come_after` at equal times; packets of one feeder keep their order. The packets of one
    /// feeder are a run, mostly in order. A few runs are merged. Packets of many feeders are put into buckets of about
    /// one packet each, and then in order within a few places.
    pub fn sort(&mut self, packets: &mut Vec<Packet>, come_after: impl Fn(&Packet, &Packet) -> bool) {
        const FEW: usize = 24;
        let after =
            |one: &Packet, other: &Packet| one.time > other.time || (one.time == other.time && come_after(one, other));
        let mut runs = Runs::default();
        for (place, pair) in packets.windows(2).enumerate() {
            if after(&pair[0], &pair[1]) && !runs.begin(place + 1) {
                break;
            }
        }
        if runs.count == 0 {
            return;
        }
        if packets.len() <= FEW {
            insert_each(packets, after);
        } else if runs.count < Runs::MOST {
            self.merge(packets, runs, after);
        } else if self.scatter(packets) {
            std::mem::swap(packets, &mut self.scratch);
            insert_each(packets, after);
        } else {
            let order = |one: &Packet, other: &Packet| {
                if after(one, other) {
                    Ordering::Greater
                } else if after(other, one) {
                    Ordering::Less
                } else {
                    Ordering::Equal
                }
            };
            packets.sort_by(order);
        }
    }

    /// Merges runs, each two neighbours at a time.
    fn merge(&mut self, packets: &mut [Packet], runs: Runs, after: impl Fn(&Packet, &Packet) -> bool) {
        let Runs { mut begins, mut count } = runs;
        while count > 0 {
            let (mut from, mut kept) = (0, 0);
            for number in (0..count).step_by(2) {
                let middle = begins[number];
                let end = if number + 1 < count { begins[number + 1] } else { packets.len() };
                merge_two(&mut packets[from..end], middle - from, &mut self.scratch, &after);
                from = end;
                if end < packets.len() {
                    (begins[kept], kept) = (end, kept + 1);
                }
            }
            count = kept;
        }
    }

    /// Puts the packets into `scratch` bucket by bucket, in each as they came. Returns false if a bucket is too full.
    fn scatter(&mut self, packets: &[Packet]) -> bool {
        const CROWD: u32 = 32;
        let (mut first, mut last) = (u64::MAX, 0);
        for packet in packets {
            first = packet.time.picoseconds().min(first);
            last = packet.time.picoseconds().max(last);
        }
        let span = last - first;
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
        scratch.resize(packets.len(), packets[0]);
        for packet in packets {
            let place = &mut counts[bucket(packet)];
            scratch[*place as usize] = *packet;
            *place += 1;
        }
        true
    }
}

/// The beginnings of runs that are in order, all but the first.
#[derive(Default)]
struct Runs {
    begins: [usize; Self::MOST],
    count: usize,
}

impl Runs {
    const MOST: usize = 8;

    /// A run begins; returns whether there is room for another one.
    fn begin(&mut self, place: usize) -> bool {
        self.begins[self.count] = place;
        self.count += 1;
        self.count < Self::MOST
    }
}

/// Merges the run up to `middle` with the one behind it: from the end, so that only the second one must be moved out of
/// the way.
fn merge_two(
    packets: &mut [Packet],
    middle: usize,
    scratch: &mut Vec<Packet>,
    after: impl Fn(&Packet, &Packet) -> bool,
) {
    scratch.clear();
    scratch.extend_from_slice(&packets[middle..]);
    let mut first = middle;
    let mut place = packets.len();
    for second in scratch.iter().rev() {
        while first > 0 && after(&packets[first - 1], second) {
            (first, place) = (first - 1, place - 1);
            packets[place] = packets[first];
        }
        place -= 1;
        packets[place] = *second;
    }
}

/// Puts packets in order that are mostly in order, or few.
#[inline(always)]
fn insert_each(packets: &mut [Packet], after: impl Fn(&Packet, &Packet) -> bool) {
    for next in 1..packets.len() {
        if after(&packets[next - 1], &packets[next]) {
            insert(packets, next, &after);
        }
    }
}

/// Moves the packet at `place` before those there that come after it.
#[inline(always)]
fn insert(packets: &mut [Packet], mut place: usize, after: impl Fn(&Packet, &Packet) -> bool) {
    let packet = packets[place];
    while place > 0 && after(&packets[place - 1], &packet) {
        packets[place] = packets[place - 1];
        place -= 1;
    }
    packets[place] = packet;
}
