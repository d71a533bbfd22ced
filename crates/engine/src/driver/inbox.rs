//! What is on its way to a node.
//!
//! Packets come in any order. A node takes all that arrive before a time at once, in the order of (time, feeder). Time
//! is divided into granules: packets of the next 64 granules are kept apart by granule, later ones together, so that a
//! packet is looked at only when its granule's turn is near.

use forebay_qdisc::Time;

use crate::packet::Packet;

/// Granules that are kept apart.
pub(crate) const SLOTS: u64 = 64;

/// The packets that no node has taken yet.
pub(crate) struct Inbox {
    /// The packets of a granule each, as they came.
    slots: Box<[Slot; SLOTS as usize]>,
    /// Which slots are not empty, one bit each.
    occupied: u64,
    /// Everything before this has been taken: nothing may come.
    closed_until: Time,
    /// The granule of `closed_until`.
    granule: u64,
    /// A granule takes two to this many picoseconds.
    granule_bits: u32,
    /// The packets behind the slots, and when the first of them arrives.
    far: Vec<Packet>,
    far_next: Time,
}

/// Vectors to be used again, and what sorting needs: one for all inboxes, so that little memory is touched.
#[derive(Default)]
pub(crate) struct Pool {
    spare: Vec<Vec<Packet>>,
    scratch: Vec<Packet>,
    counts: Vec<u32>,
}

/// The packets of a granule.
struct Slot {
    packets: Vec<Packet>,
    next: Time,
}

impl Inbox {
    /// An empty one with granules of two to the power of `granule_bits` picoseconds.
    pub fn new(granule_bits: u32) -> Self {
        Self {
            slots: Box::new(std::array::from_fn(|_| Slot { packets: Vec::new(), next: Time::NEVER })),
            occupied: 0,
            closed_until: Time::ZERO,
            granule: 0,
            granule_bits,
            far: Vec::new(),
            far_next: Time::NEVER,
        }
    }

    /// When the first packet arrives; [`Time::NEVER`] without one.
    #[inline]
    pub fn next(&self) -> Time {
        let first = self.first_occupied().map_or(Time::NEVER, |index| self.slots[index].next);
        first.min(self.far_next)
    }

    /// A packet is on its way, to arrive at `packet.time`.
    #[inline(always)]
    pub fn push(&mut self, packet: Packet, pool: &mut Pool) {
        let time = packet.time;
        assert!(time >= self.closed_until, "a packet into a closed measured");
        let granule = time.picoseconds() >> self.granule_bits;
        if granule - self.granule >= SLOTS {
            return self.push_far(packet);
        }
        let slot = &mut self.slots[(granule % SLOTS) as usize];
        if slot.packets.len() == slot.packets.capacity() {
            slot.make_room(pool);
            self.occupied |= 1 << (granule % SLOTS);
        }
        slot.next = time.min(slot.next);
        slot.packets.push(packet);
    }

    #[cold]
    #[inline(never)]
    fn push_far(&mut self, packet: Packet) {
        self.far_next = packet.time.min(self.far_next);
        self.far.push(packet);
    }

    /// Takes what arrives before `until`, in the order of time, at one time in the order of `feeder`. The vector is to
    /// be [given back](Pool::give_back).
    pub fn take(&mut self, until: Time, pool: &mut Pool, feeder: impl Fn(&Packet) -> u32) -> Vec<Packet> {
        let mut taken = Vec::new();
        let last_granule = until.picoseconds() >> self.granule_bits;
        self.drain_slots(until, last_granule, &mut taken, pool);
        self.granule = last_granule;
        self.closed_until = until;
        if self.far_next.picoseconds() >> self.granule_bits < last_granule.saturating_add(SLOTS / 2) {
            self.bring_nearer(until, &mut taken, pool);
        }
        pool.sort(&mut taken, feeder);
        taken
    }

