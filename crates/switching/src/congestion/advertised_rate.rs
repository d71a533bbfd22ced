//! The rate that a port advertises to all its flows alike, corrected by how much of it they use, for FECN's switches
//! and DBP's bridges.
//!
//! Every interval T the port compares its arrivals with its target, C of its capacity times a *queue-control function*
//! f of its queue. The load factor is `rho = (8 A / T) / (f(q) C)`, and the advertised rate r becomes `r / rho`. Flows
//! that cannot use r, because of their demand or of another port, leave more to the others; all that are held back here
//! are given the same r. That is max-min fairness without a state for each flow.
//!
//! f is 1 at the set-point, above 1 below it and below 1 above it, so that the queue settles at the set-point. The loop
//! has about one interval of delay. Its gain is the slope there, `(b - 1) / b` for the hyperbolic function, times the
//! bytes that a port carries in an interval, as a multiple of the set-point. Linearised, for flows that act at any time
//! of the interval, it oscillates from a product of 0.57 on: from T = 0.38 ms on with a set-point of 75 KB, b = 1.1 and
//! 10 Gb/s.

use forebay_units::{Bytes, Rate, Span, Time};

use super::{CONTROL_FRAME_BYTES, Context};
use crate::{ParameterError, require};

#[cfg(test)]
pub(crate) mod parking_lot;

/// The capacity of the link in the default interval: 0.1 ms of 10 Gb/s. The loop's gain is what a port carries in an
/// interval over the set-point, so that it is the same at all rates, as is the part of the link that control frames
/// take.
const DEFAULT_INTERVAL_BYTES: u64 = 125_000;

/// The least capacity of the link in an interval, ten frames of 1500 B: fewer do not measure a load.
const LEAST_INTERVAL_BYTES: u64 = 15_000;

/// The interval of links of this rate, unless it is given.
pub(super) fn interval_on(line: Rate, interval: Option<Span>) -> Span {
    interval.unwrap_or_else(|| line.transmission_time(DEFAULT_INTERVAL_BYTES))
}

/// Gains of the queue-control functions that are accepted: far beyond any that is stable.
const MAX_GAIN: f64 = 1000.0;

/// Fraction of its capacity that a port offers, depending on the length of its queue: exactly one of these.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum QueueControl {
    /// Two hyperbolas that meet at the set-point Q_eq: `a Q_eq / ((a - 1) q + Q_eq)` below it, and the same with b in
    /// place of a above it, but no less than c.
    Hyperbolic(Hyperbolic),
    /// A straight line through the set-point: `1 - k (q - Q_eq) / Q_eq`, but no less than c.
    Linear(Linear),
}

forebay_units::configuration! {
    /// Parameters of the hyperbolic queue-control function.
    #[derive(Copy)]
    pub struct Hyperbolic {
        /// a: offer at an empty queue, as a multiple of the capacity. Default: 1.1 (the authors').
        pub empty: f64 = 1.1;
        /// b: steepness with which the offer falls above the set-point. Default: 1.1 (tried; the authors': 1.002, with
        /// which the queue of the first overload takes 100 ms and more to drain).
        pub steepness: f64 = 1.1;
        /// c: minimum offer, as a fraction of the capacity. Default: 0.1 (the authors').
        pub floor: f64 = 0.1;
    }
}

forebay_units::configuration! {
    /// Parameters of the linear queue-control function.
    #[derive(Copy)]
    pub struct Linear {
        /// k: decrease of the offer, as a fraction of the capacity, when the queue grows by the set-point. Default:
        /// 0.1, so that the offer at an empty queue equals that of the hyperbolic function.
        pub slope: f64 = 0.1;
        /// c: minimum offer, as a fraction of the capacity. Default: 0.1, as for the hyperbolic function.
        pub floor: f64 = 0.1;
    }
}

impl Default for QueueControl {
    fn default() -> Self {
        Self::Hyperbolic(Hyperbolic::default())
    }
}

impl QueueControl {
    fn check(self) -> Result<(), ParameterError> {
        let floor = match self {
            Self::Hyperbolic(Hyperbolic { empty, steepness, floor }) => {
                let holds = (1.0..=MAX_GAIN).contains(&empty);
                require(holds, "queue_control.hyperbolic.empty", "be from 1 to 1000")?;
                // At 1 the offer would be the whole capacity however long the queue, which then never drains.
                let holds = steepness > 1.0 && steepness <= MAX_GAIN;
                require(holds, "queue_control.hyperbolic.steepness", "be above 1 and at most 1000")?;
                (floor, "queue_control.hyperbolic.floor")
            }
            Self::Linear(Linear { slope, floor }) => {
                let holds = slope > 0.0 && slope <= MAX_GAIN;
                require(holds, "queue_control.linear.slope", "be above 0 and at most 1000")?;
                (floor, "queue_control.linear.floor")
            }
        };
        require(floor.0 > 0.0 && floor.0 < 1.0, floor.1, "be between 0 and 1")
    }

