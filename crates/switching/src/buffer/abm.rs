//! ABM, active buffer management: a threshold for each queue by the congested ports and the drain rate of its class.
//!
//! # What it does
//! The threshold of the queue of a class at an output is alpha times the free memory. This is divided by the number of
//! ports at which the class is congested, and multiplied by the share of the link that drained the queue. A class so
//! holds at most alpha / (1 + alpha) of the memory, however many of its queues are congested. A queue that drains
//! slowly holds less than one that drains fast, so that all drain in about the same time.
//!
//! # When to use it
//! Use it to study classes that share memory, some of which must keep short delays. With a single class and one
//! congested port it is `dynamic_threshold`. With PAUSE, frames beyond the threshold are lost.
//!
//! # Example
//! ```toml
//! switch = { strict_priority = true, buffer.abm.alpha = 0.5 }
//! ```
//!
//! # Source
//! V. Addanki, M. Apostolaki, M. Ghobadi, S. Schmid and L. Vanbever, "ABM: Active Buffer Management in Datacenters",
//! SIGCOMM 2022, and its authors' simulator.
//!
//! # Where we differ
//! - The authors' hosts tag the packets of a flow's first round trip, which get a larger alpha. No packet here has such
//!   a tag. `fab` finds short flows at the switch.
//! - A queue is congested in part: as in the simulator, it counts as its length divided by `saturation`, at most 1.
//! - Drained are frames whose transmission has ended, in the simulator those whose transmission has begun.
//!
//! # Cost
//! About 300 bytes for each output. A few products for each frame, after the memory of all ports has been brought up to
//! date, and a look at each output for each output in each `interval`.
//!
//! # Parameters
//! See [`AbmConfig`].

use alloc::boxed::Box;
use alloc::vec::Vec;

use forebay_units::{Bytes, Rate, Span, Time};

use crate::buffer::queue_bytes::QueueBytes;
use crate::buffer::{Arriving, BufferPolicy, Frame, threshold_at, within};
use crate::shared_memory::{Memory, MemoryFull, SharedMemory};
use crate::{ParameterError, require};

/// Parameters of ABM.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
pub struct AbmConfig {
    /// Alpha of every class, unless `class_alphas` is given. Default: 0.5 (the authors' simulator, for classes 1 to 3).
    #[cfg_attr(feature = "config", schemars(extend("exclusiveMinimum" = 0.0)))]
    pub alpha: f64,
    /// Alpha of each class, 0 first. Default: `alpha` for all.
    #[cfg_attr(feature = "config", serde(skip_serializing_if = "Option::is_none"))]
    pub class_alphas: Option<[f64; SharedMemory::CLASSES]>,
    /// Length from which on a queue counts as congested; a shorter one counts in part. Default: 28 KB, 20 packets of
    /// 1400 B (the authors' simulator).
    pub saturation: Bytes,
    /// Time between two measurements of drain rates and of the number of congested ports. Default: 30 us (the authors'
    /// simulator).
    pub interval: Span,
    /// Number of classes that share a link. A smaller share of the link than its reciprocal counts as the whole link,
    /// because the queue had nothing to send. Default: 8.
    pub classes: u32,
}

impl Default for AbmConfig {
    fn default() -> Self {
        Self {
            alpha: 0.5,
            class_alphas: None,
            saturation: Bytes(28_000),
            interval: Span::from_microseconds(30),
            classes: SharedMemory::CLASSES as u32,
        }
    }
}

pub(crate) fn build(config: &AbmConfig) -> Result<Box<dyn BufferPolicy>, ParameterError> {
    Ok(Box::new(Abm::new(config)?))
}

/// The measurements at an output.
#[derive(Clone, Copy, Debug)]
struct Output {
    /// The end of the interval.
    due: Time,
    rate: Rate,
    /// How far each queue is congested, from 0 to 1.
    congestion: [f64; SharedMemory::CLASSES],
    /// Bytes drained of each class in this interval.
    drained: [u64; SharedMemory::CLASSES],
    /// Of each class mu / n: its share of the link in the last interval, by the number of congested ports.
    factor: [f64; SharedMemory::CLASSES],
}

