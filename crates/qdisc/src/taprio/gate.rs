//! The gate of a class: when it is open, and the queue behind it.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::memory::{heap_bytes, inline_bytes};
use crate::peeked::Peeked;
use crate::{Backlog, Cx, Discipline, Packet, Rate, Served, Span, Time};

/// A part of the cycle in which a gate is open without a break. It may reach into the next cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// From the start of the cycle.
    pub start: Span,
    pub length: Span,
}

/// The times at which a gate is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Gate {
    /// Start of the first cycle; before it the gate is open.
    base: Time,
    cycle: Span,
    /// In the order of their starts, with a time between any two of them. One as long as the cycle never ends.
    windows: Vec<Window>,
}

impl Gate {
    /// A gate that is open in these parts of each cycle, which are in order and do not overlap.
    pub fn new(base: Time, cycle: Span, parts: impl Iterator<Item = Window>) -> Self {
        let mut windows: Vec<Window> = Vec::new();
        for part in parts.filter(|part| part.length > Span::ZERO) {
            match windows.last_mut() {
                Some(last) if last.start + last.length == part.start => last.length += part.length,
                _ => windows.push(part),
            }
        }
        // The last one goes on in the next cycle.
        if let [first, .., last] = windows[..]
            && first.start == Span::ZERO
            && last.start + last.length == cycle
        {
            windows.remove(0);
            let last = windows.len() - 1;
            windows[last].length += first.length;
        }
        Self { base, cycle, windows }
    }

    /// The longest time for which it is open without a break: [`Span::MAX`] if it never closes.
    pub fn longest(&self) -> Span {
        match self.windows.iter().map(|window| window.length).max() {
            Some(length) if length == self.cycle => Span::MAX,
            longest => longest.unwrap_or_default(),
        }
    }

    /// Its part of the time.
    pub fn share(&self) -> f64 {
        let open: u64 = self.windows.iter().map(|window| window.length.picoseconds()).sum();
        open as f64 / self.cycle.picoseconds() as f64
    }

    /// When it closes, if it is open at `now`.
    fn closes_at(&self, now: Time) -> Option<Time> {
        if self.longest() == Span::MAX {
            return Some(Time::NEVER);
        }
        let left = self.left_of_window(self.phase(now));
        if now < self.base {
            return Some(self.base.saturating_add(left));
        }
        (left > Span::ZERO).then(|| now.saturating_add(left))
    }

    /// The next time after `now` at which it opens for at least `needed`.
    fn opens_at(&self, now: Time, needed: Span) -> Time {
        let phase = self.phase(now);
        let next = self.windows.partition_point(|window| window.start <= phase);
        // Before the first cycle, a window at its start has begun.
        let cycle_start = now.max(self.base) - phase;
        let (past, later) = self.windows.split_at(next);
        let in_time = |window: &&Window| window.length >= needed;
        let this_cycle = later.iter().find(in_time).map(|window| cycle_start.saturating_add(window.start));
        let next_cycle = || {
            let window = past.iter().find(in_time)?;
            Some(cycle_start.saturating_add(self.cycle).saturating_add(window.start))
        };
        this_cycle.or_else(next_cycle).unwrap_or(Time::NEVER)
    }

    /// The time since the start of the cycle, at least that of the first one.
    fn phase(&self, now: Time) -> Span {
        Span::from_picoseconds(now.since(self.base).picoseconds() % self.cycle.picoseconds())
    }

    /// How long it stays open from this time of the cycle on.
    fn left_of_window(&self, phase: Span) -> Span {
        let next = self.windows.partition_point(|window| window.start <= phase);
        let (window, since) = match next.checked_sub(1) {
            Some(current) => (self.windows[current], phase.saturating_sub(self.windows[current].start)),
            None => match self.windows.last() {
                Some(last) => (*last, (phase + self.cycle).saturating_sub(last.start)),
                None => return Span::ZERO,
            },
        };
        window.length.saturating_sub(since)
    }
}

/// A discipline behind a gate.
pub(super) struct Gated<P> {
    queue: Peeked<P>,
    gate: Gate,
    link_rate: Rate,
}

impl<P: Packet> Gated<P> {
    pub fn new(queue: Box<dyn Discipline<P>>, gate: Gate, link_rate: Rate) -> Self {
        Self { queue: Peeked::new(queue), gate, link_rate }
    }

    fn transmission(&self, len_bytes: u32) -> Span {
        self.link_rate.transmission_time(u64::from(len_bytes))
    }
}

