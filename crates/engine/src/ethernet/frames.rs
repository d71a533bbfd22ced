//! Frame generators.
//!
//! A generator counts slots, the transmission times of a frame, from its start. Frames come with equal probability in
//! each slot (Bernoulli), or at equal distances. An on-off generator counts only its on time. A generator of several
//! flows draws the flow of each frame.

use forebay_qdisc::{Span, Time, uniform};
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

use crate::driver::tournament::Tournament;
use crate::spec::{FrameArrivals, OnOff};

pub(crate) struct GeneratorParts {
    pub arrivals: FrameArrivals,
    /// Transmission time of a frame.
    pub slot: Span,
    pub start: Time,
    pub stop: Time,
    pub rng: Pcg64Mcg,
}

/// Failures before the first success.
#[derive(Clone, Debug)]
#[repr(C)]
struct Geometric {
    /// At `k`, P(more than `k` failures), scaled by [`Geometric::ONE`].
    more_than: [i64; Self::COMPARED],
    /// 1 / ln(P(failure)).
    inverse_log: f64,
}

impl Geometric {
    /// Fewer failures are found by comparison, which is faster than a logarithm. More are rare at high load.
    const COMPARED: usize = 16;
    /// Probabilities have 53 bits.
    const ONE: i64 = 1 << 53;
    /// More slots than any run has.
    const FOREVER: u64 = 1 << 62;

    fn new(success: f64) -> Self {
        let mut tail = Self::ONE as f64;
        let more_than = std::array::from_fn(|_| {
            tail *= 1.0 - success;
            tail as i64
        });
        Self { more_than, inverse_log: 1.0 / libm::log1p(-success) }
    }

    #[inline]
    fn draw(&self, rng: &mut Pcg64Mcg) -> u64 {
        // In (0, 1], where the logarithm is finite. There are more than k failures if this is at most `more_than[k]`.
        let point = Self::ONE - (rng.next_u64() >> 11) as i64;
        let mut failures = 0;
        // Binary search without branches, which would often be mispredicted.
        for step in [8, 4, 2, 1] {
            failures += usize::from(point <= self.more_than[(failures + step - 1) % Self::COMPARED]) * step;
        }
        failures += usize::from(point <= self.more_than[failures % Self::COMPARED]);
        if failures < Self::COMPARED { failures as u64 } else { self.invert(point) }
    }

    #[cold]
    fn invert(&self, point: i64) -> u64 {
        let log = libm::log(point as f64 / Self::ONE as f64);
        ((log * self.inverse_log) as u64).clamp(Self::COMPARED as u64, Self::FOREVER)
    }
}

/// The flows of a generator.
#[derive(Debug)]
enum Choice {
    /// Equal shares.
    Uniform(Vec<u32>),
    /// Cumulative share and flow.
    Weighted(Vec<(f64, u32)>),
}

impl Choice {
    fn new(flows: &[(u32, f64)]) -> Self {
        if flows.iter().any(|&(_, share)| share != flows[0].1) {
            let sums = flows.iter().scan(0.0, |sum, &(flow, share)| {
                *sum += share;
                Some((*sum, flow))
            });
            return Self::Weighted(sums.collect());
        }
        Self::Uniform(flows.iter().map(|&(flow, _)| flow).collect())
    }

    #[inline]
    fn draw(&self, rng: &mut Pcg64Mcg) -> u32 {
        match self {
            Self::Uniform(flows) => match flows[..] {
                // Without flows the generator is silent.
                [] => 0,
                [flow] => flow,
                // The upper half of the product is uniform below the number of flows.
                _ => flows[((u128::from(rng.next_u64()) * flows.len() as u128) >> 64) as usize],
            },
            Self::Weighted(flows) => {
                let point = uniform(rng) * flows[flows.len() - 1].0;
                flows[flows.partition_point(|&(sum, _)| sum <= point).min(flows.len() - 1)].1
            }
        }
    }
}

