//! CONGA: congestion-aware load balancing.
//!
//! # What it does
//! Each switch estimates the use of its ports. A packet carries the largest estimate of its path to the leaf of its
//! destination. That leaf reports it back to the leaf of the source on packets that go there. A new flowlet takes the
//! path with the least congestion: the larger of the leaf's own estimate and the reported one. All other packets follow
//! the packet of their flow before them.
//!
//! # When to use it
//! Use it for leaf-spine networks with links of different rates, with failures, or with few large flows. It needs
//! traffic in both directions between two leaves: only data carry reports, no ACKs. Without reports a leaf sees its own
//! uplinks alone.
//!
//! # Example
//! ```toml
//! paths.conga = { timeout = "100 us" }
//! ```
//!
//! # Source
//! M. Alizadeh et al., "CONGA: Distributed Congestion-Aware Load Balancing for Datacenters", SIGCOMM 2014. Parameters
//! and details are those of ConWeave's simulator: an estimate grows by the bytes of each packet and loses a fifth each
//! 50 us; a new flowlet compares four paths, neighbours from a random start.
//!
//! # Where we differ
//! A metric has three bits and at most the value 7, as in the paper; the simulator has no upper bound. A report is
//! about a spine: parallel links to it share the report, and have estimates of their own. ACKs take paths by the same
//! tables, but carry nothing; the simulator hashes them. The table of flowlets has no limit.
//!
//! # Cost
//! Two metrics for each pair of leaf and spine, an entry of 16 bytes for each recent flow, and ten bits in each packet
//! of data. Routers take all packets in the order of arrivals, and then give them to their ports.
//!
//! # Parameters
//! See [`CongaConfig`].

use alloc::boxed::Box;
use alloc::vec::Vec;

use forebay_units::{Rate, Span, Time, uniform_below};
use rand_core::Rng;

use crate::paths::flowlet::Flowlets;
use crate::paths::{Carried, EqualPaths, LeafSpineNode, NodePolicy, PathPacket, StatefulPolicy};

/// Parameters of CONGA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
pub struct CongaConfig {
    /// A longer gap than this between two packets of a flow begins a flowlet.
    pub timeout: Span,
    /// A report that is older than this counts as no congestion.
    pub aging: Span,
}

impl CongaConfig {
    /// Labels tell this many spines apart.
    pub const MOST_SPINES: u32 = 1 << PATH_BITS;
}

impl Default for CongaConfig {
    fn default() -> Self {
        Self { timeout: Span::from_microseconds(100), aging: Span::from_microseconds(500) }
    }
}

pub(crate) fn build(config: &CongaConfig, _salt: u32) -> NodePolicy {
    NodePolicy::Stateful(Box::new(Conga {
        flowlets: Flowlets::new(config.timeout),
        leaf: None,
        known: Known { aging: config.aging, ports: Vec::new(), reported: Vec::new() },
        received: Vec::new(),
    }))
}

/// The interval of the estimator, and the part that an estimate keeps in it.
const INTERVAL: Span = Span::from_microseconds(50);
const KEPT: f64 = 0.8;

const METRIC_BITS: u32 = 3;
const PATH_BITS: u32 = PathPacket::LABEL_BITS - 2 * METRIC_BITS;
const LEVELS: u16 = 1 << METRIC_BITS;

/// A new flowlet compares this many paths.
const COMPARED: usize = 4;

/// The discounting rate estimator of a port.
#[derive(Clone, Copy, Debug)]
struct Estimator {
    /// Bits of a port that is always busy, in the same unit as `bits`.
    full_bits: f64,
    bits: f64,
    /// The interval of the last packet.
    interval: u64,
}

impl Estimator {
    fn new(rate: Rate) -> Self {
        let full_bits = rate.bits_per_second() as f64 * INTERVAL.picoseconds() as f64 * 1e-12 / (1.0 - KEPT);
        Self { full_bits, bits: 0.0, interval: 0 }
    }

    /// Loses a part for each interval that has passed.
    fn decay(&mut self, now: Time) {
        let interval = now.picoseconds() / INTERVAL.picoseconds();
        while self.interval < interval && self.bits > 1.0 {
            self.bits *= KEPT;
            self.interval += 1;
        }
        self.interval = interval;
    }

    fn add(&mut self, len_bytes: u32, now: Time) {
        self.decay(now);
        self.bits += 8.0 * f64::from(len_bytes);
    }

    fn metric(&mut self, now: Time) -> u16 {
        self.decay(now);
        // Truncated, and not below zero.
        ((f64::from(LEVELS) * self.bits / self.full_bits) as u16).min(LEVELS - 1)
    }
}

/// The data that a packet carries: the largest metric of its path so far, and a report about a path of the way back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Label {
    congestion: u16,
    path: u16,
    reported: u16,
}

impl Label {
    fn of(code: u16) -> Self {
        let field = |shift: u32, bits: u32| code >> shift & ((1 << bits) - 1);
        let (congestion, reported) = (field(0, METRIC_BITS), field(METRIC_BITS, METRIC_BITS));
        Self { congestion, reported, path: field(2 * METRIC_BITS, PATH_BITS) }
    }

    fn code(self) -> u16 {
        self.congestion | self.reported << METRIC_BITS | self.path << (2 * METRIC_BITS)
    }
}

