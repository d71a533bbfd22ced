//! The driver: runs each node as far as its arrivals are known.
//!
//! In a round every stage, mostly a single node, has one turn. It may run until a feeder could next send it something:
//! until the feeder has run or its link is busy, plus the delay of the channel. So stages may be at different times.
//! When nothing happens for a while, the next round begins at the next event.

#[cfg(feature = "oracle")]
mod oracle;

use std::ops::Range;

use forebay_qdisc::{Span, Time};

use crate::driver::agenda::TOGETHER;
use crate::driver::calendar::SLOTS;
use crate::driver::inbox::Arrivals;
use crate::driver::node::{Channels, Node, NodeId, PlacedNode};
use crate::driver::order::{Channel, order};
use crate::driver::progress::Progress;
use crate::driver::routes::Routes;
use crate::driver::stages::{between, stages};
use crate::driver::ties::Salts;
use crate::error::RunError;
use crate::observe::interval::MeasuredInterval;
use crate::observe::report::Report;
use crate::packet::side_tables::SideTables;

/// Length of a window in packets of the fastest link, which are to fit into the caches. Very long channels need more.
const PACKETS_OF_WINDOW: u64 = 4096;

/// A channel that holds fewer packets is short: windows are then as long as the queues of busy links allow.
const PACKETS_OF_SHORT_CHANNEL: u64 = 64;

/// Length of an inbox's buckets in such packets where channels are short. A longer bucket is divided in each of many
/// windows, a shorter one is one of many that packets are spread over.
const PACKETS_OF_BUCKET: u64 = 512;

/// Sources that do not wait for answers generate no more packets than that in a round, on average. So neither a round's
/// memory nor its time depends on their rate.
pub const GENERATED_IN_ROUND: u64 = 1 << 18;

pub(crate) struct Windows {
    /// The nodes by stage. A stage of several nodes has groups of [`TOGETHER`] of its own.
    pub(super) nodes: Vec<Option<Box<dyn Node>>>,
    /// The stages in the order of a round.
    pub(super) stages: Vec<Stage>,
    /// The number of stages that run here, the first ones. The others are on other threads.
    pub(super) here: usize,
    /// The feeders of all stages.
    pub(super) feeders: Vec<Feeder>,
    pub(super) channels: Channels,
    /// The place of each node, in the order in which they were added.
    pub(super) places: Vec<NodeId>,
    /// Windows end at multiples of 2^`window_bits` ps.
    pub(super) window_bits: u32,
    /// The least lead of a round over the first pending event.
    pub(super) least_ahead: Span,
    /// The largest lead.
    pub(super) most_ahead: Span,
}

/// The order in which the nodes of a network run, and the nodes that feed each.
pub(crate) struct Arrangement {
    stages: Vec<Stage>,
    feeders: Vec<Feeder>,
    /// The number of each node in this order.
    pub places: Vec<NodeId>,
    /// The delays of the longest channel, and of the shortest that leads back in a round.
    longest: Span,
    shortest: Span,
}

impl Arrangement {
    /// Arranges nodes with these loads, in expected packets per second. Those in the range `together` run in few
    /// [`stages`].
    ///
    /// # Errors
    /// If there is a cycle of channels without delay.
    pub fn new(loads: &[f64], channels: &[Channel], together: Range<NodeId>) -> Result<Self, RunError> {
        let (stage_of, count) = stages(loads.len(), channels, together);
        let between = between(&stage_of, channels);
        let (order, shortest) = order(count, &between)
            .ok_or_else(|| RunError::Invariant("packets may go round in a circle without any delay".into()))?;
        let (mut stages, feeders, places) = lay_out(&order, &stage_of, &between);
        for (&load, &place) in loads.iter().zip(&places) {
            let stage = stages.partition_point(|stage| stage.nodes.end <= place);
            stages[stage].load += load;
        }
        let longest = channels.iter().map(|channel| channel.delay).max().unwrap_or(Span::ZERO);
        Ok(Self { stages, feeders, places, longest, shortest })
    }
}

/// Nodes that run up to the same time.
pub(super) struct Stage {
    pub nodes: Range<NodeId>,
    /// The place of its feeders in `Windows::feeders`.
    pub feeders: Range<usize>,
    /// Its nodes have run until then.
    pub ran_until: Time,
    /// The time before which its nodes begin to send nothing more.
    pub earliest_output: Time,
    /// Expected packets per second.
    pub load: f64,
}