/// A generator at work. Hot fields first.
#[repr(C, align(64))]
struct Generator {
    rng: Pcg64Mcg,
    /// Bernoulli: slots up to that of the next frame. Constant: frames up to the next one. Both inclusive.
    passed: u64,
    /// Time and flow of the next frame. [`Time::NEVER`] after the end.
    time: Time,
    flow: u32,
    is_constant: bool,
    slot: Span,
    start: Time,
    /// Empty slots before a frame.
    gap: Geometric,
    choice: Choice,
    on_off: Option<OnOff>,
    stop: Time,
    /// Of constant frames, in picoseconds.
    distance: f64,
}

impl Generator {
    fn new(parts: GeneratorParts, flows: &[(u32, f64)]) -> Self {
        let GeneratorParts { arrivals, slot, start, stop, rng } = parts;
        let FrameArrivals { load, constant, on_off } = arrivals;
        // A generator without flows, or one that is never on, has stopped before it starts.
        let silent = flows.is_empty() || load <= 0.0 || on_off.is_some_and(|on_off| on_off.on == Span::ZERO);
        let (stop, on_off) = if silent { (start, None) } else { (stop, on_off) };
        let mut generator = Self {
            rng,
            passed: 0,
            time: Time::NEVER,
            flow: 0,
            is_constant: constant,
            slot,
            start,
            gap: Geometric::new(load),
            choice: Choice::new(flows),
            on_off,
            stop,
            distance: slot.picoseconds() as f64 / load,
        };
        generator.step();
        generator
    }

    #[inline(always)]
    fn step(&mut self) {
        let elapsed = if self.is_constant {
            let number = self.passed;
            self.passed = number + 1;
            (number as f64 * self.distance + 0.5) as u64
        } else {
            let slot = self.passed + self.gap.draw(&mut self.rng);
            self.passed = slot + 1;
            slot.saturating_mul(self.slot.picoseconds())
        };
        self.flow = self.choice.draw(&mut self.rng);
        let elapsed = match self.on_off {
            None => elapsed,
            Some(OnOff { period, on }) => {
                let periods = elapsed / on.picoseconds();
                (elapsed % on.picoseconds()).saturating_add(periods.saturating_mul(period.picoseconds()))
            }
        };
        let time = self.start.saturating_add(Span::from_picoseconds(elapsed));
        self.time = if time < self.stop { time } else { Time::NEVER };
    }
}

pub(crate) struct Generators {
    generators: Vec<Generator>,
    /// If there are several generators.
    times: Tournament,
    /// Time, flow and generator of the earliest frame. [`Time::NEVER`] if no frame follows.
    pub time: Time,
    pub flow: u32,
    first: usize,
}

impl Generators {
    /// Each with its flows: number and share.
    pub fn new(generators: impl Iterator<Item = (GeneratorParts, Vec<(u32, f64)>)>) -> Self {
        let generators: Vec<Generator> = generators.map(|(parts, flows)| Generator::new(parts, &flows)).collect();
        let mut times = Tournament::new(generators.len());
        for (number, generator) in generators.iter().enumerate() {
            times.set(number, generator.time);
        }
        let first = times.due(Time::NEVER).unwrap_or(0);
        let (time, flow) = generators.get(first).map_or((Time::NEVER, 0), |first| (first.time, first.flow));
        Self { generators, times, time, flow, first }
    }

    /// There must be a next frame.
    #[inline(always)]
    pub fn step(&mut self) {
        let generator = &mut self.generators[self.first];
        generator.step();
        (self.time, self.flow) = (generator.time, generator.flow);
        if self.generators.len() > 1 {
            self.find_first();
        }
    }

    #[inline(never)]
    fn find_first(&mut self) {
        self.times.set(self.first, self.time);
        if let Some(first) = self.times.due(Time::NEVER) {
            let Generator { time, flow, .. } = self.generators[first];
            (self.time, self.flow, self.first) = (time, flow, first);
        }
    }
}

#[cfg(test)]
mod tests {
    use forebay_records::random::stream;

    use super::*;

    const SLOT: Span = Span::from_nanoseconds(1200);

    fn at(nanoseconds: u64) -> Time {
        Time::ZERO + Span::from_nanoseconds(nanoseconds)
    }

    fn parts(load: f64, constant: bool, on_off: Option<OnOff>) -> GeneratorParts {
        GeneratorParts {
            arrivals: FrameArrivals { load, constant, on_off },
            slot: SLOT,
            start: at(6000),
            stop: Time::NEVER,
            rng: stream(1, "frames"),
        }
    }

