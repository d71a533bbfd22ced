//! Records when PAUSE stops a link, and when it releases it.

use forebay_qdisc::Time;

use crate::observe::event_log::EventLog;
use crate::observe::watched::{LoggedPause, PauseLog};
use crate::spec::Watch;

/// The log of a link while it fills. A pause is added when it has ended, for another order may end it early.
#[derive(Debug)]
pub(crate) struct PauseRecorder {
    log: EventLog<(u8, bool)>,
    /// Since when each class is stopped; a single entry if all classes stop together.
    stopped_since: Vec<Option<Time>>,
}

impl PauseRecorder {
    pub fn new(watch: &Watch, receivers: usize) -> Self {
        Self { log: EventLog::new(watch), stopped_since: vec![None; receivers] }
    }

    /// An order at `now` moves the end of a pause of the class from `before` to `after`; an end that is over is none.
    pub fn order(&mut self, class: usize, before: Time, after: Time, now: Time) {
        if before < now {
            self.end(class, before);
        }
        if after > now {
            self.stopped_since[class].get_or_insert(now);
        } else {
            self.end(class, now);
        }
    }

    /// The pause of the class, if there is one, ends at `time`.
    fn end(&mut self, class: usize, time: Time) {
        if self.begin(class, time) {
            self.log.add(time, (class as u8, false));
        }
    }

    /// Adds the begin of a pause of the class that lasts until `end`. Returns whether there is one.
    fn begin(&mut self, class: usize, end: Time) -> bool {
        let Some(since) = self.stopped_since[class].take() else { return false };
        let stopped = (class as u8, true);
        if since >= self.log.from() {
            self.log.add(since, stopped);
        } else if end >= self.log.from() {
            self.log.add_at_begin(stopped);
        }
        true
    }

    /// The log at the end of the run, if there is anything in it. Pauses of the classes would last until `untils`.
    pub fn close(mut self, link: &str, untils: impl Iterator<Item = Time>, end: Time) -> Option<PauseLog> {
        for (class, until) in untils.enumerate() {
            if until <= end {
                self.end(class, until);
            } else {
                self.begin(class, end);
            }
        }
        let by_class = self.stopped_since.len() > 1;
        let (events, is_cut) = self.log.close(end);
        let event = |(time, (class, is_stopped))| LoggedPause { time, class: by_class.then_some(class), is_stopped };
        let log = PauseLog { link: link.to_owned(), events: events.map(event).collect(), is_cut };
        (!log.events.is_empty() || is_cut).then_some(log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(picoseconds: u64) -> Time {
        Time::from_picoseconds(picoseconds)
    }

    /// The log from 100 to 200 ps of a link without classes after orders (now, until).
    fn log(orders: &[(u64, u64)], end: u64) -> Vec<(u64, bool)> {
        let watch = Watch { links: Vec::new(), from: at(100), to: at(200), most: 100 };
        let (mut recorder, mut until) = (PauseRecorder::new(&watch, 1), Time::ZERO);
        for &(now, after) in orders {
            recorder.order(0, std::mem::replace(&mut until, at(after)), at(after), at(now));
        }
        let log = recorder.close("link", std::iter::once(until), at(end));
        log.map_or(Vec::new(), |log| log.events.iter().map(|it| (it.time.picoseconds(), it.is_stopped)).collect())
    }

    #[test]
    fn a_pause_ends_by_order_by_time_or_not_at_all() {
        assert_eq!(log(&[(110, 150), (120, 120)], 500), [(110, true), (120, false)]);
        assert_eq!(log(&[(110, 150), (160, 170)], 500), [(110, true), (150, false), (160, true), (170, false)]);
        assert_eq!(log(&[(110, 150)], 140), [(110, true)]);
        assert_eq!(log(&[(110, 150)], 150), [(110, true), (150, false)]);
    }

    #[test]
    fn a_repeated_order_makes_the_pause_longer() {
        assert_eq!(log(&[(110, 150), (120, 160), (160, 190)], 500), [(110, true), (190, false)]);
        // Another one in its place may be shorter.
        assert_eq!(log(&[(110, 150), (120, 130)], 500), [(110, true), (130, false)]);
    }

    #[test]
    fn a_pause_from_before_is_there_at_the_begin() {
        assert_eq!(log(&[(50, 150)], 500), [(100, true), (150, false)]);
        assert_eq!(log(&[(50, 100)], 500), [(100, true), (100, false)]);
        assert_eq!(log(&[(50, 90), (190, 300), (250, 250)], 500), [(190, true)]);
        assert_eq!(log(&[(50, 90), (210, 300)], 500), []);
        assert_eq!(log(&[(50, 150)], 90), []);
    }
}