/// A stage that packets come from.
#[derive(Clone, Copy)]
pub(super) struct Feeder {
    pub stage: u32,
    /// Expected packets per second.
    pub packets: f32,
    /// The delay of the shortest channel.
    pub delay: Span,
}

impl Windows {
    /// `nodes` are in the order in which they were added; those numbers in `routes` are places. A packet takes
    /// `packet_time` on the fastest link.
    pub fn new(
        arrangement: Arrangement,
        nodes: Vec<PlacedNode>,
        routes: Routes,
        tables: SideTables,
        packet_time: Span,
        measured: MeasuredInterval,
    ) -> Self {
        let Arrangement { stages, feeders, places, longest, shortest } = arrangement;
        let mut placed: Vec<Option<Box<dyn Node>>> = Vec::new();
        let count = stages.last().map_or(0, |last| last.nodes.end as usize);
        placed.resize_with(count, || None);
        let mut arrivals = vec![Arrivals::AnyOrder(Salts::default()); count];
        for (PlacedNode { node, arrivals: of_node }, &place) in nodes.into_iter().zip(&places) {
            (placed[place as usize], arrivals[place as usize]) = (Some(node), of_node);
        }
        // An inbox's slots must hold the packets on the longest channel.
        let bucket_of = |packets| (packet_time * packets).max(longest / (SLOTS / 2));
        let short = packet_time * PACKETS_OF_SHORT_CHANNEL;
        let (window, bucket, least_ahead) = if shortest < short {
            (bucket_of(PACKETS_OF_WINDOW), bucket_of(PACKETS_OF_BUCKET), short)
        } else {
            let window = bucket_of(PACKETS_OF_WINDOW).min(shortest);
            (window, window, shortest)
        };
        let bits = |span: Span| span.picoseconds().max(1).ilog2();
        let channels = Channels::new(routes, &arrivals, bits(bucket), tables, measured);
        let (here, most_ahead, window_bits) = (stages.len(), Span::MAX, bits(window));
        Self { nodes: placed, here, stages, feeders, channels, places, window_bits, least_ahead, most_ahead }
    }

