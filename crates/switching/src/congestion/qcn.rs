//! QCN, quantised congestion notification: switches signal their congestion, sources recover by themselves.
//!
//! # What it does
//! An output queue takes samples, about a hundred frames apart at rest and about ten frames apart when it is congested.
//! At each sample it computes how far it is above its set-point and how fast it grows. If the weighted sum of both is
//! positive, it is sent, in six bits, to the source of the current frame; there is no positive feedback. The source
//! cuts the rate of the flow in proportion, at most by half, and then recovers it without further feedback. It recovers
//! first in steps that halve the loss, then slowly, then faster and faster, paced by a byte counter and a timer. Queues
//! thus need little control traffic, and sources need no association with queues; in return the shares of the flows are
//! equal only in the long run.
//!
//! # When to use it
//! Use it to model the standard IEEE 802.1Qau: little control traffic, and queues at the set-point on average. Shares
//! are equal only in the long run: within 100 ms one flow may have several times as much as another. Use `fecn` or
//! `e2cm` where that matters.
//!
//! # Example
//! ```toml
//! congestion_management.qcn = { set_point = "75 KB", min_rate = "1 Mbps" }
//! ```
//!
//! Set `set_point` first: the default of 26 KB is the standard's. The values here are those of ECM and E2CM, for
//! comparisons.
//!
//! # Source
//! IEEE Std 802.1Qau-2010, congestion notification (today clauses 30 to 33 of IEEE Std 802.1Q), with the defaults of
//! its IEEE8021-CN-MIB; and R. Pan's serial pseudo-code of QCN 2.x, 2007. M. Alizadeh et al., "Data Center Transport
//! Mechanisms: Congestion Control Theory and IEEE Standardization", Allerton 2008, explains why it works.
//!
//! # Where we differ
//! - `variant` chooses between the standard and the pseudo-code where they differ, which is by one stage. The default
//!   is the standard: it is normative, and the other defaults come from it.
//! - The intervals of the congestion point are `sample_interval` divided by 1 to 8; the pseudo-code rounds them, to
//!   21.5 and 18.5 KB for the last two. Feedback is quantised as in the standard, not to the six upper bits of a fixed
//!   width.
//! - Intervals and cycles vary by `jitter` in both variants, as in the pseudo-code; of the standard we had only an
//!   implementation in public code, which varies some cycles and not others.
//! - A limiter ends as soon as its rate reaches the line's, not with the next frame. Until then the target may exceed
//!   the line's rate by an increase or two; otherwise the rate would approach the line's without ever reaching it.
//! - The numbers in a message are in bytes, not in units of 64 bytes. The limiter belongs to the flow, whichever queue
//!   the message comes from.
//!
//! # Cost
//! For a source two rates, two stages, a byte counter and a timer. A countdown for each frame; one random number and
//! the feedback for each sample. With `probabilistic_sampling`, the feedback and one random number for each frame.
//!
//! # Parameters
//! See [`QcnConfig`]. For comparison with ECM and E2CM set `set_point` to 75 KB and `min_rate` to 1 Mb/s, their values.

use alloc::boxed::Box;

use forebay_units::{Bytes, Rate, Span, Time};

use super::rate_increase::{Answer, IncreaseRules, RateIncrease, RecoveringRate, Stages, jittered};
use super::{
    Arrival, CongestionPoint, CongestionPointId, Context, GaugeVisitor, Message, ReactionPoint, Reflector, Verdict,
};
use crate::{ParameterError, require, uniform};

/// The largest quantised feedback: six bits.
const MAX_FEEDBACK: f64 = 63.0;

