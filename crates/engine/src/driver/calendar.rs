//! Packets on their way to a node that routes lead to, in any order.
//!
//! Time is divided into buckets. Packets of the next 64 are kept apart by bucket, later ones together, so that a
//! packet is touched only when its bucket is near. Packets are sorted when they are taken.

use forebay_qdisc::Time;

use crate::driver::pool::Pool;
use crate::packet::Packet;

/// Calendar that are kept apart.
pub(crate) const SLOTS: u64 = 64;

pub(crate) struct Calendar {
    /// Unsorted, bucket `g` in slot `g` % 64. An empty slot has no vector.
    slots: [Slot; SLOTS as usize],
    /// A bit for each slot that is not empty.
    occupied: u64,
    /// The bucket at which the last `take` ended: nothing arrives in an earlier one.
    bucket: u64,
    /// A bucket lasts 2^`bucket_bits` ps.
    bucket_bits: u32,
    /// Packets beyond the slots.
    far: Vec<Packet>,
    far_next: Time,
}

struct Slot {
    packets: Vec<Packet>,
    next: Time,
}

impl Calendar {
    pub fn new(bucket_bits: u32) -> Self {
        Self {
            slots: std::array::from_fn(|_| Slot { packets: Vec::new(), next: Time::NEVER }),
            occupied: 0,
            bucket: 0,
            bucket_bits,
            far: Vec::new(),
            far_next: Time::NEVER,
        }
    }

    /// The first arrival; [`Time::NEVER`] without one.
    #[inline]
    pub fn next(&self) -> Time {
        let first = self.first_occupied().map_or(Time::NEVER, |index| self.slots[index].next);
        first.min(self.far_next)
    }

    /// The place for a packet that arrives at `time`, and whether it may be the first arrival.
    #[inline(always)]
    pub fn room(&mut self, time: Time, pool: &mut Pool) -> (&mut Vec<Packet>, bool) {
        let bucket = time.picoseconds() >> self.bucket_bits;
        if bucket - self.bucket >= SLOTS {
            let is_first = time < self.far_next;
            self.far_next = time.min(self.far_next);
            return (&mut self.far, is_first);
        }
        let slot = &mut self.slots[(bucket % SLOTS) as usize];
        let is_first = time < slot.next;
        if is_first {
            slot.next = time;
            if slot.packets.is_empty() {
                slot.packets = pool.vector();
                self.occupied |= 1 << (bucket % SLOTS);
            }
        }
        (&mut slot.packets, is_first)
    }

    /// Takes the packets before `until`, in the order of time, and of `come_after` at equal times.
    pub fn take(&mut self, until: Time, pool: &mut Pool, come_after: impl Fn(&Packet, &Packet) -> bool) -> Vec<Packet> {
        let last_bucket = until.picoseconds() >> self.bucket_bits;
        if self.occupied.is_power_of_two() && self.far_next == Time::NEVER {
            let slot = &mut self.slots[self.occupied.trailing_zeros() as usize];
            // A packet alone, as in networks that idle, needs no search and no order.
            if slot.packets.len() == 1 && slot.next < until {
                (slot.next, self.occupied, self.bucket) = (Time::NEVER, 0, last_bucket);
                return std::mem::take(&mut slot.packets);
            }
        }
        let mut taken = Vec::new();
        self.drain_slots(until, last_bucket, &mut taken, pool);
        self.bucket = last_bucket;
        if self.far_next.picoseconds() >> self.bucket_bits < last_bucket.saturating_add(SLOTS / 2) {
            self.bring_nearer(until, &mut taken, pool);
        }
        pool.sort(&mut taken, come_after);
        taken
    }

    /// The first slot in time that is not empty.
    #[inline]
    fn first_occupied(&self) -> Option<usize> {
        let from = self.bucket % SLOTS;
        let ahead = self.occupied.rotate_right(from as u32);
        (ahead != 0).then(|| ((from + u64::from(ahead.trailing_zeros())) % SLOTS) as usize)
    }

    fn drain_slots(&mut self, until: Time, last_bucket: u64, taken: &mut Vec<Packet>, pool: &mut Pool) {
        while let Some(index) = self.first_occupied() {
            let slot = &mut self.slots[index];
            if slot.next >= until {
                return;
            }
            let is_past = slot.next.picoseconds() >> self.bucket_bits < last_bucket;
            let stays = |packet: &Packet| packet.time >= until;
            let first_to_stay = if is_past { None } else { slot.packets.iter().position(stays) };
            slot.next = Time::NEVER;
            if let Some(first) = first_to_stay {
                if taken.capacity() == 0 {
                    *taken = pool.vector();
                }
                return slot.divide(first, until, taken);
            }
            let packets = std::mem::take(&mut slot.packets);
            if taken.is_empty() {
                *taken = packets;
            } else {
                taken.extend_from_slice(&packets);
                pool.give_back(packets);
            }
            self.occupied &= !(1 << index);
        }
    }

    /// Moves packets that have come near to slots, or to `taken`. They go in front of others of their bucket, which
    /// were sent later: packets of a link may have the same time.
    #[cold]
    fn bring_nearer(&mut self, until: Time, taken: &mut Vec<Packet>, pool: &mut Pool) {
        let mut far = std::mem::take(&mut self.far);
        self.far_next = Time::NEVER;
        if taken.capacity() == 0 {
            *taken = pool.vector();
        }
        let taken_before = taken.len();
        let in_slots = self.slots.each_ref().map(|slot| slot.packets.len());
        far.retain(|&packet| {
            let bucket = packet.time.picoseconds() >> self.bucket_bits;
            if packet.time < until {
                taken.push(packet);
            } else if bucket - self.bucket < SLOTS {
                let (room, _) = self.room(packet.time, pool);
                room.push(packet);
            } else {
                self.far_next = packet.time.min(self.far_next);
                return true;
            }
            false
        });
        self.far = far;
        taken.rotate_left(taken_before);
        for (slot, before) in self.slots.iter_mut().zip(in_slots) {
            slot.packets.rotate_left(before);
        }
    }
}

impl Slot {
    /// Takes the packets before `until`. The one at `first_to_stay` is not, those in front of it are.
    fn divide(&mut self, first_to_stay: usize, until: Time, taken: &mut Vec<Packet>) {
        let Self { packets, next } = self;
        taken.extend_from_slice(&packets[..first_to_stay]);
        let times = packets[first_to_stay..].iter().map(|packet| packet.time);
        *next = times.fold(Time::NEVER, Time::min);
        packets.drain(..first_to_stay);
        // Packets from a port are in order.
        if *next >= until {
            return;
        }
        *next = Time::NEVER;
        packets.retain(|packet| {
            let stays = packet.time >= until;
            if stays {
                *next = packet.time.min(*next);
            } else {
                taken.push(*packet);
            }
            stays
        });
    }
}
