//! SFB's rate limiter (paper, section III-A) for the packets of identified flows.
//!
//! The paper says only that their enqueues are limited to a fixed rate. In its table II, two offenders at once each
//! pass nearly the limit. This fits a bucket for each flow better than one for all. Without state for each flow, that
//! is a bucket in each bin. Buckets are kept as in [`crate::token_bucket`], as the time at which all that passed would
//! have gone out at the limit; here the limit may change.

use super::bins::{Bins, Place};
use super::config::SfbRateLimitScope;
use crate::{Rate, Span, Time};

/// Bytes of a packet where Linux counts packets.
const LINUX_PACKET_BYTES: u64 = 1500;

/// The bucket of Linux's `sfb_rate_limit()`.
#[derive(Clone, Copy, Debug)]
struct LinuxBucket {
    tokens: u64,
    tried_at: Time,
}

impl LinuxBucket {
    /// Longest time that a refill counts.
    const MOST_AGE: Span = Span::from_seconds(10);

    /// Takes a token. An empty bucket is refilled first; less than a token is lost.
    fn take(&mut self, rate: Rate, burst: u64, now: Time) -> bool {
        if self.tokens < 1 {
            let age = now.since(self.tried_at).min(Self::MOST_AGE);
            let packet = rate.transmission_time(LINUX_PACKET_BYTES).picoseconds().max(1);
            self.tokens = (age.picoseconds() / packet).min(burst);
            self.tried_at = now;
        }
        let passes = self.tokens >= 1;
        self.tokens -= u64::from(passes);
        passes
    }
}

/// Token buckets: one in each bin, or one for all.
#[derive(Clone, Debug)]
pub(crate) struct RateLimiter {
    scope: SfbRateLimitScope,
    rate: Rate,
    burst_bytes: u64,
    /// The depth of a bucket as time at the limit.
    depth: Span,
    /// The bucket that all share.
    aggregate_paid_until: Time,
    linux: LinuxBucket,
}

impl RateLimiter {
    /// Full buckets of `burst_bytes` that refill at `rate`.
    pub fn new(scope: SfbRateLimitScope, rate: Rate, burst_bytes: u64) -> Self {
        let depth = rate.transmission_time(burst_bytes);
        let linux = LinuxBucket { tokens: burst_bytes / LINUX_PACKET_BYTES, tried_at: Time::ZERO };
        Self { scope, rate, burst_bytes, depth, aggregate_paid_until: Time::ZERO, linux }
    }

