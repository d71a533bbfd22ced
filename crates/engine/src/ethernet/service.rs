//! Service rates, and the transmission times of frames.

use forebay_qdisc::{Rate, Span, Time};

use crate::spec::ServiceStep;

/// A rate that changes at given times.
#[derive(Clone, Debug)]
pub(crate) struct ServiceRate {
    steps: Vec<ServiceStep>,
    /// The step to come.
    next: usize,
    rate: Rate,
}

impl ServiceRate {
    pub fn new(line: Rate, steps: Vec<ServiceStep>) -> Self {
        Self { steps, next: 0, rate: line }
    }

    /// `now` must not decrease from call to call.
    #[inline]
    pub fn at(&mut self, now: Time) -> Rate {
        while let Some(step) = self.steps.get(self.next)
            && step.from <= now
        {
            self.rate = step.rate;
            self.next += 1;
        }
        self.rate
    }

    /// When the rate of the last call changes.
    pub fn changes_at(&self) -> Time {
        self.steps.get(self.next).map_or(Time::NEVER, |step| step.from)
    }

    /// The rate of the last call.
    pub fn current(&self) -> Rate {
        self.rate
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
