//! Lossless Ethernet: shared-memory switches, adapters, and the links between them.
//!
//! | file | what |
//! |---|---|
//! | `assembly.rs` | from the description to nodes and links |
//! | `switch.rs`, `switch/` | the switch; in which order it does things; the end of a run |
//! | `port.rs`, `port/`, `output_queues.rs` | a port of it, what is observed of it, and what waits there |
//! | `adapter.rs`, `adapter/` | the end node, and in which order it does things |
//! | `ingress.rs`, `ready_queues.rs` | its way in: virtual output queues, rate limiters, whose turn it is |
//! | `egress.rs` | its way out: the buffer for what the node has not taken yet |
//! | `pause.rs` | PAUSE at a port, both ways |
//! | `frames.rs` | when frames are generated, and for whom |
//! | `service.rs` | rates that change, and how long a frame takes |
//! | `control.rs` | control frames |
//!
//! Data frames travel as packets of their flow. Control frames (messages of congestion management, PAUSE) have flows of
//! their own, behind those: see [`control::ControlRows`].

pub(crate) mod adapter;
pub(crate) mod assembly;
pub(crate) mod control;
pub(crate) mod egress;
pub(crate) mod frames;
pub(crate) mod ingress;
pub(crate) mod output_queues;
pub(crate) mod pause;
pub(crate) mod port;
pub(crate) mod ready_queues;
pub(crate) mod service;
pub(crate) mod switch;
