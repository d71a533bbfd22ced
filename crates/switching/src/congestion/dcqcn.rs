//! DCQCN: switches mark frames by the length of their queue, destinations notify, sources recover as with QCN.
//!
//! # What it does
//! DCQCN is QCN for networks with routers, where a switch cannot write to a source. An output queue marks arriving
//! frames with a probability that grows with its length, as RED does but without an average. A destination that
//! receives marked frames of a flow notifies its source, at most once in an interval. The source estimates the
//! frequency of these notifications, as DCTCP does for marks, and cuts the rate in proportion to it, by at most half.
//! The rate recovers by QCN's rules, in cycles of bytes and of a timer. Flows start at the rate of the line.
//!
//! # When to use it
//! Use it to model the congestion control of RDMA adapters (RoCEv2), which also works across routers. The queue has no
//! set-point and grows with the number of flows. The defaults are for links of 40 Gb/s; on slower links the steps are
//! too large.
//!
//! # Example
//! ```toml
//! congestion_management.dcqcn.min_threshold = "40 KB"
//! congestion_management.dcqcn.max_threshold = "200 KB"
//! ```
//!
//! Set the thresholds first: marking begins at the lower one, and above the upper one every frame is marked. For links
//! slower than 40 Gb/s see the values under Parameters.
//!
//! # Source
//! Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015: section 3 for the parts (Figures
//! 5, 6 and 7), section 5 for the parameters (Figure 14).
//!
//! # Where we differ
//! - The paper leaves the step of hyper-active increase open. By default it is ten times that of active increase, as in
//!   QCN, and grows from cycle to cycle as it does there and in the authors' simulator. The paper also leaves the
//!   minimum rate open: the default is that of the adapters that implement DCQCN; the authors' simulator has 100 Mb/s.
//! - A limiter ends when its rate reaches the line's; only the estimate remains. A frame is marked when it joins the
//!   queue.
//! - The estimate is not aged by a timer but when it is needed, by all the intervals that have passed.
//!
//! # Cost
//! For a source two rates, two stages, a byte counter, a timer and the estimate. A destination keeps one deadline for
//! each flow. One random number for each frame that meets a queue between the thresholds; a message takes one power.
//!
//! # Parameters
//! See [`DcqcnConfig`]. The defaults are those of the authors' testbed, with links of 40 Gb/s. On slower links the
//! increases are too large: ten flows at a port of 10 Gb/s swing widely and leave a fifth of it unused. The values that
//! QCN and DCTCP suggest, and from which the authors started, are `timer_cycle` 1.5 ms, `byte_cycle` 150 KB, both
//! thresholds 40 KB and `gain` 1/16.

use alloc::boxed::Box;

use forebay_units::{Bytes, Rate, Span, Time};

use super::rate_increase::{Answer, IncreaseRules, RateIncrease, RecoveringRate, Stages};
use super::{Arrival, CongestionPoint, CongestionPointId, Context, Message, ReactionPoint, Reflector, Verdict};
use crate::{ParameterError, require, uniform};