forebay_units::configuration! {
    /// Parameters of QCN.
    pub struct QcnConfig {
        /// The description that the reaction point follows where they differ. Default: `standard`.
        pub variant: QcnVariant = QcnVariant::Standard;
        /// `Q_eq`: length at which the queue should settle. Default: 26 KB (standard, `ieee8021CnCpQueueSizeSetPoint`);
        /// studies use 22 to 34 KB.
        pub set_point: Bytes = Bytes(26_000);
        /// `W`: weight of the queue's growth since the last sample, relative to its offset. Default: 2 (standard,
        /// `ieee8021CnCpFeedbackWeight`).
        pub weight: f64 = 2.0;
        /// Bytes that join the queue between two samples while there is no congestion; divided by 2 to 8 as the
        /// feedback grows. Default: 150 KB (standard, `ieee8021CnCpMinSampleBase`).
        pub sample_interval: Bytes = Bytes(150_000);
        /// Sampling of the proposal of March 2007: each frame is sampled with a probability that grows with the
        /// feedback, and `sample_interval` is not used. Default: none.
        pub probabilistic_sampling: Option<QcnProbabilisticSampling> = None;
        /// Intervals between samples, and cycles of byte counter and timer, are longer or shorter by up to this
        /// fraction. Default: 0.15 (pseudo-code).
        pub jitter: f64 = 0.15;
        /// `GD`: the fraction of its rate that a flow loses for each unit of feedback, of which there are at most 63.
        /// Default: 1/128 (standard, `ieee8021CnRpgGd` = 7).
        pub decrease_gain: f64 = 1.0 / 128.0;
        /// Smallest factor by which a message multiplies the rate. Default: 0.5 (standard, `ieee8021CnRpgMinDecFac`).
        pub min_decrease_factor: f64 = 0.5;
        /// Minimum rate, below which no flow is cut. Default: 5 Mb/s (standard, `ieee8021CnRpgMinRate`).
        pub min_rate: Rate = Rate::megabits(5);
        /// Bytes in a cycle of the byte counter. Default: 150 KB (standard, `ieee8021CnRpgByteReset`).
        pub byte_cycle: Bytes = Bytes(150_000);
        /// A cycle of the timer. Default: 15 ms (standard, `ieee8021CnRpgTimeReset`); some studies use 10 ms.
        pub timer_cycle: Span = Span::from_milliseconds(15);
        /// Cycles of fast recovery. Default: 5 (standard, `ieee8021CnRpgThreshold`).
        pub fast_recovery_cycles: u32 = 5;
        /// `R_AI`: increase of the target rate in a cycle of active increase. Default: 5 Mb/s (standard,
        /// `ieee8021CnRpgAiRate`).
        pub active_increase: Rate = Rate::megabits(5);
        /// `R_HAI`: increase of the target rate in the first cycle of hyper-active increase; twice that in the second,
        /// and so on. Default: 50 Mb/s (standard, `ieee8021CnRpgHaiRate`).
        pub hyper_active_increase: Rate = Rate::megabits(50);
        /// Extra fast recovery: whether further cuts leave the target rate unchanged until a cycle of the byte counter
        /// has ended. Default: yes (both variants).
        pub keep_target_in_first_cycle: bool = true;
        /// Extra fast recovery: whether, at the end of the first cycle, a target rate of more than 10 times the current
        /// rate is divided by 8 instead of raised. Default: yes (both variants).
        pub lower_far_target: bool = true;
    }
}

/// The description that the reaction point follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum QcnVariant {
    /// IEEE 802.1Qau: the fifth cycle is the first of active increase.
    #[default]
    Standard,
    /// The serial pseudo-code 2.x: the sixth cycle is.
    PseudoCode,
}

forebay_units::configuration! {
    /// Probabilities of the early QCN.
    pub struct QcnProbabilisticSampling {
        /// `p0`: the probability with which a frame is sampled while there is no congestion. Default: 0.01.
        pub least: f64 = 0.01;
        /// `p1`: that probability at the largest feedback. Default: 0.1.
        pub most: f64 = 0.1;
    }
}

impl QcnConfig {
    pub(crate) fn check(&self, line: Rate) -> Result<(), ParameterError> {
        require((1..=1 << 30).contains(&self.set_point.0), "set_point", "be between 1 B and 1 GiB")?;
        require((0.0..=1e3).contains(&self.weight), "weight", "be between 0 and 1000")?;
        require(self.sample_interval.0 > 0, "sample_interval", "be at least 1 B")?;
        if let Some(QcnProbabilisticSampling { least, most }) = self.probabilistic_sampling {
            let bound = "have 0 < `least` <= `most` <= 1";
            require(0.0 < least && least <= most && most <= 1.0, "probabilistic_sampling", bound)?;
        }
        require((0.0..1.0).contains(&self.jitter), "jitter", "be at least 0 and less than 1")?;
        let gain = self.decrease_gain;
        let bound = "be more than 0 and less than 1/63, so that the largest feedback takes less than the rate";
        require(gain > 0.0 && gain * MAX_FEEDBACK < 1.0, "decrease_gain", bound)?;
        let factor = self.min_decrease_factor;
        require(factor > 0.0 && factor < 1.0, "min_decrease_factor", "be between 0 and 1")?;
        let (cycle, recovery) = (self.timer_cycle, self.fast_recovery_cycles);
        IncreaseRules::check(line, self.min_rate, self.byte_cycle, cycle, recovery)
    }

