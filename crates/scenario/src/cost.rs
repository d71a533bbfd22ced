//! The cost of a discipline: CPU time for each packet, measured apart from the simulator.
//!
//! A loop offers packets of many flows at random times (a Poisson process) and takes a packet whenever the line is
//! free, as a port does. Flows and gaps are drawn beforehand, so that the loop adds only a few nanoseconds; they are
//! part of the figure, and the same for every discipline.

use forebay_engine::Meter;
use forebay_qdisc::{
    Discipline, DropReason, Ecn, FlowInfo, FlowKey, FlowKeysOnly, Line, MarkReason, Packet, ParameterError, Queue,
    Rate, Rng, Sink, Span, Time, Watcher, uniform,
};
use forebay_records::random::stream;

use crate::custom_classes::CustomClasses;
use crate::load::Scenario;
use crate::plan::Plan;
use crate::schema::{QueueSpec, Switch};

const COST_SEED: u64 = 1;
/// Packets offered in one pass over the drawn sequence.
const PASS: usize = 1 << 18;
/// Gaps that are drawn; they come round and round.
const GAPS: usize = 1 << 12;
/// Passes that are timed. The least counts: whatever else ran on the machine can only have added to the others.
const PASSES: usize = 5;

/// The load offered to a queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// How often each flow's packets come, relative to the others'.
    pub flow_weights: Vec<f64>,
    /// Length of every packet.
    pub packet_bytes: u32,
    /// The offered load, as a multiple of the line's rate.
    pub load: f64,
}

impl Workload {
    /// This many flows, equally active, with packets of 1000 bytes.
    #[must_use]
    pub fn uniform(flows: usize, load: f64) -> Self {
        Self { flow_weights: vec![1.0; flows], packet_bytes: 1000, load }
    }
}

/// The measurements of a queue under a [`Workload`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// CPU time for each packet offered: its enqueue or drop, and its part of the dequeues.
    pub ns_per_packet: f64,
    /// Part of the packets offered that were dropped.
    pub drop_share: f64,
    /// Packets queued at the end.
    pub queued_packets: u64,
    /// Memory of the discipline's state at the end.
    pub state_bytes: u64,
}

/// Measures the queue of a scenario's link of that name with its rate; `None` if there is no such link or its queue is
/// not described.
///
/// # Errors
/// If the queue cannot be built.
pub fn cost_in(
    scenario: &Scenario,
    link: &str,
    workload: &Workload,
    custom: Option<&dyn CustomClasses>,
) -> Result<Option<Cost>, ParameterError> {
    let spec = scenario.spec();
    let plan = Plan::new(spec, spec.seed);
    let line = plan.links.iter().find(|candidate| candidate.name == link).map(|line| plan.spec(line));
    match line.and_then(|line| Some((line.queue.as_deref()?, line.rate))) {
        Some((queue, rate)) => {
            let mut switch = Switch::new(COST_SEED, custom);
            switch.at_link(link);
            Ok(Some(measured(queue.build_in(&mut switch, rate, salt())?, rate, workload)))
        }
        None => Ok(None),
    }
}

/// Measures a queue in front of a line of `rate`.
///
/// # Errors
/// If the queue cannot be built.
pub fn cost(queue: &QueueSpec, rate: Rate, workload: &Workload) -> Result<Cost, ParameterError> {
    Ok(measured(queue.build_in(&mut Switch::new(COST_SEED, None), rate, salt())?, rate, workload))
}

fn salt() -> u64 {
    stream(COST_SEED, "cost/salt").next_u64()
}