    /// The limit.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Changes the limit; packets passed under the old one stay paid for.
    pub fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
        self.depth = rate.transmission_time(self.burst_bytes);
    }

    /// Whether a packet of an identified flow may pass, and if so charges it. One bin with tokens is enough; all pay,
    /// but none owes more than the packet. A flow therefore never passes faster than the rate, however many other
    /// offenders share its bins, nor slower while it has one to itself. The warm-up bins, which `place` includes, get
    /// no more tokens than the best of the active ones has left, so that a change of hash gives no one a full bucket.
    pub fn passes<S: Copy>(&mut self, bins: &mut Bins<S>, place: &Place, len_bytes: u32, now: Time) -> bool {
        let depth = self.depth;
        let ready = |paid_until: Time| paid_until.since(now) <= depth;
        let may_pass = match self.scope {
            SfbRateLimitScope::PerBin => bins.at(place).any(|bin| ready(bin.paid_until)),
            SfbRateLimitScope::Aggregate => ready(self.aggregate_paid_until),
            SfbRateLimitScope::Linux => self.linux.take(self.rate, self.burst_bytes / LINUX_PACKET_BYTES, now),
        };
        bins.update(place, |bin| bin.limited_at = now);
        bins.update_warm_up(place, |bin| bin.limited_at = now);
        if !may_pass {
            return false;
        }
        let cost = self.rate.transmission_time(u64::from(len_bytes));
        let most = now.saturating_add(depth).saturating_add(cost);
        let pay = |paid_until: &mut Time| *paid_until = (*paid_until).max(now).saturating_add(cost).min(most);
        match self.scope {
            SfbRateLimitScope::PerBin => {
                let mut best = Time::NEVER;
                bins.update(place, |bin| {
                    pay(&mut bin.paid_until);
                    best = best.min(bin.paid_until);
                });
                bins.update_warm_up(place, |bin| bin.paid_until = bin.paid_until.max(best));
            }
            SfbRateLimitScope::Aggregate => pay(&mut self.aggregate_paid_until),
            SfbRateLimitScope::Linux => {}
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowKey;

    /// Bytes a second that pass of floods of `flows`, offered in turn.
    fn passed(scope: SfbRateLimitScope, flows: &[u64], interval: Option<Span>) -> f64 {
        let mut bins = Bins::new(2, 23, (), interval, true, 3);
        let mut limiter = RateLimiter::new(scope, Rate::megabits(1), 3000);
        let (mut bytes, seconds) = (0.0, 20);
        for millisecond in 0..1000 * seconds {
            let now = Time::ZERO + Span::from_milliseconds(millisecond);
            bins.keep_moving(now);
            for flow in flows {
                let mut place = bins.locate(FlowKey(*flow));
                bins.locate_warm_up(FlowKey(*flow), &mut place);
                if limiter.passes(&mut bins, &place, 1000, now) {
                    bytes += 1000.0;
                }
            }
        }
        bytes / seconds as f64
    }

    #[test]
    fn one_flow_has_the_rate_under_either_scope() {
        for scope in [SfbRateLimitScope::PerBin, SfbRateLimitScope::Aggregate] {
            // The burst of four packets adds 200 B/s over 20 s.
            let rate = passed(scope, &[1], None);
            assert!((125_000.0..=125_300.0).contains(&rate), "{scope:?}: {rate}");
        }
    }

    #[test]
    fn linux_gives_a_steady_flood_nothing_after_the_first_burst() {
        // 1 Mb/s is a packet of 1500 B in 12 ms, and the burst is two packets. A packet each millisecond never waits
        // that long.
        assert_eq!(passed(SfbRateLimitScope::Linux, &[1], None), 2.0 * 1000.0 / 20.0);
    }

    #[test]
    fn linux_passes_packets_that_come_slower_than_the_limit() {
        let mut bins = Bins::new(2, 23, (), None, false, 3);
        let place = bins.locate(FlowKey(1));
        let mut limiter = RateLimiter::new(SfbRateLimitScope::Linux, Rate::megabits(1), 3000);
        let mut passes =
            |millisecond| limiter.passes(&mut bins, &place, 1000, Time::ZERO + Span::from_milliseconds(millisecond));
        // The first two have the burst. A try at 10 ms is too early and discards its time.
        let course = [(0, true), (0, true), (10, false), (20, false), (32, true), (33, false), (45, true)];
        assert_eq!(course.map(|(millisecond, _)| passes(millisecond)), course.map(|(_, expected)| expected));
        // A long pause refills the burst, no more.
        assert_eq!([passes(900), passes(900), passes(900)], [true, true, false]);
    }

    #[test]
    fn flows_share_the_aggregate_and_have_bins_of_their_own() {
        let flows = [1, 2, 3];
        let aggregate = passed(SfbRateLimitScope::Aggregate, &flows, None);
        assert!((125_000.0..=125_300.0).contains(&aggregate), "{aggregate}");
        let per_bin = passed(SfbRateLimitScope::PerBin, &flows, None);
        assert!((3.0 * 125_000.0..=3.0 * 125_300.0).contains(&per_bin), "{per_bin}");
    }

    #[test]
    fn a_flow_passes_no_faster_for_sharing_bins() {
        // With three bins a level, some of eight flows share one bin, some both.
        let mut bins = Bins::new(2, 3, (), None, false, 3);
        let mut limiter = RateLimiter::new(SfbRateLimitScope::PerBin, Rate::megabits(1), 3000);
        let mut passed = [0.0; 8];
        for millisecond in 0..20_000 {
            for (flow, bytes) in passed.iter_mut().enumerate() {
                let place = bins.locate(FlowKey(flow as u64));
                let now = Time::ZERO + Span::from_milliseconds(millisecond);
                if limiter.passes(&mut bins, &place, 1000, now) {
                    *bytes += 1000.0 / 20.0;
                }
            }
        }
        assert!(passed.iter().all(|rate| *rate <= 125_300.0), "{passed:?}");
    }

    #[test]
    fn a_change_of_hash_gives_no_fresh_bucket() {
        let rate = passed(SfbRateLimitScope::PerBin, &[1], Some(Span::from_milliseconds(100)));
        assert!(rate <= 125_300.0, "{rate}");
    }
}
