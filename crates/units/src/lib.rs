//! Building blocks of every algorithm: time, rate and size as integer newtypes with their text forms, ranges of
//! numbers, uniform draws, the form of configurations, and the error for a parameter outside its bounds. [`control`]
//! has the interface of a congestion controller.
//!
//! Simulated time is an integer number of picoseconds, so that a 64-byte frame at 100 Gb/s (5.12 ns) is exact.
//! Everything here is `no_std`; text such as `"100 Mbps"`, `"550 ns"` or `"16 KB"` is read and written by [`parse`],
//! and with the feature `config` each type is a serde string and a JSON-Schema string of that form.
#![no_std]

extern crate alloc;

#[cfg(feature = "config")]
mod bare_names;
mod configuration;
pub mod control;
mod draw;
mod parameter;
pub mod parse;
#[cfg(feature = "config")]
mod python_class;
mod ranges;
mod rate;
mod size;
mod time;

#[cfg(feature = "config")]
pub use bare_names::allow_bare_names;
pub use draw::{uniform, uniform_below};
pub use parameter::{ParameterError, require};
pub use parse::ParseError;
#[cfg(feature = "config")]
pub use python_class::PythonClass;
pub use ranges::Ranges;
pub use rate::Rate;
pub use size::{Bytes, QueueSize};
pub use time::{PICOSECONDS_PER_SECOND, Span, Time};
