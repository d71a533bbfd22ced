//! BLUE: adjusts its drop probability by lost packets and idle time, not by the length of the queue.
//!
//! # What it does
//! BLUE keeps one probability with which it marks or drops every arriving packet. A packet lost to a full queue, or a
//! queue longer than a threshold, raises it; an idle link lowers it. Neither happens more than once in a freeze time,
//! so that the sources can react before the next step. The probability thus finds the rate of marks that the present
//! load needs, with a short buffer. BLUE does not distinguish flows: one flow that does not respond drives the
//! probability up for all.
//!
//! # When to use it
//! Use it to study BLUE, or to mark ECN-capable flows that all respond, with hardly any loss. One flow that does not
//! respond drives the probability up for all others and can take nearly the whole link; `sfb` confines the effect to
//! that flow.
//!
//! # Example
//! ```toml
//! queue.blue = { limit = "200 packets", freeze_time = "100 ms" }
//! ```
//!
//! Set `freeze_time` first, to the order of the round-trip times. Then `increment` and `decrement`: larger steps follow
//! the load faster and swing more.
//!
//! # Source
//! W. Feng, D. Kandlur, D. Saha and K. Shin, "Blue: A New Class of Active Queue Management Algorithms", University of
//! Michigan CSE-TR-387-99, 1999; and "The Blue Active Queue Management Algorithms", IEEE/ACM Transactions on Networking
//! 10(4), 2002.
//!
//! # Where we differ
//! - The paper's idle rule is an event. Here an idle link counts as one that requests a packet without pause. The
//!   probability thus falls by one step for each freeze time of an idle period, the first step at once if it is due.
//! - Both rules share one freeze time, as in the paper's pseudo-code. With `separate_freeze` each has its own, as in
//!   the authors' simulator. A step down from zero does not count and starts no freeze time.
//! - A packet that is dropped while the link is idle does not end the idle period.
//! - The public port for ns-3 lowers the probability at every departure and drops without a random number; it is no
//!   oracle.
//!
//! # Cost
//! One probability and two times, regardless of the number of flows. O(1) a packet, and at most one random number.
//!
//! # Parameters
//! See [`BlueConfig`].

use forebay_units::{QueueSize, Rate, Span};

use crate::limit::{Limit, check_probability};
use crate::memory::inline_bytes;
use crate::require;
use crate::{Admission, Arrival, DropReason, MarkReason, Offer, ParameterError, Ticket, Time, Verdict, uniform};

parameters! {
    /// Parameters of BLUE.
    pub struct BlueConfig {
        /// Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets.
        pub limit: QueueSize = QueueSize::Packets(1000);
        /// `d1`: increase of the probability after a loss. Default: 0.0025 (paper, configurations B1 and B2).
        pub increment: f64 = 0.0025;
        /// `d2`: decrease of the probability while the link is idle. It should be much less than `increment`, because a
        /// link may also be idle for lack of load. Default: 0.00025 (paper, configurations B1 and B2).
        pub decrement: f64 = 0.00025;
        /// Minimum time between two changes of the probability, of the order of the sources' round-trip times. Default:
        /// 100 ms (paper, configuration B2).
        pub freeze_time: Span = Span::from_milliseconds(100);
        /// Whether a change in one direction may be followed at once by one in the other, as in the authors' simulator.
        /// Default: no (paper's pseudo-code).
        pub separate_freeze: bool = false;
        /// `L`: queue length above which an arriving packet counts as a loss, which leaves some room for bursts.
        /// Default: none, only losses count.
        pub threshold: Option<QueueSize> = None;
        /// Whether ECN-capable packets are marked where they would be dropped at random. Default: yes (the paper
        /// marks).
        pub ecn: bool = true;
    }
}

/// BLUE.
#[derive(Clone, Debug)]
pub struct Blue {
    limit: Limit,
    threshold: Option<Limit>,
    increment: f64,
    decrement: f64,
    freeze_time: Span,
    separate_freeze: bool,
    ecn: bool,

    /// `p_m`.
    probability: f64,
    last_increment: Option<Time>,
    last_decrement: Option<Time>,
    idle_since: Option<Time>,
}

