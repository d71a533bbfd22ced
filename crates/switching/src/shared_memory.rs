//! The memory of a switch, charged by input, class and output.
//!
//! A frame is charged from its last bit's arrival until its transmission has ended. A [`BufferPolicy`] decides whether
//! it is admitted. Each port brings its share of the memory.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use forebay_units::{Bytes, Rate, Time};

use crate::buffer::{Arriving, BufferPolicy, BufferPolicyConfig, Frame};
use crate::pause::PauseLevel;
use crate::{ParameterError, require};

/// The memory of a switch and its policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedMemoryConfig {
    /// Memory for each port.
    pub share: Bytes,
    /// How it is divided.
    pub policy: BufferPolicyConfig,
}

/// Why a frame was not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryFull {
    /// Its input holds as much as it may.
    Partition,
    /// Its output holds as much as it may.
    Output,
    /// The free memory has no room.
    All,
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

/// The bytes that a memory holds.
#[derive(Clone, Debug)]
pub struct Memory {
    ports: Vec<PortMemory>,
    /// Bytes held: the sum of the inputs, and of the outputs.
    total: u64,
    share: u64,
}

impl Memory {
    /// Bytes for each port.
    #[must_use]
    pub fn share(&self) -> u64 {
        self.share
    }

    /// Bytes in all.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.share * self.ports.len() as u64
    }

    /// Bytes that are free.
    #[must_use]
    pub fn free(&self) -> u64 {
        self.capacity() - self.total
    }

    /// Bytes held that came by `input`.
    #[inline]
    #[must_use]
    pub fn of_input(&self, input: usize) -> u64 {
        self.ports[input].came
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

/// The memory of a switch at work.
#[derive(Debug)]
pub struct SharedMemory {
    memory: Memory,
    policy: Box<dyn BufferPolicy>,
    /// Whether the policy leaves inputs alone that stay within their share.
    isolates_inputs: bool,
}

impl core::ops::Deref for SharedMemory {
    type Target = Memory;

    #[inline]
    fn deref(&self) -> &Memory {
        &self.memory
    }
}

impl SharedMemory {
    /// Priorities of IEEE 802.1Q.
    pub const CLASSES: usize = 8;

    /// The empty memory of a switch of this many ports.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(ports: usize, config: SharedMemoryConfig) -> Result<Self, ParameterError> {
        Self::with_policy(ports, config.share, config.policy.build()?)
    }

    /// The same with a policy at work.
    ///
    /// # Errors
    /// If `share` is zero or too large.
    pub(crate) fn with_policy(
        ports: usize,
        share: Bytes,
        mut policy: Box<dyn BufferPolicy>,
    ) -> Result<Self, ParameterError> {
        require(share.0 > 0, "memory", "be more than 0")?;
        require(share.0.checked_mul(ports as u64).is_some(), "memory", "be less than 2^64 bytes in all")?;
        let port = PortMemory { watched: u64::MAX, ..PortMemory::default() };
        let memory = Memory { ports: vec![port; ports], total: 0, share: share.0 };
        policy.feed(&vec![None; ports], false, &memory);
        Ok(Self { memory, isolates_inputs: policy.isolates_inputs(), policy })
    }

    /// The same, empty, with the rates of the links that feed the inputs. `by_class`: PAUSE stops single classes.
    #[must_use]
    pub fn fed_by(mut self, links: &[Rate], by_class: bool) -> Self {
        let links: Vec<Option<Rate>> = links.iter().copied().map(Some).collect();
        self.policy.feed(&links, by_class, &self.memory);
        self
    }

    /// Whether the feeder of an input must stop a class or may continue it, if the policy decides that.
    #[must_use]
    pub fn pause_level(&self, input: usize, class: usize) -> Option<PauseLevel> {
        self.policy.decides_pause().then(|| self.policy.pause_level(input, class))
    }

    /// The bytes of a class that an input must release, whatever others do, before its feeder may continue, if the
    /// policy decides about that.
    #[must_use]
    pub fn excess(&self, input: usize, class: usize) -> Option<u64> {
        self.policy.decides_pause().then(|| self.policy.excess(input, class))
    }

    /// Number of bytes held that came by `input` from which on the exact level is watched.
    pub fn watch(&mut self, input: usize, watched: u64) {
        self.memory.ports[input].watched = watched;
        self.settle_quiet(input);
    }

    fn settle_quiet(&mut self, input: usize) {
        let (isolates_inputs, share) = (self.isolates_inputs, self.memory.share);
        let port = &mut self.memory.ports[input];
        port.quiet = if isolates_inputs { port.most.min(port.watched.saturating_sub(1)).min(share) } else { 0 };
    }

    /// Whether `input` holds as much as is [watched](SharedMemory::watch) for.
    #[inline]
    #[must_use]
    pub fn is_watched(&self, input: usize) -> bool {
        let input = &self.memory.ports[input];
        input.came >= input.watched
    }

    /// Whether memory of frames that have already left may affect an arriving frame, through [`SharedMemory::admit`],
    /// [`SharedMemory::most_of_input`] or an observer ([`SharedMemory::watch`]).
    #[inline]
    #[must_use]
    pub fn is_close(&self, input: usize, len_bytes: u32) -> bool {
        let input = &self.memory.ports[input];
        input.came + u64::from(len_bytes) > input.quiet
    }

    /// Takes a frame in.
    ///
    /// # Errors
    /// When the policy refuses it; then nothing has changed.
    pub fn admit(&mut self, frame: Frame, arriving: Arriving) -> Result<(), MemoryFull> {
        self.policy.admit(frame, arriving, &self.memory)?;
        self.take(frame);
        let input = &mut self.memory.ports[frame.input];
        if input.came > input.most {
            input.most = input.came;
            self.settle_quiet(frame.input);
        }
        Ok(())
    }

    /// The queue, by output and class, that must lose its last frame, because there is no room for `frame`. `None` if
    /// `frame` is the one to lose.
    #[must_use]
    pub fn victim(&self, frame: Frame) -> Option<(usize, usize)> {
        self.policy.victim(frame)
    }

    /// Takes a frame in for which nothing [is close](SharedMemory::is_close): there is room for it.
    #[inline]
    pub fn take(&mut self, frame: Frame) {
        let Frame { input, class, output, len_bytes } = frame;
        let (len, memory) = (u64::from(len_bytes), &mut self.memory);
        memory.ports[output].leaves += len;
        let input = &mut memory.ports[input];
        input.of_class[class] += len;
        input.came += len;
        memory.total += len;
    }

    /// Frees the memory of a frame that was taken in, or of a part of it. `sent` is the end of its transmission; `None`
    /// if it was dropped.
    #[inline]
    pub fn release(&mut self, frame: Frame, sent: Option<Time>) {
        let Frame { input, class, output, len_bytes } = frame;
        let (len, memory) = (u64::from(len_bytes), &mut self.memory);
        let input = &mut memory.ports[input];
        debug_assert!(input.of_class[class] >= len, "released what was not held");
        input.of_class[class] -= len;
        input.came -= len;
        memory.ports[output].leaves -= len;
        memory.total -= len;
        if !self.isolates_inputs {
            self.policy.release(frame, sent, &self.memory);
        }
    }

    /// The most bytes held that came by `input`, since the start or the last [`SharedMemory::forget_most`].
    #[must_use]
    pub fn most_of_input(&self, input: usize) -> u64 {
        self.memory.ports[input].most
    }

    /// Restarts the search for [`SharedMemory::most_of_input`] from the charged memory.
    pub fn forget_most(&mut self) {
        for input in 0..self.memory.ports.len() {
            self.memory.ports[input].most = self.memory.ports[input].came;
            self.settle_quiet(input);
        }
    }
}

