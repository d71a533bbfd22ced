//! A tin: queues of flows that take turns, and its clock.

use super::flow_lists::{FlowLists, List};
use super::flow_table::{CakeIsolation, FlowTable, Set, WayCounts};
use super::shaper::{Meter, TinClock};
use super::sizes::{MTU_BYTES, QUEUES};
use super::statistics::TinStatistics;
use super::tins::Share;
use crate::cobalt::{CobaltLaw, CobaltState};
use crate::{Rng, Span, Time};

/// BLUE's steps: 2^24 and 2^20 of 2^32.
const INCREMENT: f64 = 1.0 / 256.0;
const DECREMENT: f64 = 1.0 / 4096.0;

/// How many queues of a tin are in each state.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlowCounts {
    pub sparse: u32,
    pub bulk: u32,
    pub decaying: u32,
    /// Those on which BLUE acts.
    pub unresponsive: u32,
}

/// The queues of a tin, and the lists in which they are. Absent until the tin has had a packet.
#[derive(Clone, Debug)]
pub(super) struct TinQueues {
    pub table: FlowTable,
    pub lists: FlowLists,
}

/// A tin.
#[derive(Clone, Debug)]
pub(super) struct Tin {
    pub share: Share,
    pub clock: TinClock,
    /// Bytes that it may still send in its turn, where nothing is shaped.
    pub deficit: i32,
    /// Bytes that a queue may send in its turn.
    pub flow_quantum: u32,
    pub law: CobaltLaw,
    /// The time of a packet of the maximum size at the tin's rate.
    pub mtu_time: Span,
    queues: Option<TinQueues>,
    pub flows: FlowCounts,
    pub backlog_bytes: u64,
    pub statistics: TinStatistics,
}

impl Tin {
    /// An empty tin of this share. `rtt` is the round-trip time for which CAKE is configured.
    pub fn new(share: Share, rtt: Span) -> Self {
        let (clock, law) = (TinClock { meter: Meter::new(0), next: Time::ZERO }, law(Span::ZERO, rtt));
        let mut tin = Self {
            share,
            clock,
            deficit: 0,
            flow_quantum: 0,
            law,
            mtu_time: Span::ZERO,
            queues: None,
            flows: FlowCounts::default(),
            backlog_bytes: 0,
            statistics: TinStatistics::default(),
        };
        tin.set_share(share, rtt);
        tin
    }

    /// `cake_set_rate`.
    pub fn set_share(&mut self, share: Share, rtt: Span) {
        self.share = share;
        self.clock.meter = Meter::new(share.bytes_per_second);
        self.mtu_time = self.clock.meter.cost(MTU_BYTES);
        self.flow_quantum = match share.bytes_per_second {
            0 => MTU_BYTES,
            rate => (rate >> 12).clamp(300, u64::from(MTU_BYTES)) as u32,
        };
        self.law = law(self.mtu_time, rtt);
    }

    /// The law, with what `ingress` adds: a delay of two packets of each bulk flow is no congestion.
    pub fn ingress_law(&self) -> CobaltLaw {
        let congestion_delay = self.law.congestion_delay.max(self.mtu_time * 2 * u64::from(self.flows.bulk));
        CobaltLaw { congestion_delay, ..self.law }
    }

    /// Makes the tables. Later calls do nothing.
    pub fn open(&mut self, isolation: CakeIsolation) -> &mut TinQueues {
        let new = || TinQueues { table: FlowTable::new(isolation), lists: FlowLists::new() };
        self.queues.get_or_insert_with(new)
    }

    /// The queues, if the tin has had a packet.
    pub fn queues(&self) -> Option<&TinQueues> {
        self.queues.as_ref()
    }

    /// The queues of a tin that has had a packet.
    pub fn queues_mut(&mut self) -> &mut TinQueues {
        self.queues.as_mut().expect("a tin with a queue in turn has had a packet")
    }

    pub fn heap_bytes(&self) -> u64 {
        self.queues.as_ref().map_or(0, |queues| queues.table.heap_bytes() + queues.lists.heap_bytes())
    }

    pub fn ways(&self) -> WayCounts {
        self.queues.as_ref().map(|queues| queues.table.ways).unwrap_or_default()
    }

    /// Whether it may have packets.
    pub fn is_active(&self) -> bool {
        self.flows.sparse + self.flows.bulk > 0
    }

    /// `cake_get_flow_quantum`: the quantum of a queue, divided by the load of its host. Random numbers even out the
    /// rounding.
    fn grant(&self, index: usize, rng: &mut dyn Rng) -> i32 {
        let host_load = self.queues.as_ref().map_or(1, |queues| queues.table.host_load(index));
        let part = u32::from(u16::MAX) / u32::from(host_load);
        ((self.flow_quantum * part + (rng.next_u32() & 0xffff)) >> 16) as i32
    }

