//! Lossless Ethernet: shared-memory switches, adapters, and the links between them.
//!
//! `assembly` makes the nodes from the description. A `switch` has `port`s with `output_queues` (`discipline_queues`
//! under disciplines), and `forwarding` is its table. An `adapter` is the end node: `transmit` has virtual output
//! queues with rate limiters, `receive` is the receive buffer, `frames` generates traffic, and `attached` has the
//! endpoints behind it. Both use `pause` and `control` frames.
//! A `watchdog` of a switch ends pauses without end.
//!
//! The frames of a flow come from a generator of its adapter or from an endpoint of any transport behind it. Control
//! frames (messages of congestion management, PAUSE) have flow numbers of their own: see [`control::ControlRows`].

pub(crate) mod adapter;
pub(crate) mod attached;
pub(crate) mod class_turns;
pub(crate) mod control;
pub(crate) mod departures;
pub(crate) mod discipline_queues;
pub(crate) mod forwarding;
pub(crate) mod frames;
pub(crate) mod output_queues;
pub(crate) mod pause;
pub(crate) mod port;
pub(crate) mod ready_queues;
pub(crate) mod receive;
pub(crate) mod switch;
pub(crate) mod transmit;
pub(crate) mod voq;
pub(crate) mod watchdog;