    fn generators(parts: GeneratorParts, flows: &[(u32, f64)]) -> Generators {
        Generators::new([(parts, flows.to_vec())].into_iter())
    }

    /// Times and flows of the frames up to `end`.
    fn frames(mut generators: Generators, end: Time) -> Vec<(Time, u32)> {
        let next = || {
            let frame = (generators.time, generators.flow);
            (frame.0 <= end && frame.0 < Time::NEVER).then(|| generators.step()).map(|()| frame)
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn bernoulli_frames_come_on_slots_with_geometric_gaps() {
        for load in [0.05, 0.3, 0.85, 1.0] {
            let end = at(6000) + SLOT * 1_000_000;
            let frames = frames(generators(parts(load, false, None), &[(7, 1.0)]), end);
            // Four standard deviations of a binomial number.
            let tolerance = 4.0 * (1e6 * load * (1.0 - load)).sqrt() + 1.0;
            assert!((frames.len() as f64 - 1e6 * load).abs() <= tolerance, "load {load}: {}", frames.len());
            let slots: Vec<u64> =
                frames.iter().map(|(time, _)| time.since(at(6000)).picoseconds() / SLOT.picoseconds()).collect();
            assert!(frames.iter().zip(&slots).all(|((time, _), &slot)| *time == at(6000) + SLOT * slot));
            // P(gap > k) = (1 - load)^k, on both sides of the change to the logarithm.
            for longer_than in [1_u64, 3, 4, 15, 16, 17, 25] {
                let count = slots.windows(2).filter(|pair| pair[1] - pair[0] > longer_than).count() as f64;
                let expected = frames.len() as f64 * libm::pow(1.0 - load, longer_than as f64);
                assert!((count - expected).abs() <= 4.0 * expected.sqrt() + 1.0, "load {load}, {longer_than}: {count}");
            }
        }
    }

    #[test]
    fn constant_frames_keep_their_distance_without_drift() {
        let frames = frames(generators(parts(0.7, true, None), &[(0, 1.0)]), at(6000 + 12_000_000));
        assert_eq!(frames.len(), 7001);
        assert_eq!((frames[0].0, frames[7].0, frames[7000].0), (at(6000), at(18_000), at(12_006_000)));
    }

    #[test]
    fn off_periods_are_silent_and_the_load_holds_while_it_is_on() {
        let on_off = OnOff { period: Span::from_nanoseconds(20_000), on: Span::from_nanoseconds(5000) };
        let frames = frames(generators(parts(1.0, false, Some(on_off)), &[(0, 1.0)]), at(6000 + 20_000_000));
        assert!(frames.iter().all(|(time, _)| time.since(at(6000)).picoseconds() % 20_000_000 < 5_000_000));
        // 5 us are 4 1/6 slots. The fraction carries over to the next period.
        assert_eq!(frames.len(), 1000 * 25 / 6 + 1);
    }

    #[test]
    fn frames_are_shared_among_flows() {
        for (shares, expected) in [([1.0, 1.0, 1.0], [1.0, 1.0, 1.0]), ([1.0, 0.0, 3.0], [0.75, 0.0, 2.25])] {
            let flows: Vec<(u32, f64)> = (0..).zip(shares).collect();
            let frames = frames(generators(parts(1.0, false, None), &flows), at(6000) + SLOT * 300_000);
            for (flow, expected) in (0..).zip(expected) {
                let count = frames.iter().filter(|&&(_, other)| other == flow).count() as f64;
                assert!((count - expected * 1e5).abs() < 1200.0, "{shares:?}: {count}");
            }
        }
    }

    #[test]
    fn who_has_no_load_is_silent_and_who_stops_stops() {
        assert_eq!(generators(parts(0.0, false, None), &[(0, 1.0)]).time, Time::NEVER);
        assert_eq!(generators(parts(0.0, true, None), &[(0, 1.0)]).time, Time::NEVER);
        let stopping = GeneratorParts { stop: at(6000) + SLOT * 3, ..parts(1.0, false, None) };
        assert_eq!(frames(generators(stopping, &[(0, 1.0)]), Time::NEVER).len(), 3);
    }
}
