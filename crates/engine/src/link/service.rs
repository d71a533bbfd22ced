//! A rate that changes at times known in advance.
//!
//! A transmission is the integral of the rate: it ends when the rate since its begin has summed up to its bits. The
//! rate may be zero for a while.

use forebay_qdisc::{Rate, Span, Time};
use forebay_units::PICOSECONDS_PER_SECOND;

use crate::spec::ServiceStep;

/// When a transmission ends that never does: after the end of every run, and early enough to add to it.
const TOO_LATE: Time = Time::from_picoseconds(u64::MAX / 2);

#[derive(Clone, Debug)]
pub(crate) struct ServiceRate {
    line: Rate,
    steps: Vec<ServiceStep>,
    /// [`Rate::LEAST`] for zero.
    rate: Rate,
    /// When the next step comes; [`Time::NEVER`] after the last.
    changes_at: Time,
    /// As `changes_at`, but the start of the run while the rate is zero.
    holds_until: Time,
}

impl ServiceRate {
    pub fn new(line: Rate, steps: Vec<ServiceStep>) -> Self {
        let changes_at = steps.first().map_or(Time::NEVER, |step| step.from);
        Self { line, steps, rate: line, changes_at, holds_until: changes_at }
    }

    /// The rate at `now`, which must not decrease from call to call; [`Rate::LEAST`] for zero.
    #[inline]
    pub fn at(&mut self, now: Time) -> Rate {
        if self.changes_at <= now {
            self.change(now);
        }
        self.rate
    }

    #[cold]
    fn change(&mut self, now: Time) {
        let rate = self.steps[self.steps_until(now) - 1].rate;
        self.rate = rate.unwrap_or(Rate::LEAST);
        self.changes_at = self.changes_after(now);
        self.holds_until = if rate.is_some() { self.changes_at } else { Time::ZERO };
    }

    /// Whether the rate of the last call of [`ServiceRate::at`] holds until `time` and is not zero.
    #[inline]
    pub fn holds_until(&self, time: Time) -> bool {
        time <= self.holds_until
    }

    /// The rate of the last call of [`ServiceRate::at`].
    pub fn current(&self) -> Rate {
        self.rate
    }

    /// When the rate at `time` changes; [`Time::NEVER`] without a change.
    pub fn changes_after(&self, time: Time) -> Time {
        self.steps.get(self.steps_until(time)).map_or(Time::NEVER, |step| step.from)
    }

    /// Begin and end of a transmission that may begin from `start` on. It begins when the rate is not zero.
    #[cold]
    pub fn transmission(&self, start: Time, bytes: u64) -> (Time, Time) {
        // In bits times picoseconds per second, which is what a rate times picoseconds is.
        let mut left = u128::from(bytes) * 8 * u128::from(PICOSECONDS_PER_SECOND);
        let (mut at, mut begin) = (start, None);
        for next in self.steps_until(start)..=self.steps.len() {
            let rate = next.checked_sub(1).map_or(Some(self.line), |step| self.steps[step].rate);
            let until = self.steps.get(next).map_or(Time::NEVER, |step| step.from);
            if let Some(rate) = rate {
                let begin = *begin.get_or_insert(at);
                let bits_per_second = u128::from(rate.bits_per_second());
                // To the nearest picosecond, as `Rate::transmission_time`.
                let picoseconds = (left + bits_per_second / 2) / bits_per_second;
                if picoseconds <= u128::from(until.since(at).picoseconds()) {
                    return (begin, at.saturating_add(Span::from_picoseconds(picoseconds as u64)).min(TOO_LATE));
                }
                left = left.saturating_sub(bits_per_second * u128::from(until.since(at).picoseconds()));
            }
            at = until;
        }
        (begin.unwrap_or(TOO_LATE), TOO_LATE)
    }

    /// How many steps have come by `time`.
    fn steps_until(&self, time: Time) -> usize {
        self.steps.partition_point(|step| step.from <= time)
    }
}

/// Transmission times of frames. The last one is cached: most frames are equally long, and a division is slow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TransmissionTime {
    len_bytes: u32,
    bits_per_second: u64,
    span: Span,
}

