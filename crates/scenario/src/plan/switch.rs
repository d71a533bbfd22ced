//! Sources, a multiplexer before each input of a switch, the switch, and sinks.

use forebay_qdisc::{Rng, Span, uniform};
use forebay_records::random::stream;

use super::{CellsOfInput, Plan, PlannedFabric, PlannedFlow, PlannedKind, Source};
use crate::names;
use crate::schema::{Fabric, FlowGroup, Placement, SwitchTopology, Transport};

impl Plan<'_> {
    pub(super) fn switch(&mut self, switch: &SwitchTopology, groups: &[FlowGroup]) {
        let ports = switch.ports as usize;
        let kind = match &switch.fabric {
            Fabric::OutputQueued => PlannedKind::Router,
            fabric => PlannedKind::Crossbar(Box::new(PlannedFabric {
                ports,
                spec: fabric.clone(),
                line_rate: switch.input.rate,
            })),
        };
        let node = self.node(names::SWITCH, kind);
        // Cells begin at the multiplexers.
        let are_cells = groups.iter().all(|group| matches!(group.transport, Transport::Cells(_)));
        let multiplexer = || if are_cells { PlannedKind::Host } else { PlannedKind::Router };
        let inputs: Vec<u32> = (1..=ports).map(|port| self.node(format!("mux-{port}"), multiplexer())).collect();
        let sinks: Vec<u32> = (1..=ports).map(|port| self.host(format!("sink-{port}"))).collect();
        for (&input, port) in inputs.iter().zip(1..) {
            let name = names::switch_input(port);
            self.link(name.clone(), &name, &switch.input, (input, node));
        }
        for (&sink, port) in sinks.iter().zip(1..) {
            let name = names::switch_output(port);
            self.link(name.clone(), &name, &switch.output, (node, sink));
        }
        let pairs: Vec<(usize, usize, f64)> = names::pairs(switch).collect();
        let mut placer = PairPlacer::new(ports, &pairs);
        for group in groups.iter().enumerate() {
            if matches!(group.1.transport, Transport::Cells(_)) {
                self.cells(switch, group, &pairs, (&inputs, &sinks));
                continue;
            }
            for index in 0..group.1.flows() {
                let name = group.1.flow_name(index);
                let (input, output) = match switch.placement {
                    Placement::RoundRobin => placer.next(),
                    Placement::Random => placer.draw(&mut stream(self.seed, &format!("flow/{name}/placement"))),
                };
                let Some(access) = group.1.access.as_ref().or(switch.access.as_ref()) else { continue };
                let host = self.host(format!("source-{name}"));
                let access_name = names::access(&name);
                let there = self.link(access_name.clone(), &access_name, access, (host, inputs[input]));
                let back_name = names::back(&name);
                let back_spec = switch.back.clone().unwrap_or_else(|| access.without_queue());
                let back = self.link(back_name.clone(), &back_name, &back_spec, (sinks[output], host));
                if switch.back.is_none() {
                    let way_there = [there as usize, input, ports + output];
                    let delays = way_there.map(|link| self.links[link].propagation);
                    self.links[back as usize].propagation = delays.into_iter().fold(Span::ZERO, |sum, span| sum + span);
                }
                self.flow(group, index, name, host, sinks[output]);
            }
        }
    }

    fn cells(
        &mut self,
        switch: &SwitchTopology,
        (number, group): (usize, &FlowGroup),
        pairs: &[(usize, usize, f64)],
        (inputs, sinks): (&[u32], &[u32]),
    ) {
        let total = |input: usize| pairs.iter().filter(|pair| pair.0 == input).map(|pair| pair.2).sum();
        let totals: Vec<f64> = (0..inputs.len()).map(total).collect();
        for (&(input, output, share), index) in pairs.iter().zip(0..) {
            let cells = CellsOfInput { input: input as u32, share, total: totals[input], rate: switch.input.rate };
            self.flows.push(PlannedFlow {
                name: names::cell_flow(&group.name, input, output),
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
