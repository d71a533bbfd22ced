//! The decay of a window that the application does not use.
//!
//! # What it does
//! After an idle time longer than the timeout the window starts over. With `idle_restart = "halving"` it is halved for
//! each timeout that has passed. One that stays unused while data flows is reduced halfway to the used part, once a
//! timeout. The threshold keeps three quarters of it.
//!
//! # Source
//! RFC 5681, section 4.1. Halving: RFC 2861, section 3, as in Linux (`tcp_cwnd_restart`,
//! `tcp_cwnd_application_limited`). RFC 7661 obsoletes RFC 2861; Linux has not followed.
//!
//! # Parameters
//! `idle_restart`.

use crate::{Control, IdleRestart, Span, Time};

/// Keeps the window honest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowValidation {
    rule: IdleRestart,
    /// The initial window, in segments.
    initial: f64,
    /// The last time at which the window was in use.
    in_use: Time,
}

impl WindowValidation {
    pub fn new(rule: IdleRestart, initial: f64) -> Self {
        Self { rule, initial, in_use: Time::ZERO }
    }

    /// Nothing was sent for `idle`, and `timeout` is the retransmission timeout.
    pub fn restart(&mut self, window: &mut Control, idle: Span, timeout: Span, now: Time) {
        self.in_use = now;
        let restart = window.congestion_window.min(self.initial);
        if self.rule == IdleRestart::InitialWindow {
            window.congestion_window = restart;
            return;
        }
        remember(window);
        let mut left = idle.picoseconds();
        while left > timeout.picoseconds() && window.congestion_window > restart {
            left -= timeout.picoseconds();
            window.congestion_window = libm::floor(window.congestion_window / 2.0);
        }
        window.congestion_window = window.congestion_window.max(restart);
    }

    /// An ACK came while the window was in use.
    pub fn note_use(&mut self, now: Time) {
        self.in_use = now;
    }

    /// Reduces the window under [`IdleRestart::Halving`], after an ACK that came while the window was not in use. At
    /// most `used` segments were in flight in that round trip. Returns whether it did so.
    pub fn note_disuse(&mut self, window: &mut Control, used: f64, timeout: Span, now: Time) -> bool {
        if now.since(self.in_use) < timeout {
            return false;
        }
        self.in_use = now;
        let used = used.max(self.initial);
        let is_reduced = used < window.congestion_window;
        if is_reduced {
            remember(window);
            window.congestion_window = libm::floor((window.congestion_window + used) / 2.0);
        }
        is_reduced
    }
}