    /// A packet has been added to a queue (`cake_enqueue`, flowchain).
    pub fn arrived(&mut self, index: usize, rng: &mut dyn Rng) {
        match self.queues_mut().table.queues[index].set {
            set @ (Set::None | Set::Decaying) => {
                self.flows.decaying -= u32::from(set == Set::Decaying);
                self.flows.sparse += 1;
                let deficit = self.grant(index, rng);
                let TinQueues { table, lists } = self.queues_mut();
                lists.move_to_tail(List::New, index);
                let queue = &mut table.queues[index];
                (queue.set, queue.deficit) = (Set::Sparse, deficit);
            }
            Set::SparseWait => self.become_bulk(index),
            Set::Sparse | Set::Bulk => {}
        }
    }

    fn become_bulk(&mut self, index: usize) {
        self.flows.sparse -= 1;
        self.flows.bulk += 1;
        let table = &mut self.queues_mut().table;
        table.queues[index].set = Set::Bulk;
        table.enter_bulk(index);
    }

    /// The queue whose turn it is: of those that decay if it is the first of a call, then of the new ones, of the old
    /// ones, and of those that decay.
    pub fn next_queue(&self, is_first: bool) -> Option<usize> {
        let lists = &self.queues.as_ref()?.lists;
        let decaying = lists.first(List::Decaying);
        let first = decaying.filter(|_| is_first);
        first.or_else(|| lists.first(List::New)).or_else(|| lists.first(List::Old)).or(decaying)
    }

    /// A queue has used up its quantum: it gets another one, and goes behind the old ones.
    pub fn end_turn(&mut self, index: usize, rng: &mut dyn Rng) {
        let queue = &mut self.queues_mut().table.queues[index];
        if queue.set == Set::Sparse {
            if queue.packets.len() > 0 {
                self.become_bulk(index);
            } else {
                queue.set = Set::SparseWait;
            }
        }
        let quantum = self.grant(index, rng);
        let TinQueues { table, lists } = self.queues_mut();
        table.queues[index].deficit += quantum;
        lists.move_to_tail(List::Old, index);
    }

    /// A queue was found empty. It decays until its law is at rest.
    pub fn ran_empty(&mut self, index: usize, now: Time) {
        let law = self.law;
        self.update_law(index, |cobalt| cobalt.ran_empty(&law, now));
        let TinQueues { table, lists } = self.queues_mut();
        let queue = &mut table.queues[index];
        let cobalt = &queue.cobalt;
        let is_at_rest = cobalt.probability == 0.0 && cobalt.count == 0 && now >= cobalt.drop_next;
        let before = core::mem::replace(&mut queue.set, if is_at_rest { Set::None } else { Set::Decaying });
        if is_at_rest {
            lists.remove(index);
        } else {
            lists.move_to_tail(List::Decaying, index);
        }
        if before == Set::Bulk {
            table.leave_bulk(index);
        }
        match before {
            Set::Sparse | Set::SparseWait => self.flows.sparse -= 1,
            Set::Bulk => self.flows.bulk -= 1,
            Set::Decaying | Set::None => self.flows.decaying -= 1,
        }
        self.flows.decaying += u32::from(!is_at_rest);
    }

    /// A queue has lost a packet because the buffer is full.
    pub fn overflowed(&mut self, index: usize, now: Time) {
        let law = self.law;
        self.update_law(index, |cobalt| cobalt.overflowed(&law, now));
    }

    /// Changes the law's state of a queue, and counts whether BLUE acts on it.
    fn update_law(&mut self, index: usize, update: impl FnOnce(&mut CobaltState)) {
        debug_assert!(index < QUEUES);
        let cobalt = &mut self.queues_mut().table.queues[index].cobalt;
        let before = cobalt.probability > 0.0;
        update(cobalt);
        let after = cobalt.probability > 0.0;
        self.flows.unresponsive = self.flows.unresponsive + u32::from(after) - u32::from(before);
    }
}

/// `cake_set_rate`: the law of a tin where the longest packet takes `mtu_time`.
fn law(mtu_time: Span, rtt: Span) -> CobaltLaw {
    let configured = target_of(rtt);
    let target = configured.max(mtu_time * 3 / 2);
    CobaltLaw {
        congestion_delay: target.max(mtu_time * 4),
        interval: (rtt + target - configured).max(target * 2),
        ecn: true,
        ce_threshold: None,
        increment: INCREMENT,
        decrement: DECREMENT,
        freeze: target,
        blue_threshold: None,
    }
}

/// The target for a round-trip time: a twentieth of it.
fn target_of(rtt: Span) -> Span {
    rtt / 20
}

#[cfg(test)]
#[path = "tin_tests.rs"]
mod tests;
