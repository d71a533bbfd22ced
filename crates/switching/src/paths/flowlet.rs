//! Flowlet switching, as in LetFlow.
//!
//! # What it does
//! A node draws a path for the first packet of each flowlet: a burst of a flow, with a gap before it that is longer
//! than `timeout`. All other packets follow the packet of their flow before them. On a congested path the gaps between
//! the packets of a window grow, so flowlets there end early, and on a free path they last long. So flowlets move to
//! free paths although each draw is uniform.
//!
//! # When to use it
//! Use it for TCP in fabrics with links of different rates or with failures, where a hash leaves some paths overloaded.
//! Packets of a flow stay in order as long as `timeout` exceeds the difference of the delays of paths. Paced senders,
//! such as RDMA adapters, leave few gaps: with them it acts like `ecmp`.
//!
//! # Example
//! ```toml
//! paths.flowlet = { timeout = "50 us" }
//! ```
//!
//! # Source
//! E. Vanini, R. Pan, M. Alizadeh, P. Taheri, T. Edsall, "Let It Flow: Resilient Asymmetric Load Balancing with Flowlet
//! Switching", NSDI 2017. The default of `timeout` is that of ConWeave's simulator.
//!
//! # Where we differ
//! The hardware has a table of fixed size, in which flows may share an entry; here each flow and direction has its own.
//! A full table drops flows that are idle for longer than `timeout`, which changes no choice. If routes change and the
//! port of a flow no longer leads to its destination, the flow draws again.
//!
//! # Cost
//! An entry of 16 bytes for each flow with a packet in the last few timeouts. A router takes each packet with a choice
//! in the order of arrivals, and then gives it to the port.
//!
//! # Parameters
//! See [`FlowletConfig`].

use alloc::boxed::Box;

use forebay_units::{Span, uniform_below};
use rand_core::Rng;

use crate::paths::flows::RecentFlows;
use crate::paths::{EqualPaths, NodePolicy, PathPacket, StatefulPolicy};

/// Parameters of flowlet switching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
pub struct FlowletConfig {
    /// A longer gap than this between two packets of a flow begins a flowlet.
    pub timeout: Span,
}

impl Default for FlowletConfig {
    fn default() -> Self {
        Self { timeout: Span::from_microseconds(100) }
    }
}

pub(crate) fn build(config: &FlowletConfig, _salt: u32) -> NodePolicy {
    NodePolicy::Stateful(Box::new(Flowlets::new(config.timeout)))
}

/// The last port of each flow.
#[derive(Debug)]
pub(crate) struct Flowlets {
    timeout: Span,
    flows: RecentFlows,
}

impl Flowlets {
    pub fn new(timeout: Span) -> Self {
        Self { timeout, flows: RecentFlows::new(timeout) }
    }

    /// The path of a packet; `draw` decides for the first one of a flowlet.
    pub fn choose(&mut self, packet: &PathPacket, ports: &[u32], draw: impl FnOnce() -> usize) -> usize {
        let PathPacket { now, flow, .. } = *packet;
        let (last, is_new) = self.flows.entry(flow, now);
        let goes_on = !is_new && now.since(last.time) <= self.timeout;
        let known = if goes_on { ports.binary_search(&last.port).ok() } else { None };
        let place = known.unwrap_or_else(draw);
        (last.port, last.time) = (ports[place], now);
        place
    }
}

impl StatefulPolicy for Flowlets {
    fn choose(&mut self, packet: &mut PathPacket, paths: EqualPaths<'_>, rng: &mut dyn Rng) -> usize {
        Self::choose(self, packet, paths.ports, || uniform_below(rng, paths.ports.len() as u64) as usize)
    }
}

#[cfg(test)]
mod tests {
    use forebay_units::Time;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    const PORTS: [u32; 4] = [2, 3, 5, 9];

    fn flowlets() -> Flowlets {
        Flowlets::new(FlowletConfig::default().timeout)
    }

    fn packet(picoseconds: u64, flow: u32) -> PathPacket {
        PathPacket { now: Time::from_picoseconds(picoseconds), flow, len_bytes: 1000, carried: None }
    }

    #[test]
    fn a_gap_of_the_timeout_keeps_the_path_and_a_longer_one_draws() {
        let mut flowlets = flowlets();
        let mut at = |picoseconds, draw| flowlets.choose(&packet(picoseconds, 7), &PORTS, || draw);
        assert_eq!(at(0, 2), 2);
        assert_eq!(at(100_000_000, 1), 2);
        // Each packet restarts the timeout.
        assert_eq!(at(199_999_999, 1), 2);
        assert_eq!(at(299_999_999, 1), 2);
        assert_eq!(at(400_000_000, 1), 1);
        assert_eq!(at(400_000_000, 3), 1);
    }

    #[test]
    fn flows_have_flowlets_of_their_own() {
        let mut flowlets = flowlets();
        assert_eq!(flowlets.choose(&packet(0, 1), &PORTS, || 3), 3);
        assert_eq!(flowlets.choose(&packet(10, 2), &PORTS, || 0), 0);
        assert_eq!(flowlets.choose(&packet(20, 1), &PORTS, || 1), 3);
    }

    #[test]
    fn a_flow_keeps_its_port_among_other_paths_and_draws_where_that_is_none() {
        let mut flowlets = flowlets();
        assert_eq!(flowlets.choose(&packet(0, 1), &PORTS, || 2), 2);
        assert_eq!(flowlets.choose(&packet(1, 1), &[3, 5], || 0), 1, "port 5 is the second of these");
        assert_eq!(flowlets.choose(&packet(2, 1), &[2, 3], || 0), 0);
        assert_eq!(flowlets.choose(&packet(3, 1), &PORTS, || 3), 0, "port 2 is the first of all");
    }

    #[test]
    fn draws_are_uniform() {
        let (mut flowlets, mut rng) = (flowlets(), Pcg64Mcg::new(5));
        let mut counts = [0_u32; 4];
        for flow in 0..40_000 {
            let paths = EqualPaths { set: 0, ports: &PORTS };
            counts[StatefulPolicy::choose(&mut flowlets, &mut packet(u64::from(flow), flow), paths, &mut rng)] += 1;
        }
        // Five standard deviations of a multinomial.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 5 * 87), "{counts:?}");
    }
}