    pub(crate) fn congestion_point(&self, id: CongestionPointId, _capacity: Rate) -> impl CongestionPoint + use<> {
        QcnCongestionPoint::new(self, id)
    }

    pub(crate) fn reaction_point(&self, line: Rate, _start: Time) -> impl ReactionPoint + use<> {
        QcnReactionPoint::new(self, line)
    }

    /// None: destinations have no part in it.
    pub(crate) fn reflector(&self, _line: Rate) -> Option<Box<dyn Reflector>> {
        None
    }
}

/// The congestion point: its sampling and its messages.
#[derive(Clone, Debug)]
struct QcnCongestionPoint {
    config: QcnConfig,
    id: CongestionPointId,
    /// `q_old`: the queue at the last sample.
    last_queue_bytes: i64,
    /// Bytes left until the next sample.
    bytes_left: u64,
    /// The feedback of the last sample, sent or not.
    feedback: u8,
}

impl QcnCongestionPoint {
    fn new(config: &QcnConfig, id: CongestionPointId) -> Self {
        let bytes_left = config.sample_interval.0;
        Self { config: config.clone(), id, last_queue_bytes: 0, bytes_left, feedback: 0 }
    }

    /// The negative feedback -Fb = W (q - q_old) - (Q_eq - q), from 0 to its largest value, in six bits.
    fn quantised(&self, offset_bytes: i64, delta_bytes: i64) -> u8 {
        let weight = self.config.weight;
        let largest = self.config.set_point.0 as f64 * (2.0 * weight + 1.0);
        let negative = (weight * delta_bytes as f64 - offset_bytes as f64).clamp(0.0, largest);
        libm::floor(negative * MAX_FEEDBACK / largest) as u8
    }

    /// Bytes to the next sample: eight lengths, by the upper three bits of the feedback.
    fn next_interval(&self, feedback: u8, context: &mut Context<'_>) -> u64 {
        let interval = self.config.sample_interval.0 as f64 / f64::from((feedback >> 3) + 1);
        (interval * jittered(self.config.jitter, context.rng)) as u64
    }
}

impl CongestionPoint for QcnCongestionPoint {
    fn arrived(&mut self, frame: Arrival, context: &mut Context<'_>) -> Verdict {
        let by_bytes = self.config.probabilistic_sampling.is_none();
        if by_bytes && let Some(left) = self.bytes_left.checked_sub(u64::from(frame.len_bytes)) {
            self.bytes_left = left;
            return Verdict::Pass;
        }
        let queue_bytes = i64::try_from(frame.queue_bytes).unwrap_or(i64::MAX);
        let offset_bytes = self.config.set_point.0 as i64 - queue_bytes;
        let delta_bytes = queue_bytes - self.last_queue_bytes;
        let feedback = self.quantised(offset_bytes, delta_bytes);
        match &self.config.probabilistic_sampling {
            None => self.bytes_left = self.next_interval(feedback, context),
            Some(QcnProbabilisticSampling { least, most }) => {
                let probability = least + (most - least) * f64::from(feedback) / MAX_FEEDBACK;
                if uniform(context.rng) >= probability {
                    return Verdict::Pass;
                }
            }
        }
        self.last_queue_bytes = queue_bytes;
        self.feedback = feedback;
        if feedback == 0 {
            return Verdict::Pass;
        }
        let (offset_bytes, delta_bytes) = (saturated(offset_bytes), saturated(delta_bytes));
        Verdict::Tell(Message::Cnm { feedback, offset_bytes, delta_bytes, from: self.id })
    }

    fn gauges(&self, visit: &mut GaugeVisitor<'_>) {
        visit("feedback", f64::from(self.feedback));
    }
}