impl TransmissionTime {
    #[inline]
    pub fn of(&mut self, len_bytes: u32, rate: Rate) -> Span {
        if len_bytes != self.len_bytes || rate.bits_per_second() != self.bits_per_second {
            let span = rate.transmission_time(u64::from(len_bytes));
            *self = Self { len_bytes, bits_per_second: rate.bits_per_second(), span };
        }
        self.span
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(nanoseconds: u64) -> Time {
        Time::ZERO + Span::from_nanoseconds(nanoseconds)
    }

    /// At 8 Gb/s a byte takes a nanosecond.
    fn service(steps: &[(u64, u64)]) -> ServiceRate {
        let step =
            |&(from, megabits): &(u64, u64)| ServiceStep { from: at(from), rate: Rate::new(megabits * 1_000_000) };
        ServiceRate::new(Rate::megabits(8000), steps.iter().map(step).collect())
    }

    #[test]
    fn a_transmission_goes_on_at_the_new_rate() {
        let dip = service(&[(1000, 800), (2000, 8000)]);
        assert_eq!(dip.transmission(at(0), 1000), (at(0), at(1000)), "before the dip");
        assert_eq!(dip.transmission(at(500), 550), (at(500), at(1500)), "500 ns fast, the other 50 B slowly");
        assert_eq!(dip.transmission(at(1950), 100), (at(1950), at(2095)), "5 B slowly, the rest fast");
        assert_eq!(dip.transmission(at(900), 1000), (at(900), at(2800)), "100 B, 100 B in the dip, 800 B");
        assert_eq!(dip.transmission(at(2000), 1000), (at(2000), at(3000)));
        assert_eq!((dip.changes_after(at(999)), dip.changes_after(at(1000))), (at(1000), at(2000)));
        assert_eq!(dip.changes_after(at(2000)), Time::NEVER);
    }

    #[test]
    fn nothing_begins_or_goes_on_at_a_rate_of_zero() {
        let halt = service(&[(1000, 0), (2000, 8000)]);
        assert_eq!(halt.transmission(at(900), 300), (at(900), at(2200)));
        assert_eq!(halt.transmission(at(900), 100), (at(900), at(1000)));
        assert_eq!(halt.transmission(at(1000), 300), (at(2000), at(2300)));
        let for_good = service(&[(1000, 0)]);
        assert_eq!(for_good.transmission(at(900), 101), (at(900), TOO_LATE));
        assert_eq!(for_good.transmission(at(1500), 1), (TOO_LATE, TOO_LATE));
        let mut rate = halt;
        assert!(rate.at(at(0)) == Rate::megabits(8000) && rate.holds_until(at(1000)) && !rate.holds_until(at(1001)));
        assert!(rate.at(at(1500)) == Rate::LEAST && !rate.holds_until(at(1500)));
    }

    proptest! {
        #[test]
        fn the_rate_sums_up_to_the_bytes(
            steps in prop::collection::vec((1_u64..2000, 0_u64..9000), 0..8),
            start in 0_u64..10_000,
            bytes in 1_u64..20_000,
        ) {
            let mut from = 0;
            let steps: Vec<(u64, u64)> = steps
                .into_iter()
                .map(|(gap, rate)| {
                    from += gap;
                    (from, rate)
                })
                .collect();
            let service = service(&steps);
            let (begin, end) = service.transmission(at(start), bytes);
            prop_assert!(begin >= at(start));
            prop_assume!(end < TOO_LATE);
            // Bits from `start` to `end`, segment by segment.
            let mut bits = 0.0;
            let mut bounds: Vec<Time> = steps.iter().map(|&(from, _)| at(from)).collect();
            bounds.extend([at(start), end]);
            bounds.sort();
            for pair in bounds.windows(2).filter(|pair| pair[0] >= at(start) && pair[1] <= end) {
                let mut rate = service.clone();
                let bps = if rate.at(pair[0]) == Rate::LEAST { 0 } else { rate.current().bits_per_second() };
                prop_assert!(bps == 0 || pair[0] >= begin);
                bits += pair[1].since(pair[0]).seconds() * bps as f64;
            }
            // Half a picosecond of the fastest rate.
            prop_assert!((bits - bytes as f64 * 8.0).abs() < 0.01, "{} instead of {}", bits, bytes * 8);
        }
    }
}