forebay_units::configuration! {
    /// Parameters of DCQCN.
    pub struct DcqcnConfig {
        /// `K_min`: queue length up to which no frame is marked. Default: 5 KB (paper, Figure 14).
        pub min_threshold: Bytes = Bytes(5_000);
        /// `K_max`: queue length above which every frame is marked. Default: 200 KB (paper, Figure 14).
        pub max_threshold: Bytes = Bytes(200_000);
        /// `P_max`: probability of a mark at `max_threshold`, up to which it grows linearly. Default: 0.01 (paper,
        /// Figure 14).
        pub max_probability: f64 = 0.01;
        /// `N`: interval in which a destination sends at most one message for each flow. Default: 50 us (paper, section
        /// 3.1).
        pub notification_interval: Span = Span::from_microseconds(50);
        /// `g`: weight of the newest interval in the estimate of congestion. Default: 1/256 (paper, Figure 14).
        pub gain: f64 = 1.0 / 256.0;
        /// `K`: time without a message after which the estimate shrinks; more than `notification_interval`. Default: 55
        /// us (paper, section 3.1).
        pub estimate_interval: Span = Span::from_microseconds(55);
        /// Minimum rate, below which no flow is cut. Default: 1 Mb/s (adapters' `rpg_min_rate`).
        pub min_rate: Rate = Rate::megabits(1);
        /// `B`: bytes in a cycle of the byte counter. Default: 10 MB (paper, Figure 14).
        pub byte_cycle: Bytes = Bytes(10_000_000);
        /// `T`: a cycle of the timer. Default: 55 us (paper, Figure 14); adapters use 300 us (`rpg_time_reset`).
        pub timer_cycle: Span = Span::from_microseconds(55);
        /// `F`: cycles of fast recovery. Default: 5 (paper, section 3.1).
        pub fast_recovery_cycles: u32 = 5;
        /// `R_AI`: increase of the target rate in a cycle of active increase. Default: 40 Mb/s (paper, section 5.2).
        pub active_increase: Rate = Rate::megabits(40);
        /// `R_HAI`: increase of the target rate in the first cycle of hyper-active increase; twice that in the second,
        /// and so on. Default: 400 Mb/s (ours).
        pub hyper_active_increase: Rate = Rate::megabits(400);
    }
}

impl DcqcnConfig {
    pub(crate) fn check(&self, line: Rate) -> Result<(), ParameterError> {
        require(self.min_threshold <= self.max_threshold, "max_threshold", "be at least `min_threshold`")?;
        let probability = self.max_probability;
        require(probability > 0.0 && probability <= 1.0, "max_probability", "be more than 0 and at most 1")?;
        require(self.notification_interval > Span::ZERO, "notification_interval", "be more than 0")?;
        // Above 1 the estimate would leave 0 .. 1, and a cut could take more than the rate.
        require(self.gain > 0.0 && self.gain <= 1.0, "gain", "be more than 0 and at most 1")?;
        // Else the estimate would shrink between two messages that come as fast as they may (section 3.1).
        let bound = "be more than `notification_interval`";
        require(self.estimate_interval > self.notification_interval, "estimate_interval", bound)?;
        let (cycle, recovery) = (self.timer_cycle, self.fast_recovery_cycles);
        IncreaseRules::check(line, self.min_rate, self.byte_cycle, cycle, recovery)
    }

    pub(crate) fn congestion_point(&self, _id: CongestionPointId, _capacity: Rate) -> impl CongestionPoint + use<> {
        DcqcnCongestionPoint {
            min_threshold: self.min_threshold.0,
            max_threshold: self.max_threshold.0,
            max_probability: self.max_probability,
        }
    }

    pub(crate) fn reaction_point(&self, line: Rate, _start: Time) -> impl ReactionPoint + use<> {
        DcqcnReactionPoint::new(self, line)
    }

    pub(crate) fn reflector(&self, _line: Rate) -> Option<Box<dyn Reflector>> {
        Some(Box::new(NotificationPoint::new(self.notification_interval)))
    }
}

/// The congestion point: RED's profile on the queue itself (Figure 5).
#[derive(Clone, Copy, Debug)]
struct DcqcnCongestionPoint {
    min_threshold: u64,
    max_threshold: u64,
    max_probability: f64,
}

impl CongestionPoint for DcqcnCongestionPoint {
    fn arrived(&mut self, frame: Arrival, context: &mut Context<'_>) -> Verdict {
        let queue = frame.queue_bytes;
        if queue <= self.min_threshold {
            return Verdict::Pass;
        }
        if queue <= self.max_threshold {
            let height = (queue - self.min_threshold) as f64 / (self.max_threshold - self.min_threshold) as f64;
            if uniform(context.rng) >= self.max_probability * height {
                return Verdict::Pass;
            }
        }
        Verdict::Mark
    }
}

/// The notification point, at the destination (Figure 6).
#[derive(Clone, Copy, Debug)]
struct NotificationPoint {
    interval: Span,
    /// Before then no message may be sent.
    free_at: Time,
    /// Whether a marked frame came since the last message.
    is_marked: bool,
}