    /// f(q), the offer as a multiple of the capacity.
    fn offer(self, queue_bytes: u64, set_point: Bytes) -> f64 {
        let fill = queue_bytes as f64 / set_point.0 as f64;
        match self {
            Self::Hyperbolic(h) if fill <= 1.0 => h.empty / ((h.empty - 1.0) * fill + 1.0),
            Self::Hyperbolic(h) => (h.steepness / ((h.steepness - 1.0) * fill + 1.0)).max(h.floor),
            Self::Linear(l) => (1.0 - l.slope * (fill - 1.0)).max(l.floor),
        }
    }
}

/// The rule for the advertised rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct PortLaw {
    /// Q_eq.
    pub set_point: Bytes,
    /// T.
    pub interval: Span,
    pub queue_control: QueueControl,
    /// Maximum growth of the advertised rate in an interval, as a factor.
    pub increase_limit: f64,
    /// R_min.
    pub minimum_rate: Rate,
}

impl PortLaw {
    /// Whether the parameters go together, and with links of this rate. The fields are named as in the configurations
    /// of the schemes.
    pub fn check(&self, line: Rate) -> Result<(), ParameterError> {
        require(self.set_point.0 > 0, "set_point", "be more than 0")?;
        let holds = self.interval >= line.transmission_time(LEAST_INTERVAL_BYTES);
        let bound = "be at least the time in which the adapters' links carry 15 KB, so that there is a load to measure";
        require(holds, "interval", bound)?;
        self.queue_control.check()?;
        let holds = self.increase_limit.is_finite() && self.increase_limit > 1.0;
        require(holds, "increase_limit", "be a number above 1")?;
        require(self.minimum_rate <= line, "minimum_rate", "be at most the rate of the adapters' links")
    }

    /// The target load of the port, in bits per second.
    pub fn offered_bps(&self, queue_bytes: u64, capacity: Rate) -> f64 {
        self.queue_control.offer(queue_bytes, self.set_point) * capacity.bits_per_second() as f64
    }
}

/// The advertised rate of a port.
#[derive(Clone, Debug)]
pub(super) struct AdvertisedRate {
    law: PortLaw,
    /// r.
    rate_bps: f64,
    /// A: the bytes that have arrived for the port since `since`.
    arrived_bytes: u64,
    /// The start of this interval.
    since: Time,
}

impl AdvertisedRate {
    /// A port that advertises `rate_bps` until its first interval is over, at T.
    pub fn new(law: PortLaw, rate_bps: f64) -> Self {
        Self { law, rate_bps, arrived_bytes: 0, since: Time::ZERO }
    }

    /// A data frame has arrived for the port.
    #[inline]
    pub fn arrived(&mut self, len_bytes: u32) {
        self.arrived_bytes += u64::from(len_bytes);
    }

    /// A control frame leaves by the port in the band of the data: it takes of the same capacity.
    pub fn arrived_control(&mut self) {
        self.arrived(CONTROL_FRAME_BYTES);
    }

    /// The end of the interval.
    pub fn update_at(&self) -> Time {
        self.since.saturating_add(self.law.interval)
    }

    /// r, in bits per second. The capacity may have fallen below it since the interval began.
    pub fn bps(&self, capacity: Rate) -> f64 {
        self.rate_bps.min(capacity.bits_per_second() as f64)
    }

    /// r as it was last corrected, in bits per second.
    pub fn latest_bps(&self) -> f64 {
        self.rate_bps
    }

