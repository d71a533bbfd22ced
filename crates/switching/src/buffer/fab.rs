//! FAB, flow-aware buffers: short flows get a larger part of the free memory.
//!
//! # What it does
//! As `dynamic_threshold`, with two thresholds. A flow that has sent fewer than `short_bytes` bytes without a pause of
//! `window` is short: its frames are admitted while their queue holds at most `short_alpha` times the free memory. The
//! frames of other flows are held to `alpha` times the free memory.
//!
//! # When to use it
//! Use it to absorb incasts of short flows next to long flows, which must not fill the memory. It needs a counter for
//! each flow. With PAUSE, frames beyond the threshold are lost.
//!
//! # Example
//! ```toml
//! switch.buffer.fab = { alpha = 0.5, short_bytes = "21 KB" }
//! ```
//!
//! # Source
//! M. Apostolaki, L. Vanbever and M. Ghobadi, "FAB: Toward Flow-aware Buffer Sharing on Programmable Switches",
//! Workshop on Buffer Sizing 2019, with the rules and values of the simulator of ABM's authors.
//!
//! # Where we differ
//! - The switch has one counter for a flow, the simulator one at each output.
//! - The counter of a flow without a frame for `window` is removed. The simulator keeps it and starts it again.
//!
//! # Cost
//! 64 bytes for each output, and 24 to 50 for each flow with a frame within the last `window` or two. O(log n) for each
//! frame with n such flows, after the memory of all ports has been brought up to date.
//!
//! # Parameters
//! See [`FabConfig`].

use alloc::boxed::Box;
use alloc::collections::BTreeMap;

use forebay_units::{Bytes, Span, Time};

use crate::buffer::queue_bytes::QueueBytes;
use crate::buffer::{Arriving, BufferPolicy, Frame, threshold_at, within};
use crate::shared_memory::{Memory, MemoryFull};
use crate::{ParameterError, require};

/// Parameters of FAB.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
pub struct FabConfig {
    /// The threshold of each queue for long flows, as a multiple of the free memory. Default: 0.5 (the simulator of
    /// ABM's authors).
    #[cfg_attr(feature = "config", schemars(extend("exclusiveMinimum" = 0.0)))]
    pub alpha: f64,
    /// The same for short flows. Default: 1024, which is no bound but the free memory (the simulator).
    #[cfg_attr(feature = "config", schemars(extend("exclusiveMinimum" = 0.0)))]
    pub short_alpha: f64,
    /// Bytes from which on a flow is long, with the frame that arrives. Default: 21 KB, 15 packets of 1400 B (the
    /// simulator).
    pub short_bytes: Bytes,
    /// Time without a frame after which a flow is a new one. Default: 5 ms (the simulator).
    pub window: Span,
}

impl Default for FabConfig {
    fn default() -> Self {
        let window = Span::from_milliseconds(5);
        Self { alpha: 0.5, short_alpha: 1024.0, short_bytes: Bytes(21_000), window }
    }
}

#[derive(Debug)]
struct Fab {
    config: FabConfig,
    queues: QueueBytes,
    /// Bytes of each flow, and the time of its last frame.
    flows: BTreeMap<u64, (u64, Time)>,
    /// When counters are removed next.
    clean_at: Time,
}

pub(crate) fn build(config: &FabConfig) -> Result<Box<dyn BufferPolicy>, ParameterError> {
    for (alpha, field) in [(config.alpha, "alpha"), (config.short_alpha, "short_alpha")] {
        require(alpha.is_finite() && alpha > 0.0, field, "be a number above 0")?;
    }
    require(config.short_alpha >= config.alpha, "short_alpha", "be at least `alpha`")?;
    require(config.window > Span::ZERO, "window", "be more than 0")?;
    let (queues, flows) = (QueueBytes::default(), BTreeMap::new());
    Ok(Box::new(Fab { config: *config, queues, flows, clean_at: Time::ZERO }))
}

impl Fab {
    /// Counts a frame of a flow. Returns whether the flow is short.
    fn is_short(&mut self, frame: Frame, arriving: Arriving) -> bool {
        let (now, window) = (arriving.now, self.config.window);
        let is_new = |last: Time| now.since(last) > window;
        if now >= self.clean_at {
            self.flows.retain(|_, (_, last)| !is_new(*last));
            self.clean_at = now + window;
        }
        let (bytes, last) = self.flows.entry(arriving.flow).or_insert((0, now));
        if is_new(*last) {
            *bytes = 0;
        }
        *bytes += u64::from(frame.len_bytes);
        *last = now;
        *bytes < self.config.short_bytes.0
    }
}