    /// Bounds rounds if sources generate this many packets per second without waiting for answers.
    pub fn with_generated(mut self, packets_per_s: f64) -> Self {
        if packets_per_s > 0.0 {
            let most_ahead = Span::from_seconds_f64(GENERATED_IN_ROUND as f64 / packets_per_s);
            self.most_ahead = most_ahead.max(Span::from_picoseconds(1));
        }
        self
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// If the run is stopped, or a due node gets no turn.
    pub fn run(&mut self, progress: &mut Progress<'_>) -> Result<(), RunError> {
        let end = self.channels.measured.to + Span::from_picoseconds(1);
        self.start(progress)?;
        let mut before = Time::ZERO;
        loop {
            let begin = self.channels.agenda.first();
            if begin >= end {
                return Ok(());
            }
            // Limits stages without feeders: their packets are scanned in each round until they are taken.
            let ahead = (begin.since(before) * 2).max(self.least_ahead).min(self.most_ahead);
            before = begin;
            let latest = end_of_window(begin, self.window_bits).min(begin.saturating_add(ahead)).min(end);
            let work_before = self.channels.work();
            let turns = self.round(begin, |_| latest);
            if turns == 0 {
                return Err(RunError::Invariant(format!("event due at {} s was never run", begin.seconds())));
            }
            progress.events += turns;
            progress.count_work(begin, self.channels.work() - work_before + turns, &self.nodes)?;
        }
    }

    pub(super) fn start(&mut self, progress: &mut Progress<'_>) -> Result<(), RunError> {
        for (node, id) in self.nodes.iter_mut().zip(0..) {
            let Some(node) = node else { continue };
            let work_before = self.channels.work();
            node.start(id, &mut self.channels);
            self.channels.plan(id, node.next());
            progress.count_work(Time::ZERO, self.channels.work() - work_before + 1, &[])?;
        }
        Ok(())
    }

    /// Gives each stage its turn, at most until `latest`. Nothing before `begin` is pending. Returns how many nodes
    /// were due.
    #[inline]
    pub(super) fn round(&mut self, begin: Time, latest: impl Fn(&Stage) -> Time) -> u64 {
        let Self { nodes, stages, feeders, channels, here, .. } = self;
        let mut turns = 0;
        for number in 0..*here {
            let mut until = latest(&stages[number]);
            for &Feeder { stage, delay, .. } in &feeders[stages[number].feeders.clone()] {
                until = until.min(stages[stage as usize].earliest_output.max(begin).saturating_add(delay));
            }
            let stage = &mut stages[number];
            stage.ran_until = until;
            stage.earliest_output = stage.earliest_output.max(until);
            let first = stage.nodes.start;
            if stage.nodes.len() == 1 {
                if channels.agenda.of(first) < until {
                    turns += 1;
                    stage.earliest_output = stage.earliest_output.max(turn(nodes, first, until, channels));
                }
                continue;
            }
            for group in first as usize / TOGETHER..(stage.nodes.end as usize).div_ceil(TOGETHER) {
                // Visits set bits only: a branch for each node would often be mispredicted.
                let mut due = channels.agenda.due(group, until);
                turns += u64::from(due.count_ones());
                while due != 0 {
                    let node = (group * TOGETHER) as NodeId + due.trailing_zeros();
                    due &= due - 1;
                    turn(nodes, node, until, channels);
                }
            }
        }
        turns
    }

    /// Reports all counters, in the order in which nodes were added.
    pub fn finish(self, report: &mut Report) {
        let Self { mut nodes, channels, places, .. } = self;
        channels.finish(report);
        let end = channels.measured.to;
        for place in places {
            // Frees each node after its counters: a million flows must not be there twice.
            if let Some(mut node) = nodes[place as usize].take() {
                node.finish(end, report);
            }
        }
    }
}

impl Stage {
    pub fn new(nodes: Range<NodeId>, feeders: Range<usize>) -> Self {
        Self { nodes, feeders, ran_until: Time::ZERO, earliest_output: Time::ZERO, load: 0.0 }
    }
}

/// The first end of a window after `time`: to empty inboxes up to there costs least.
pub(super) fn end_of_window(time: Time, window_bits: u32) -> Time {
    Time::from_picoseconds(((time.picoseconds() >> window_bits) + 1) << window_bits)
}

/// Runs a node. Returns the time before which it begins to send nothing more.
#[inline]
fn turn(nodes: &mut [Option<Box<dyn Node>>], id: NodeId, until: Time, channels: &mut Channels) -> Time {
    let Some(node) = &mut nodes[id as usize] else { return until };
    let (earliest_output, next) = node.run(until, id, channels);
    channels.plan(id, next);
    earliest_output
}

/// Returns the stages, their feeders, and the place of each node.
fn lay_out(order: &[NodeId], stage_of: &[usize], between: &[Channel]) -> (Vec<Stage>, Vec<Feeder>, Vec<NodeId>) {
    let mut turn_of = vec![0; order.len()];
    for (&stage, turn) in order.iter().zip(0..) {
        turn_of[stage as usize] = turn;
    }
    let (mut of_stage, mut feeders_of) = (vec![Vec::new(); order.len()], vec![Vec::new(); order.len()]);
    for (&stage, node) in stage_of.iter().zip(0_usize..) {
        of_stage[turn_of[stage]].push(node);
    }
    for &Channel { from, to, delay, packets } in between {
        let stage = turn_of[from as usize] as u32;
        feeders_of[turn_of[to as usize]].push(Feeder { stage, packets: packets as f32, delay });
    }
    let (mut stages, mut feeders, mut places) = (Vec::with_capacity(order.len()), Vec::new(), vec![0; stage_of.len()]);
    let mut next = 0;
    for (nodes, mut of_stage) in of_stage.into_iter().zip(feeders_of) {
        if nodes.len() > 1 {
            next = NodeId::next_multiple_of(next, TOGETHER as NodeId);
        }
        let first = next;
        for node in nodes {
            (places[node], next) = (next, next + 1);
        }
        let first_feeder = feeders.len();
        feeders.append(&mut of_stage);
        stages.push(Stage::new(first..next, first_feeder..feeders.len()));
        if stages.last().is_some_and(|stage| stage.nodes.len() > 1) {
            next = NodeId::next_multiple_of(next, TOGETHER as NodeId);
        }
    }
    (stages, feeders, places)
}
