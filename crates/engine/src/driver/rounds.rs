//! The driver of an Ethernet: its nodes run in rounds, without an event queue.
//!
//! What a node sends reaches the next one no sooner than the shortest frame takes over the shortest link. So far each
//! may run beyond what its neighbours have done. So nodes run one after the other, those of one side ([`Sides`])
//! and then those of the other one: within a side their order does not matter, and no queue has to keep it.

use forebay_qdisc::{Span, Time};

use crate::driver::progress::Progress;
use crate::driver::sides::{DUE_TOGETHER, NodeId, Sides};
use crate::error::RunError;
use crate::ethernet::adapter::Adapter;
use crate::ethernet::links::Links;
use crate::ethernet::switch::EthernetSwitch;
use crate::observe::report::Report;

/// An Ethernet that is ready to run.
pub(crate) struct Rounds {
    /// The nodes, in the order of the description.
    pub switches: Vec<EthernetSwitch>,
    pub adapters: Vec<Adapter>,
    pub sides: Sides,
    pub links: Links,
    /// Whatever a node begins to send reaches the next one no sooner than this much later; zero if nodes are not to run
    /// ahead.
    pub lookahead: Span,
    /// About how many frames a node sends in a turn, at most: what a turn counts as work.
    pub frames_ahead: u64,
}

impl Rounds {
    /// Makes everything happen in the order of the global clock, and nothing be settled before it does: the same
    /// results, slower.
    #[cfg(feature = "oracle")]
    pub fn in_order(&mut self) {
        self.lookahead = Span::ZERO;
        for switch in &mut self.switches {
            switch.settle_nothing_ahead();
        }
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// If the run is stopped.
    pub fn run(&mut self, progress: &mut Progress<'_>) -> Result<(), RunError> {
        let Self { switches, adapters, sides, links, lookahead, frames_ahead } = self;
        let instant = Span::from_picoseconds(1);
        let ahead = lookahead.saturating_sub(instant);
        let starts = switches.iter().map(EthernetSwitch::next).chain(adapters.iter().map(Adapter::next));
        for (next, &node) in starts.zip(&sides.ids) {
            links.plan(node, next);
        }
        // What a side sends from now on, it does not send before this.
        let mut has_run_to = [Time::ZERO; 2];
        loop {
            for (side, groups) in sides.groups.iter().enumerate() {
                let begin = links.begin_half();
                if begin > links.measured.to {
                    return Ok(());
                }
                progress.events += 1;
                let mut turns = 0;
                links.horizon = (begin.max(has_run_to[1 - side]) + ahead).min(links.measured.to);
                if sides.groups.len() == 2 && *lookahead > Span::ZERO {
                    has_run_to[side] = links.horizon + instant;
                }
                for group in groups.clone() {
                    // Which of them are due is anybody's guess: bits are looked through without a wrong branch for
                    // each.
                    let mut due = links.due_in(group);
                    turns += u64::from(due.count_ones());
                    while due != 0 {
                        let id = group * DUE_TOGETHER + due.trailing_zeros() as usize;
                        due &= due - 1;
                        let Some(node) = sides.nodes[id] else { continue };
                        let next = if let Some(switch) = switches.get_mut(node as usize) {
                            switch.run(id as NodeId, links)
                        } else {
                            adapters[node as usize - switches.len()].run(id as NodeId, links)
                        };
                        links.plan(id as NodeId, next);
                    }
                }
                progress.count_work(begin, turns * *frames_ahead)?;
            }
        }
    }

    /// Hands in all books. Not inlined, so that the driver of events, which is part of the same function, does not have
    /// to be compiled together with it.
    #[inline(never)]
    pub fn finish(self, report: &mut Report) {
        let Self { mut switches, mut adapters, mut links, .. } = self;
        let end = links.measured.to;
        for switch in &mut switches {
            switch.take_back(end, &mut links);
        }
        links.finish(report);
        for switch in &mut switches {
            switch.finish(end, report);
        }
        for adapter in &mut adapters {
            adapter.finish(end, &mut links, report);
        }
    }
}
