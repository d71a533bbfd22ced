//! SFB's rate limiter (paper, section III-A): what it lets through of the packets of identified flows.
//!
//! The paper says only that their enqueues are limited to a fixed rate. Its table II, where two offenders at once each
//! pass nearly the limit, fits a bucket for each flow better than one for all; without state for each flow, that is a
//! bucket in each bin. Buckets are kept as in [`crate::token_bucket`], as the time at which all that passed would have
//! gone out at the limit; here the limit may change.

use super::bins::{Bins, Place};
use super::config::SfbRateLimitScope;
use crate::{Rate, Span, Time};

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
}

impl RateLimiter {
    /// Full buckets of `burst_bytes` that refill at `rate`.
    pub fn new(scope: SfbRateLimitScope, rate: Rate, burst_bytes: u64) -> Self {
        let depth = rate.transmission_time(burst_bytes);
        Self { scope, rate, burst_bytes, depth, aggregate_paid_until: Time::ZERO }
    }

    /// The limit.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Changes the limit; what was passed under the old one stays paid for.
    pub fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
        self.depth = rate.transmission_time(self.burst_bytes);
    }

    /// Whether a packet of an identified flow may pass, and if so charges it. One bin with tokens is enough; all pay,
    /// but none owes more than the packet: so a flow never passes faster than the rate, however many other offenders
    /// share its bins, nor slower while it has one to itself. The warm-up bins, which `place` includes, get no more
    /// tokens than the best of the active ones has left, so that a change of hash gives no one a full bucket.
    pub fn passes<S: Copy>(&mut self, bins: &mut Bins<S>, place: &Place, len_bytes: u32, now: Time) -> bool {
        let depth = self.depth;
        let ready = |paid_until: Time| paid_until.since(now) <= depth;
        let may_pass = match self.scope {
            SfbRateLimitScope::PerBin => bins.at(place).any(|bin| ready(bin.paid_until)),
            SfbRateLimitScope::Aggregate => ready(self.aggregate_paid_until),
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
