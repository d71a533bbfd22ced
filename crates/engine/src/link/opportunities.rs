//! A link that sends when a trace allows it: mahimahi's `link_queue`.
//!
//! R. Netravali, A. Sivaraman, S. Das, A. Goyal, K. Winstein, J. Mickens and H. Balakrishnan, "Mahimahi: Accurate
//! Record-and-Replay for HTTP", USENIX ATC 2015. Each opportunity carries a number of bytes, of one packet or several.
//! A packet leaves when its last byte has been carried. The rest of an opportunity is lost if no packet waits, and an
//! opportunity at the time of an arrival comes too early for it.

use std::sync::Arc;

use forebay_qdisc::Time;

use crate::spec::Opportunities;

const PICOSECONDS_PER_MILLISECOND: u64 = 1_000_000_000;

/// The opportunities that have not been used.
#[derive(Clone, Debug)]
pub(crate) struct OpportunityService {
    times_ms: Arc<[u32]>,
    bytes: u64,
    /// How often the trace has been repeated, and the next of its opportunities.
    cycle: u64,
    next: usize,
    /// Bytes left of the opportunity at which the last packet left.
    left: u64,
}

impl OpportunityService {
    pub fn new(trace: &Opportunities) -> Self {
        let Opportunities { times_ms, bytes } = trace;
        Self { times_ms: Arc::clone(times_ms), bytes: u64::from(*bytes), cycle: 0, next: 0, left: 0 }
    }

    /// When the last byte of a packet leaves that can be sent from `start` on. `follows` if it has waited for the one
    /// before it, which left at `start`.
    pub fn finish(&mut self, start: Time, follows: bool, bytes: u64) -> Time {
        if !follows {
            self.left = 0;
            self.skip_until(start);
        }
        let (mut missing, mut end) = (bytes.saturating_sub(self.left), start);
        self.left = self.left.saturating_sub(bytes);
        while missing > 0 {
            end = self.take();
            self.left = self.bytes.saturating_sub(missing);
            missing = missing.saturating_sub(self.bytes);
        }
        end
    }

    fn period_ms(&self) -> u64 {
        self.times_ms.last().map_or(1, |&last| u64::from(last).max(1))
    }

    /// Passes over the opportunities up to `time`.
    fn skip_until(&mut self, time: Time) {
        let ms = time.picoseconds() / PICOSECONDS_PER_MILLISECOND;
        // The last opportunity of a cycle is at the time 0 of the next one, where the trace may have others.
        let cycle = ms / self.period_ms();
        let in_cycle = ms % self.period_ms();
        let next = self.times_ms.partition_point(|&at| u64::from(at) <= in_cycle);
        (self.cycle, self.next) = (self.cycle, self.next).max((cycle, next));
    }

    /// The time of the next opportunity, which is used.
    fn take(&mut self) -> Time {
        if self.next == self.times_ms.len() {
            (self.cycle, self.next) = (self.cycle + 1, 0);
        }
        let ms = self.cycle * self.period_ms() + u64::from(self.times_ms[self.next]);
        self.next += 1;
        Time::from_picoseconds(ms * PICOSECONDS_PER_MILLISECOND)
    }
}

#[cfg(test)]
mod tests {
    use forebay_qdisc::Span;

    use super::*;

    fn at(microseconds: u64) -> Time {
        Time::ZERO + Span::from_microseconds(microseconds)
    }

    fn service(times_ms: &[u32]) -> OpportunityService {
        OpportunityService::new(&Opportunities { times_ms: times_ms.into(), bytes: 1504 })
    }

    fn ms(time: Time) -> u64 {
        time.picoseconds() / PICOSECONDS_PER_MILLISECOND
    }

    #[test]
    fn a_packet_leaves_when_its_last_byte_has_a_share() {
        let mut service = service(&[1, 3, 3, 10]);
        assert_eq!(ms(service.finish(at(0), false, 1504)), 1);
        // 1000 B at 3 ms, with 504 B of the next one, whose other bytes go in the second opportunity of that time.
        assert_eq!(ms(service.finish(at(1000), true, 1000)), 3);
        assert_eq!(ms(service.finish(at(3000), true, 1000)), 3);
        assert_eq!(ms(service.finish(at(3000), true, 1008)), 3);
        assert_eq!(ms(service.finish(at(3000), true, 1)), 10);
        // The trace repeats. A long packet takes several opportunities.
        assert_eq!(ms(service.finish(at(10_000), true, 3 * 1504)), 13);
    }

    #[test]
    fn opportunities_at_or_before_an_arrival_are_lost() {
        let mut service = service(&[1, 3, 3, 10]);
        assert_eq!(ms(service.finish(at(1000), false, 100)), 3);
        // Most of that one, and the other of the same time.
        assert_eq!(ms(service.finish(at(3000), false, 100)), 10);
        assert_eq!(ms(service.finish(at(9_999), false, 100)), 11, "the one at 10 ms is used");
        assert_eq!(ms(service.finish(at(10_500), false, 100)), 13);
        assert_eq!(ms(service.finish(at(30_000), false, 100)), 31);
        assert_eq!(ms(service.finish(at(31_000), false, 100)), 33);
    }

    #[test]
    fn one_opportunity_each_millisecond_is_12_megabits() {
        let mut service = service(&[1]);
        let mut end = Time::ZERO;
        for _ in 0..1000 {
            end = service.finish(end, true, 1504);
        }
        assert_eq!(ms(end), 1000);
    }

    #[test]
    fn a_trace_may_begin_at_zero() {
        let mut service = service(&[0, 5]);
        assert_eq!([false, true, true, true].map(|follows| ms(service.finish(at(0), follows, 1504))), [5, 5, 10, 10]);
        assert_eq!(ms(service.finish(at(12_000), false, 1504)), 15);
    }
}
