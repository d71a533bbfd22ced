//! Sources, a multiplexer before each input of a switch, the switch, and sinks.
//!
//! # Example
//!
//! ```toml
//! duration = "6 s"
//! warmup = "2 s"
//!
//! [topology.switch]
//! ports = 4
//! access = { rate = "20 Mbps", delay = { uniform = ["10 ms", "30 ms"] } }
//! input = { rate = "100 Mbps", delay = "1 ms" }
//!
//! [topology.switch.output]
//! rate = "100 Mbps"
//! delay = "1 ms"
//! queue.drop_tail = { limit = "100 packets" }
//!
//! [topology.switch.fabric.cioq]
//! scheduler = "islip"
//! speedup = "6/5"
//! voq_limit = "50 packets"
//!
//! [[flows]]
//! name = "download"
//! count = 40
//! transport = "tcp"
//! ```

use std::borrow::Cow;

use forebay_document::{Invalid, Path};
use forebay_qdisc::{Rng, Span, uniform};
use forebay_records::random::stream;

use super::outline::{CellLines, Crossbar, Crossed, Direction, Each, Links, Outline, Role, Traffic, cell_flow};
use super::{CellsOfInput, Plan, PlannedFabric, PlannedFlow, PlannedKind, Source, TopologyBuilder};
use crate::schema::{
    Fabric, FlowGroup, LinkSpec, Placement, ScenarioSpec, SpanDistribution, SwitchTopology, Transport,
};
use crate::validate::switch;

const INPUTS: usize = 0;
const OUTPUTS: usize = 1;
const SWITCH: &str = "switch";

impl TopologyBuilder for SwitchTopology {
    fn check(&self, spec: &ScenarioSpec, path: &Path) -> Result<(), Invalid> {
        switch::validate(self, spec, path)
    }

    fn outline<'s>(&'s self, outline: &mut Outline<'s>) {
        let crossed = Crossed::Part;
        for (role, name, link, key) in
            [(Role::Inner, "in-", &self.input, "input"), (Role::Bottleneck, "out-", &self.output, "output")]
        {
            let there = outline.described(name, link, key, Traffic::Data);
            let each = Each::Number(1..self.ports + 1);
            outline.links.push(Links { role, each, crossed, ..Links::bottleneck(there, None) });
        }
        let ports = self.ports as usize;
        if !matches!(self.fabric, Fabric::OutputQueued) {
            let (fabric, path) = (Cow::Borrowed(&self.fabric), outline.path.key("fabric"));
            outline.crossbars.push(Crossbar { name: SWITCH, ports, fabric, path, crossed });
        }
        let matrix = self.load_matrix().ok();
        let pairs = (0..ports * ports).filter_map(|at| {
            let (input, output) = (at / ports, at % ports);
            let share = matrix.as_ref()?.load(input, output);
            (share > 0.0).then_some((input, output, share))
        });
        outline.cells = Some(CellLines { lines: self.ports, rate: self.input.rate, pairs: pairs.collect() });
        let path = outline.path.key("back");
        let back = |access: &'s LinkSpec| match &self.back {
            Some(back) => Direction::described("back-", back, path.clone(), Traffic::Acks),
            // As long as the way there.
            None => {
                let delays = [access, &self.input, &self.output].map(|link| link.delay.mean());
                let delay = delays.into_iter().fold(Span::ZERO, |sum, delay| sum + delay);
                let spec = LinkSpec { delay: SpanDistribution::Constant(delay), ..access.without_queue() };
                Direction::new(("back-".into(), ""), Cow::Owned(spec), None, Traffic::Acks)
            }
        };
        outline.add_uplinks(self.access.as_ref(), None, back);
    }

    fn build<'s>(&'s self, plan: &mut Plan<'s>) {
        let ports = self.ports as usize;
        let kind = match &self.fabric {
            Fabric::OutputQueued => PlannedKind::Router,
            fabric => PlannedKind::Crossbar(Box::new(PlannedFabric {
                ports,
                spec: fabric.clone(),
                line_rate: self.input.rate,
            })),
        };
        let node = plan.node(SWITCH, kind);
        let groups = &plan.outline.spec.flows;
        // Cells begin at the multiplexers.
        let are_cells = groups.iter().all(|group| matches!(group.transport, Transport::Cells(_)));
        let multiplexer = || if are_cells { PlannedKind::Host } else { PlannedKind::Router };
        let inputs: Vec<u32> = (1..=ports).map(|port| plan.node(format!("mux-{port}"), multiplexer())).collect();
        let sinks: Vec<u32> = (1..=ports).map(|port| plan.host(format!("sink-{port}"))).collect();
        for (&input, port) in inputs.iter().zip(1..) {
            plan.way_there(INPUTS, &port.to_string(), (input, node));
        }
        for (&sink, port) in sinks.iter().zip(1..) {
            plan.way_there(OUTPUTS, &port.to_string(), (node, sink));
        }
        let pairs = plan.outline.cells.as_ref().map_or_else(Vec::new, |cells| cells.pairs.clone());
        let mut placer = PairPlacer::new(ports, &pairs);
        for group in groups.iter().enumerate() {
            if matches!(group.1.transport, Transport::Cells(_)) {
                self.cells(plan, group, &pairs, (&inputs, &sinks));
                continue;
            }
            for index in 0..group.1.flows() {
                let name = group.1.flow_name(index);
                let pair = match self.placement {
                    Placement::RoundRobin => placer.next(),
                    Placement::Random => placer.draw(&mut stream(plan.seed, &format!("flow/{name}/placement"))),
                };
                self.source(plan, group, index, name, pair, (&inputs, &sinks));
            }
        }
    }
}