impl NotificationPoint {
    fn new(interval: Span) -> Self {
        Self { interval, free_at: Time::ZERO, is_marked: false }
    }

    /// Tells of the marked frames so far, if there are any and it may.
    fn notify(&mut self, now: Time) -> Option<Message> {
        if !self.is_marked || now < self.free_at {
            return None;
        }
        self.is_marked = false;
        self.free_at = now + self.interval;
        Some(Message::Cnp)
    }
}

impl Reflector for NotificationPoint {
    fn delivered(&mut self, marked: bool, context: &mut Context<'_>) -> Option<Message> {
        self.is_marked |= marked;
        self.notify(context.now)
    }

    fn poll_at(&self) -> Time {
        if self.is_marked { self.free_at } else { Time::NEVER }
    }

    fn expire(&mut self, context: &mut Context<'_>) -> Option<Message> {
        self.notify(context.now)
    }
}

type DcqcnReactionPoint = RecoveringRate<EstimatedCut>;

/// The depth of a cut. The rest of the reaction point is in `rate_increase.rs`.
#[derive(Clone, Debug)]
struct EstimatedCut {
    gain: f64,
    estimate_interval: Span,
    /// alpha: how much congestion there is, from 0 to 1, as of `estimated_at`.
    estimate: f64,
    estimated_at: Time,
}

impl DcqcnReactionPoint {
    fn new(config: &DcqcnConfig, line: Rate) -> Self {
        let rules = IncreaseRules {
            stages: Stages::Dcqcn,
            threshold: config.fast_recovery_cycles,
            cycle_bytes: config.byte_cycle.0,
            cycle_time: config.timer_cycle,
            jitter: 0.0,
            active_bps: config.active_increase.bits_per_second() as f64,
            hyper_bps: config.hyper_active_increase.bits_per_second() as f64,
            // Equation 1 has no exception, and there is no other.
            keeps_target: false,
            lowers_target: false,
        };
        let answer = EstimatedCut {
            gain: config.gain,
            estimate_interval: config.estimate_interval,
            // Before the first message it counts for nothing; that one halves the rate (section 3.1).
            estimate: 1.0,
            estimated_at: Time::NEVER,
        };
        Self { answer, rate: RateIncrease::new(rules, line, config.min_rate) }
    }
}

impl EstimatedCut {
    /// alpha at `now`: shrunk by 1 - g for each interval since the last message (equation 2).
    fn estimate_at(&self, now: Time) -> f64 {
        let intervals = now.since(self.estimated_at).picoseconds() / self.estimate_interval.picoseconds();
        self.estimate * libm::pow(1.0 - self.gain, intervals as f64)
    }
}