/// A metric with its time; none before the first one.
type Stored = Option<(u16, Time)>;

/// The metrics of the paths over each spine.
type OfLeaf = [Stored; CongaConfig::MOST_SPINES as usize];

#[derive(Debug)]
struct Conga {
    flowlets: Flowlets,
    /// The number of this leaf; `None` at a spine.
    leaf: Option<u32>,
    known: Known,
    /// By leaf, the metrics that packets from there carried.
    received: Vec<OfLeaf>,
}

/// The congestion of the paths from here.
#[derive(Debug)]
struct Known {
    aging: Span,
    /// The estimate of each port, and the spine to which it leads.
    ports: Vec<(Estimator, Option<u32>)>,
    /// By leaf, its reports about the paths to it.
    reported: Vec<OfLeaf>,
}

impl Known {
    fn fresh(&self, stored: Stored, now: Time) -> Option<u16> {
        stored.filter(|&(_, at)| now.since(at) <= self.aging).map(|(metric, _)| metric)
    }

    /// The congestion of the path that begins at a port; `to` is the leaf of the destination, at a leaf.
    fn congestion(&mut self, port: u32, to: Option<u32>, now: Time) -> u16 {
        let (estimator, spine) = &mut self.ports[port as usize];
        let (own, spine) = (estimator.metric(now), *spine);
        let reported = to.zip(spine).map(|(leaf, spine)| self.reported[leaf as usize][spine as usize]);
        own.max(reported.and_then(|stored| self.fresh(stored, now)).unwrap_or(0))
    }

    /// The place of the best of a few paths.
    fn best(&mut self, ports: &[u32], to: Option<u32>, now: Time, rng: &mut dyn Rng) -> usize {
        let start = uniform_below(rng, ports.len() as u64) as usize;
        let (mut best, mut least, mut ties) = (start, u16::MAX, 0);
        for place in (start..start + COMPARED.min(ports.len())).map(|place| place % ports.len()) {
            let congestion = self.congestion(ports[place], to, now);
            if congestion < least {
                (best, least, ties) = (place, congestion, 1);
            } else if congestion == least {
                ties += 1;
                if uniform_below(rng, ties) == 0 {
                    best = place;
                }
            }
        }
        best
    }
}

impl Conga {
    /// A random one of the fresh metrics that packets from a leaf carried.
    fn report(&self, leaf: u32, now: Time, rng: &mut dyn Rng) -> (u16, u16) {
        let of_leaf = &self.received[leaf as usize];
        let fresh = |path: usize| Some((path as u16, self.known.fresh(of_leaf[path], now)?));
        let count = (0..of_leaf.len()).filter_map(fresh).count();
        if count == 0 {
            // No congestion, which is what the other leaf assumes without a report.
            return (0, 0);
        }
        (0..of_leaf.len()).filter_map(fresh).nth(uniform_below(rng, count as u64) as usize).unwrap_or_default()
    }

    /// A packet from another leaf has arrived: stores what it carries.
    fn receive(&mut self, from: u32, input: u32, label: Label, now: Time) {
        if let Some((_, Some(spine))) = self.known.ports.get(input as usize) {
            self.received[from as usize][*spine as usize] = Some((label.congestion, now));
        }
        self.known.reported[from as usize][usize::from(label.path)] = Some((label.reported, now));
    }
}

impl StatefulPolicy for Conga {
    fn choose(&mut self, packet: &mut PathPacket, paths: EqualPaths<'_>, rng: &mut dyn Rng) -> usize {
        let PathPacket { now, len_bytes, carried, .. } = *packet;
        let Some(Carried { input, leaves: [from, to], label }) = carried else { return 0 };
        if self.leaf == Some(to) {
            if let Some(code) = label.filter(|_| from != to) {
                self.receive(from, input, Label::of(code), now);
            }
            packet.carried = Some(Carried { input, leaves: [from, to], label: label.map(|_| 0) });
            return 0;
        }
        let remote = self.leaf.map(|_| to);
        let Self { flowlets, known, .. } = self;
        let place = match paths.ports {
            [_] => 0,
            ports => flowlets.choose(packet, ports, || known.best(ports, remote, now, rng)),
        };
        let (estimator, _) = &mut self.known.ports[paths.ports[place] as usize];
        estimator.add(len_bytes, now);
        let own = estimator.metric(now);
        if let Some(code) = label {
            let mut label = Label::of(code);
            if self.leaf.is_some() {
                let (path, reported) = self.report(to, now, rng);
                label = Label { congestion: 0, path, reported };
            }
            label.congestion = label.congestion.max(own);
            packet.carried = Some(Carried { input, leaves: [from, to], label: Some(label.code()) });
        }
        place
    }

    fn sees_all(&self) -> bool {
        true
    }

    fn place_at(&mut self, node: LeafSpineNode) {
        let LeafSpineNode { leaf, leaves, ports } = node;
        self.leaf = leaf;
        self.known.ports = ports.into_iter().map(|(rate, spine)| (Estimator::new(rate), spine)).collect();
        let none = [None; CongaConfig::MOST_SPINES as usize];
        let tables = if leaf.is_some() { leaves as usize } else { 0 };
        (self.known.reported, self.received) = (alloc::vec![none; tables], alloc::vec![none; tables]);
    }
}

#[cfg(test)]
#[path = "conga_tests.rs"]
mod tests;
