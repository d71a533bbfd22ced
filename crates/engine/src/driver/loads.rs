//! How much work each node is expected to have.

use forebay_qdisc::Rate;

use crate::driver::node::NodeId;
use crate::driver::routes::{RouteRows, Step};
use crate::spec::flows::Flows;
use crate::spec::{Transport, UdpPattern};

/// Cost of a packet at a group of hosts, with downlink, endpoint and uplink, and elsewhere.
const HOSTS: f64 = 3.0;
const PORT: f64 = 1.0;

/// Any length will do for a rough measure.
const PACKET_BITS: f64 = 8000.0;

/// Expected packets per second of each node, weighted by cost. Nodes from `first_group` on are hosts. Flows share links
/// equally. Even rows of `routes` are of data packets, odd ones of as many ACKs.
pub(crate) fn loads(routes: &RouteRows, rates: &[Rate], nodes: usize, first_group: NodeId) -> Vec<f64> {
    let mut flows_on = vec![0_u32; rates.len()];
    for row in routes.iter().step_by(2) {
        links(row, rates.len()).for_each(|link| flows_on[link] += 1);
    }
    let mut loads = vec![0.0; nodes];
    let mut packets = 0.0;
    for (row, number) in routes.iter().zip(0_usize..) {
        if number.is_multiple_of(2) {
            let share = |link: usize| rates[link].bits_per_second() as f64 / f64::from(flows_on[link]);
            packets = links(row, rates.len()).map(share).fold(f64::INFINITY, f64::min) / PACKET_BITS;
            if !packets.is_finite() {
                packets = 0.0;
            }
        }
        for step in row {
            loads[step.node as usize] += packets * if step.node < first_group { PORT } else { HOSTS };
        }
    }
    loads
}

/// Packets per second that UDP sources generate together at their highest rates. Sources of cells and frames generate
/// no more than their lines carry.
pub(crate) fn generated(flows: &Flows) -> f64 {
    let of_flow = |transport: &Transport| {
        let Transport::Udp { pattern, length, .. } = transport else { return 0.0 };
        let rate_bps = match pattern {
            UdpPattern::Constant { rate_bps, .. }
            | UdpPattern::OnOff { rate_bps, .. }
            | UdpPattern::Poisson { rate_bps } => *rate_bps,
            UdpPattern::Steps(steps) => steps.iter().map(|step| step.rate_bps).fold(0.0, f64::max),
        };
        rate_bps / (8.0 * length.mean_within(1.0, f64::from(u16::MAX)))
    };
    flows.iter().map(|flow| of_flow(flow.transport)).sum()
}

/// The links on a route. Feeders from `count` on are endpoints.
fn links(row: &[Step], count: usize) -> impl Iterator<Item = usize> {
    row.iter().map(|step| step.feeder as usize).filter(move |&link| link < count)
}
