//! Decisions of a switch: crossbar schedulers with the inputs that they serve; buffers, PAUSE and congestion management
//! of Ethernet.
//!
//! A crossbar joins each input to at most one output at a time. Packets wait at the inputs in virtual output queues
//! (VOQs), one for each pair of an input and an output. In every *scheduling phase* a [`Scheduler`] gets those that
//! hold packets ([`Occupancy`]) and returns the pairs to join ([`Matching`]). How many phases there are in the time of
//! one packet is the switch's [`Speedup`]. Everything here is a pure state machine: time and random numbers are
//! arguments.
//!
//! | file | contents |
//! |---|---|
//! | `scheduler.rs` | the interface of a scheduler, and the table of all of them |
//! | `mwm.rs`, `islip.rs`, `pim.rs`, `longest_queue_first.rs`, `maximum_size.rs`, `wavefront.rs` | the schedulers |
//! | `virtual_output_queues.rs`, `input_fifos.rs` | the queues at the inputs |
//! | `speedup.rs` | when phases happen, exactly |
//! | `paths.rs`, `paths/` | the interface of a path policy and the table of all of them; the policies |
//! | `load_matrix.rs` | how traffic is spread over pairs of ports |
//! | `buffer.rs`, `buffer/` | the interface of a buffer policy and the table of all of them; the policies |
//! | `shared_memory.rs`, `pause.rs` | the memory of a switch, and what stops the feeder of an input that fills it |
//! | `congestion.rs`, `congestion/` | the interface of congestion management schemes; the schemes, one file each |
//! | `rate_limiter.rs` | when a limited flow may send |
#![no_std]

extern crate alloc;

pub mod buffer;
pub mod congestion;
mod input_fifos;
mod islip;
mod load_matrix;
mod longest_queue_first;
mod matching;
mod maximum_size;
mod mwm;
mod occupancy;
pub mod paths;
mod pause;
mod pim;
mod port_set;
mod rate_limiter;
mod scheduler;
mod shared_memory;
mod speedup;
#[cfg(test)]
mod test_support;
mod virtual_output_queues;
mod wavefront;

pub use buffer::abm::AbmConfig;
pub use buffer::complete_sharing::CompleteSharingConfig;
pub use buffer::dynamic_threshold::DynamicThresholdConfig;
pub use buffer::fab::FabConfig;
pub use buffer::headroom_pool::HeadroomPoolConfig;
pub use buffer::longest_queue_drop::LongestQueueDropConfig;
pub use buffer::partitions::{OutputLimit, PartitionsConfig};
pub use buffer::{Arriving, BufferPolicy, BufferPolicyConfig, Frame};
pub use forebay_units::{Bytes, ParameterError, Rate, Span, Time};
use forebay_units::{require, uniform};
pub use input_fifos::InputFifos;
pub use islip::IslipConfig;
pub use load_matrix::{HotSpot, LoadError, LoadMatrix, LoadPattern};
pub use longest_queue_first::IlqfConfig;
pub use matching::Matching;
pub use maximum_size::MaximumSizeConfig;
pub use mwm::MwmConfig;
pub use occupancy::Occupancy;
pub use paths::{
    Carried, EqualPaths, LeafSpineNode, NodePolicy, PathPacket, PathPolicy, PathPolicyConfig, StatefulPolicy,
};
pub use pause::{PAUSE_QUANTUM_BITS, PauseConfig, PauseLevel, PauseReceiver, PauseSender, SHORTEST_FRAME, headroom};
pub use pim::PimConfig;
pub use rand_core::Rng;
pub use rate_limiter::RateLimiter;
pub use scheduler::{Scheduler, SchedulerConfig};
pub use shared_memory::{Memory, MemoryFull, SharedMemory, SharedMemoryConfig};
pub use speedup::{Speedup, SpeedupError};
pub use virtual_output_queues::VirtualOutputQueues;
pub use wavefront::WavefrontConfig;

/// The most ports that a switch has here: sets of ports are the bits of one word.
pub const MAX_PORTS: usize = 64;