impl SwitchTopology {
    /// Adds a flow with its source, and the links to the multiplexer and from the sink.
    fn source(
        &self,
        plan: &mut Plan<'_>,
        group: (usize, &FlowGroup),
        index: u32,
        name: String,
        (input, output): (usize, usize),
        (inputs, sinks): (&[u32], &[u32]),
    ) {
        let Some(uplink) = plan.outline.uplink(group.0) else { return };
        let host = plan.host(format!("source-{name}"));
        let there = plan.way_there(uplink, &name, (host, inputs[input]));
        let way_there = [there as usize, input, self.ports as usize + output];
        let delays = way_there.map(|link| plan.links[link].propagation);
        let sum = delays.into_iter().fold(Span::ZERO, |sum, span| sum + span);
        plan.way(uplink, true, &name, (sinks[output], host), Some(sum).filter(|_| self.back.is_none()));
        plan.flow(group, index, name, host, sinks[output]);
    }

    fn cells(
        &self,
        plan: &mut Plan<'_>,
        (number, group): (usize, &FlowGroup),
        pairs: &[(usize, usize, f64)],
        (inputs, sinks): (&[u32], &[u32]),
    ) {
        let total = |input: usize| pairs.iter().filter(|pair| pair.0 == input).map(|pair| pair.2).sum();
        let totals: Vec<f64> = (0..inputs.len()).map(total).collect();
        for (&(input, output, share), index) in pairs.iter().zip(0..) {
            let cells = CellsOfInput { input: input as u32, share, total: totals[input], rate: self.input.rate };
            plan.flows.push(PlannedFlow {
                name: cell_flow(&group.name, input, output),
                group: number,
                index,
                source: inputs[input],
                destination: sinks[output],
                supply: Source::Cells(cells),
            });
        }
    }
}

/// Puts flows onto the pairs of ports of a switch, to each pair its share.
struct PairPlacer {
    /// (input, output, share of all flows), in the order in which equally good pairs are taken.
    pairs: Vec<(usize, usize, f64)>,
    /// Flows on each pair so far.
    placed: Vec<u32>,
    total: u32,
}

impl PairPlacer {
    fn new(ports: usize, pairs: &[(usize, usize, f64)]) -> Self {
        let sum: f64 = pairs.iter().map(|pair| pair.2).sum();
        let mut pairs: Vec<_> = pairs.iter().map(|&(input, output, share)| (input, output, share / sum)).collect();
        // Along the diagonals: this many flows as there are ports go to as many different outputs, if they are alike.
        pairs.sort_by_key(|&(input, output, _)| ((output + ports - input) % ports, input));
        Self { placed: vec![0; pairs.len()], pairs, total: 0 }
    }

    /// The pair that lags furthest behind its share.
    fn next(&mut self) -> (usize, usize) {
        self.total += 1;
        let lag = |at: usize| self.pairs[at].2 * f64::from(self.total) - f64::from(self.placed[at]);
        // Lags that differ only by rounding are equal.
        let best = (1..self.pairs.len()).fold(0, |best, at| if lag(at) > lag(best) + 1e-9 { at } else { best });
        self.placed[best] += 1;
        (self.pairs[best].0, self.pairs[best].1)
    }

    /// A pair drawn by the shares.
    fn draw(&self, rng: &mut dyn Rng) -> (usize, usize) {
        let mut point = uniform(rng);
        let found = self.pairs.iter().find(|pair| {
            point -= pair.2;
            point < 0.0
        });
        let pair = found.or(self.pairs.last()).expect("validation refuses a load without any traffic");
        (pair.0, pair.1)
    }
}

#[cfg(test)]
mod tests {
    use forebay_switching::LoadPattern;

    use super::*;

    #[test]
    fn flows_in_turn_give_each_pair_its_share_and_each_port_as_many() {
        // The tiny-buffers paper, section 3.1: 490 flows for each of 8 outputs.
        for pattern in [LoadPattern::Uniform, LoadPattern::Diagonal] {
            let matrix = pattern.matrix(8, 1.0).unwrap_or_else(|error| panic!("{error}"));
            let all = (0..64).map(|at| (at / 8, at % 8, matrix.load(at / 8, at % 8)));
            let pairs: Vec<_> = all.filter(|pair| pair.2 > 0.0).collect();
            let mut placer = PairPlacer::new(8, &pairs);
            let mut flows = [[0_u32; 8]; 8];
            for _ in 0..3920 {
                let (input, output) = placer.next();
                flows[input][output] += 1;
            }
            for port in 0..8 {
                assert_eq!(flows[port].iter().sum::<u32>(), 490, "{pattern:?}");
                assert_eq!(flows.iter().map(|row| row[port]).sum::<u32>(), 490, "{pattern:?}");
            }
            for (input, output, share) in pairs {
                let off = f64::from(flows[input][output]) - 490.0 * share;
                assert!(off.abs() <= 1.0, "{pattern:?}: {off} flows too many from {input} to {output}");
            }
        }
    }
}
