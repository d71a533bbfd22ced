//! Headroom pool: an input stops its feeder when it holds alpha times the shared memory that is free.
//!
//! # What it does
//! Each input has a reserve and headroom of its own, for each class that PAUSE stops. All inputs share the rest. An
//! input may hold alpha times the part of it that is free: its threshold. A frame is charged to the reserve, beyond it
//! to the shared memory up to the threshold, beyond that to the headroom. It is lost if there is no room either. With
//! `pause` or `priority_pause` without watermarks, an input stops its feeder when it uses headroom, or as much shared
//! memory as its threshold. The feeder continues when the headroom is empty and the shared memory is `resume_offset`
//! below the threshold, or empty. Frames that leave free the headroom first, then the shared memory.
//!
//! # When to use it
//! Use it for lossless fabrics as switches with one memory have them: few busy inputs may hold much, many hold less.
//! Nothing is lost if `headroom` has room for what arrives before a feeder stops; a scenario without that is refused.
//! It needs PAUSE to protect frames; without PAUSE it limits inputs.
//!
//! # Example
//! ```toml
//! switch.memory = "4 MB"
//! switch.buffer.headroom_pool = { headroom = "37.5 KB" }
//! switch.priority_pause = {}
//! ```
//!
//! # Source
//! The rules and the values are those of the simulator of HPCC's authors (Li et al., "HPCC: High Precision Congestion
//! Control", SIGCOMM 2019). Its threshold is the free memory shifted by 3 bits, less one for each doubling of a port's
//! rate over that of hosts: `rate` is the rate of hosts. Its headroom is three times the bytes that arrive within the
//! delay of a link. In ConWeave's simulator `alpha` is 1/16, without a reserve. For SONiC's profiles `headroom` is
//! `xoff`, and `reserve` is `xon`: at 100 Gb/s 30720 and 19456 B for 5 m, 104448 and 19456 B for 300 m.
//!
//! # Where we differ
//! - In HPCC's simulator a frame is lost if headroom and shared memory are full, even if the reserve has room for it.
//! - Its memory is not limited as a whole. Here a frame is lost that does not fit into the memory of the switch.
//! - It sets one headroom aside for each port, whatever the number of classes: see `classes`.
//! - PAUSE ends by itself and is repeated; in the simulator only the order to continue ends it.
//! - Frames of class 0 are charged like others.
//!
//! # Cost
//! 144 bytes for each input. A product for each frame, after the memory of all ports has been brought up to date.
//!
//! # Parameters
//! See [`HeadroomPoolConfig`].

use alloc::boxed::Box;
use alloc::vec::Vec;

use forebay_units::{Bytes, Rate, Time};

use crate::buffer::{Arriving, BufferPolicy, Frame};
use crate::pause::PauseLevel;
use crate::shared_memory::{Memory, MemoryFull, SharedMemory};
use crate::{ParameterError, require};

/// Parameters of the headroom pool.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
pub struct HeadroomPoolConfig {
    /// The threshold of each input as a multiple of the free shared memory. Default: 1/8 (HPCC's simulator).
    #[cfg_attr(feature = "config", schemars(extend("exclusiveMinimum" = 0.0)))]
    pub alpha: f64,
    /// Memory of each input for itself. Default: 4 KiB (HPCC's simulator).
    pub reserve: Bytes,
    /// Memory of each input for what arrives after the order to stop. Default: 37.5 KB, which HPCC's simulator has at
    /// 100 Gb/s and 1 us.
    pub headroom: Bytes,
    /// How far below the threshold the shared memory of an input must fall before its feeder may continue. Default: 3
    /// KiB (HPCC's simulator).
    pub resume_offset: Bytes,
    /// The rate of links to which `alpha` and `headroom` apply. An input whose link has another rate has more or less
    /// of both, in proportion. Default: all inputs have the same.
    #[cfg_attr(feature = "config", serde(skip_serializing_if = "Option::is_none"))]
    pub rate: Option<Rate>,
    /// Number of classes for which each input has reserve and headroom set aside. Default: 1.
    #[cfg_attr(feature = "config", schemars(range(min = 1, max = 8)))]
    pub classes: u8,
    /// Memory of the whole switch, where this is less than its ports have together. Default: theirs.
    #[cfg_attr(feature = "config", serde(skip_serializing_if = "Option::is_none"))]
    pub total: Option<Bytes>,
}

impl Default for HeadroomPoolConfig {
    fn default() -> Self {
        Self {
            alpha: 0.125,
            reserve: Bytes(4096),
            headroom: Bytes(37_500),
            resume_offset: Bytes(3072),
            rate: None,
            classes: 1,
            total: None,
        }
    }
}

impl HeadroomPoolConfig {
    /// The headroom of an input, for each class, whose link has this rate.
    #[must_use]
    pub fn headroom_at(&self, link: Rate) -> Bytes {
        let of = self.rate.unwrap_or(link).bits_per_second();
        let scaled = u128::from(self.headroom.0) * u128::from(link.bits_per_second()) / u128::from(of);
        Bytes(scaled.try_into().unwrap_or(u64::MAX))
    }

    /// The memory that inputs with links of these rates have for themselves.
    pub fn set_aside(&self, links: impl Iterator<Item = Rate>) -> Bytes {
        let of_input = |link| self.headroom_at(link).0.saturating_add(self.reserve.0);
        let one_class = links.map(of_input).fold(0, u64::saturating_add);
        Bytes(one_class.saturating_mul(self.classes.into()))
    }

