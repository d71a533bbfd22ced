//! The simulator: packets, lanes, processes, the event driver, probes.
//!
//! A network is a graph of processes (endpoints of flows; queues with their links) joined by lanes, which carry 32-byte
//! packets by value with their arrival time. [`NetworkBuilder`] makes one, [`Network::run`] runs it and gives a
//! [`RunResult`]. Time is an integer number of picoseconds; equal seeds give equal results to the last bit.

mod cells;
mod conversation;
mod crossbar;
mod distribution;
mod driver;
mod endpoint;
mod error;
mod event_queue;
mod histogram;
mod meter;
mod network;
mod packet;
pub mod pcapng;
mod port;
mod process;
mod queue_book;
mod report;
mod results;
mod ring;
mod rng;
mod sack;
mod tcp_endpoint;
mod trace;
mod udp;
mod window;
mod wire;

pub use cells::CellArrivals;
pub use crossbar::{FabricSpec, Inputs};
pub use distribution::Distribution;
pub use driver::Network;
pub use error::RunError;
pub use histogram::DelayHistogram;
pub use network::{Application, FabricId, FlowSpec, LinkId, LinkSpec, NetworkBuilder, Probes, Transport};
pub use packet::{FlowId, Packet, PacketFields, departure_stamp, flags, flow_key};
pub use process::{Outbox, Process};
pub use results::{Column, EngineStats, RunResult, Series, Table};
pub use rng::stream;
pub use sack::SackTable;
pub use trace::TraceSpec;
pub use udp::{RateStep, UdpPattern};
