//! The flow table: an entry for each hash value, without a flow label, so that flows may collide (paper, section 5.2).

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use super::input_ports::InputPorts;
use crate::Time;
use crate::memory::heap_bytes;

/// The table's entry for the flows that hash to one index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// `buffersUsed`: cells in queues.
    pub used_cells: u32,
    /// `maxCredits - credits`, so that a fresh entry is all zero.
    pub credits_lost: u8,
    /// The queue that counts this entry among its active flows while cells are in use. Only in a shared table can
    /// packets of two queues meet in one entry.
    owner: u16,
    /// The queue that counts this entry among the belligerent flows.
    blame: Option<Blame>,
    /// When the credits first fell to the limit; [`Time::NEVER`] before.
    pub classified_at: Time,
}

/// A belligerent flow as its queue counts it.
#[derive(Clone, Copy, Debug)]
struct Blame {
    queue: u16,
    port: u16,
    round: u32,
}

/// The counters of a table for one of the queues that use it.
#[derive(Clone, Debug, Default)]
pub(super) struct QueueCounts {
    /// `activeFlows`: entries with cells in this queue.
    pub active_flows: u32,
    /// Entries whose credits are at or below the queue's limit.
    pub belligerent_flows: u32,
    /// The input ports, if they are watched.
    pub input_ports: Option<InputPorts>,
}

/// A flow table with its queues.
#[derive(Debug)]
pub struct FlowTable {
    pub(super) entries: Vec<Entry>,
    pub(super) queues: Vec<QueueCounts>,
}

impl FlowTable {
    /// An empty table of this many entries; at least one.
    pub(super) fn new(entries: u32) -> Self {
        let fresh = Entry { used_cells: 0, credits_lost: 0, owner: 0, blame: None, classified_at: Time::NEVER };
        Self { entries: vec![fresh; entries.max(1) as usize], queues: Vec::new() }
    }

    /// Enters another queue; returns its number. `None` after 65,536 of them.
    pub(super) fn register(&mut self, input_ports: Option<InputPorts>) -> Option<u16> {
        let number = u16::try_from(self.queues.len()).ok()?;
        self.queues.push(QueueCounts { input_ports, ..QueueCounts::default() });
        Some(number)
    }

    /// Bytes of the entries and of what the queues count.
    pub(super) fn heap_bytes(&self) -> u64 {
        heap_bytes(&self.entries) + heap_bytes(&self.queues)
    }

    /// Whether its input port lets a packet for `queue` pass. Always, if the queue does not watch input ports.
    #[inline]
    pub(super) fn passes_input_port(&mut self, queue: u16, port: u16, len_bytes: u32, now: Time) -> bool {
        let ports = &mut self.queues[usize::from(queue)].input_ports;
        ports.as_mut().is_none_or(|ports| ports.admits(port, len_bytes, now))
    }

    /// The index of a hash.
    pub(super) fn index(&self, hash: u64) -> u32 {
        crate::table_index(hash, self.entries.len() as u32)
    }

    /// Adds the cells of a packet that enters `queue`.
    pub(super) fn add_cells(&mut self, index: u32, cells: u32, queue: u16) {
        let entry = &mut self.entries[index as usize];
        if entry.used_cells == 0 {
            entry.owner = queue;
            self.queues[usize::from(queue)].active_flows += 1;
        }
        entry.used_cells += cells;
    }

    /// Takes back the cells of a packet that leaves its queue.
    pub(super) fn remove_cells(&mut self, index: u32, cells: u32) {
        let entry = &mut self.entries[index as usize];
        entry.used_cells -= cells;
        if entry.used_cells == 0 {
            self.queues[usize::from(entry.owner)].active_flows -= 1;
        }
    }

    /// Brings the counts of belligerent flows up to date after a packet of `port` for `queue`.
    #[inline]
    pub(super) fn classify(&mut self, index: u32, belligerent: bool, queue: u16, port: u16, now: Time) {
        match (self.entries[index as usize].blame, belligerent) {
            (None, false) => {}
            (None, true) => self.blame(index, queue, port, now),
            (Some(blame), true) => self.blame_again(index, blame, now),
            (Some(blame), false) => self.absolve(index, blame),
        }
    }

    fn blame(&mut self, index: u32, queue: u16, port: u16, now: Time) {
        let counts = &mut self.queues[usize::from(queue)];
        counts.belligerent_flows += 1;
        let round = counts.input_ports.as_mut().map_or(0, |ports| ports.blame(port, now));
        let entry = &mut self.entries[index as usize];
        entry.blame = Some(Blame { queue, port, round });
        entry.classified_at = entry.classified_at.min(now);
    }

    /// The flow is still belligerent: its port is reminded, or blamed again if it had been cleared since.
    fn blame_again(&mut self, index: u32, blame: Blame, now: Time) {
        let Some(ports) = &mut self.queues[usize::from(blame.queue)].input_ports else { return };
        if !ports.recalls(blame.port, blame.round, now) {
            let round = ports.blame(blame.port, now);
            self.entries[index as usize].blame = Some(Blame { round, ..blame });
        }
    }

    fn absolve(&mut self, index: u32, blame: Blame) {
        let counts = &mut self.queues[usize::from(blame.queue)];
        counts.belligerent_flows -= 1;
        if let Some(ports) = &mut counts.input_ports {
            ports.absolve(blame.port, blame.round);
        }
        self.entries[index as usize].blame = None;
    }
}

/// Lends a flow table to one queue after another.
///
/// The queues of a table may be moved to another thread, so that it takes a lock. Without an operating system there is
/// none: the creator of a shared table provides it, for example a mutex.
pub trait LendTable: Send + Sync {
    /// Calls `work` once, with the table.
    fn lend(&self, work: &mut dyn FnMut(&mut FlowTable));
}

/// A flow table that several queues of a switch use (paper, section 5). Cloning gives another handle to the same table.
#[derive(Clone)]
pub struct SharedFlowTable {
    lender: Arc<dyn LendTable>,
}

impl fmt::Debug for SharedFlowTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SharedFlowTable").finish_non_exhaustive()
    }
}

impl SharedFlowTable {
    /// An empty table of this many entries, at least one, that `lender` takes charge of.
    #[must_use]
    pub fn new<L: LendTable + 'static>(entries: u32, lender: impl FnOnce(FlowTable) -> L) -> Self {
        Self { lender: Arc::new(lender(FlowTable::new(entries))) }
    }

    /// Runs `work` while the table is lent to it.
    fn with<R>(&self, work: impl FnOnce(&mut FlowTable) -> R) -> R {
        let (mut work, mut result) = (Some(work), None);
        self.lender.lend(&mut |table| result = work.take().map(|work| work(table)));
        result.expect("a lender calls what it is given")
    }
}

/// The table of a queue: its own, or one that it shares.
pub(super) enum Table {
    Own(FlowTable),
    Shared(SharedFlowTable),
}

impl Table {
    /// Runs `work` on the table. No queue calls another one while it works.
    #[inline]
    pub fn change<R>(&mut self, work: impl FnOnce(&mut FlowTable) -> R) -> R {
        match self {
            Self::Own(table) => work(table),
            Self::Shared(shared) => shared.with(work),
        }
    }

    /// Runs `work` on the table, which stays as it is.
    pub fn read<R>(&self, work: impl FnOnce(&FlowTable) -> R) -> R {
        match self {
            Self::Own(table) => work(table),
            Self::Shared(shared) => shared.with(|table| work(table)),
        }
    }
}

// The manual gives this size as the cost.
const _: () = assert!(size_of::<Entry>() == 32);
