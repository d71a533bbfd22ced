//! The measured interval, and when time series are sampled.

use forebay_qdisc::{Span, Time};

/// From the end of the warm-up to the end of the run.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredInterval {
    /// The end of the warm-up.
    pub from: Time,
    /// The end of the run.
    pub to: Time,
}

impl MeasuredInterval {
    /// Nothing happens after the end, so that is not tested.
    #[inline]
    #[must_use]
    pub fn contains(&self, time: Time) -> bool {
        time >= self.from
    }

    /// The part of `[start, end]` within the interval.
    #[inline]
    #[must_use]
    pub fn clip(&self, start: Time, end: Time) -> Span {
        end.min(self.to).since(start.max(self.from))
    }

    /// The length.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.to.since(self.from).seconds()
    }
}

/// The work due at a [`Checkpoints`] instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkpoint {
    /// Drops earlier counts.
    WarmUp,
    /// Samples time series.
    Sample,
}

/// The end of the warm-up, and every sampling interval from the start. A sample shows the state before what happens at
/// that time. Each node passes its own checkpoints, so that one that runs ahead is still sampled exactly.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Checkpoints {
    warm_up: Time,
    sample: Time,
    interval: Span,
    /// Last, next to the fields that its owner uses for every packet.
    next: Time,
}

impl Checkpoints {
    /// The first sample is one interval after the start.
    #[must_use]
    pub fn new(warm_up: Option<Time>, interval: Option<Span>) -> Self {
        let warm_up = warm_up.filter(|&time| time > Time::ZERO).unwrap_or(Time::NEVER);
        let sample = interval.map_or(Time::NEVER, |interval| Time::ZERO + interval);
        Self { warm_up, sample, interval: interval.unwrap_or(Span::MAX), next: warm_up.min(sample) }
    }

    /// Between samples.
    #[must_use]
    pub fn interval(&self) -> Span {
        self.interval
    }

    /// The next instant.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Time {
        self.next
    }

    /// The next instant up to `now`, and what is due then.
    pub fn take(&mut self, now: Time) -> Option<(Time, Checkpoint)> {
        if self.next > now {
            return None;
        }
        let at = self.next;
        let due = if self.warm_up == at {
            self.warm_up = Time::NEVER;
            Checkpoint::WarmUp
        } else {
            self.sample = at.saturating_add(self.interval);
            Checkpoint::Sample
        };
        self.next = self.warm_up.min(self.sample);
        Some((at, due))
    }
}