#[cfg(test)]
impl SharedMemory {
    /// Takes in a frame of which only the length matters.
    pub fn admit_alone(&mut self, frame: Frame) -> Result<(), MemoryFull> {
        self.admit(frame, Arriving { now: Time::ZERO, flow: 0, rate: forebay_units::Rate::megabits(10_000) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::buffer::complete_sharing::CompleteSharingConfig;

    const PORTS: usize = 4;

    fn memory(ports: usize, share: u64) -> SharedMemory {
        let policy = BufferPolicyConfig::default();
        SharedMemory::new(ports, SharedMemoryConfig { share: Bytes(share), policy }).unwrap()
    }

    fn frame(input: usize, len_bytes: u32) -> Frame {
        Frame { input, class: 0, output: 1, len_bytes }
    }

    #[test]
    fn a_memory_that_cannot_work_is_refused_by_name() {
        let field = |share| {
            let config = SharedMemoryConfig { share: Bytes(share), policy: BufferPolicyConfig::default() };
            SharedMemory::new(PORTS, config).err().map(|error| error.field)
        };
        assert_eq!([0, 1, u64::MAX].map(field), [Some("memory"), None, Some("memory")]);
    }

    fn sum(held: &[Frame], counts: impl Fn(&Frame) -> bool) -> u64 {
        held.iter().filter(|frame| counts(frame)).map(|frame| u64::from(frame.len_bytes)).sum()
    }

    proptest! {
        #[test]
        fn the_sums_agree_and_what_is_not_close_changes_nothing(
            share in 1000_u64..20_000,
            // Two in three are arrivals, so that the memory fills; the number of the others picks what leaves.
            steps in prop::collection::vec(
                prop_oneof![
                    2 => (0..PORTS, 0..SharedMemory::CLASSES, 0..PORTS, 1_u32..=9000).prop_map(Ok),
                    1 => any::<prop::sample::Index>().prop_map(Err),
                ],
                1..300,
            ),
        ) {
            let (mut memory, mut held) = (memory(PORTS, share), Vec::<Frame>::new());
            for step in steps {
                match step {
                    Ok((input, class, output, len_bytes)) => {
                        let frame = Frame { input, class, output, len_bytes };
                        let (is_close, most) = (memory.is_close(input, len_bytes), memory.most_of_input(input));
                        let admitted = memory.admit_alone(frame);
                        prop_assert!(is_close || admitted.is_ok() && memory.most_of_input(input) == most);
                        held.extend(admitted.is_ok().then_some(frame));
                    }
                    Err(pick) if !held.is_empty() => memory.release(held.swap_remove(pick.index(held.len())), None),
                    Err(_) => {}
                }
                for port in 0..PORTS {
                    prop_assert_eq!(memory.of_input(port), sum(&held, |frame| frame.input == port));
                    prop_assert_eq!(memory.of_output(port), sum(&held, |frame| frame.output == port));
                    for class in 0..SharedMemory::CLASSES {
                        let of_class = sum(&held, |frame| (frame.input, frame.class) == (port, class));
                        prop_assert_eq!(memory.of_input_class(port, class), of_class);
                    }
                }
                prop_assert_eq!(memory.total(), sum(&held, |_| true));
                prop_assert_eq!(memory.free(), memory.capacity() - memory.total());
            }
        }
    }

    #[test]
    fn an_input_is_watched_from_the_number_on() {
        let mut memory = memory(2, 3000);
        memory.watch(0, 1000);
        memory.admit_alone(frame(0, 999)).unwrap();
        memory.admit_alone(frame(1, 2000)).unwrap();
        assert_eq!([0, 1].map(|input| memory.is_watched(input)), [false, false]);
        memory.admit_alone(frame(0, 1)).unwrap();
        assert_eq!([0, 1].map(|input| memory.is_watched(input)), [true, false]);
    }

    #[test]
    fn the_most_that_was_held_is_known_until_it_is_forgotten() {
        let mut memory = memory(2, 3000);
        memory.admit_alone(frame(0, 1500)).unwrap();
        memory.admit_alone(frame(0, 500)).unwrap();
        memory.release(frame(0, 1500), None);
        memory.admit_alone(frame(0, 100)).unwrap();
        assert_eq!([0, 1].map(|input| memory.most_of_input(input)), [2000, 0]);
        memory.forget_most();
        assert_eq!(memory.most_of_input(0), 600);
    }

    #[test]
    fn only_more_than_ever_before_or_what_is_watched_is_close() {
        let mut plain = memory(2, 3000);
        plain.admit_alone(frame(0, 1000)).unwrap();
        plain.release(frame(0, 1000), None);
        assert_eq!([1000, 1001].map(|len| plain.is_close(0, len)), [false, true]);
        plain.watch(0, 500);
        assert_eq!([499, 500].map(|len| plain.is_close(0, len)), [false, true]);
        plain.watch(0, 2000);
        assert_eq!([1000, 1001].map(|len| plain.is_close(0, len)), [false, true]);
        plain.forget_most();
        assert!(plain.is_close(0, 1));
        // Where ports share, any frame may be refused.
        let policy = BufferPolicyConfig::CompleteSharing(CompleteSharingConfig {});
        let mut shared = SharedMemory::new(2, SharedMemoryConfig { share: Bytes(3000), policy }).unwrap();
        shared.admit_alone(frame(0, 1000)).unwrap();
        shared.release(frame(0, 1000), None);
        assert!(shared.is_close(0, 1));
    }
}
