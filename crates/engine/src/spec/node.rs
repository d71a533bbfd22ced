//! The nodes of a network.

use crate::spec::{AdapterSpec, CrossbarSpec, EthernetSwitchSpec};

/// Index of a node, in the order of [`NetworkBuilder::add_node`](crate::NetworkBuilder::add_node).
pub type NodeIndex = u32;

/// A node: links begin and end here. Any node may be joined to any other.
pub enum NodeSpec {
    /// Where flows begin and end. A host forwards nothing. Next to an Ethernet switch it has an adapter, and no other
    /// link than that of the adapter.
    Host(Option<Box<AdapterSpec>>),
    /// Forwards each packet to the queue of an outgoing link at once.
    Router,
    /// A router with a fabric: packets cross from their input to their output.
    Crossbar(Box<CrossbarSpec>),
    /// An Ethernet switch, with memory that its ports share.
    EthernetSwitch(Box<EthernetSwitchSpec>),
}

impl NodeSpec {
    /// Whether packets pass through.
    #[must_use]
    pub const fn forwards(&self) -> bool {
        !matches!(self, Self::Host(_))
    }
}