impl Blue {
    /// A BLUE law. It needs neither the link's rate nor a hash.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &BlueConfig, _link_rate: Rate, _salt: u64) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        check_probability(config.increment, "increment")?;
        require(config.increment > 0.0, "increment", "be more than 0")?;
        check_probability(config.decrement, "decrement")?;
        require(config.freeze_time > Span::ZERO, "freeze_time", "be more than zero")?;
        Ok(Self {
            limit,
            threshold: config.threshold.map(|size| Limit::new(size, "threshold")).transpose()?,
            increment: config.increment,
            decrement: config.decrement,
            freeze_time: config.freeze_time,
            separate_freeze: config.separate_freeze,
            ecn: config.ecn,
            probability: 0.0,
            last_increment: None,
            last_decrement: None,
            idle_since: None,
        })
    }

    /// When the freeze time ends that `last` began; `other`, the last change in the other direction, counts unless the
    /// two are separate. The paper compares with "more than", so it ends one picosecond late.
    fn thawed_at(&self, last: Option<Time>, other: Option<Time>) -> Time {
        let last = if self.separate_freeze { last } else { last.max(other) };
        last.map_or(Time::ZERO, |last| last.saturating_add(self.period()))
    }

    /// The least time from one change to the next.
    fn period(&self) -> Span {
        Span::from_picoseconds(self.freeze_time.picoseconds().saturating_add(1))
    }

    /// Paper, figure "The BLUE algorithm", upon a packet loss or a queue past `L`.
    fn increase(&mut self, now: Time) {
        if self.thawed_at(self.last_increment, self.last_decrement) <= now {
            self.probability = (self.probability + self.increment).min(1.0);
            self.last_increment = Some(now);
        }
    }

    /// The same, upon an idle link: all the steps of the idle time from `since` to `now`.
    fn decrease(&mut self, since: Time, now: Time) {
        if self.probability <= 0.0 || self.decrement <= 0.0 {
            return;
        }
        let first = self.thawed_at(self.last_decrement, self.last_increment).max(since);
        if first > now {
            return;
        }
        let due = 1 + now.since(first).picoseconds() / self.period().picoseconds();
        // A step count past 2^64 saturates; `due` is smaller by far.
        let steps = due.min(libm::ceil(self.probability / self.decrement) as u64);
        self.probability = (self.probability - steps as f64 * self.decrement).max(0.0);
        self.last_decrement = Some(first + self.period() * (steps - 1));
    }
}

impl Admission for Blue {
    fn watches_departures(&self) -> bool {
        false
    }

    fn admit(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        let idle = self.idle_since.take();
        if let Some(since) = idle {
            self.decrease(since, offer.now);
        }
        let verdict = self.decide(arrival, offer);
        if idle.is_some() && matches!(verdict, Verdict::Drop(_)) {
            // The link is as idle as before.
            self.idle_since = Some(offer.now);
        }
        verdict
    }

    fn idle(&mut self, since: Time) {
        self.idle_since = Some(since);
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self)
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("p_mark", self.probability);
    }
}

