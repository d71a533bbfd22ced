//! What is on its way to a node that routes lead to, in any order.
//!
//! Time is divided into granules: packets of the next 64 granules are kept apart by granule, later ones together, so
//! that a packet is looked at only when its granule's turn is near. What is taken is sorted then.

use forebay_qdisc::Time;

use crate::driver::pool::Pool;
use crate::packet::Packet;

/// Granules that are kept apart.
pub(crate) const SLOTS: u64 = 64;

/// Packets by granule.
pub(crate) struct Granules {
    /// The packets of a granule each, as they came.
    slots: Box<[Slot; SLOTS as usize]>,
    /// Which slots are not empty, one bit each.
    occupied: u64,
    /// What comes in this granule or before it has been asked for.
    granule: u64,
    /// A granule takes two to this many picoseconds.
    granule_bits: u32,
    /// The packets behind the slots, and when the first of them arrives.
    far: Vec<Packet>,
    far_next: Time,
}

/// The packets of a granule.
struct Slot {
    packets: Vec<Packet>,
    next: Time,
}

impl Granules {
    /// An empty one with granules of two to the power of `granule_bits` picoseconds.
    pub fn new(granule_bits: u32) -> Self {
        Self {
            slots: Box::new(std::array::from_fn(|_| Slot { packets: Vec::new(), next: Time::NEVER })),
            occupied: 0,
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
        if self.far_next.picoseconds() >> self.granule_bits < last_granule.saturating_add(SLOTS / 2) {
            self.bring_nearer(until, &mut taken, pool);
        }
        pool.sort(&mut taken, feeder);
        taken
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