impl<P: Packet> Discipline<P> for Gated<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        self.queue.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        let closes_at = self.gate.closes_at(cx.now);
        // An empty queue is asked all the same: its idle time begins.
        if closes_at.is_none() && self.queue.backlog().packets > 0 {
            let needed = self.queue.seen().map_or(Span::ZERO, |len_bytes| self.transmission(len_bytes));
            return Served::PollAt(self.gate.opens_at(cx.now, needed));
        }
        match self.queue.peek(cx) {
            Ok(len_bytes) => {
                let needed = self.transmission(len_bytes);
                let fits = closes_at.is_some_and(|closes_at| cx.now.saturating_add(needed) <= closes_at);
                if fits { self.queue.take() } else { Served::PollAt(self.gate.opens_at(cx.now, needed)) }
            }
            Err(held) => held,
        }
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + heap_bytes(&self.gate.windows) + self.queue.queue().state_bytes()
    }

    fn children(&self, visit: &mut dyn FnMut(&dyn Discipline<P>)) {
        visit(self.queue.queue());
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use proptest::prelude::*;

    use super::*;

    fn span(picoseconds: u64) -> Span {
        Span::from_picoseconds(picoseconds)
    }

    fn at(picoseconds: u64) -> Time {
        Time::from_picoseconds(picoseconds)
    }

    fn gate(base: u64, cycle: u64, parts: &[(u64, u64)]) -> Gate {
        let part = |&(start, length)| Window { start: span(start), length: span(length) };
        Gate::new(at(base), span(cycle), parts.iter().map(part))
    }

    #[test]
    fn parts_that_meet_are_one_window() {
        let windows = |parts| gate(0, 100, parts).windows.iter().map(|it| (it.start, it.length)).collect::<Vec<_>>();
        let window = |start, length| (span(start), span(length));
        assert_eq!(windows(&[(10, 5), (15, 5), (30, 10)]), [window(10, 10), window(30, 10)]);
        assert_eq!(windows(&[(0, 20), (50, 10), (90, 10)]), [window(50, 10), window(90, 30)]);
        assert_eq!(windows(&[(0, 60), (60, 40)]), [window(0, 100)]);
        assert_eq!(windows(&[(0, 20), (20, 0), (30, 0)]), [window(0, 20)]);
        assert_eq!(windows(&[]), []);
        assert_eq!(gate(0, 100, &[(0, 60), (60, 40)]).longest(), Span::MAX);
        assert_eq!(gate(0, 100, &[(0, 20), (90, 10)]).longest(), span(30));
        assert_eq!((gate(0, 100, &[]).longest(), gate(0, 100, &[(5, 20), (50, 5)]).share()), (Span::ZERO, 0.25));
    }

    #[test]
    fn a_gate_closes_and_opens_to_the_picosecond() {
        let gate = gate(1000, 100, &[(10, 20), (50, 5)]);
        assert_eq!(
            [1009, 1010, 1029, 1030].map(|now| gate.closes_at(at(now))),
            [None, Some(at(1030)), Some(at(1030)), None]
        );
        assert_eq!(gate.closes_at(at(7_000_052)), Some(at(7_000_055)));
        assert_eq!(
            [1009, 1010, 1050, 1055].map(|now| gate.opens_at(at(now), span(0))),
            [1010, 1050, 1110, 1110].map(at)
        );
        assert_eq!([1009, 1010, 1055].map(|now| gate.opens_at(at(now), span(6))), [1010, 1110, 1110].map(at));
        assert_eq!(gate.opens_at(at(1030), span(21)), Time::NEVER);
    }

    #[test]
    fn before_the_first_cycle_it_is_open() {
        let later = gate(1000, 100, &[(10, 20)]);
        assert_eq!((later.closes_at(at(3)), later.opens_at(at(3), span(0))), (Some(at(1000)), at(1010)));
        let at_once = gate(1000, 100, &[(0, 20), (70, 30)]);
        assert_eq!(
            [3, 1000, 1019, 1020].map(|now| at_once.closes_at(at(now))),
            [Some(at(1020)), Some(at(1020)), Some(at(1020)), None]
        );
        assert_eq!([3, 1005].map(|now| at_once.opens_at(at(now), span(50))), [at(1070), at(1070)]);
        assert_eq!(gate(1000, 100, &[(0, 100)]).closes_at(at(5)), Some(Time::NEVER));
    }

    proptest! {
        /// Against a list of each picosecond of the cycle.
        #[test]
        fn windows_are_the_open_picoseconds(open in prop::collection::vec(any::<bool>(), 1..40), now in 0_u64..200) {
            let cycle = open.len() as u64;
            let parts = (0..cycle).filter(|&start| open[start as usize]).map(|start| (start, 1)).collect::<Vec<_>>();
            let gate = gate(50, cycle, &parts);
            let is_open = |time: u64| time < 50 || open[((time - 50) % cycle) as usize];
            let closes = (now..now + 100).find(|&time| !is_open(time));
            match closes {
                None => prop_assert_eq!(gate.closes_at(at(now)), Some(Time::NEVER)),
                Some(closes) if closes == now => prop_assert_eq!(gate.closes_at(at(now)), None),
                Some(closes) => prop_assert_eq!(gate.closes_at(at(now)), Some(at(closes))),
            }
            if parts.is_empty() || closes.is_none() {
                return Ok(());
            }
            let opens = (now.max(50) + 1..).find(|&time| is_open(time) && !is_open(time - 1));
            if now >= 50 {
                prop_assert_eq!(Some(gate.opens_at(at(now), span(0))), opens.map(at));
            }
            let next = gate.opens_at(at(now), gate.longest());
            let length = (next.picoseconds()..).take_while(|&time| is_open(time)).count() as u64;
            prop_assert_eq!(span(length), gate.longest());
        }
    }

    #[test]
    fn a_gate_without_windows_never_opens() {
        let gate = Gate::new(Time::ZERO, span(10), vec![].into_iter());
        assert_eq!((gate.closes_at(at(5)), gate.opens_at(at(5), span(0))), (None, Time::NEVER));
    }
}