/// How drain rates are measured.
#[derive(Clone, Copy, Debug)]
struct Clock {
    interval: Span,
    /// The smallest share of the link that is taken as measured.
    least_share: f64,
}

impl Output {
    /// Ends the intervals that are over at `now`. Each class is congested at so many `ports`.
    fn measure(&mut self, now: Time, ports: [f64; SharedMemory::CLASSES], Clock { interval, least_share }: Clock) {
        if now < self.due {
            return;
        }
        let later = now.since(self.due).picoseconds() / interval.picoseconds();
        // Nothing was drained in the intervals after the first.
        let drained = if later > 0 { [0; SharedMemory::CLASSES] } else { self.drained };
        let whole = self.rate.bytes_per_second() * interval.seconds();
        for ((factor, drained), ports) in self.factor.iter_mut().zip(drained).zip(ports) {
            let share = drained as f64 / whole;
            let is_measured = share >= least_share && share <= 1.0;
            *factor = if is_measured { share } else { 1.0 } / ports;
        }
        self.drained = [0; SharedMemory::CLASSES];
        self.due += Span::from_picoseconds((later + 1) * interval.picoseconds());
    }
}

#[derive(Debug)]
struct Abm {
    alphas: [f64; SharedMemory::CLASSES],
    saturation: f64,
    clock: Clock,
    queues: QueueBytes,
    /// `None` until the first frame for it comes.
    outputs: Vec<Option<Output>>,
    /// The first end of an interval.
    due: Time,
}

impl Abm {
    fn new(config: &AbmConfig) -> Result<Self, ParameterError> {
        let is_alpha = |alpha: f64| alpha.is_finite() && alpha > 0.0;
        require(is_alpha(config.alpha), "alpha", "be a number above 0")?;
        let alphas = config.class_alphas.unwrap_or([config.alpha; SharedMemory::CLASSES]);
        require(alphas.into_iter().all(is_alpha), "class_alphas", "be numbers above 0")?;
        require(config.saturation.0 > 0, "saturation", "be at least 1 B")?;
        require(config.interval > Span::ZERO, "interval", "be more than 0")?;
        let has_classes = (1..=SharedMemory::CLASSES as u32).contains(&config.classes);
        require(has_classes, "classes", "be between 1 and 8")?;
        Ok(Self {
            alphas,
            saturation: config.saturation.0 as f64,
            clock: Clock { interval: config.interval, least_share: 1.0 / f64::from(config.classes) },
            queues: QueueBytes::default(),
            outputs: Vec::new(),
            due: Time::NEVER,
        })
    }

    /// The ports at which each class is congested, at least 1.
    fn congested_ports(&self) -> [f64; SharedMemory::CLASSES] {
        let mut ports = [0.0; SharedMemory::CLASSES];
        for output in self.outputs.iter().flatten() {
            for (ports, congestion) in ports.iter_mut().zip(output.congestion) {
                *ports += congestion;
            }
        }
        ports.map(|ports| f64::max(ports, 1.0))
    }

    /// Ends the intervals that are over at `now`, of all outputs. All that was sent until then has been released.
    fn measure(&mut self, now: Time) {
        if now < self.due {
            return;
        }
        let (ports, clock) = (self.congested_ports(), self.clock);
        self.outputs.iter_mut().flatten().for_each(|output| output.measure(now, ports, clock));
        self.due = self.outputs.iter().flatten().map(|output| output.due).min().unwrap_or(Time::NEVER);
    }

    /// How far the queue of `frame` is congested before it joins.
    fn note_congestion(&mut self, frame: Frame, arriving: Arriving) {
        if frame.output >= self.outputs.len() {
            self.outputs.resize(frame.output + 1, None);
        }
        let congestion = (self.queues.of(frame) as f64 / self.saturation).min(1.0);
        let Some(output) = &mut self.outputs[frame.output] else {
            // The first interval begins with the first frame.
            let ports = self.congested_ports();
            let due = arriving.now + self.clock.interval;
            self.outputs[frame.output] = Some(Output {
                due,
                rate: arriving.rate,
                congestion: [0.0; SharedMemory::CLASSES],
                drained: [0; SharedMemory::CLASSES],
                factor: ports.map(f64::recip),
            });
            self.due = self.due.min(due);
            return;
        };
        output.congestion[frame.class] = congestion;
        output.rate = arriving.rate;
    }