    fn alpha_at(&self, link: Rate) -> f64 {
        let of = self.rate.unwrap_or(link).bits_per_second();
        self.alpha * (link.bits_per_second() as f64 / of as f64)
    }
}

/// The bytes of a class that an input holds.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    headroom: u64,
    /// In reserve and shared memory.
    other: u64,
}

#[derive(Clone, Debug)]
struct Input {
    alpha: f64,
    headroom: u64,
    held: [Held; SharedMemory::CLASSES],
}

#[derive(Clone, Debug)]
struct HeadroomPool {
    config: HeadroomPoolConfig,
    inputs: Vec<Input>,
    /// Whether classes are charged, and stopped, singly.
    by_class: bool,
    /// The memory of the switch.
    total: u64,
    /// The part that is shared, and how much of it is in use.
    shared: u64,
    used: u64,
}

pub(crate) fn build(config: &HeadroomPoolConfig) -> Result<Box<dyn BufferPolicy>, ParameterError> {
    require(config.alpha.is_finite() && config.alpha > 0.0, "alpha", "be a number above 0")?;
    require(config.headroom.0 > 0, "headroom", "be more than 0")?;
    let classes = SharedMemory::CLASSES as u8;
    require((1..=classes).contains(&config.classes), "classes", "be a number from 1 to 8")?;
    let (config, inputs) = (*config, Vec::new());
    Ok(Box::new(HeadroomPool { config, inputs, by_class: false, total: 0, shared: 0, used: 0 }))
}

impl HeadroomPool {
    fn class(&self, class: usize) -> usize {
        if self.by_class { class } else { 0 }
    }

    /// The part of what a reserve and the shared memory hold that is in the shared memory.
    fn in_shared(&self, other: u64) -> u64 {
        other.saturating_sub(self.config.reserve.0)
    }

    /// The most shared memory that an input with this alpha may use while all inputs use `used`.
    fn threshold_at(&self, alpha: f64, used: u64) -> u64 {
        let free = self.shared.saturating_sub(used);
        ((alpha * free as f64) as u64).min(free)
    }
}

impl BufferPolicy for HeadroomPool {
    /// Watermarks do not protect: an input may be refused frames before it has reached one.
    fn limits_outputs(&self) -> bool {
        true
    }

    fn threshold(&self, _memory: &Memory) -> u64 {
        self.total
    }

    fn feed(&mut self, links: &[Option<Rate>], by_class: bool, memory: &Memory) {
        let config = self.config;
        let rates = || links.iter().map(|link| link.or(config.rate).unwrap_or(Rate::LEAST));
        let input = |rate| Input {
            alpha: config.alpha_at(rate),
            headroom: config.headroom_at(rate).0,
            held: [Held::default(); SharedMemory::CLASSES],
        };
        self.inputs = rates().map(input).collect();
        self.by_class = by_class;
        self.total = memory.capacity().min(config.total.map_or(u64::MAX, |total| total.0));
        self.shared = self.total.saturating_sub(config.set_aside(rates()).0);
    }

    fn admit(&mut self, frame: Frame, _arriving: Arriving, memory: &Memory) -> Result<(), MemoryFull> {
        let len_bytes = u64::from(frame.len_bytes);
        if memory.total() + len_bytes > self.total {
            return Err(MemoryFull::All);
        }
        let (class, input) = (self.class(frame.class), &self.inputs[frame.input]);
        let (held, threshold) = (input.held[class], self.threshold_at(input.alpha, self.used));
        let (before, after) = (self.in_shared(held.other), self.in_shared(held.other + len_bytes));
        if after == 0 || after <= threshold {
            self.used += after - before;
            self.inputs[frame.input].held[class].other += len_bytes;
        } else if held.headroom + len_bytes <= input.headroom {
            self.inputs[frame.input].held[class].headroom += len_bytes;
        } else {
            return Err(MemoryFull::Partition);
        }
        Ok(())
    }

    fn release(&mut self, frame: Frame, _sent: Option<Time>, _memory: &Memory) {
        let (len_bytes, class) = (u64::from(frame.len_bytes), self.class(frame.class));
        let mut held = self.inputs[frame.input].held[class];
        let before = self.in_shared(held.other);
        let of_headroom = held.headroom.min(len_bytes);
        held.headroom -= of_headroom;
        held.other -= len_bytes - of_headroom;
        self.used -= before - self.in_shared(held.other);
        self.inputs[frame.input].held[class] = held;
    }

    fn decides_pause(&self) -> bool {
        true
    }

    fn pause_level(&self, input: usize, class: usize) -> PauseLevel {
        let input = &self.inputs[input];
        let Held { headroom, other } = input.held[self.class(class)];
        let (shared, threshold) = (self.in_shared(other), self.threshold_at(input.alpha, self.used));
        let is_below = shared == 0 || shared.saturating_add(self.config.resume_offset.0) <= threshold;
        PauseLevel { is_high: headroom > 0 || shared >= threshold, is_low: headroom == 0 && is_below }
    }

    fn excess(&self, input: usize, class: usize) -> u64 {
        let input = &self.inputs[input];
        let Held { headroom, other } = input.held[self.class(class)];
        let shared = self.in_shared(other);
        let most = self.threshold_at(input.alpha, 0).saturating_sub(self.config.resume_offset.0);
        // A feeder continues only after a frame has left.
        (headroom + shared.saturating_sub(most)).max(1)
    }
}

#[cfg(test)]
#[path = "headroom_pool_tests.rs"]
mod tests;