    /// The interval is over: `r <- r / rho`, between R_min and C.
    pub fn update(&mut self, queue_bytes: u64, context: &Context<'_>) {
        let capacity_bps = context.capacity.bits_per_second() as f64;
        let arrival_bps = 8.0 * self.arrived_bytes as f64 / context.now.since(self.since).seconds();
        // Nothing arrived (0 / 0 where no time has passed either): only the capacity and the increase limit bound r.
        let next_bps = if self.arrived_bytes == 0 {
            capacity_bps
        } else {
            self.rate_bps * self.law.offered_bps(queue_bytes, context.capacity) / arrival_bps
        };
        let limited_bps = next_bps.min(self.rate_bps * self.law.increase_limit);
        // Not `clamp`: a port may be made slower than R_min, and its capacity then has the last word.
        self.rate_bps = limited_bps.max(self.law.minimum_rate.bits_per_second() as f64).min(capacity_bps);
        self.arrived_bytes = 0;
        self.since = context.now;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_support::rng;

    const LAW: PortLaw = PortLaw {
        set_point: Bytes(75_000),
        interval: Span::from_microseconds(100),
        queue_control: QueueControl::Hyperbolic(Hyperbolic { empty: 1.1, steepness: 1.1, floor: 0.1 }),
        increase_limit: 1.5,
        minimum_rate: Rate::megabits(1),
    };

    /// The rate after one interval in which this many bytes arrived, with this queue at its end.
    fn after(rate_bps: f64, arrived_bytes: u32, queue_bytes: u64, law: PortLaw, capacity: Rate) -> f64 {
        let mut advertised = AdvertisedRate::new(law, rate_bps);
        advertised.arrived(arrived_bytes);
        let now = advertised.update_at();
        advertised.update(queue_bytes, &Context { now, capacity, rng: &mut rng(1) });
        advertised.bps(capacity)
    }

    #[test]
    fn the_offer_is_a_at_an_empty_queue_one_at_the_set_point_and_never_below_c() {
        let hyperbolic = QueueControl::default();
        let linear = QueueControl::Linear(Linear::default());
        for control in [hyperbolic, linear] {
            assert!((control.offer(0, LAW.set_point) - 1.1).abs() < 1e-12);
            assert!((control.offer(75_000, LAW.set_point) - 1.0).abs() < 1e-12);
            assert_eq!(control.offer(u64::MAX, LAW.set_point), 0.1);
        }
        // 1.1 / (0.1 * 3 + 1) and 1 - 0.1 * 2, at three times the set-point.
        assert!((hyperbolic.offer(225_000, LAW.set_point) - 1.1 / 1.3).abs() < 1e-12);
        assert!((linear.offer(225_000, LAW.set_point) - 0.8).abs() < 1e-12);
    }

    #[test]
    fn the_offer_follows_a_below_the_set_point_and_b_above() {
        let control = QueueControl::Hyperbolic(Hyperbolic { empty: 2.0, steepness: 3.0, floor: 0.1 });
        for (fill, expected) in [(0.0, 2.0), (0.96, 2.0 / 1.96), (1.0, 1.0), (1.04, 3.0 / 3.08), (2.0, 3.0 / 5.0)] {
            let offer = control.offer((fill * 75_000.0) as u64, LAW.set_point);
            assert!((offer - expected).abs() < 1e-12, "{fill}: {offer}");
        }
    }

    #[test]
    fn control_frames_are_part_of_the_load() {
        let rate_after = |data_frames: u32, control_frames: u32| {
            let (capacity, mut rng) = (Rate::megabits(10_000), rng(1));
            let mut port = AdvertisedRate::new(LAW, 5e9);
            (0..data_frames).for_each(|_| port.arrived(CONTROL_FRAME_BYTES));
            (0..control_frames).for_each(|_| port.arrived_control());
            port.update(LAW.set_point.0, &Context { now: port.update_at(), capacity, rng: &mut rng });
            port.bps(capacity)
        };
        assert_eq!(rate_after(1900, 100), rate_after(2000, 0));
        assert!(rate_after(1900, 100) < rate_after(1900, 0));
    }

    #[test]
    fn the_rate_is_divided_by_the_load_factor() {
        let capacity = Rate::megabits(10_000);
        // 125 000 B in 100 us are 10 Gb/s: at the set-point the load factor is 1, and with twice as much 2.
        assert!((after(2.5e9, 125_000, 75_000, LAW, capacity) - 2.5e9).abs() < 1.0);
        assert!((after(2.5e9, 250_000, 75_000, LAW, capacity) - 1.25e9).abs() < 1.0);
        // Half as much would double it, but for the increase limit.
        assert!((after(2.5e9, 62_500, 75_000, LAW, capacity) - 3.75e9).abs() < 1.0);
        let unlimited = PortLaw { increase_limit: 1e9, ..LAW };
        assert!((after(2.5e9, 62_500, 75_000, unlimited, capacity) - 5e9).abs() < 1.0);
        // Nothing arrived: the capacity.
        assert_eq!(after(2.5e9, 0, 0, unlimited, capacity), 1e10);
        // Use the port's current capacity: 10 Gb/s arrive at a port of 1 Gb/s.
        assert!((after(2.5e9, 125_000, 75_000, LAW, Rate::megabits(1000)) - 2.5e8).abs() < 1.0);
    }

    #[test]
    fn what_cannot_work_is_refused_by_name() {
        let field = |law: PortLaw| law.check(Rate::megabits(10_000)).err().map(|error| error.field);
        let hyperbolic = |empty, steepness, floor| PortLaw {
            queue_control: QueueControl::Hyperbolic(Hyperbolic { empty, steepness, floor }),
            ..LAW
        };
        let linear = |slope, floor| PortLaw { queue_control: QueueControl::Linear(Linear { slope, floor }), ..LAW };
        assert_eq!(field(LAW), None);
        assert_eq!(field(PortLaw { set_point: Bytes(0), ..LAW }), Some("set_point"));
        assert_eq!(field(PortLaw { interval: Span::ZERO, ..LAW }), Some("interval"));
        // 15 KB at 10 Gb/s; and the default of that rate, 0.1 ms, at 53 Mb/s.
        assert_eq!(field(PortLaw { interval: Span::from_nanoseconds(11_999), ..LAW }), Some("interval"));
        assert_eq!(field(PortLaw { interval: Span::from_nanoseconds(12_000), ..LAW }), None);
        assert_eq!(LAW.check(Rate::megabits(53)).err().map(|error| error.field), Some("interval"));
        assert_eq!(field(PortLaw { increase_limit: 1.0, ..LAW }), Some("increase_limit"));
        assert_eq!(field(PortLaw { increase_limit: f64::NAN, ..LAW }), Some("increase_limit"));
        assert_eq!(field(PortLaw { minimum_rate: Rate::megabits(10_001), ..LAW }), Some("minimum_rate"));
        assert_eq!(field(hyperbolic(0.9, 1.1, 0.1)), Some("queue_control.hyperbolic.empty"));
        assert_eq!(field(hyperbolic(1.1, 1.0, 0.1)), Some("queue_control.hyperbolic.steepness"));
        assert_eq!(field(hyperbolic(1.1, 1.1, 0.0)), Some("queue_control.hyperbolic.floor"));
        assert_eq!(field(linear(0.0, 0.1)), Some("queue_control.linear.slope"));
        assert_eq!(field(linear(0.1, 1.0)), Some("queue_control.linear.floor"));
        let above_gain = 1000.0 + 1e-9;
        assert_eq!(field(hyperbolic(above_gain, 1.1, 0.1)), Some("queue_control.hyperbolic.empty"));
        assert_eq!(field(hyperbolic(1.1, above_gain, 0.1)), Some("queue_control.hyperbolic.steepness"));
        assert_eq!(field(hyperbolic(1.1, 1.1, 1.0)), Some("queue_control.hyperbolic.floor"));
        assert_eq!(field(linear(above_gain, 0.1)), Some("queue_control.linear.slope"));
        assert_eq!(field(linear(0.1, 0.0)), Some("queue_control.linear.floor"));
        let (least, below_one) = (f64::MIN_POSITIVE, 1.0 - f64::EPSILON);
        assert_eq!(field(hyperbolic(1.0, 1.0 + f64::EPSILON, least)), None);
        assert_eq!(field(hyperbolic(1000.0, 1000.0, below_one)), None);
        assert_eq!((field(linear(least, least)), field(linear(1000.0, below_one))), (None, None));
    }

    #[test]
    fn the_default_interval_is_a_tenth_of_a_millisecond_at_ten_gigabits_and_goes_with_the_rate() {
        for (megabits, microseconds) in [(10_000, 100), (100_000, 10), (1000, 1000), (50, 20_000)] {
            let interval = interval_on(Rate::megabits(megabits), None);
            assert_eq!(interval, Span::from_microseconds(microseconds));
            assert_eq!(PortLaw { interval, ..LAW }.check(Rate::megabits(megabits)), Ok(()));
        }
        let given = Some(Span::from_milliseconds(1));
        assert_eq!(interval_on(Rate::megabits(10_000), given), Span::from_milliseconds(1));
    }

    proptest! {
        #[test]
        fn the_rate_stays_between_its_bounds(
            intervals in prop::collection::vec((any::<u32>(), any::<u64>(), 1_u64..=40_000), 1..50)
        ) {
            let mut advertised = AdvertisedRate::new(LAW, 1e9);
            for (arrived, queue_bytes, megabits) in intervals {
                let capacity = Rate::megabits(megabits);
                advertised.arrived(arrived);
                let context = Context { now: advertised.update_at(), capacity, rng: &mut rng(1) };
                advertised.update(queue_bytes, &context);
                let bps = advertised.bps(capacity);
                prop_assert!((1e6..=capacity.bits_per_second() as f64).contains(&bps), "{bps}");
            }
        }

        #[test]
        fn the_offer_never_grows_with_the_queue(empty in 1.0..5.0, steepness in 1.0001..5.0, slope in 0.001..5.0,
                                                a in 0_u64..1_000_000, b in 0_u64..1_000_000) {
            let hyperbolic = QueueControl::Hyperbolic(Hyperbolic { empty, steepness, floor: 0.1 });
            for control in [hyperbolic, QueueControl::Linear(Linear { slope, floor: 0.1 })] {
                let (short, long) = (a.min(b), a.max(b));
                prop_assert!(control.offer(short, LAW.set_point) >= control.offer(long, LAW.set_point));
            }
        }
    }
}
