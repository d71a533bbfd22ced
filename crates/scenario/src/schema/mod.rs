//! The schema of a scenario file: all keys, with their meanings and defaults.
//!
//! Written once, here: the JSON Schema for editors and the Python types are generated from these types and their
//! comments. Alternatives are externally tagged tables, `queue.red = { … }`, of which exactly one is given; where every
//! parameter of an alternative has a default its bare name will do, `queue = "red"`.

mod clos;
mod distribution;
mod ecn;
mod ethernet;
mod flows;
mod framing;
mod home;
mod host;
mod impairments;
mod lab;
mod link;
mod one_or_many;
mod or_table;
mod probes;
mod python;
mod queue;
mod scenario;
mod service;
mod switch;
pub(crate) mod tagged;
mod topology;

pub use clos::{ClosSwitch, FatTree, HostPort, LeafSpine, LinkException};
pub use distribution::{SizeDistribution, SpanDistribution};
pub use ecn::DatagramEcn;
pub use ethernet::{
    Adapter, Arbiter, Arrivals, Ethernet, EthernetLink, EthernetNode, EthernetSwitch, FrameOnOff, Frames, Generator,
    Pause, Reaction, Service, ServiceAt, SharedMemorySwitch, Watchdog, WatchdogAction,
};
pub(crate) use ethernet::{OTHERS, SCHEMES};
pub use flows::{
    Constant, Direction, Enters, FlowGroup, Game, OnOff, PacketSize, Ping, PingInterval, Poisson, RateStep,
    SlowdownBase, Transport, Udp, UdpPattern, Voice,
};
pub(crate) use flows::{VOICE_BPS, VOICE_INTERVAL, rdma_variants, tcp_variants};
pub use framing::LinkFraming;
pub use home::{Gateway, GatewayPort, Home, HomeHost, Server};
pub use host::{HostJitter, HostQueue};
pub use impairments::{
    CorrelatedLoss, DrawnLoss, EarlyPackets, FourState, GilbertElliott, Impairments, LossModel, LostPackets,
    Reordering, Slots,
};
pub use lab::{Lab, Pin};
pub use link::{GraphLink, LinkSpec};
pub use one_or_many::OneOrMany;
pub use probes::{FlowGauges, Probes, SeriesKind, Trace};
pub(crate) use queue::disciplines;
pub use queue::{QueueSpec, Switch};
pub use scenario::ScenarioSpec;
pub(crate) use service::MAHIMAHI_BYTES;
pub use service::{Opportunities, Outage, RateOrZero, RateTrace, ServicePeriod, TraceStep};
pub(crate) use switch::SCHEDULERS;
pub use switch::{Cells, Cioq, Fabric, InputQueued, SwitchTopology};
pub(crate) use tagged::Algorithm;
pub(crate) use topology::topologies;
pub use topology::*;
