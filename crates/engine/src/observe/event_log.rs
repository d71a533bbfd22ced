//! The events of a part of a network in a window of time, up to a largest number.

use forebay_qdisc::Time;

use crate::spec::Watch;

/// Keeps the earliest events. They may come in any order, for parts of a network decide about departures before, and
/// count them after, their time. Events of one time keep the order in which they came.
#[derive(Debug)]
pub(crate) struct EventLog<E> {
    from: Time,
    to: Time,
    most: usize,
    events: Vec<Timed<E>>,
    /// The place of the first event without room.
    full_from: Option<Place>,
}

/// The place in the order of events: the state with which the window begins comes before the events at its begin.
type Place = (Time, bool);

#[derive(Clone, Copy, Debug)]
struct Timed<E> {
    time: Time,
    is_event: bool,
    what: E,
}

/// Below this number of events a log need not be sorted to make room.
const FEW: usize = 64;

impl<E: Copy> EventLog<E> {
    pub fn new(watch: &Watch) -> Self {
        Self { from: watch.from, to: watch.to, most: watch.most, events: Vec::new(), full_from: None }
    }

    /// The begin of the window.
    pub fn from(&self) -> Time {
        self.from
    }

    /// Adds an event, if it is in the window.
    pub fn add(&mut self, time: Time, event: E) {
        if time >= self.from && time <= self.to {
            self.put((time, true), event);
        }
    }

    /// Adds a part of the state with which the window begins.
    pub fn add_at_begin(&mut self, state: E) {
        self.put((self.from, false), state);
    }

    /// Whether events at `now` or later are not kept.
    pub fn is_over(&self, now: Time) -> bool {
        now > self.to || self.full_from.is_some_and(|(full_from, _)| now > full_from)
    }

    fn put(&mut self, place: Place, what: E) {
        // Sorting now and then keeps the log short, and costs little for each event.
        let limit = self.most.saturating_mul(2).max(FEW);
        if self.events.len() >= limit {
            self.sort();
        }
        if self.full_from.is_some_and(|full_from| place >= full_from) {
            return;
        }
        if self.events.len() == self.events.capacity() {
            self.events.reserve_exact(self.events.len().max(FEW).min(limit - self.events.len()));
        }
        let (time, is_event) = place;
        self.events.push(Timed { time, is_event, what });
    }

    /// Sorts the events, and drops the latest if there are too many.
    fn sort(&mut self) {
        self.events.sort_by_key(|event| (event.time, event.is_event));
        if let Some(first) = self.events.get(self.most) {
            self.full_from = Some((first.time, first.is_event));
            self.events.truncate(self.most);
        }
    }

    /// Changes the latest event for which `find` holds.
    pub fn change_latest(&mut self, find: impl Fn(&E) -> bool, change: impl FnOnce(&mut E)) {
        if let Some(event) = self.events.iter_mut().rev().find(|event| find(&event.what)) {
            change(&mut event.what);
        }
    }

    /// The events until the end of the run in the order of time, and whether there was no room for later ones.
    pub fn close(mut self, end: Time) -> (impl Iterator<Item = (Time, E)>, bool) {
        if end < self.from {
            self.events.clear();
        }
        self.sort();
        (self.events.into_iter().map(|event| (event.time, event.what)), self.full_from.is_some())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(picoseconds: u64) -> Time {
        Time::from_picoseconds(picoseconds)
    }

    fn log(from: u64, to: u64, most: usize) -> EventLog<usize> {
        EventLog::new(&Watch { links: Vec::new(), from: at(from), to: at(to), most })
    }

    proptest! {
        #[test]
        fn the_earliest_events_of_the_window_are_kept(
            times in prop::collection::vec((0_u64..100, prop::bool::weighted(0.1)), 0..600),
            from in 0_u64..60, length in 0_u64..60, most in 0_usize..300,
        ) {
            let to = from + length;
            let mut kept = log(from, to, most);
            let mut expected = Vec::new();
            for (number, &(time, is_state)) in times.iter().enumerate() {
                if is_state {
                    kept.add_at_begin(number);
                    expected.push((from, false, number));
                } else {
                    kept.add(at(time), number);
                    expected.extend((from..=to).contains(&time).then_some((time, true, number)));
                }
                prop_assert!(kept.events.capacity() <= (2 * most).max(FEW));
            }
            expected.sort_unstable();
            let is_cut = expected.len() > most;
            expected.truncate(most);
            let (events, was_cut) = kept.close(at(100));
            let expected: Vec<(Time, usize)> = expected.iter().map(|&(time, _, number)| (at(time), number)).collect();
            prop_assert_eq!((events.collect::<Vec<_>>(), was_cut), (expected, is_cut));
        }
    }

    #[test]
    fn a_log_is_over_after_its_window_or_when_it_is_full() {
        let mut log = log(5, 50, 40);
        assert!(!log.is_over(at(50)) && log.is_over(at(51)));
        (0..90).for_each(|number| log.add(at(6 + number as u64 / 2), number));
        assert!(!log.is_over(at(26)) && log.is_over(at(27)));
    }
}
