//! Packets on their way to a node that routes lead to, in any order.
//!
//! Time is divided into buckets. The one that the node has reached is near. Packets of the next 63 are kept apart by
//! bucket, those of later ones together, so that a packet is touched only when its bucket is near. Packets are sorted
//! when they are taken.
//!
//! Where channels are short, nearly all packets are of the near bucket. With thousands of nodes each line of cache that
//! a packet touches is a load from far memory: the near bucket is in the calendar itself, and the others are not.

use forebay_qdisc::Time;

use crate::driver::pool::Pool;
use crate::packet::Packet;

/// Buckets that are kept apart.
pub(crate) const SLOTS: u64 = 64;

pub(crate) struct Calendar {
    /// The bucket at which the last `take` ended, and when that ends: nothing arrives in an earlier one.
    near: Bucket,
    near_end: Time,
    later: Box<Later>,
}

struct Later {
    /// Unsorted, bucket `g` in slot `g` % 64. An empty one has no vector; that of the near bucket is empty.
    slots: [Bucket; SLOTS as usize],
    /// The first arrival in a later bucket than the near one.
    next: Time,
    /// A bit for each slot that is not empty.
    occupied: u64,
    /// The number of the near bucket.
    near: u64,
    /// A bucket lasts 2^`bucket_bits` ps.
    bucket_bits: u32,
    /// Packets beyond the slots.
    far: Vec<Packet>,
    far_next: Time,
}

struct Bucket {
    packets: Vec<Packet>,
    next: Time,
}

impl Calendar {
    pub fn new(bucket_bits: u32) -> Self {
        let later = Later {
            slots: std::array::from_fn(|_| Bucket::EMPTY),
            next: Time::NEVER,
            occupied: 0,
            near: 0,
            bucket_bits,
            far: Vec::new(),
            far_next: Time::NEVER,
        };
        Self { near: Bucket::EMPTY, near_end: later.end_of_near(), later: Box::new(later) }
    }

    /// The first arrival; [`Time::NEVER`] without one.
    #[inline]
    pub fn next(&self) -> Time {
        if self.near.next < Time::NEVER { self.near.next } else { self.later.next }
    }

    /// The place for a packet that arrives at `time`, and whether it may be the first arrival. In WebAssembly it is one
    /// function: a page must load fast.
    #[cfg_attr(target_family = "wasm", inline(never))]
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    pub fn room(&mut self, time: Time, pool: &mut Pool) -> (&mut Vec<Packet>, bool) {
        if time < self.near_end {
            return self.near.room(time, pool);
        }
        self.later.room(time, pool)
    }

    /// Takes the packets before `until`, in the order of time, and of `come_after` at equal times.
    pub fn take(&mut self, until: Time, pool: &mut Pool, come_after: impl Fn(&Packet, &Packet) -> bool) -> Vec<Packet> {
        let mut taken = Vec::new();
        if until < self.near_end {
            self.near.drain(until, false, &mut taken, pool);
        } else {
            self.take_beyond(until, &mut taken, pool);
        }
        pool.sort(&mut taken, come_after);
        taken
    }

    /// Takes the packets of buckets up to the one of `until`, which is near then.
    fn take_beyond(&mut self, until: Time, taken: &mut Vec<Packet>, pool: &mut Pool) {
        let Self { near, near_end, later } = self;
        near.drain(until, true, taken, pool);
        let reached = until.picoseconds() >> later.bucket_bits;
        if later.next < until {
            later.drain_slots(until, reached, taken, pool);
        }
        later.near = reached;
        *near_end = later.end_of_near();
        let is_far_near = later.far_next.picoseconds() >> later.bucket_bits < reached.saturating_add(SLOTS / 2);
        if later.next < *near_end || is_far_near {
            later.promote(near);
            if is_far_near {
                later.bring_nearer(until, near, taken, pool);
            }
            later.next = later.first_arrival();
        }
    }
}

impl Later {
    fn end_of_near(&self) -> Time {
        let is_last = self.near >= u64::MAX >> self.bucket_bits;
        if is_last { Time::NEVER } else { Time::from_picoseconds((self.near + 1) << self.bucket_bits) }
    }

    fn first_arrival(&self) -> Time {
        let first = self.first_occupied().map_or(Time::NEVER, |index| self.slots[index].next);
        first.min(self.far_next)
    }

