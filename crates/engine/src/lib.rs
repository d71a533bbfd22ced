//! The simulator: packets, lanes, processes, the event driver, probes.
//!
//! A network is a graph of processes (endpoints of flows; queues with their links) joined by lanes, which carry 32-byte
//! packets by value with their arrival time. [`NetworkBuilder`] makes one, [`Network::run`] runs it and gives a
//! [`RunResult`]. Time is an integer number of picoseconds; equal seeds give equal results to the last bit.

mod adapter;
mod cells;
mod conversation;
mod crossbar;
mod deadlines;
mod deadlock;
mod distribution;
mod driver;
mod egress;
mod endpoint;
mod endpoints;
mod error;
mod ethernet;
mod ethernet_links;
mod ethernet_network;
mod ethernet_switch;
mod event_queue;
mod frames;
mod histogram;
mod ingress;
mod machine;
mod meter;
mod network;
mod output_queues;
mod packet;
mod pause_port;
pub mod pcapng;
mod port;
mod prefetch;
mod process;
mod queue_book;
mod report;
mod results;
mod ring;
mod rng;
mod rounds;
mod sack;
mod sides;
mod switch_port;
mod tcp_endpoint;
mod trace;
mod udp;
mod ways;
mod window;
mod wire;

pub use cells::CellArrivals;
pub use crossbar::{FabricSpec, Inputs};
pub use deadlock::Deadlock;
pub use distribution::Distribution;
pub use error::RunError;
pub use ethernet::{
    AdapterSpec, Arbiter, EthernetPort, EthernetSwitchSpec, FlowControl, FrameArrivals, OnOff, ServiceStep,
};
pub use histogram::DelayHistogram;
pub use machine::available_memory;
pub use network::{Application, FabricId, FlowSpec, LinkId, LinkSpec, Network, NetworkBuilder, Probes, Transport};
pub use packet::{FlowId, Packet, PacketFields, departure_stamp, flags, flow_key};
pub use process::{Outbox, Process};
pub use results::{Column, EngineStats, RunResult, Series, Table};
pub use rng::stream;
pub use sack::SackTable;
pub use trace::TraceSpec;
pub use udp::{RateStep, UdpPattern};