    /// Whether nothing is on its way.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.next() == Time::NEVER
    }

    /// The index of the first slot that is not empty, in the order of time.
    #[inline]
    fn first_occupied(&self) -> Option<usize> {
        let from = self.granule % SLOTS;
        let ahead = self.occupied.rotate_right(from as u32);
        (ahead != 0).then(|| ((from + u64::from(ahead.trailing_zeros())) % SLOTS) as usize)
    }

    fn drain_slots(&mut self, until: Time, last_granule: u64, taken: &mut Vec<Packet>, pool: &mut Pool) {
        while let Some(index) = self.first_occupied() {
            let slot = &mut self.slots[index];
            if slot.next >= until {
                return;
            }
            let is_past = slot.next.picoseconds() >> self.granule_bits < last_granule;
            if is_past || slot.packets.iter().all(|packet| packet.time < until) {
                let packets = std::mem::take(&mut slot.packets);
                if taken.is_empty() {
                    *taken = packets;
                } else {
                    taken.extend_from_slice(&packets);
                    pool.give_back(packets);
                }
                slot.next = Time::NEVER;
                self.occupied &= !(1 << index);
                continue;
            }
            if taken.capacity() == 0 {
                *taken = pool.vector();
            }
            slot.next = Time::NEVER;
            let next = &mut slot.next;
            slot.packets.retain(|packet| {
                let stays = packet.time >= until;
                if stays {
                    *next = packet.time.min(*next);
                } else {
                    taken.push(*packet);
                }
                stays
            });
            if slot.packets.is_empty() {
                pool.give_back(std::mem::take(&mut slot.packets));
                self.occupied &= !(1 << index);
            }
            return;
        }
    }

    /// Puts the packets whose granules have come near where they belong.
    #[cold]
    fn bring_nearer(&mut self, until: Time, taken: &mut Vec<Packet>, pool: &mut Pool) {
        let mut far = std::mem::take(&mut self.far);
        self.far_next = Time::NEVER;
        if taken.capacity() == 0 {
            *taken = pool.vector();
        }
        far.retain(|&packet| {
            let granule = packet.time.picoseconds() >> self.granule_bits;
            if packet.time < until {
                taken.push(packet);
            } else if granule - self.granule < SLOTS {
                self.push(packet, pool);
            } else {
                self.far_next = packet.time.min(self.far_next);
                return true;
            }
            false
        });
        self.far = far;
    }
}

impl Slot {
    /// Makes room for another packet.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, pool: &mut Pool) {
        if self.packets.capacity() == 0 {
            self.packets = pool.vector();
        }
        self.packets.reserve(1);
    }
}

impl Pool {
    fn vector(&mut self) -> Vec<Packet> {
        self.spare.pop().unwrap_or_default()
    }

    /// Gives back what [`Inbox::take`] has given.
    pub fn give_back(&mut self, mut packets: Vec<Packet>) {
        if packets.capacity() > 0 {
            packets.clear();
            self.spare.push(packets);
        }
    }

    /// Sorts by (time, feeder). Nearly all that comes from one feeder is in order; what comes from several is put into
    /// buckets of about one packet each, and then in order within a few places.
    fn sort(&mut self, packets: &mut [Packet], feeder: impl Fn(&Packet) -> u32) {
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

#[cfg(test)]
mod tests {
    use forebay_qdisc::Ecn;
    use proptest::prelude::*;

    use super::*;
    use crate::packet::PacketFields;

    fn packet(time: u64, flow: u32) -> Packet {
        let (time, ecn) = (Time::from_picoseconds(time), Ecn::NotCapable);
        Packet::new(PacketFields { time, stamp: 0, number: 0, flow, len_bytes: 1, flags: 0, class: 0, ecn })
    }

    proptest! {
        /// Whatever comes, and whenever it is taken: all of it, once, in the order of time and feeder.
        #[test]
        fn it_gives_what_came_in_order(
            granule_bits in 0_u32..12,
            steps in prop::collection::vec(
                (prop::collection::vec((0_u64..100_000, 0_u32..5), 0..60), 0_u64..20_000), 1..20
            ),
        ) {
            let (mut inbox, mut model, mut now) = (Inbox::new(granule_bits), Vec::new(), 0);
            let mut pool = Pool::default();
            for (arrivals, step) in steps {
                for (delay, flow) in arrivals {
                    inbox.push(packet(now + delay, flow), &mut pool);
                    model.push((now + delay, flow));
                }
                let first = model.iter().min().map_or(Time::NEVER, |first| Time::from_picoseconds(first.0));
                prop_assert_eq!(inbox.next(), first);
                now += step;
                let taken = inbox.take(Time::from_picoseconds(now), &mut pool, Packet::flow_id);
                let mut expected: Vec<(u64, u32)> = model.iter().copied().filter(|arrival| arrival.0 < now).collect();
                expected.sort_unstable();
                let given = taken.iter().map(|packet| (packet.time.picoseconds(), packet.flow_id()));
                prop_assert_eq!(given.collect::<Vec<_>>(), expected);
                model.retain(|arrival| arrival.0 >= now);
                prop_assert_eq!(inbox.is_empty(), model.is_empty());
                pool.give_back(taken);
            }
        }
    }

    #[test]
    #[should_panic(expected = "a packet into a closed measured")]
    fn nothing_comes_into_a_closed_window() {
        let mut inbox = Inbox::new(4);
        let mut pool = Pool::default();
        let taken = inbox.take(Time::from_picoseconds(100), &mut pool, Packet::flow_id);
        pool.give_back(taken);
        inbox.push(packet(99, 0), &mut pool);
    }
}