impl Blue {
    fn decide(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        if !self.limit.fits(offer.backlog, arrival.len_bytes) {
            self.increase(offer.now);
            return Verdict::Drop(DropReason::Overflow);
        }
        if self.threshold.is_some_and(|threshold| threshold.is_exceeded_by(offer.backlog)) {
            self.increase(offer.now);
        }
        if self.probability <= 0.0 || uniform(offer.rng) >= self.probability {
            return Verdict::Enqueue(Ticket::default());
        }
        if self.ecn && arrival.ecn.is_capable() {
            Verdict::Mark(Ticket::default(), MarkReason::Early)
        } else {
            Verdict::Drop(DropReason::Early)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{LINK, Offers, gauge};
    use crate::{Backlog, Ecn};

    const FULL: Backlog = Backlog { packets: 1000, bytes: 1_000_000 };

    fn milliseconds(value: u64) -> Time {
        Time::ZERO + Span::from_milliseconds(value)
    }

    /// A law whose queue was full at each of these milliseconds.
    fn after_losses(config: &BlueConfig, at: impl IntoIterator<Item = u64>) -> (Blue, Offers) {
        let mut law = Blue::new(config, LINK, 0).unwrap();
        let mut offers = Offers::new();
        offers.backlog = FULL;
        for millisecond in at {
            offers.now = milliseconds(millisecond);
            assert_eq!(offers.offer(&mut law, 1, 1000), Verdict::Drop(DropReason::Overflow));
        }
        (law, offers)
    }

    fn assert_probability(law: &Blue, expected: f64) {
        let found = gauge(law, "p_mark");
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
    }

    #[test]
    fn losses_raise_the_probability_once_in_a_freeze_time() {
        // At 1, 102, 203, .. 910 ms: more than 100 ms apart.
        let (law, _) = after_losses(&BlueConfig::default(), 1..=1000);
        assert_probability(&law, 10.0 * 0.0025);
        assert_probability(&after_losses(&BlueConfig::default(), [0, 100]).0, 0.0025);
        assert_probability(&after_losses(&BlueConfig::default(), [0, 101]).0, 0.005);
        // It stops at 1.
        let steep = BlueConfig { increment: 0.4, ..BlueConfig::default() };
        assert_probability(&after_losses(&steep, [0, 200, 400, 600]).0, 1.0);
    }

    #[test]
    fn an_idle_second_lowers_the_probability_ten_times() {
        let (mut law, mut offers) = after_losses(&BlueConfig::default(), 1..=1000);
        offers.backlog = Backlog::default();
        law.idle(milliseconds(2000));
        offers.now = milliseconds(3000);
        offers.offer(&mut law, 1, 1000);
        assert_probability(&law, 0.025 - 10.0 * 0.00025);
    }

    #[test]
    fn many_idle_periods_are_worth_no_more_than_one() {
        let (mut law, mut offers) = after_losses(&BlueConfig::default(), 1..=1000);
        offers.backlog = Backlog::default();
        for millisecond in 2000..3000 {
            law.idle(milliseconds(millisecond));
            offers.now = milliseconds(millisecond + 1);
            offers.offer(&mut law, 1, 1000);
            offers.backlog = Backlog::default();
        }
        assert_probability(&law, 0.025 - 10.0 * 0.00025);
    }

    #[test]
    fn hours_of_silence_end_at_zero() {
        let (mut law, mut offers) = after_losses(&BlueConfig::default(), 1..=1000);
        offers.backlog = Backlog::default();
        law.idle(milliseconds(1000));
        offers.now = milliseconds(100_000_000);
        assert_eq!(offers.offer(&mut law, 1, 1000), Verdict::Enqueue(Ticket(0)));
        assert_probability(&law, 0.0);
        // The last step was hours ago: a loss counts at once.
        offers.backlog = FULL;
        offers.offer(&mut law, 1, 1000);
        assert_probability(&law, 0.0025);
    }

    #[test]
    fn the_freeze_time_is_shared_unless_separate() {
        for (separate_freeze, expected) in [(false, 0.0025), (true, 0.00225)] {
            let config = BlueConfig { separate_freeze, ..BlueConfig::default() };
            let (mut law, mut offers) = after_losses(&config, [1000]);
            offers.backlog = Backlog::default();
            law.idle(milliseconds(1001));
            offers.now = milliseconds(1002);
            offers.offer(&mut law, 1, 1000);
            assert_probability(&law, expected);
        }
    }

    #[test]
    fn a_queue_past_the_threshold_counts_as_a_loss() {
        let config = BlueConfig { threshold: Some(QueueSize::Packets(5)), ..BlueConfig::default() };
        let mut law = Blue::new(&config, LINK, 0).unwrap();
        let mut offers = Offers::new();
        offers.backlog = Backlog { packets: 5, bytes: 5000 };
        offers.offer(&mut law, 1, 1000);
        assert_probability(&law, 0.0);
        // The queue holds six by now.
        offers.offer(&mut law, 1, 1000);
        assert_probability(&law, 0.0025);
    }

    #[test]
    fn packets_are_marked_or_dropped_with_the_probability() {
        let steep = BlueConfig { increment: 0.25, ..BlueConfig::default() };
        for (ecn_on, ecn, marks) in
            [(true, Ecn::Capable0, true), (true, Ecn::NotCapable, false), (false, Ecn::Capable0, false)]
        {
            let (mut law, mut offers) = after_losses(&BlueConfig { ecn: ecn_on, ..steep.clone() }, [0]);
            offers.ecn = ecn;
            let mut struck = 0;
            for _ in 0..10_000 {
                offers.backlog = Backlog::default();
                match offers.offer(&mut law, 1, 1000) {
                    Verdict::Enqueue(_) => {}
                    verdict => {
                        let mark = Verdict::Mark(Ticket(0), MarkReason::Early);
                        assert_eq!(verdict, if marks { mark } else { Verdict::Drop(DropReason::Early) });
                        struck += 1;
                    }
                }
            }
            // Three standard deviations of the binomial: 130.
            assert!((2370..=2630).contains(&struck), "{struck}");
        }
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let field = |config: BlueConfig| Blue::new(&config, LINK, 0).unwrap_err().field;
        let config = BlueConfig::default();
        assert_eq!(field(BlueConfig { limit: QueueSize::Packets(0), ..config.clone() }), "limit");
        assert_eq!(field(BlueConfig { increment: 0.0, ..config.clone() }), "increment");
        assert_eq!(field(BlueConfig { increment: 1.1, ..config.clone() }), "increment");
        assert_eq!(field(BlueConfig { decrement: f64::NAN, ..config.clone() }), "decrement");
        assert_eq!(field(BlueConfig { freeze_time: Span::ZERO, ..config.clone() }), "freeze_time");
        assert_eq!(field(BlueConfig { threshold: Some(QueueSize::Bytes(1)), ..config }), "threshold");
    }
}
