//! The committed departures of a switch port.

use forebay_qdisc::Time;

use crate::ethernet::control::control_frame;
use crate::packet::Packet;

/// The switch's state of a frame with a determined departure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    /// When it joined the queue.
    pub arrived: Time,
    /// Begin and end of its transmission. The end frees its memory.
    pub start: Time,
    pub end: Time,
    /// Row in the counters. [`Departure::NOT_COUNTED`]: a control frame. [`Departure::COUNTED`]: counted by a
    /// discipline.
    pub row: u32,
    pub len_bytes: u16,
    pub input: u8,
    pub class: u8,
}

const _: () = assert!(size_of::<Departure>() == 32);

impl Departure {
    pub const NOT_COUNTED: u32 = u32::MAX;
    pub const COUNTED: u32 = u32::MAX - 1;
}

/// The frame being sent, and those that follow without a gap. The last of them are not on the link yet: these are kept
/// as packets, too. A ring of fixed size, so that no index is checked.
#[repr(C)]
pub(crate) struct Departures {
    /// Of the first departure, of the first one that is not on the link, and of the next one to come, modulo 2^32.
    first: u32,
    unsent: u32,
    end: u32,
    departures: [Departure; Self::MOST],
    /// Each next to its departure, with its start.
    packets: [Packet; Self::MOST],
}

impl Departures {
    /// A small number keeps it cheap to take them back.
    pub const MOST: usize = 16;

    pub fn new() -> Self {
        // Placeholders.
        let (arrived, start, end) = (Time::NEVER, Time::NEVER, Time::NEVER);
        let departure = Departure { arrived, start, end, row: 0, len_bytes: 0, input: 0, class: 0 };
        let packet = control_frame(0, 0, 0, 0, Time::ZERO);
        Self { first: 0, unsent: 0, end: 0, departures: [departure; Self::MOST], packets: [packet; Self::MOST] }
    }

    #[inline]
    pub fn len(&self) -> u32 {
        self.end.wrapping_sub(self.first)
    }

    /// Whether all of them are on the link.
    #[inline]
    pub fn are_sent(&self) -> bool {
        self.unsent == self.end
    }

    #[inline]
    pub fn front(&self) -> Option<&Departure> {
        (self.len() > 0).then(|| &self.departures[slot(self.first)])
    }

    #[inline]
    pub fn back(&self) -> Option<&Departure> {
        (self.len() > 0).then(|| &self.departures[slot(self.end.wrapping_sub(1))])
    }

    /// From the first to the last.
    pub fn iter(&self) -> impl Iterator<Item = &Departure> {
        (0..self.len()).map(|place| &self.departures[slot(self.first.wrapping_add(place))])
    }

    /// Whether no other frame can be kept: begun ones must go to the link first.
    #[inline]
    pub fn are_full(&self) -> bool {
        self.end.wrapping_sub(self.unsent) >= Self::MOST as u32
    }

    /// When the first transmission ends; [`Time::NEVER`] without one.
    #[inline]
    pub fn first_end(&self) -> Time {
        std::hint::select_unpredictable(self.len() == 0, Time::NEVER, self.departures[slot(self.first)].end)
    }

    /// When the first frame begins that is not on the link; [`Time::NEVER`] without one.
    #[inline]
    pub fn next_begin(&self) -> Time {
        std::hint::select_unpredictable(self.are_sent(), Time::NEVER, self.packets[slot(self.unsent)].time)
    }

    /// Adds the departure of a frame that goes to the link at once. All before must be there.
    #[inline(always)]
    pub fn push_sent(&mut self, departure: Departure) {
        debug_assert!(self.are_sent() && self.len() < Self::MOST as u32);
        self.departures[slot(self.end)] = departure;
        self.end = self.end.wrapping_add(1);
        self.unsent = self.end;
    }

    /// Adds the departure of a frame that goes to the link later.
    #[inline(always)]
    pub fn push(&mut self, departure: Departure, packet: &Packet) {
        debug_assert!(!self.are_full() && self.len() < Self::MOST as u32);
        self.packets[slot(self.end)] = packet.at(departure.start);
        self.departures[slot(self.end)] = departure;
        self.end = self.end.wrapping_add(1);
    }

    /// Takes the first departure, whose frame has begun.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Departure> {
        let first = *self.front()?;
        self.first = self.first.wrapping_add(1);
        Some(first)
    }

    /// The next frame for the link, if it begins before `until`.
    #[inline(always)]
    pub fn send_next(&mut self, until: Time) -> Option<Packet> {
        if self.next_begin() >= until {
            return None;
        }
        let packet = self.packets[slot(self.unsent)].word_by_word();
        self.unsent = self.unsent.wrapping_add(1);
        Some(packet)
    }

    /// Takes back the last frame, as it was queued, if it begins after `now` and is not on the link.
    pub fn revoke(&mut self, now: Time) -> Option<Packet> {
        let last = *self.back().filter(|last| last.start > now && !self.are_sent())?;
        self.end = self.end.wrapping_sub(1);
        Some(self.packets[slot(self.end)].arriving(last.arrived, u32::from(last.input)))
    }
}

#[inline(always)]
fn slot(index: u32) -> usize {
    index as usize % Departures::MOST
}

#[cfg(test)]
mod tests {
    use super::*;

    fn departure(start: u64) -> Departure {
        let [arrived, start, end] = [5, start, start + 10].map(Time::from_picoseconds);
        Departure { arrived, start, end, row: 0, len_bytes: 64, input: 2, class: 0 }
    }

    #[test]
    fn frames_are_sent_in_order_and_taken_back_from_the_end_until_they_begin() {
        let frame = control_frame(0, 0, 0, 0, Time::ZERO);
        let mut departures = Departures::new();
        for round in 0..20 {
            let at = |time: u64| Time::from_picoseconds(1000 * round + time);
            departures.push_sent(departure(1000 * round));
            for start in [10, 20, 30] {
                departures.push(departure(1000 * round + start), &frame);
            }
            assert_eq!((departures.len(), departures.next_begin(), departures.first_end()), (4, at(10), at(10)));
            assert_eq!(departures.send_next(at(11)).map(|packet| packet.time), Some(at(10)));
            assert!(departures.send_next(at(20)).is_none() && !departures.are_sent());
            // A frame that the link does not have yet may already have ended.
            assert_eq!(std::iter::from_fn(|| departures.pop()).take(2).last().map(|first| first.start), Some(at(10)));
            let taken: Vec<Time> = std::iter::from_fn(|| departures.revoke(at(20))).map(|packet| packet.time).collect();
            assert_eq!(taken, [Time::from_picoseconds(5)]);
            assert_eq!(departures.pop().map(|first| first.start), Some(at(20)));
            assert_eq!((departures.len(), departures.first_end(), departures.are_sent()), (0, Time::NEVER, false));
            assert_eq!(departures.send_next(Time::NEVER).map(|packet| packet.time), Some(at(20)));
            assert_eq!((departures.are_sent(), departures.next_begin()), (true, Time::NEVER));
        }
    }
}
