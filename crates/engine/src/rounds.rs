//! The driver of an Ethernet: its nodes run in rounds, without an event queue.
//!
//! What a node sends reaches the next one no sooner than the shortest frame takes over the shortest link. So far all of
//! them may run, one after the other: within a round their order is nobody's business, and no queue has to keep it.

use forebay_qdisc::Span;

use crate::adapter::Adapter;
use crate::driver::Progress;
use crate::error::RunError;
use crate::ethernet_links::{DUE_TOGETHER, Links, NodeId};
use crate::ethernet_switch::EthernetSwitch;
use crate::report::Report;

/// An Ethernet that is ready to run.
pub(crate) struct Rounds {
    /// The nodes, numbered in this order.
    pub switches: Vec<EthernetSwitch>,
    pub adapters: Vec<Adapter>,
    pub links: Links,
    /// Whatever a node begins to send reaches the next one no sooner than this much later.
    pub lookahead: Span,
}

impl Rounds {
    /// Makes everything happen in the order of the global clock, and nothing be settled before it does: the same
    /// results, slower. For tests.
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
        let Self { switches, adapters, links, lookahead } = self;
        let ahead = lookahead.saturating_sub(Span::from_picoseconds(1));
        let starts = switches.iter().map(EthernetSwitch::next).chain(adapters.iter().map(Adapter::next));
        for (next, node) in starts.zip(0..) {
            links.plan(node, next);
        }
        loop {
            let begin = links.begin_round();
            if begin > links.window.to {
                return Ok(());
            }
            progress.count_event(begin)?;
            links.horizon = (begin + ahead).min(links.window.to);
            for group in 0..links.due_groups() {
                // Which of them are due is anybody's guess: bits are looked through without a wrong branch for each.
                let mut due = links.due_in(group);
                while due != 0 {
                    let node = group * DUE_TOGETHER + due.trailing_zeros() as usize;
                    due &= due - 1;
                    let next = if let Some(switch) = switches.get_mut(node) {
                        switch.run(node as NodeId, links)
                    } else {
                        adapters[node - switches.len()].run(node as NodeId, links)
                    };
                    links.plan(node as NodeId, next);
                }
            }
        }
    }

    /// Hands in all books.
    pub fn finish(self, report: &mut Report) {
        let Self { mut switches, mut adapters, mut links, .. } = self;
        let end = links.window.to;
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
