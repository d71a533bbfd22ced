//! The interval that is measured, and the instants at which time series are sampled.

use forebay_qdisc::{Span, Time};

/// The measured interval: from the end of the warm-up to the end of the run.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredInterval {
    /// The end of the warm-up.
    pub from: Time,
    /// The end of the run.
    pub to: Time,
}

impl MeasuredInterval {
    /// Whether something that happens at `time` counts. (Nothing happens after the end.)
    #[inline]
    #[must_use]
    pub fn contains(&self, time: Time) -> bool {
        time >= self.from
    }

    /// The part of `[start, end]` that lies within the interval.
    #[inline]
    #[must_use]
    pub fn clip(&self, start: Time, end: Time) -> Span {
        end.min(self.to).since(start.max(self.from))
    }

    /// Its length in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.to.since(self.from).seconds()
    }
}

/// What is due at a [`Checkpoints`] instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkpoint {
    /// The warm-up is over: what was counted so far does not count.
    WarmUp,
    /// A sample of the time series.
    Sample,
}

/// The instants at which a process looks at its own books: the end of the warm-up, and every sampling interval counted
/// from the start of the run. What is taken at an instant is the state before whatever happens then. Each process keeps
/// its own checkpoints and passes them when its own time does, so that a process that runs ahead of the others is still
/// sampled exactly.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Checkpoints {
    warm_up: Time,
    sample: Time,
    interval: Span,
    /// Last: beside what its owner has for every packet.
    next: Time,
}

impl Checkpoints {
    /// The end of the warm-up, where it is one; a sample every `interval`, if there is one, first at one interval
    /// after the start.
    #[must_use]
    pub fn new(warm_up: Option<Time>, interval: Option<Span>) -> Self {
        let warm_up = warm_up.filter(|&time| time > Time::ZERO).unwrap_or(Time::NEVER);
        let sample = interval.map_or(Time::NEVER, |interval| Time::ZERO + interval);
        Self { warm_up, sample, interval: interval.unwrap_or(Span::MAX), next: warm_up.min(sample) }
    }

    /// The time between samples.
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

    /// The next instant up to `now` and what is due then, if there is one.
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
