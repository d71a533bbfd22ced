//! The memory of a switch: each input has a partition of its own, and all outputs share it.
//!
//! # What it does
//! A frame is charged to the partition of its input, to its class there, and to its output, from its last bit's arrival
//! until its transmission has ended. It is admitted if its partition has room for it and its output is below its limit.
//! This limit is absent, a fixed number of bytes, or a *dynamic threshold*: alpha times the free memory, the same for
//! all outputs. The dynamic threshold falls by itself as more outputs are busy: with n greedy outputs, each holds
//! `alpha / (1 + n alpha)` of the memory, and the rest stays free for the next output.
//!
//! # Source
//! M. Gusat, C. Minkenberg and R. Luijten, "Extended Ethernet Congestion Management", IEEE 802.1 2007, slide
//! "Simulation Setup": memory partitioned per input, shared among all outputs, without a limit for outputs. A.
//! Choudhury and E. Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM Transactions
//! on Networking 6(2), 1998.
//!
//! # Where we differ
//! Choudhury and Hahne share one memory freely; here the free memory is that of all partitions together, and a frame
//! must fit into the partition of its input as well. They count cells; here an output at less than its threshold may
//! pass it by the rest of a frame.
//!
//! # Cost
//! 128 bytes a port; four additions for each frame that comes or goes, and a product with a dynamic threshold.
//!
//! # Parameters
//! See [`SharedMemoryConfig`].

use alloc::vec;
use alloc::vec::Vec;

use forebay_units::Bytes;

use crate::{ParameterError, require};

/// How much of a switch's memory one output may hold: exactly one of these.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum OutputLimit {
    /// This many bytes.
    Static(Bytes),
    /// This many times the memory of the switch that is free (Choudhury and Hahne 1998): their alpha.
    Dynamic(f64),
}

/// How the memory of a switch is divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedMemoryConfig {
    /// Memory of each input.
    pub partition: Bytes,
    /// How much one output may hold; `None` for no limit.
    pub output_limit: Option<OutputLimit>,
}

/// Why a frame was not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryFull {
    /// The partition of its input has no room.
    Partition,
    /// Its output holds as much as it may.
    Output,
}

/// Memory charged to a port. Every frame touches the first fields: half a line of the processor's cache.
#[derive(Clone, Debug, Default)]
#[repr(C, align(32))]
struct PortMemory {
    /// Bytes that will leave by it.
    leaves: u64,
    /// Bytes that came by it.
    came: u64,
    /// With no more of them, nothing is [close](SharedMemory::is_close).
    quiet: u64,
    /// Bytes that came by it, of each class.
    of_class: [u64; SharedMemory::CLASSES],
    /// The most that came by it so far.
    most: u64,
    /// Number of bytes from which on the level is watched.
    watched: u64,
}

impl PortMemory {
    fn settle_quiet(&mut self, limited: bool) {
        self.quiet = if limited { 0 } else { self.most.min(self.watched.saturating_sub(1)) };
    }
}

/// The memory of a switch at work.
#[derive(Clone, Debug)]
pub struct SharedMemory {
    config: SharedMemoryConfig,
    ports: Vec<PortMemory>,
    /// Bytes held: the sum of the inputs, and of the outputs.
    total: u64,
    /// Bytes of all partitions.
    capacity: u64,
}

impl SharedMemory {
    /// Priorities of IEEE 802.1Q.
    pub const CLASSES: usize = 8;