/// The threshold keeps three quarters of the window.
fn remember(window: &mut Control) {
    let part = libm::floor(window.congestion_window / 2.0) + libm::floor(window.congestion_window / 4.0);
    window.slow_start_threshold = window.slow_start_threshold.max(part);
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Span {
        Span::from_milliseconds(ms)
    }

    fn window(segments: f64) -> Control {
        Control::new(segments, 2.0)
    }

    #[test]
    fn an_idle_time_halves_the_window_once_a_timeout() {
        for (idle_ms, left) in [(200, 80.0), (201, 40.0), (401, 20.0), (5000, 10.0)] {
            let (mut validation, mut window) = (WindowValidation::new(IdleRestart::Halving, 10.0), window(80.0));
            validation.restart(&mut window, ms(idle_ms), ms(200), Time::ZERO);
            assert_eq!((window.congestion_window, window.slow_start_threshold), (left, 60.0), "{idle_ms} ms");
        }
        let (mut validation, mut window) = (WindowValidation::new(IdleRestart::InitialWindow, 10.0), window(80.0));
        validation.restart(&mut window, ms(201), ms(200), Time::ZERO);
        assert_eq!((window.congestion_window, window.slow_start_threshold), (10.0, 2.0));
    }

    #[test]
    fn at_the_end_of_a_timeout_it_has_not_passed() {
        // Linux: `while ((delta -= icsk_rto) > 0 && ...)`.
        for (idle_ms, left) in [(200, 80.0), (400, 40.0), (600, 20.0)] {
            let (mut validation, mut window) = (WindowValidation::new(IdleRestart::Halving, 10.0), window(80.0));
            validation.restart(&mut window, ms(idle_ms), ms(200), Time::ZERO);
            assert_eq!(window.congestion_window, left, "{idle_ms} ms");
        }
    }

    #[test]
    fn an_idle_time_never_opens_a_window_below_the_initial_one() {
        // RFC 5681, 4.1: "RW = min(IW,cwnd)".
        for rule in [IdleRestart::InitialWindow, IdleRestart::Halving] {
            for segments in [4.0, 10.0] {
                let (mut validation, mut window) = (WindowValidation::new(rule, 10.0), window(segments));
                validation.restart(&mut window, ms(5000), ms(200), Time::ZERO);
                assert_eq!(window.congestion_window, segments, "{rule:?}");
            }
        }
    }

    #[test]
    fn halves_and_quarters_are_those_of_whole_segments() {
        // Linux: 15 >> 1 is 7, and (15 >> 1) + (15 >> 2) is 10. A higher threshold stays.
        for (threshold, kept) in [(2.0, 10.0), (10.0, 10.0), (11.0, 11.0)] {
            let mut validation = WindowValidation::new(IdleRestart::Halving, 4.0);
            let mut window = Control::new(15.0, threshold);
            validation.restart(&mut window, ms(201), ms(200), Time::ZERO);
            assert_eq!((window.congestion_window, window.slow_start_threshold), (7.0, kept));
        }
        // (31 + 10) >> 1 is 20; at least the initial window counts as used.
        let (mut validation, mut window) = (WindowValidation::new(IdleRestart::Halving, 10.0), window(31.0));
        assert!(validation.note_disuse(&mut window, 5.0, ms(200), Time::ZERO + ms(200)));
        assert_eq!((window.congestion_window, window.slow_start_threshold), (20.0, 22.0));
    }

    #[test]
    fn a_window_that_was_just_used_up_is_left_alone_for_a_timeout() {
        for (segments, used) in [(20.0, 20.0), (10.0, 5.0), (8.0, 5.0)] {
            let (mut validation, mut window) = (WindowValidation::new(IdleRestart::Halving, 10.0), window(segments));
            let at = |after| Time::ZERO + ms(after);
            assert!(!validation.note_disuse(&mut window, used, ms(200), at(200)));
            assert_eq!((window.congestion_window, window.slow_start_threshold), (segments, 2.0));
            // Linux sets `snd_cwnd_stamp` all the same.
            window.congestion_window = 100.0;
            assert!(!validation.note_disuse(&mut window, used, ms(200), at(399)));
            assert!(validation.note_disuse(&mut window, used, ms(200), at(400)));
        }
    }

    #[test]
    fn a_restart_begins_a_timeout_anew() {
        for rule in [IdleRestart::InitialWindow, IdleRestart::Halving] {
            let (mut validation, mut window) = (WindowValidation::new(rule, 10.0), window(100.0));
            let at = |after| Time::ZERO + ms(after);
            validation.restart(&mut window, ms(201), ms(200), at(1000));
            window.congestion_window = 100.0;
            assert!(!validation.note_disuse(&mut window, 20.0, ms(200), at(1199)));
            assert!(validation.note_disuse(&mut window, 20.0, ms(200), at(1200)));
        }
    }

    #[test]
    fn a_window_that_stays_unused_shrinks_halfway_once_a_timeout() {
        let (mut validation, mut window) = (WindowValidation::new(IdleRestart::Halving, 10.0), window(100.0));
        let at = |after| Time::ZERO + ms(after);
        validation.note_use(at(0));
        assert!(!validation.note_disuse(&mut window, 20.0, ms(200), at(199)));
        assert!(validation.note_disuse(&mut window, 20.0, ms(200), at(200)));
        assert!(!validation.note_disuse(&mut window, 20.0, ms(200), at(399)));
        assert!(validation.note_disuse(&mut window, 20.0, ms(200), at(400)));
        assert_eq!((window.congestion_window, window.slow_start_threshold), (40.0, 75.0));
    }
}