    #[inline(always)]
    fn room(&mut self, time: Time, pool: &mut Pool) -> (&mut Vec<Packet>, bool) {
        let bucket = time.picoseconds() >> self.bucket_bits;
        if bucket - self.near >= SLOTS {
            let is_first = time < self.far_next;
            self.far_next = time.min(self.far_next);
            self.next = time.min(self.next);
            return (&mut self.far, is_first);
        }
        let Self { slots, occupied, next, .. } = self;
        let (room, is_first) = slots[(bucket % SLOTS) as usize].room(time, pool);
        if is_first {
            *occupied |= 1 << (bucket % SLOTS);
            *next = time.min(*next);
        }
        (room, is_first)
    }

    /// The slot of the near bucket becomes the near bucket, which is empty.
    #[inline]
    fn promote(&mut self, near: &mut Bucket) {
        let slot = self.near % SLOTS;
        if self.occupied >> slot & 1 != 0 {
            *near = std::mem::replace(&mut self.slots[slot as usize], Bucket::EMPTY);
            self.occupied &= !(1 << slot);
        }
    }

    /// The first slot in time that is not empty.
    #[inline]
    fn first_occupied(&self) -> Option<usize> {
        let from = self.near % SLOTS;
        let ahead = self.occupied.rotate_right(from as u32);
        (ahead != 0).then(|| ((from + u64::from(ahead.trailing_zeros())) % SLOTS) as usize)
    }

    fn drain_slots(&mut self, until: Time, reached: u64, taken: &mut Vec<Packet>, pool: &mut Pool) {
        while let Some(index) = self.first_occupied() {
            let slot = &mut self.slots[index];
            let is_past = slot.next.picoseconds() >> self.bucket_bits < reached;
            slot.drain(until, is_past, taken, pool);
            if !slot.packets.is_empty() {
                return;
            }
            self.occupied &= !(1 << index);
        }
    }

    /// Moves packets that have come near to slots, to the near bucket, or to `taken`. They go in front of others of
    /// their bucket, which were sent later: packets of a link may have the same time.
    #[cold]
    fn bring_nearer(&mut self, until: Time, near: &mut Bucket, taken: &mut Vec<Packet>, pool: &mut Pool) {
        let mut far = std::mem::take(&mut self.far);
        self.far_next = Time::NEVER;
        if taken.capacity() == 0 {
            *taken = pool.vector();
        }
        let (taken_before, in_near) = (taken.len(), near.packets.len());
        let in_slots = self.slots.each_ref().map(|slot| slot.packets.len());
        far.retain(|&packet| {
            if packet.time < until {
                taken.push(packet);
                return false;
            }
            let ahead = (packet.time.picoseconds() >> self.bucket_bits) - self.near;
            if ahead >= SLOTS {
                self.far_next = packet.time.min(self.far_next);
                return true;
            }
            let (room, _) = if ahead == 0 { near.room(packet.time, pool) } else { self.room(packet.time, pool) };
            room.push(packet);
            false
        });
        self.far = far;
        taken.rotate_left(taken_before);
        near.packets.rotate_left(in_near);
        for (slot, before) in self.slots.iter_mut().zip(in_slots) {
            slot.packets.rotate_left(before);
        }
    }
}

impl Bucket {
    const EMPTY: Self = Self { packets: Vec::new(), next: Time::NEVER };

    /// See [`Calendar::room`].
    #[inline(always)]
    fn room(&mut self, time: Time, pool: &mut Pool) -> (&mut Vec<Packet>, bool) {
        let is_first = time < self.next;
        if is_first {
            self.next = time;
            if self.packets.is_empty() {
                self.packets = pool.vector();
            }
        }
        (&mut self.packets, is_first)
    }

    /// Takes the packets before `until`, which are all of them if it `is_past`.
    fn drain(&mut self, until: Time, is_past: bool, taken: &mut Vec<Packet>, pool: &mut Pool) {
        if self.next >= until {
            return;
        }
        let stays = |packet: &Packet| packet.time >= until;
        let first_to_stay = if is_past { None } else { self.packets.iter().position(stays) };
        self.next = Time::NEVER;
        if let Some(first) = first_to_stay {
            if taken.capacity() == 0 {
                *taken = pool.vector();
            }
            return self.divide(first, until, taken);
        }
        let packets = std::mem::take(&mut self.packets);
        if taken.is_empty() {
            *taken = packets;
        } else {
            taken.extend_from_slice(&packets);
            pool.give_back(packets);
        }
    }

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