    /// The empty memory of a switch of this many ports.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(ports: usize, config: SharedMemoryConfig) -> Result<Self, ParameterError> {
        require(config.partition.0 > 0, "memory", "be more than 0")?;
        let capacity = config.partition.0.checked_mul(ports as u64);
        let Some(capacity) = capacity else {
            return Err(ParameterError { field: "memory", bound: "be less than 2^64 bytes in all" });
        };
        match config.output_limit {
            None => {}
            Some(OutputLimit::Static(bytes)) => {
                require(bytes.0 > 0, "output_limit.static", "be more than 0")?;
            }
            Some(OutputLimit::Dynamic(alpha)) => {
                let holds = alpha.is_finite() && alpha > 0.0;
                require(holds, "output_limit.dynamic", "be a number above 0")?;
            }
        }
        let port = PortMemory { watched: u64::MAX, ..PortMemory::default() };
        Ok(Self { config, ports: vec![port; ports], total: 0, capacity })
    }

    /// Number of bytes held that came by `input` from which on the exact level is watched.
    pub fn watch(&mut self, input: usize, watched: u64) {
        let limited = self.config.output_limit.is_some();
        let port = &mut self.ports[input];
        port.watched = watched;
        port.settle_quiet(limited);
    }

    /// Whether `input` holds as much as is [watched](SharedMemory::watch) for.
    #[inline]
    #[must_use]
    pub fn is_watched(&self, input: usize) -> bool {
        let input = &self.ports[input];
        input.came >= input.watched
    }

    /// Whether memory of frames that have already left may affect an arriving frame, through [`SharedMemory::admit`],
    /// [`SharedMemory::most_of_input`] or an observer ([`SharedMemory::watch`]).
    #[inline]
    #[must_use]
    pub fn is_close(&self, input: usize, len_bytes: u32) -> bool {
        let input = &self.ports[input];
        input.came + u64::from(len_bytes) > input.quiet
    }

    /// Takes a frame in.
    ///
    /// # Errors
    /// When there is no room for it; then nothing has changed.
    pub fn admit(&mut self, input: usize, class: usize, output: usize, len_bytes: u32) -> Result<(), MemoryFull> {
        let len = u64::from(len_bytes);
        if self.ports[input].came + len > self.config.partition.0 {
            return Err(MemoryFull::Partition);
        }
        if let Some(limit) = self.config.output_limit
            && !self.output_may_take(limit, self.ports[output].leaves, len)
        {
            return Err(MemoryFull::Output);
        }
        self.take(input, class, output, len_bytes);
        let input = &mut self.ports[input];
        if input.came > input.most {
            input.most = input.came;
            input.settle_quiet(self.config.output_limit.is_some());
        }
        Ok(())
    }

    /// Takes a frame in for which nothing [is close](SharedMemory::is_close): there is room for it.
    #[inline]
    pub fn take(&mut self, input: usize, class: usize, output: usize, len_bytes: u32) {
        let len = u64::from(len_bytes);
        self.ports[output].leaves += len;
        let input = &mut self.ports[input];
        input.of_class[class] += len;
        input.came += len;
        self.total += len;
    }

    /// Whether an output that holds `held` bytes may take `len` more.
    fn output_may_take(&self, limit: OutputLimit, held: u64, len: u64) -> bool {
        match limit {
            OutputLimit::Static(bytes) => held + len <= bytes.0,
            // Blocked while the queue is at the threshold or above it (Choudhury and Hahne).
            OutputLimit::Dynamic(alpha) => (held as f64) < alpha * (self.capacity - self.total) as f64,
        }
    }

    /// Frees the memory of a frame that was taken in: the arguments are those of [`SharedMemory::admit`].
    #[inline]
    pub fn release(&mut self, input: usize, class: usize, output: usize, len_bytes: u32) {
        let len = u64::from(len_bytes);
        let input = &mut self.ports[input];
        debug_assert!(input.of_class[class] >= len, "released what was not held");
        input.of_class[class] -= len;
        input.came -= len;
        self.ports[output].leaves -= len;
        self.total -= len;
    }

    /// Bytes held that came by `input`.
    #[inline]
    #[must_use]
    pub fn of_input(&self, input: usize) -> u64 {
        self.ports[input].came
    }

    /// The most bytes held that came by `input`, since the start or the last [`SharedMemory::forget_most`].
    #[must_use]
    pub fn most_of_input(&self, input: usize) -> u64 {
        self.ports[input].most
    }

    /// Restarts the search for [`SharedMemory::most_of_input`] from the charged memory.
    pub fn forget_most(&mut self) {
        for port in &mut self.ports {
            port.most = port.came;
            port.settle_quiet(self.config.output_limit.is_some());
        }
    }

    /// Bytes held that came by `input` in this class.
    #[inline]
    #[must_use]
    pub fn of_input_class(&self, input: usize, class: usize) -> u64 {
        self.ports[input].of_class[class]
    }

    /// Bytes held that will leave by `output`.
    #[inline]
    #[must_use]
    pub fn of_output(&self, output: usize) -> u64 {
        self.ports[output].leaves
    }

    /// Bytes held in all.
    #[inline]
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PORTS: usize = 4;

    fn memory(ports: usize, partition: u64, output_limit: Option<OutputLimit>) -> SharedMemory {
        SharedMemory::new(ports, SharedMemoryConfig { partition: Bytes(partition), output_limit }).unwrap()
    }

    #[test]
    fn a_full_partition_refuses_and_the_others_do_not() {
        let mut memory = memory(2, 3000, None);
        assert_eq!(memory.admit(0, 3, 1, 1500), Ok(()));
        assert_eq!(memory.admit(0, 5, 1, 1500), Ok(()), "to the last byte");
        assert_eq!(memory.admit(0, 3, 0, 1), Err(MemoryFull::Partition));
        assert_eq!(memory.admit(1, 3, 1, 1500), Ok(()));
        assert_eq!((memory.of_input(0), memory.of_input_class(0, 5), memory.of_output(1)), (3000, 1500, 4500));
        memory.release(0, 3, 1, 1500);
        assert_eq!((memory.of_input(0), memory.of_input_class(0, 3), memory.of_output(1)), (1500, 0, 3000));
        assert_eq!(memory.total(), 3000);
    }

    #[test]
    fn a_static_limit_holds_for_each_output_alone() {
        let mut memory = memory(2, 10_000, Some(OutputLimit::Static(Bytes(3000))));
        for input in [0, 1] {
            assert_eq!(memory.admit(input, 0, 0, 1500), Ok(()));
        }
        assert_eq!(memory.admit(0, 0, 0, 64), Err(MemoryFull::Output));
        assert_eq!(memory.admit(0, 0, 1, 64), Ok(()));
    }

    #[test]
    fn greedy_outputs_each_hold_alpha_of_what_they_leave_free() {
        // Choudhury and Hahne: n greedy queues hold alpha B / (1 + n alpha) each.
        for (alpha, greedy) in [(0.5, 1), (1.0, 1), (1.0, 3), (2.0, 2), (2.0, 4)] {
            let mut memory = memory(PORTS, 100_000, Some(OutputLimit::Dynamic(alpha)));
            // From all inputs, round-robin, so that no partition is the bound; until all have been refused.
            for round in 0..10_000 {
                for output in 0..greedy {
                    let _ = memory.admit((round + output) % PORTS, 0, output, 100);
                }
            }
            let expected = alpha * 400_000.0 / (1.0 + f64::from(greedy as u32) * alpha);
            for output in 0..greedy {
                let held = memory.of_output(output) as f64;
                assert!((held - expected).abs() <= 100.0 * (1.0 + alpha), "{alpha} {greedy}: {held} for {expected}");
            }
        }
    }

    #[test]
    fn an_output_at_its_dynamic_threshold_is_blocked() {
        // "Blocked while the queue is at the threshold or above it" (Choudhury and Hahne): of 4000 B half are free.
        let mut memory = memory(2, 2000, Some(OutputLimit::Dynamic(1.0)));
        for input in [0, 0, 1] {
            assert_eq!(memory.admit(input, 0, 0, 640), Ok(()));
        }
        assert_eq!((memory.of_output(0), memory.total()), (1920, 1920));
        assert_eq!(memory.admit(1, 0, 0, 80), Ok(()), "80 B below the threshold");
        assert_eq!(memory.admit(1, 0, 0, 1), Err(MemoryFull::Output), "at it");
        assert_eq!(memory.admit(1, 0, 1, 1), Ok(()));
    }

    #[test]
    fn what_cannot_work_is_refused_by_name() {
        let field = |partition, output_limit| {
            let config = SharedMemoryConfig { partition: Bytes(partition), output_limit };
            SharedMemory::new(PORTS, config).err().map(|error| error.field)
        };
        assert_eq!(field(1, None), None);
        assert_eq!(field(0, None), Some("memory"));
        assert_eq!(field(u64::MAX, None), Some("memory"));
        assert_eq!(field(1, Some(OutputLimit::Static(Bytes(0)))), Some("output_limit.static"));
        for least in [OutputLimit::Static(Bytes(1)), OutputLimit::Dynamic(f64::MIN_POSITIVE)] {
            assert_eq!(field(1, Some(least)), None, "{least:?}");
        }
        for alpha in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(field(1, Some(OutputLimit::Dynamic(alpha))), Some("output_limit.dynamic"));
        }
    }

    /// A frame that is held: input, class, output, length.
    type Held = (usize, usize, usize, u32);

    fn sum(held: &[Held], counts: impl Fn(&Held) -> bool) -> u64 {
        held.iter().filter(|frame| counts(frame)).map(|frame| u64::from(frame.3)).sum()
    }

    /// The verdict of the rules on a frame, from the frames held.
    fn verdict(held: &[Held], config: SharedMemoryConfig, (input, _, output, len): Held) -> Result<(), MemoryFull> {
        if sum(held, |frame| frame.0 == input) + u64::from(len) > config.partition.0 {
            return Err(MemoryFull::Partition);
        }
        let of_output = sum(held, |frame| frame.2 == output);
        let free = config.partition.0 * PORTS as u64 - sum(held, |_| true);
        let fits = match config.output_limit {
            None => true,
            Some(OutputLimit::Static(bytes)) => of_output + u64::from(len) <= bytes.0,
            Some(OutputLimit::Dynamic(alpha)) => (of_output as f64) < alpha * free as f64,
        };
        if fits { Ok(()) } else { Err(MemoryFull::Output) }
    }

    proptest! {
        #[test]
        fn no_partition_is_ever_exceeded_and_the_sums_agree(
            partition in 1000_u64..20_000,
            output_limit in prop_oneof![
                Just(None),
                (1_u64..40_000).prop_map(|bytes| Some(OutputLimit::Static(Bytes(bytes)))),
                (0.01..16.0).prop_map(|alpha| Some(OutputLimit::Dynamic(alpha))),
            ],
            // Two in three are arrivals, so that the memory fills; the number of the others picks what leaves.
            steps in prop::collection::vec(
                prop_oneof![
                    2 => (0..PORTS, 0..SharedMemory::CLASSES, 0..PORTS, 1_u32..=9000).prop_map(Ok),
                    1 => any::<prop::sample::Index>().prop_map(Err),
                ],
                1..300,
            ),
        ) {
            let config = SharedMemoryConfig { partition: Bytes(partition), output_limit };
            let (mut memory, mut held) = (SharedMemory::new(PORTS, config).unwrap(), Vec::<Held>::new());
            for step in steps {
                match step {
                    Ok(frame) => {
                        let (input, class, output, len) = frame;
                        let (is_close, most) = (memory.is_close(input, len), memory.most_of_input(input));
                        let admitted = memory.admit(input, class, output, len);
                        prop_assert_eq!(admitted, verdict(&held, config, frame));
                        prop_assert!(is_close || admitted.is_ok() && memory.most_of_input(input) == most);
                        if verdict(&held, config, frame).is_ok() {
                            held.push(frame);
                        }
                    }
                    Err(pick) if !held.is_empty() => {
                        let (input, class, output, len) = held.swap_remove(pick.index(held.len()));
                        memory.release(input, class, output, len);
                    }
                    Err(_) => {}
                }
                for port in 0..PORTS {
                    prop_assert!(memory.of_input(port) <= partition);
                    prop_assert_eq!(memory.of_input(port), sum(&held, |frame| frame.0 == port));
                    prop_assert_eq!(memory.of_output(port), sum(&held, |frame| frame.2 == port));
                    for class in 0..SharedMemory::CLASSES {
                        let of_class = sum(&held, |frame| (frame.0, frame.1) == (port, class));
                        prop_assert_eq!(memory.of_input_class(port, class), of_class);
                    }
                }
                prop_assert_eq!(memory.total(), sum(&held, |_| true));
            }
        }
    }
    #[test]
    fn an_input_is_watched_from_the_number_on() {
        let mut memory = memory(2, 3000, None);
        memory.watch(0, 1000);
        memory.admit(0, 0, 1, 999).unwrap();
        memory.admit(1, 0, 1, 2000).unwrap();
        assert_eq!([0, 1].map(|input| memory.is_watched(input)), [false, false]);
        memory.admit(0, 0, 1, 1).unwrap();
        assert_eq!([0, 1].map(|input| memory.is_watched(input)), [true, false]);
    }

    #[test]
    fn the_most_that_was_held_is_known_until_it_is_forgotten() {
        let mut memory = memory(2, 3000, None);
        memory.admit(0, 0, 1, 1500).unwrap();
        memory.admit(0, 0, 1, 500).unwrap();
        memory.release(0, 0, 1, 1500);
        memory.admit(0, 0, 1, 100).unwrap();
        assert_eq!([0, 1].map(|input| memory.most_of_input(input)), [2000, 0]);
        memory.forget_most();
        assert_eq!(memory.most_of_input(0), 600);
    }

    #[test]
    fn only_more_than_ever_before_or_what_is_watched_is_close() {
        let mut plain = memory(2, 3000, None);
        plain.admit(0, 0, 1, 1000).unwrap();
        plain.release(0, 0, 1, 1000);
        assert_eq!([1000, 1001].map(|len| plain.is_close(0, len)), [false, true]);
        plain.watch(0, 500);
        assert_eq!([499, 500].map(|len| plain.is_close(0, len)), [false, true]);
        plain.watch(0, 2000);
        assert_eq!([1000, 1001].map(|len| plain.is_close(0, len)), [false, true]);
        plain.forget_most();
        assert!(plain.is_close(0, 1));
        // Where outputs are limited, any frame may be refused.
        let mut limited = memory(2, 3000, Some(OutputLimit::Static(Bytes(2000))));
        limited.admit(0, 0, 1, 1000).unwrap();
        limited.release(0, 0, 1, 1000);
        assert!(limited.is_close(0, 1));
    }
}