impl BufferPolicy for Fab {
    fn limits_outputs(&self) -> bool {
        true
    }

    /// For long flows.
    fn threshold(&self, memory: &Memory) -> u64 {
        threshold_at(self.config.alpha, memory)
    }

    fn admit(&mut self, frame: Frame, arriving: Arriving, memory: &Memory) -> Result<(), MemoryFull> {
        let is_short = self.is_short(frame, arriving);
        let alpha = if is_short { self.config.short_alpha } else { self.config.alpha };
        within(self.queues.of(frame), frame, threshold_at(alpha, memory), memory)?;
        self.queues.add(frame);
        Ok(())
    }

    fn release(&mut self, frame: Frame, _sent: Option<Time>, _memory: &Memory) {
        self.queues.remove(frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::BufferPolicyConfig;
    use crate::shared_memory::{SharedMemory, SharedMemoryConfig};
    use forebay_units::Rate;

    const B: f64 = 400_000.0;

    fn memory(config: FabConfig) -> SharedMemory {
        let policy = BufferPolicyConfig::Fab(config);
        SharedMemory::new(4, SharedMemoryConfig { share: Bytes(100_000), policy }).unwrap()
    }

    fn frame(output: usize) -> Frame {
        Frame { input: 0, class: 0, output, len_bytes: 1000 }
    }

    fn arriving(flow: u64, microseconds: u64) -> Arriving {
        let now = Time::ZERO + Span::from_microseconds(microseconds);
        Arriving { now, flow, rate: Rate::megabits(10_000) }
    }

    #[test]
    fn long_flows_share_by_alpha_and_short_ones_use_the_rest() {
        let mut memory = memory(FabConfig::default());
        // A long flow to each of two outputs, until both are refused.
        for _ in 0..400 {
            for output in 0..2 {
                let _ = memory.admit(frame(output), arriving(output as u64, 0));
            }
        }
        for output in 0..2 {
            let expected = 0.5 * B / (1.0 + 2.0 * 0.5);
            let held = memory.of_output(output) as f64;
            assert!((held - expected).abs() <= 1000.0, "{held} for {expected}");
            assert_eq!(memory.admit(frame(output), arriving(output as u64, 1)), Err(MemoryFull::Output));
        }
        // Short flows to the same outputs fill the memory.
        let mut flows = 2;
        while memory.admit(frame(0), arriving(flows, 2)).is_ok() {
            flows += 1;
        }
        assert!(memory.free() < 1000, "{}", memory.free());
    }

    #[test]
    fn a_flow_is_short_until_it_has_sent_so_much_or_paused() {
        let config = FabConfig { alpha: 0.001, short_bytes: Bytes(3000), ..FabConfig::default() };
        let mut memory = memory(config);
        // 1000 and 2000 bytes are fewer than 3000.
        let admitted = [0, 1, 2, 3].map(|at| memory.admit(frame(0), arriving(7, at)).is_ok());
        assert_eq!(admitted, [true, true, false, false]);
        // The frames that were refused count, and so does their time.
        assert!(memory.admit(frame(0), arriving(7, 5003)).is_err());
        assert!(memory.admit(frame(0), arriving(7, 10_004)).is_ok());
        assert!(memory.admit(frame(1), arriving(8, 10_004)).is_ok(), "another flow");
    }

    #[test]
    fn counters_of_flows_that_are_over_are_removed() {
        let mut fab = Fab {
            config: FabConfig::default(),
            queues: QueueBytes::default(),
            flows: BTreeMap::new(),
            clean_at: Time::ZERO,
        };
        // A flow each microsecond for a second: those of the last window or two remain.
        for flow in 0..1_000_000 {
            fab.is_short(frame(0), arriving(flow, flow));
            assert!(fab.flows.len() <= 10_002);
        }
    }

    #[test]
    fn parameters_that_cannot_work_are_refused_by_name() {
        let field = |config| build(&config).err().map(|error| error.field);
        let defaults = FabConfig::default;
        assert_eq!(field(defaults()), None);
        for alpha in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(field(FabConfig { alpha, ..defaults() }), Some("alpha"));
            assert_eq!(field(FabConfig { short_alpha: alpha, ..defaults() }), Some("short_alpha"));
        }
        assert_eq!(field(FabConfig { short_alpha: 0.4, ..defaults() }), Some("short_alpha"));
        assert_eq!(field(FabConfig { window: Span::ZERO, ..defaults() }), Some("window"));
    }
}