    /// The most bytes that the queue of `frame` may hold.
    fn threshold_of(&self, frame: Frame, memory: &Memory) -> u64 {
        let factor = self.outputs[frame.output].map_or(1.0, |output| output.factor[frame.class]);
        threshold_at(self.alphas[frame.class] * factor, memory)
    }
}

impl BufferPolicy for Abm {
    fn limits_outputs(&self) -> bool {
        true
    }

    /// The threshold of a class that drains at the whole link and is congested at one port.
    fn threshold(&self, memory: &Memory) -> u64 {
        threshold_at(self.alphas.into_iter().fold(0.0, f64::max), memory)
    }

    fn admit(&mut self, frame: Frame, arriving: Arriving, memory: &Memory) -> Result<(), MemoryFull> {
        self.measure(arriving.now);
        self.note_congestion(frame, arriving);
        within(self.queues.of(frame), frame, self.threshold_of(frame, memory), memory)?;
        self.queues.add(frame);
        Ok(())
    }

    fn release(&mut self, frame: Frame, sent: Option<Time>, _memory: &Memory) {
        self.queues.remove(frame);
        let Some(now) = sent else { return };
        // Other outputs may still release what they sent before.
        let (is_due, clock) = (now >= self.due, self.clock);
        let ports = if is_due { self.congested_ports() } else { [1.0; SharedMemory::CLASSES] };
        if let Some(Some(output)) = self.outputs.get_mut(frame.output) {
            if is_due {
                output.measure(now, ports, clock);
            }
            output.drained[frame.class] += u64::from(frame.len_bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::BufferPolicyConfig;
    use crate::shared_memory::SharedMemoryConfig;

    const PORTS: usize = 4;
    const B: f64 = 4_000_000.0;
    const LEN: u32 = 1000;

    fn memory(config: AbmConfig) -> SharedMemory {
        let policy = BufferPolicyConfig::Abm(config);
        SharedMemory::new(PORTS, SharedMemoryConfig { share: Bytes(1_000_000), policy }).unwrap()
    }

    fn frame(class: usize, output: usize) -> Frame {
        Frame { input: class, class, output, len_bytes: LEN }
    }

    fn at(microseconds: u64) -> Time {
        Time::ZERO + Span::from_microseconds(microseconds)
    }

    fn arriving(microseconds: u64) -> Arriving {
        Arriving { now: at(microseconds), flow: 0, rate: Rate::megabits(10_000) }
    }

    /// Fills queues until all are refused; returns what each of them holds. A round takes 10 us.
    fn fill(memory: &mut SharedMemory, queues: &[(usize, usize)], from: u64) -> Vec<u64> {
        let mut held = alloc::vec![0; queues.len()];
        for round in 0.. {
            let mut refused = 0;
            for (held, &(class, output)) in held.iter_mut().zip(queues) {
                match memory.admit(frame(class, output), arriving(from + 10 * round)) {
                    Ok(()) => *held += u64::from(LEN),
                    Err(_) => refused += 1,
                }
            }
            if refused == queues.len() {
                break;
            }
        }
        held
    }

    #[test]
    fn a_class_holds_alpha_of_what_it_leaves_free_however_many_ports_it_congests() {
        for alpha in [0.5, 2.0] {
            for ports in 1..=PORTS {
                let queues: Vec<_> = (0..ports).map(|output| (0, output)).collect();
                let mut memory = memory(AbmConfig { alpha, ..AbmConfig::default() });
                let expected = alpha * B / (1.0 + alpha) / ports as f64;
                for held in fill(&mut memory, &queues, 0) {
                    assert!((held as f64 - expected).abs() <= 1500.0 * (1.0 + alpha), "{alpha} {ports}: {held}");
                }
            }
        }
    }

    #[test]
    fn each_class_has_its_alpha() {
        let mut alphas = [0.5; 8];
        alphas[3] = 0.25;
        let mut memory = memory(AbmConfig { class_alphas: Some(alphas), ..AbmConfig::default() });
        // A third of the memory, then a fifth of the rest.
        let half = fill(&mut memory, &[(0, 0)], 0)[0];
        let quarter = fill(&mut memory, &[(3, 1)], 20_000)[0];
        for (held, expected) in [(half, B / 3.0), (quarter, B * 2.0 / 15.0)] {
            assert!((held as f64 - expected).abs() <= 2000.0, "{held} for {expected}");
        }
    }

    #[test]
    fn a_queue_that_drains_at_a_part_of_the_link_holds_that_part() {
        // 10 Gb/s send 37 500 B in 30 us. A queue alone holds a third of the memory.
        for (frames, mu) in [(18, 0.48), (9, 0.24), (4, 1.0), (38, 1.0)] {
            let mut memory = memory(AbmConfig::default());
            fill(&mut memory, &[(1, 0)], 0);
            let begin = 15_000;
            assert!(memory.admit(frame(1, 0), arriving(begin)).is_err());
            // The interval ends at a multiple of 30 us.
            for sent in 0..frames {
                memory.release(frame(1, 0), Some(at(begin + 1 + sent % 29)));
            }
            // A frame that is dropped does not count as drained.
            memory.release(frame(1, 0), None);
            let factor = |memory: &mut SharedMemory, now| {
                let held = memory.of_output(0);
                let free = memory.free() as f64;
                let fits = memory.admit(frame(1, 0), arriving(now)).is_ok();
                (fits, (held + u64::from(LEN)) as f64 / (0.5 * free))
            };
            let (fits, needed) = factor(&mut memory, begin + 30);
            assert_eq!(fits, needed <= mu, "{frames}: {needed} of {mu}");
            // An interval later nothing has been drained.
            let (fits, needed) = factor(&mut memory, begin + 60);
            assert_eq!(fits, needed <= 1.0, "{frames}: {needed}");
        }
    }

    #[test]
    fn a_short_queue_congests_its_port_in_part() {
        let mut memory = memory(AbmConfig { saturation: Bytes(100_000), ..AbmConfig::default() });
        // 50 frames wait when the last of 51 comes: with a queue of another port that is congested, 1.5 ports.
        fill(&mut memory, &[(0, 0)], 0);
        let from = 20_000;
        for _ in 0..51 {
            memory.admit(frame(0, 1), arriving(from)).unwrap();
        }
        (0..600).for_each(|_| memory.release(frame(0, 0), None));
        let mut held = memory.of_output(0);
        while memory.admit(frame(0, 0), arriving(from + 40)).is_ok() {
            held += u64::from(LEN);
        }
        let expected = 0.5 / 1.5 * memory.free() as f64;
        assert!((held as f64 - expected).abs() <= 1500.0, "{held} for {expected}");
    }

    #[test]
    fn parameters_that_cannot_work_are_refused_by_name() {
        let field = |config| build(&config).err().map(|error| error.field);
        let defaults = AbmConfig::default;
        assert_eq!(field(defaults()), None);
        for alpha in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut alphas = [1.0; 8];
            alphas[7] = alpha;
            assert_eq!(field(AbmConfig { alpha, ..defaults() }), Some("alpha"));
            assert_eq!(field(AbmConfig { class_alphas: Some(alphas), ..defaults() }), Some("class_alphas"));
        }
        assert_eq!(field(AbmConfig { saturation: Bytes(0), ..defaults() }), Some("saturation"));
        assert_eq!(field(AbmConfig { interval: Span::ZERO, ..defaults() }), Some("interval"));
        assert_eq!(field(AbmConfig { classes: 0, ..defaults() }), Some("classes"));
        assert_eq!(field(AbmConfig { classes: 9, ..defaults() }), Some("classes"));
    }
}