fn measured(queue: Queue<Offered>, rate: Rate, workload: &Workload) -> Cost {
    let mut discipline = queue.into_discipline();
    let sequence = Sequence::draw(rate, workload);
    let mut port = Port::new(&mut *discipline, rate);
    let mut rng = stream(COST_SEED, "cost/queue");
    // The first pass fills the queue, the tables and the caches.
    port.offer(&sequence, &mut rng);
    let (offered, dropped) = (port.offered, port.losses.0);
    let least_s = (0..PASSES)
        .map(|_| {
            let start = Meter::start();
            port.offer(&sequence, &mut rng);
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min);
    let (offered, dropped) = (port.offered - offered, port.losses.0 - dropped);
    Cost {
        ns_per_packet: least_s * 1e9 / PASS as f64,
        drop_share: dropped as f64 / offered as f64,
        queued_packets: discipline.backlog().packets,
        state_bytes: discipline.state_bytes(),
    }
}

/// The packets of one pass.
struct Sequence {
    flows: Vec<u32>,
    gaps: Vec<Span>,
    packet_bytes: u32,
}

impl Sequence {
    fn draw(rate: Rate, workload: &Workload) -> Self {
        let mut rng = stream(COST_SEED, "cost/arrivals");
        let mut total = 0.0;
        let cumulative: Vec<f64> = workload
            .flow_weights
            .iter()
            .map(|weight| {
                total += weight.max(0.0);
                total
            })
            .collect();
        let mut flow = || {
            let drawn = uniform(&mut rng) * total;
            cumulative.partition_point(|&up_to| up_to <= drawn) as u32
        };
        let flows = (0..PASS).map(|_| flow()).collect();
        let mean_ps = rate.transmission_time(u64::from(workload.packet_bytes)).picoseconds() as f64 / workload.load;
        let drawn: Vec<f64> = (0..GAPS).map(|_| -libm::log(1.0 - uniform(&mut rng))).collect();
        // So few gaps have a mean of their own; the load must be the requested one.
        let unit_ps = mean_ps * GAPS as f64 / drawn.iter().sum::<f64>();
        let gaps = drawn.into_iter().map(|gap| Span::from_picoseconds((gap * unit_ps) as u64)).collect();
        Self { flows, gaps, packet_bytes: workload.packet_bytes }
    }
}

/// A packet as large as one of the simulator.
#[derive(Clone, Copy)]
struct Offered {
    flow: FlowKey,
    len_bytes: u32,
    ecn: Ecn,
    /// Disciplines that measure sojourn times keep their own stamps; this fills the packet up to the size of a
    /// simulated one.
    _payload: u64,
}

impl Packet for Offered {
    fn flow(&self) -> FlowKey {
        self.flow
    }

    fn len_bytes(&self) -> u32 {
        self.len_bytes
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    /// Eight classes, for disciplines that tell them apart.
    fn class(&self) -> u8 {
        (self.flow.0 >> 1 & 7) as u8
    }

    fn input_port(&self) -> u16 {
        0
    }

    fn mark_ce(&mut self) {
        self.ecn = Ecn::CongestionExperienced;
    }

    fn set_class(&mut self, _class: u8) {}
}

/// Counts what is dropped.
#[derive(Default)]
struct Losses(u64);

impl Sink<Offered> for Losses {
    fn dropped(&mut self, _packet: Offered, _reason: DropReason, _queued: bool) {
        self.0 += 1;
    }

    fn marked(&mut self, _packet: &Offered, _reason: MarkReason) {}

    fn trimmed(&mut self, _packet: &Offered, _cut_bytes: u32) {}

    fn flow_info(&self) -> &dyn FlowInfo<Offered> {
        &FlowKeysOnly
    }
}

impl Watcher<Offered> for Losses {}

/// A line with its queue, to which packets are offered.
struct Port<'q> {
    queue: &'q mut dyn Discipline<Offered>,
    line: Line<Offered>,
    now: Time,
    offered: u64,
    losses: Losses,
}

impl<'q> Port<'q> {
    fn new(queue: &'q mut dyn Discipline<Offered>, rate: Rate) -> Self {
        Self { queue, line: Line::new(rate), now: Time::ZERO, offered: 0, losses: Losses::default() }
    }

    /// One pass over the sequence.
    fn offer(&mut self, sequence: &Sequence, rng: &mut dyn Rng) {
        let gaps = sequence.gaps.iter().cycle();
        let Self { queue, line, losses, .. } = self;
        for (&flow, &gap) in sequence.flows.iter().zip(gaps) {
            self.now = self.now.saturating_add(gap);
            self.offered += 1;
            let packet = Offered {
                flow: FlowKey(u64::from(flow) << 1),
                len_bytes: sequence.packet_bytes,
                ecn: Ecn::NotCapable,
                _payload: 0,
            };
            line.run_until(self.now, &mut **queue, rng, losses);
            line.arrive(packet, self.now, &mut **queue, rng, losses);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PortSpec;

    fn measured(queue: &str, settings: &[(&str, &str)], workload: &Workload) -> Cost {
        let settings: Vec<_> = settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let port = PortSpec::load("100 Mbps", queue, &settings).unwrap();
        cost(&port.queue, port.rate, workload).unwrap()
    }

    #[test]
    fn what_is_offered_beyond_the_rate_is_dropped() {
        let cost = measured("drop_tail", &[("limit", "100 packets")], &Workload::uniform(16, 1.25));
        assert!((cost.drop_share - 0.2).abs() < 0.001, "{cost:?}");
        assert!(cost.queued_packets > 50, "{cost:?}");
        assert!(cost.ns_per_packet > 0.0);
    }

    #[test]
    fn below_the_rate_nothing_is() {
        let cost = measured("drop_tail", &[], &Workload::uniform(16, 0.5));
        assert_eq!(cost.drop_share, 0.0);
    }

    #[test]
    fn flows_come_by_their_weights() {
        let workload = Workload { flow_weights: vec![1.0, 0.0, 3.0], packet_bytes: 1000, load: 1.0 };
        let sequence = Sequence::draw(Rate::megabits(100), &workload);
        let count = |flow| sequence.flows.iter().filter(|&&it| it == flow).count() as f64 / PASS as f64;
        assert!((count(0) - 0.25).abs() < 0.01);
        assert_eq!(count(1), 0.0);
        assert!((count(2) - 0.75).abs() < 0.01);
    }
}