/// The capacity of a message.
fn saturated(bytes: i64) -> i32 {
    bytes.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

type QcnReactionPoint = RecoveringRate<FeedbackCut>;

/// The depth of a cut. The rest of the reaction point is in `rate_increase.rs`.
#[derive(Clone, Debug)]
struct FeedbackCut {
    decrease_gain: f64,
    min_decrease_factor: f64,
}

impl QcnReactionPoint {
    fn new(config: &QcnConfig, line: Rate) -> Self {
        let rules = IncreaseRules {
            stages: match config.variant {
                QcnVariant::Standard => Stages::Standard,
                QcnVariant::PseudoCode => Stages::PseudoCode,
            },
            threshold: config.fast_recovery_cycles,
            cycle_bytes: config.byte_cycle.0,
            cycle_time: config.timer_cycle,
            jitter: config.jitter,
            active_bps: config.active_increase.bits_per_second() as f64,
            hyper_bps: config.hyper_active_increase.bits_per_second() as f64,
            keeps_target: config.keep_target_in_first_cycle,
            lowers_target: config.lower_far_target,
        };
        let answer =
            FeedbackCut { decrease_gain: config.decrease_gain, min_decrease_factor: config.min_decrease_factor };
        Self { answer, rate: RateIncrease::new(rules, line, config.min_rate) }
    }
}

impl Answer for FeedbackCut {
    fn receive(&mut self, message: &Message, rate: &mut RateIncrease, now: Time) {
        let Message::Cnm { feedback, offset_bytes, .. } = *message else { return };
        // A queue that only grows, still below its set-point, slows down limited flows and limits no new one.
        let limits = offset_bytes < 0 || rate.rate_bps().is_some();
        if feedback > 0 && limits {
            let factor = (1.0 - self.decrease_gain * f64::from(feedback)).max(self.min_decrease_factor);
            rate.cut(factor, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::congestion::{CongestionManagement, one_queue};
    use crate::test_support::rng;

    const LINE: Rate = Rate::megabits(10_000);
    const ID: CongestionPointId = CongestionPointId(3);

    /// The samples of frames that meet these queues, each sampled by its bytes.
    fn samples(config: &QcnConfig, queues: &[u64]) -> Vec<(Verdict, u64)> {
        let mut point = QcnCongestionPoint::new(config, ID);
        let mut rng = rng(1);
        let mut context = Context { now: Time::ZERO, capacity: LINE, rng: &mut rng };
        let sample = |&queue_bytes| {
            point.bytes_left = 0;
            let verdict = point.arrived(Arrival { len_bytes: 1500, queue_bytes, limited_by: None }, &mut context);
            (verdict, point.bytes_left)
        };
        queues.iter().map(sample).collect()
    }

    fn cnm(feedback: u8, offset_bytes: i32) -> Message {
        Message::Cnm { feedback, offset_bytes, delta_bytes: 0, from: ID }
    }

    /// The rate after these messages, all at the start.
    fn rate_after(config: &QcnConfig, messages: &[Message]) -> Option<f64> {
        let mut point = QcnReactionPoint::new(config, LINE);
        let mut rng = rng(1);
        let mut context = Context { now: Time::ZERO, capacity: LINE, rng: &mut rng };
        messages.iter().for_each(|message| point.receive(message, &mut context));
        point.rate_bps()
    }

    #[test]
    fn a_queue_of_twice_the_set_point_that_grew_by_one() {
        // Fb = (26 000 - 52 000) - 2 (52 000 - 26 000) = -78 000; 63 * 78 000 / 130 000 = 37.8.
        let config = QcnConfig { jitter: 0.0, ..QcnConfig::default() };
        let verdicts = samples(&config, &[26_000, 52_000]);
        let told = Message::Cnm { feedback: 37, offset_bytes: -26_000, delta_bytes: 26_000, from: ID };
        assert_eq!(verdicts[1], (Verdict::Tell(told), 30_000));
        assert_eq!(rate_after(&config, &[told]), Some(1e10 * (1.0 - 37.0 / 128.0)));
        assert!((1.0_f64 - 37.0 / 128.0 - 0.7109).abs() < 1e-4);
    }

    #[test]
    fn the_largest_feedback_is_that_of_a_queue_that_grew_from_nothing_to_twice_its_set_point() {
        // 802.1Qau: Fb_max is (2 w + 1) Q_eq. Growth of two set-points to one beyond it: 2 w + 1 of them; growth of
        // one: w.
        for (weight, half) in [(1.0, 21), (2.0, 25), (4.0, 28)] {
            let point = QcnCongestionPoint::new(&QcnConfig { weight, ..QcnConfig::default() }, ID);
            assert_eq!(point.quantised(-26_000, 52_000), 63, "{weight}");
            assert_eq!(point.quantised(0, 26_000), half, "{weight}");
        }
    }

    #[test]
    fn feedback_is_never_positive_and_has_six_bits() {
        let config = QcnConfig { jitter: 0.0, ..QcnConfig::default() };
        let verdicts = samples(&config, &[26_000, 0, 13_000, 26_000, 26_000, 1_000_000]);
        let told = |feedback, offset_bytes, delta_bytes| {
            Verdict::Tell(Message::Cnm { feedback, offset_bytes, delta_bytes, from: ID })
        };
        assert_eq!(
            verdicts,
            [
                // From empty to the set-point at once: -52 000.
                (told(25, 0, 26_000), 37_500),
                (Verdict::Pass, 150_000),
                (told(6, 13_000, 13_000), 150_000),
                (told(12, 0, 13_000), 75_000),
                (Verdict::Pass, 150_000),
                (told(63, -974_000, 974_000), 18_750),
            ]
        );
        // No queue is too long for a message.
        let [(verdict, _)] = samples(&config, &[u64::MAX])[..] else { panic!("one sample") };
        assert_eq!(verdict, told(63, i32::MIN, i32::MAX));
    }

    #[test]
    fn samples_come_by_bytes_with_jitter() {
        let mut point = QcnCongestionPoint::new(&QcnConfig::default(), ID);
        let mut rng = rng(1);
        let mut context = Context { now: Time::ZERO, capacity: LINE, rng: &mut rng };
        let mut gaps = Vec::new();
        let mut gap_bytes = 0_u32;
        // Frames of one byte: the interval to the byte. The queue stays at its set-point: no feedback but the first.
        for _ in 0..100 * 150_000 {
            let before = point.bytes_left;
            point.arrived(Arrival { len_bytes: 1, queue_bytes: 26_000, limited_by: None }, &mut context);
            gap_bytes += 1;
            if before == 0 {
                gaps.push(gap_bytes);
                gap_bytes = 0;
            }
        }
        // The first is not jittered; the second follows feedback 25.
        assert_eq!(gaps[0], 150_001);
        assert!((31_875..=43_126).contains(&gaps[1]), "{}", gaps[1]);
        assert!(gaps[2..].iter().all(|gap| (127_500..=172_501).contains(gap)), "{gaps:?}");
        let mean = f64::from(gaps[2..].iter().sum::<u32>()) / (gaps.len() - 2) as f64;
        // Uniform over 45 KB: a standard deviation of 13 KB, of the mean of 97 gaps 1.3 KB.
        assert!((mean - 150_000.0).abs() < 4_000.0, "{mean}");
    }

    #[test]
    fn early_sampling_grows_with_the_feedback() {
        let config =
            QcnConfig { probabilistic_sampling: Some(QcnProbabilisticSampling::default()), ..Default::default() };
        let mut rng = rng(5);
        let mut context = Context { now: Time::ZERO, capacity: LINE, rng: &mut rng };
        // Queues so long that the growth since the last sample does not count: the feedback is 0, then 63.
        for (queue_bytes, probability) in [(0, 0.01), (1_000_000, 0.1)] {
            let mut point = QcnCongestionPoint::new(&config, ID);
            let mut sampled = 0_u32;
            for _ in 0..100_000 {
                point.last_queue_bytes = -1;
                point.arrived(Arrival { len_bytes: 1500, queue_bytes, limited_by: None }, &mut context);
                sampled += u32::from(point.last_queue_bytes >= 0);
            }
            // Binomial: standard deviations of 31 and 95.
            assert!((f64::from(sampled) - 1e5 * probability).abs() < 300.0, "{sampled}");
        }
    }

    #[test]
    fn a_cut_is_in_proportion_to_the_feedback_and_at_most_by_half() {
        let config = QcnConfig::default();
        assert_eq!(rate_after(&config, &[cnm(1, -1)]), Some(1e10 * 127.0 / 128.0));
        assert_eq!(rate_after(&config, &[cnm(63, -1)]), Some(1e10 * 65.0 / 128.0));
        let steep = QcnConfig { decrease_gain: 1.0 / 64.0, ..config };
        assert_eq!(rate_after(&steep, &[cnm(63, -1)]), Some(5e9));
    }

    #[test]
    fn only_a_queue_above_its_set_point_limits_a_flow() {
        let config = QcnConfig::default();
        assert_eq!(rate_after(&config, &[cnm(20, 1), cnm(20, 0), cnm(0, -1), Message::Cnp]), None);
        assert_eq!(rate_after(&config, &[cnm(64 / 2, -1), cnm(64 / 2, 1)]), Some(1e10 * 0.75 * 0.75));
    }

    #[test]
    fn parameters_out_of_bounds_are_refused_by_name() {
        let refused = |config: QcnConfig| config.check(LINE).err().map(|error| error.field);
        let ok = QcnConfig::default;
        assert_eq!(refused(ok()), None);
        assert_eq!(refused(QcnConfig { min_rate: LINE, variant: QcnVariant::PseudoCode, ..ok() }), None);
        assert_eq!(refused(QcnConfig { min_rate: Rate::megabits(10_001), ..ok() }), Some("min_rate"));
        assert_eq!(refused(QcnConfig { decrease_gain: 1.0 / 63.0, ..ok() }), Some("decrease_gain"));
        assert_eq!(refused(QcnConfig { decrease_gain: f64::NAN, ..ok() }), Some("decrease_gain"));
        assert_eq!(refused(QcnConfig { decrease_gain: 0.0, ..ok() }), Some("decrease_gain"));
        assert_eq!(refused(QcnConfig { min_decrease_factor: 0.0, ..ok() }), Some("min_decrease_factor"));
        assert_eq!(refused(QcnConfig { min_decrease_factor: 1.0, ..ok() }), Some("min_decrease_factor"));
        assert_eq!(refused(QcnConfig { set_point: Bytes(0), ..ok() }), Some("set_point"));
        assert_eq!(refused(QcnConfig { weight: -1.0, ..ok() }), Some("weight"));
        assert_eq!(refused(QcnConfig { jitter: 1.0, ..ok() }), Some("jitter"));
        assert_eq!(refused(QcnConfig { sample_interval: Bytes(0), ..ok() }), Some("sample_interval"));
        assert_eq!(refused(QcnConfig { byte_cycle: Bytes(0), ..ok() }), Some("byte_cycle"));
        assert_eq!(refused(QcnConfig { timer_cycle: Span::ZERO, ..ok() }), Some("timer_cycle"));
        assert_eq!(refused(QcnConfig { fast_recovery_cycles: 0, ..ok() }), Some("fast_recovery_cycles"));
        let sampling = |least, most| Some(QcnProbabilisticSampling { least, most });
        assert_eq!(refused(QcnConfig { probabilistic_sampling: sampling(0.1, 0.1), ..ok() }), None);
        for probabilistic_sampling in [sampling(0.0, 0.1), sampling(0.2, 0.1), sampling(0.1, 1.1)] {
            assert_eq!(refused(QcnConfig { probabilistic_sampling, ..ok() }), Some("probabilistic_sampling"));
        }
    }

    #[test]
    fn ten_sources_share_a_port_and_hold_its_queue_at_the_set_point() {
        for variant in [QcnVariant::Standard, QcnVariant::PseudoCode] {
            let set_point = Bytes(75_000);
            let scheme = CongestionManagement::Qcn(QcnConfig { variant, set_point, ..QcnConfig::default() });
            let outcome = one_queue::run(&scheme, LINE, 10, Span::from_milliseconds(400));
            assert!((outcome.mean_queue_bytes - 75_000.0).abs() < 7_500.0, "{outcome:?}");
            assert!(outcome.utilization > 0.99, "{outcome:?}");
            // Equal shares take far longer than a test may.
            assert!(outcome.rates_bps.iter().all(|rate| (0.3e9..2e9).contains(rate)), "{outcome:?}");
        }
    }

    proptest! {
        #[test]
        fn the_rate_stays_in_bounds_and_the_timer_in_the_future(
            pseudo_code in any::<bool>(),
            steps in prop::collection::vec((0_u8..8, any::<u8>(), any::<i32>(), 64_u32..9000), 1..400),
        ) {
            let variant = if pseudo_code { QcnVariant::PseudoCode } else { QcnVariant::Standard };
            let mut point = QcnReactionPoint::new(&QcnConfig { variant, ..QcnConfig::default() }, LINE);
            let (mut now, mut rng) = (Time::ZERO, rng(7));
            for (what, feedback, offset_bytes, len_bytes) in steps {
                let mut context = Context { now, capacity: LINE, rng: &mut rng };
                match what {
                    0 => point.receive(&cnm(feedback, offset_bytes), &mut context),
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
                prop_assert!((5e6..=1e10).contains(&rate), "{}", rate);
                prop_assert!(point.poll_at() >= now);
            }
        }
    }
}