impl Answer for EstimatedCut {
    fn receive(&mut self, message: &Message, rate: &mut RateIncrease, now: Time) {
        if *message != Message::Cnp {
            return;
        }
        // Equation 1: the cut is by the estimate before this message.
        let estimate = self.estimate_at(now);
        rate.cut(1.0 - estimate / 2.0, now);
        self.estimate = (1.0 - self.gain) * estimate + self.gain;
        self.estimated_at = now;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::congestion::{CongestionManagement, one_queue};
    use crate::test_support::rng;

    const LINE: Rate = Rate::megabits(10_000);

    fn at(microseconds: u64) -> Time {
        Time::ZERO + Span::from_microseconds(microseconds)
    }

    #[test]
    fn the_probability_of_a_mark_grows_between_the_thresholds() {
        let mut point = DcqcnConfig::default().congestion_point(CongestionPointId(0), LINE);
        let mut rng = rng(2);
        let mut context = Context { now: Time::ZERO, capacity: LINE, rng: &mut rng };
        let mut marks = |queue_bytes| {
            let frame = Arrival { len_bytes: 1500, queue_bytes, limited_by: None };
            (0..100_000).filter(|_| point.arrived(frame, &mut context) == Verdict::Mark).count()
        };
        assert_eq!([marks(0), marks(5_000), marks(200_001), marks(u64::MAX)], [0, 0, 100_000, 100_000]);
        // Half way 0.5 %, at the upper threshold 1 %: standard deviations of 22 and 31.
        assert!(marks(102_500).abs_diff(500) < 80);
        assert!(marks(200_000).abs_diff(1_000) < 120);
    }

    #[test]
    fn the_height_of_the_profile_is_counted_from_the_lower_threshold() {
        let config = DcqcnConfig {
            min_threshold: Bytes(100_000),
            max_threshold: Bytes(200_000),
            max_probability: 0.5,
            ..Default::default()
        };
        let mut point = config.congestion_point(CongestionPointId(0), LINE);
        let mut rng = rng(2);
        let mut context = Context { now: Time::ZERO, capacity: LINE, rng: &mut rng };
        let frame = Arrival { len_bytes: 1500, queue_bytes: 150_000, limited_by: None };
        let marks = (0..10_000).filter(|_| point.arrived(frame, &mut context) == Verdict::Mark).count();
        // A quarter: one standard deviation is 43.
        assert!(marks.abs_diff(2500) < 200, "{marks}");
    }

    #[test]
    fn equal_thresholds_make_a_step() {
        let config = DcqcnConfig { min_threshold: Bytes(40_000), max_threshold: Bytes(40_000), ..Default::default() };
        let mut point = config.congestion_point(CongestionPointId(0), LINE);
        let mut rng = rng(2);
        let mut context = Context { now: Time::ZERO, capacity: LINE, rng: &mut rng };
        for (queue_bytes, verdict) in [(40_000, Verdict::Pass), (40_001, Verdict::Mark)] {
            let frame = Arrival { len_bytes: 1500, queue_bytes, limited_by: None };
            assert_eq!(point.arrived(frame, &mut context), verdict);
        }
    }

    #[test]
    fn marks_within_an_interval_are_told_at_its_end() {
        let mut point = NotificationPoint::new(Span::from_microseconds(50));
        let mut rng = rng(1);
        let mut deliver = |point: &mut NotificationPoint, microseconds, marked| {
            let mut context = Context { now: at(microseconds), capacity: LINE, rng: &mut rng };
            point.delivered(marked, &mut context)
        };
        assert_eq!(deliver(&mut point, 10, false), None);
        assert_eq!(deliver(&mut point, 20, true), Some(Message::Cnp));
        assert_eq!((deliver(&mut point, 21, false), point.poll_at()), (None, Time::NEVER));
        assert_eq!((deliver(&mut point, 22, true), point.poll_at()), (None, at(70)));
        assert_eq!((point.notify(at(70)), point.poll_at()), (Some(Message::Cnp), Time::NEVER));
        // An interval without a mark ends silently; the next mark is reported at once.
        assert_eq!(deliver(&mut point, 130, true), Some(Message::Cnp));
        // At the very end of an interval, frame and timer make one message.
        assert_eq!(deliver(&mut point, 140, true), None);
        assert_eq!((deliver(&mut point, 180, true), point.notify(at(180))), (Some(Message::Cnp), None));
    }

    /// The rates after messages at these times, in microseconds; the timer is not called.
    fn rates(config: &DcqcnConfig, times: &[u64]) -> alloc::vec::Vec<f64> {
        let mut point = DcqcnReactionPoint::new(config, LINE);
        let mut rng = rng(1);
        let mut rate_after = |&microseconds: &u64| {
            point.receive(&Message::Cnp, &mut Context { now: at(microseconds), capacity: LINE, rng: &mut rng });
            point.rate_bps().unwrap()
        };
        times.iter().map(&mut rate_after).collect()
    }

    #[test]
    fn cuts_follow_the_estimate() {
        let config = DcqcnConfig { gain: 0.25, ..DcqcnConfig::default() };
        // Told without a pause the estimate stays 1.
        assert_eq!(rates(&config, &[1000, 1050, 1100]), [5e9, 2.5e9, 1.25e9]);
        // One interval without a message: 0.75; two more: (0.75 * 0.75 + 0.25) * 0.5625.
        let second = 5e9 * (1.0 - 0.75 / 2.0);
        let third = second * (1.0 - (0.75 * 0.75 + 0.25) * 0.5625 / 2.0);
        assert_eq!(rates(&config, &[0, 55, 165]), [5e9, second, third]);
    }

    #[test]
    fn every_cut_sets_the_target() {
        let mut point = DcqcnReactionPoint::new(&DcqcnConfig::default(), LINE);
        let mut rng = rng(1);
        for microseconds in [0, 50] {
            point.receive(&Message::Cnp, &mut Context { now: at(microseconds), capacity: LINE, rng: &mut rng });
        }
        assert_eq!((point.rate_bps(), point.poll_at()), (Some(2.5e9), at(105)));
        // Fast recovery: half the way to 5 Gb/s.
        point.expire(&mut Context { now: at(105), capacity: LINE, rng: &mut rng });
        assert_eq!((point.rate_bps(), point.poll_at()), (Some(3.75e9), at(160)));
    }

    #[test]
    fn parameters_out_of_bounds_are_refused_by_name() {
        let refused = |config: DcqcnConfig| config.check(LINE).err().map(|error| error.field);
        let ok = DcqcnConfig::default;
        assert_eq!(refused(ok()), None);
        assert_eq!(refused(DcqcnConfig { min_threshold: Bytes(200_001), ..ok() }), Some("max_threshold"));
        assert_eq!(refused(DcqcnConfig { max_probability: 0.0, ..ok() }), Some("max_probability"));
        assert_eq!(refused(DcqcnConfig { notification_interval: Span::ZERO, ..ok() }), Some("notification_interval"));
        assert_eq!(refused(DcqcnConfig { gain: 1.5, ..ok() }), Some("gain"));
        assert_eq!(refused(DcqcnConfig { gain: f64::NAN, ..ok() }), Some("gain"));
        let same = Span::from_microseconds(50);
        assert_eq!(refused(DcqcnConfig { estimate_interval: same, ..ok() }), Some("estimate_interval"));
        assert_eq!(refused(DcqcnConfig { min_rate: Rate::megabits(10_001), ..ok() }), Some("min_rate"));
        assert_eq!(refused(DcqcnConfig { byte_cycle: Bytes(0), ..ok() }), Some("byte_cycle"));
        assert_eq!(refused(DcqcnConfig { timer_cycle: Span::ZERO, ..ok() }), Some("timer_cycle"));
        assert_eq!(refused(DcqcnConfig { fast_recovery_cycles: 0, ..ok() }), Some("fast_recovery_cycles"));
        let above_one = 1.0 + f64::EPSILON;
        assert_eq!(refused(DcqcnConfig { max_probability: above_one, ..ok() }), Some("max_probability"));
        assert_eq!(refused(DcqcnConfig { max_probability: f64::NAN, ..ok() }), Some("max_probability"));
        assert_eq!(refused(DcqcnConfig { gain: 0.0, ..ok() }), Some("gain"));
        assert_eq!(refused(DcqcnConfig { gain: above_one, ..ok() }), Some("gain"));
        let above_line = Rate::new(LINE.bits_per_second() + 1).unwrap();
        assert_eq!(refused(DcqcnConfig { min_rate: above_line, ..ok() }), Some("min_rate"));
    }

    #[test]
    fn parameters_may_be_at_their_bounds() {
        let ok = DcqcnConfig::default;
        let least = Span::from_picoseconds(1);
        for config in [
            DcqcnConfig { min_threshold: Bytes(200_000), ..ok() },
            DcqcnConfig { min_threshold: Bytes(0), ..ok() },
            DcqcnConfig { max_probability: f64::MIN_POSITIVE, ..ok() },
            DcqcnConfig { max_probability: 1.0, ..ok() },
            DcqcnConfig { notification_interval: least, ..ok() },
            DcqcnConfig { gain: f64::MIN_POSITIVE, ..ok() },
            DcqcnConfig { gain: 1.0, ..ok() },
            DcqcnConfig { estimate_interval: Span::from_microseconds(50) + least, ..ok() },
            DcqcnConfig { min_rate: LINE, ..ok() },
            DcqcnConfig { byte_cycle: Bytes(1), ..ok() },
            DcqcnConfig { timer_cycle: least, ..ok() },
            DcqcnConfig { fast_recovery_cycles: 1, ..ok() },
        ] {
            assert_eq!(config.check(LINE), Ok(()), "{config:?}");
        }
    }

    #[test]
    fn ten_sources_share_a_port_and_hold_its_queue_between_the_thresholds() {
        let scheme = CongestionManagement::Dcqcn(DcqcnConfig::default());
        let outcome = one_queue::run(&scheme, Rate::megabits(40_000), 10, Span::from_milliseconds(200));
        assert!((5e3..2e5).contains(&outcome.mean_queue_bytes), "{outcome:?}");
        assert!(outcome.utilization > 0.9, "{outcome:?}");
        assert!(outcome.rates_bps.iter().all(|rate| (3.4e9..4.4e9).contains(rate)), "{outcome:?}");
    }

    proptest! {
        #[test]
        fn the_rate_stays_in_bounds_and_the_timer_in_the_future(
            gain in 0.001..=1.0,
            steps in prop::collection::vec((0_u8..8, 0_u64..200, 64_u32..9000), 1..400),
        ) {
            let mut point = DcqcnReactionPoint::new(&DcqcnConfig { gain, ..DcqcnConfig::default() }, LINE);
            let (mut now, mut rng) = (Time::ZERO, rng(7));
            for (what, microseconds, len_bytes) in steps {
                let mut context = Context { now, capacity: LINE, rng: &mut rng };
                match what {
                    0 => {
                        now = (now + Span::from_microseconds(microseconds)).min(point.poll_at());
                        context.now = now;
                        point.receive(&Message::Cnp, &mut context);
                    }
                    1..=5 => prop_assert_eq!(point.sent(u64::from(len_bytes), &mut context), None),
                    _ if point.poll_at() < Time::NEVER => {
                        context.now = point.poll_at();
                        now = context.now;
                        prop_assert_eq!(point.expire(&mut context), None);
                        prop_assert!(point.poll_at() > now);
                    }
                    _ => {}
                }
                let rate = point.rate_bps().unwrap_or(1e10);
                prop_assert!((1e6..=1e10).contains(&rate), "{}", rate);
                prop_assert!((0.0..=1.0).contains(&point.answer.estimate));
                prop_assert!(point.poll_at() >= now);
            }
        }

        #[test]
        fn every_mark_is_told_within_an_interval_and_no_two_in_one(
            frames in prop::collection::vec((1_u64..60, any::<bool>()), 1..200),
        ) {
            let interval = Span::from_microseconds(50);
            let mut point = NotificationPoint::new(interval);
            let (mut now, mut last, mut waiting) = (Time::ZERO, None::<Time>, None::<Time>);
            let mut rng = rng(1);
            for (microseconds, marked) in frames {
                let next = now + Span::from_microseconds(microseconds);
                for (time, marked) in [(point.poll_at(), None), (next, Some(marked))] {
                    if time > next {
                        continue;
                    }
                    now = time;
                    let mut context = Context { now, capacity: LINE, rng: &mut rng };
                    let told = match marked {
                        None => point.expire(&mut context),
                        Some(marked) => {
                            waiting = waiting.or(marked.then_some(now));
                            point.delivered(marked, &mut context)
                        }
                    };
                    if told.is_some() {
                        prop_assert!(last.is_none_or(|last| now.since(last) >= interval));
                        prop_assert!(waiting.is_some_and(|since| now.since(since) <= interval));
                        (last, waiting) = (Some(now), None);
                    }
                    prop_assert!(waiting.is_none_or(|since| now.since(since) <= interval));
                    prop_assert!(point.poll_at() > now);
                }
            }
        }
    }
}
