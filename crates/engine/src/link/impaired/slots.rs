//! Packets that are released together: netem's `slot`.

use forebay_qdisc::{Rng, Span, Time, uniform};

use crate::spec::Slots;

/// The next slot, and what is left of it.
#[derive(Clone, Debug)]
pub(super) struct SlotClock {
    slots: Slots,
    next: Time,
    packets: u64,
    bytes: u64,
    /// When the packet before was released.
    last: Time,
}

impl SlotClock {
    pub fn new(slots: Slots, rng: &mut dyn Rng) -> Self {
        let mut clock = Self { slots, next: Time::ZERO, packets: 0, bytes: 0, last: Time::ZERO };
        clock.begin_after(Time::ZERO, rng);
        clock
    }

    /// `get_slot_next`.
    fn begin_after(&mut self, now: Time, rng: &mut dyn Rng) {
        let Slots { min, max, packets, bytes } = self.slots;
        let spread = (max.picoseconds() - min.picoseconds()) as f64;
        self.next = now + min + Span::from_picoseconds((spread * uniform(rng)) as u64);
        (self.packets, self.bytes) = (packets, bytes);
    }

    /// When a packet is released that came at `came` and is ready at `ready` (`netem_dequeue`). Packets are released in
    /// the order of the calls.
    pub fn release(&mut self, came: Time, ready: Time, len_bytes: u64, rng: &mut dyn Rng) -> Time {
        // It is looked at when the one before it has gone.
        if self.next < ready {
            self.begin_after(came.max(self.last), rng);
        }
        let at = ready.max(self.next).max(self.last);
        self.last = at;
        self.packets -= 1;
        self.bytes = self.bytes.saturating_sub(len_bytes);
        if self.packets == 0 || self.bytes == 0 {
            self.begin_after(at, rng);
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use forebay_records::random::stream;

    use super::*;

    fn at(microseconds: u64) -> Time {
        Time::ZERO + Span::from_microseconds(microseconds)
    }

    /// The times of release in microseconds of packets of 100 B, ready when they come, with slots of 1 ms.
    fn released(packets: u64, bytes: u64, came: &[u64]) -> Vec<u64> {
        let (span, mut rng) = (Span::from_milliseconds(1), stream(1, "slots"));
        let mut clock = SlotClock::new(Slots { min: span, max: span, packets, bytes }, &mut rng);
        let release = |&came: &u64| clock.release(at(came), at(came), 100, &mut rng).picoseconds() / 1_000_000;
        came.iter().map(release).collect()
    }

    #[test]
    fn packets_of_a_slot_leave_together() {
        // The second one begins when the first has taken its three packets.
        let many = u64::MAX;
        assert_eq!(released(3, many, &[0, 10, 20, 30, 1500]), [1000, 1000, 1000, 2000, 2000]);
        // After a slot that is past, a new one begins with the next packet.
        assert_eq!(released(many, many, &[0, 10, 5000, 5100]), [1000, 1000, 6000, 6000]);
        // The packet that uses up the bytes is the last one.
        assert_eq!(released(many, 150, &[0, 0, 0]), [1000, 1000, 2000]);
    }

    #[test]
    fn the_time_to_the_next_slot_is_drawn_between_its_bounds() {
        let mut rng = stream(2, "slots");
        let (min, max) = (Span::from_microseconds(200), Span::from_microseconds(800));
        let mut clock = SlotClock::new(Slots { min, max, packets: 1, bytes: u64::MAX }, &mut rng);
        let mut times = vec![at(0)];
        times.extend((0..1000).map(|_| clock.release(at(0), at(0), 100, &mut rng)));
        let gaps: Vec<Span> = times.windows(2).map(|pair| pair[1].since(pair[0])).collect();
        assert!(gaps.iter().all(|gap| (min..=max).contains(gap)));
        let (least, most) = (gaps.iter().min().unwrap(), gaps.iter().max().unwrap());
        assert!(*least < Span::from_microseconds(210) && *most > Span::from_microseconds(790));
    }
}
