//! DBL, dynamic buffer limiting: holds each flow to a share of the buffer, and a belligerent flow to a packet or two.
//!
//! # What it does
//! DBL counts the buffer cells that each flow holds in the queue, in a hash table. A flow that holds more than the
//! dynamic limit `dbl` gets one signal, a single drop or ECN mark. It then loses its credits one by one for as long as
//! it stays above the limit. A flow without credits did not react and counts as belligerent: everything beyond
//! `bf_buffer_limit_cells` is dropped until the flow has sent a few packets without a drop. Adaptive flows lose one
//! packet and keep their share; low-rate flows lose nothing; a flood gets what the others do not use. How much the
//! others use depends on `dbl_max_cells`: see below.
//!
//! # When to use it
//! Use it against floods on fast links: the work for each packet is constant and the state is fixed. A flood gets less
//! than an equal share if `dbl_max_cells` holds a TCP flow's share of a round trip; on longer paths it gets most of the
//! link. The buffer needs room for several packets of each active flow.
//!
//! # Example
//! ```toml
//! queue.dbl = { limit = "1000 packets", max_packet_size = "1500 B" }
//! ```
//!
//! Set `max_packet_size` to that of the traffic: it determines the buffers that a belligerent flow may hold.
//! `dbl_max_cells` bounds the buffer of a single flow, by default to 16 KB. With n TCP flows it must be at least C ·
//! RTT / n, and `reference_cells` at least C · RTT; otherwise these flows do not fill their shares and a flood takes
//! the rest. At 100 Mb/s with five TCP flows, 16 KB are enough up to a round trip of about 8 ms: the flood gets 4.7 to
//! 11.5 Mb/s. From 18 ms on it gets 61 to 82 Mb/s, and with both lengths raised 0.7 to 1.3 Mb/s.
//!
//! # Source
//! F. Ertemalp, D. R. Cheriton and A. Bechtolsheim, "Using Dynamic Buffer Limiting to Protect Against Belligerent Flows
//! in High-speed Networks", ICNP 2001. Table 1 is evaluated from the top; the first matching row decides.
//!
//! # Where we differ
//! - The paper's `dbl` function is a table in a report that is not public. The default here is an equal share of what
//!   is left of a reference length; see `dbl_function`.
//! - Row 3 of table 1 says that each packet costs a credit, the text that it does so with probability `markProb`. We
//!   follow the text, which yields the identification time of figure 2. Row 1 takes a credit with every drop, as both
//!   say.
//! - A packet that the rules admit but that finds the queue full is dropped; its effect on the credits remains.
//! - `buffersUsed` is counted exactly; thresholds that its field could not hold are refused.
//! - Input ports (section 5 names the possibility): a flow that loses its last credit counts against the port through
//!   which that packet came. A port with more than `limit` such flows is throttled by a token bucket or shut down.
//!
//! # Cost
//! 32 bytes for each entry of the flow table, regardless of the number of flows. The paper's hardware needs 72 bits an
//! entry. O(1) a packet, also when the hash changes, and at most one random number.
//!
//! # Parameters
//! See [`DblConfig`].

mod config;
mod cost;
mod flow_table;
mod input_ports;
mod limit_function;

use forebay_units::{Bytes, Rate};

pub use config::{DblConfig, DblFunction, DblInputPorts, DblPreset, DblTable, FlowTableScope, InputPortAction};
pub use cost::{PerFlowQueueing, bits_per_flow, collision_probability, entry_bits};
use flow_table::Table;
pub use flow_table::{FlowTable, LendTable, SharedFlowTable};
use input_ports::InputPorts;
use limit_function::BufferLimitFunction;

use crate::limit::Limit;
use crate::memory::inline_bytes;
use crate::{
    Admission, Arrival, Backlog, DropReason, FlowKey, MarkReason, Offer, ParameterError, Rng, Span, Ticket, Time,
    Verdict, hash_flow, uniform,
};

/// The ticket of a packet that has no entry in the flow table.
const NO_ENTRY: Ticket = Ticket(u32::MAX);

/// How packets become cells.
#[derive(Clone, Copy, Debug)]
struct CellSize {
    bytes: u32,
    /// log2 of `bytes`, if that is a whole number.
    shift: Option<u32>,
}

impl CellSize {
    fn new(size: Bytes) -> Self {
        let bytes = size.0 as u32;
        Self { bytes, shift: bytes.is_power_of_two().then(|| bytes.trailing_zeros()) }
    }

    /// Cells that a packet of `len_bytes` occupies.
    #[inline]
    fn cells(self, len_bytes: u32) -> u32 {
        match self.shift {
            Some(shift) => len_bytes.saturating_add(self.bytes - 1) >> shift,
            None => len_bytes.div_ceil(self.bytes),
        }
    }
}

/// The action for a traffic class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClassPolicy {
    Limited,
    HardDrop,
    Off,
}

/// When the hash function changes.
#[derive(Clone, Copy, Debug)]
struct Rehash {
    interval: Span,
    next: Time,
    base_salt: u64,
}

/// The result of table 1: the action, and the flow's credits after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decision {
    action: Action,
    credits: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Enqueue,
    /// The single signal to a flow that has just exceeded `dbl`.
    Signal,
    Drop(DropReason),
}

/// The parameters of table 1.
#[derive(Clone, Copy, Debug)]
struct Rules {
    max_credits: u8,
    bf_credit_limit: u8,
    bf_buffer_limit_cells: u32,
    mark_probability: f64,
}

impl Rules {
    /// Paper, table 1, from the top; `used` and `dbl` in cells.
    #[inline]
    fn decide(&self, used: u32, credits: u8, dbl: u32, hard_drop: bool, rng: &mut dyn Rng) -> Decision {
        let suspect = credits <= self.bf_credit_limit;
        if suspect && used > self.bf_buffer_limit_cells {
            return Decision { action: Action::Drop(DropReason::Belligerent), credits: credits.saturating_sub(1) };
        }
        if used > dbl {
            // One draw for the signal and the credit (section 2.1: "In either case, the credits are decremented").
            let struck = uniform(rng) < self.mark_probability;
            let action = if hard_drop {
                Action::Drop(DropReason::FlowLimit)
            } else if struck && credits == self.max_credits {
                Action::Signal
            } else {
                Action::Enqueue
            };
            return Decision { action, credits: credits.saturating_sub(u8::from(struck)) };
        }
        Decision { action: Action::Enqueue, credits: if suspect { credits + 1 } else { self.max_credits } }
    }
}

/// DBL: dynamic buffer limiting.
pub struct Dbl {
    law: Law,
    table: Table,
}

/// All but the flow table.
struct Law {
    rules: Rules,
    function: BufferLimitFunction,
    limit: Limit,
    cell_size: CellSize,
    include_arrival: bool,
    ecn: bool,
    policies: [ClassPolicy; 256],
    rehash: Option<Rehash>,

    salt: u64,
    /// This queue's number in the table.
    queue: u16,
    /// `currentQueueLen`.
    queue_cells: u64,
}

impl Dbl {
    /// A DBL law with a flow table of its own. `link_rate` is what a throttled input port gets its share of; `salt`
    /// separates the flow hashes of different queues.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &DblConfig, link_rate: Rate, salt: u64) -> Result<Self, ParameterError> {
        config.resolve()?;
        let table = FlowTable::new(config.flow_table_entries);
        Self::with_table(config, link_rate, salt, Table::Own(table))
    }

    /// A DBL law that uses `table` together with other queues; `flow_table_entries` is without effect. The queue's
    /// number goes into the hash, so that a flow has different entries for different queues (paper, section 5).
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn with_shared_table(
        config: &DblConfig,
        link_rate: Rate,
        salt: u64,
        table: &SharedFlowTable,
    ) -> Result<Self, ParameterError> {
        Self::with_table(config, link_rate, salt, Table::Shared(table.clone()))
    }

    fn with_table(config: &DblConfig, link_rate: Rate, salt: u64, mut table: Table) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        let resolved = config.resolve()?;
        let burst_bytes = u64::from(resolved.bf_buffer_limit_cells) * config.cell_size.0;
        let input_ports = config.input_ports.as_ref().map(|ports| InputPorts::new(ports, link_rate, burst_bytes));
        let bound = "be shared by at most 65536 queues";
        let queue =
            table.change(|table| table.register(input_ports)).ok_or(ParameterError { field: "flow_table", bound })?;
        let salt = hash_flow(FlowKey(u64::from(queue)), salt);
        let mut policies = [ClassPolicy::Limited; 256];
        config.off_classes.iter().for_each(|class| policies[usize::from(*class)] = ClassPolicy::Off);
        config.hard_drop_classes.iter().for_each(|class| policies[usize::from(*class)] = ClassPolicy::HardDrop);
        let law = Law {
            rules: Rules {
                max_credits: config.max_credits,
                bf_credit_limit: resolved.bf_credit_limit,
                bf_buffer_limit_cells: resolved.bf_buffer_limit_cells,
                mark_probability: resolved.mark_probability,
            },
            function: resolved.function,
            limit,
            cell_size: CellSize::new(config.cell_size),
            include_arrival: config.include_arrival,
            ecn: config.ecn,
            policies,
            rehash: config.rehash_interval.map(|interval| Rehash {
                interval,
                next: Time::ZERO.saturating_add(interval),
                base_salt: salt,
            }),
            salt,
            queue,
            queue_cells: 0,
        };
        Ok(Self { law, table })
    }

    /// Reopens an input port that was shut down, or frees one that is throttled.
    pub fn reopen_input_port(&mut self, port: u16) {
        let queue = usize::from(self.law.queue);
        self.table.change(|table| {
            if let Some(ports) = &mut table.queues[queue].input_ports {
                ports.reopen(port);
            }
        });
    }
}

impl Law {
    /// Changes the hash function when its time has come (paper, section 5). Packets in the queue carry their index, so
    /// old entries drain; the credits in the table stay, and flows continue with those of the entry to which they now
    /// hash.
    fn rehash_if_due(&mut self, now: Time) {
        let Some(rehash) = &mut self.rehash else { return };
        if now < rehash.next {
            return;
        }
        let epoch = now.picoseconds() / rehash.interval.picoseconds();
        self.salt = hash_flow(FlowKey(epoch), rehash.base_salt);
        rehash.next = Time::from_picoseconds(epoch * rehash.interval.picoseconds()).saturating_add(rehash.interval);
    }

    fn admit(&mut self, table: &mut FlowTable, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        self.rehash_if_due(offer.now);
        if !table.passes_input_port(self.queue, arrival.input_port, arrival.len_bytes, offer.now) {
            return Verdict::Drop(DropReason::InputPort);
        }
        let cells = self.cell_size.cells(arrival.len_bytes);
        let fits = self.limit.fits(offer.backlog, arrival.len_bytes);
        let policy = self.policies[usize::from(arrival.class)];
        if policy == ClassPolicy::Off {
            return self.admit_unlimited(cells, fits);
        }
        // The rules on the flow's entry.
        let index = table.index(hash_flow(arrival.flow, self.salt));
        let dbl = self.dbl(table);
        let entry = &mut table.entries[index as usize];
        let used = entry.used_cells + if self.include_arrival { cells } else { 0 };
        let credits = self.rules.max_credits.saturating_sub(entry.credits_lost);
        let decision = self.rules.decide(used, credits, dbl, policy == ClassPolicy::HardDrop, &mut *offer.rng);
        entry.credits_lost = self.rules.max_credits - decision.credits;
        let belligerent = decision.credits <= self.rules.bf_credit_limit;
        table.classify(index, belligerent, self.queue, arrival.input_port, offer.now);

        // Derived values.
        let verdict = match decision.action {
            Action::Drop(reason) => return Verdict::Drop(reason),
            Action::Signal if !(self.ecn && arrival.ecn.is_capable()) => return Verdict::Drop(DropReason::FlowLimit),
            _ if !fits => return Verdict::Drop(DropReason::Overflow),
            Action::Signal => Verdict::Mark(Ticket(index), MarkReason::FlowLimit),
            Action::Enqueue => Verdict::Enqueue(Ticket(index)),
        };
        table.add_cells(index, cells, self.queue);
        self.queue_cells += u64::from(cells);
        verdict
    }

    /// A packet of a class that DBL leaves alone.
    fn admit_unlimited(&mut self, cells: u32, fits: bool) -> Verdict {
        if !fits {
            return Verdict::Drop(DropReason::Overflow);
        }
        self.queue_cells += u64::from(cells);
        Verdict::Enqueue(NO_ENTRY)
    }

    /// The limit of a flow now, in cells.
    #[inline]
    fn dbl(&self, table: &FlowTable) -> u32 {
        self.function.cells(self.queue_cells, table.queues[usize::from(self.queue)].active_flows)
    }
}

impl Admission for Dbl {
    fn admit(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        let law = &mut self.law;
        self.table.change(|table| law.admit(table, arrival, offer))
    }

    fn release(&mut self, ticket: Ticket, len_bytes: u32, _backlog: Backlog, _now: Time) {
        let cells = self.law.cell_size.cells(len_bytes);
        self.law.queue_cells -= u64::from(cells);
        if ticket != NO_ENTRY {
            self.table.change(|table| table.remove_cells(ticket.0, cells));
        }
    }

    /// A shared table counts in each of its queues.
    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + self.table.read(FlowTable::heap_bytes)
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.table.read(|table| {
            let counts = &table.queues[usize::from(self.law.queue)];
            visit("dbl", f64::from(self.law.dbl(table)));
            visit("active_flows", f64::from(counts.active_flows));
            visit("belligerent_flows", f64::from(counts.belligerent_flows));
            visit("queue_cells", self.law.queue_cells as f64);
            if let Some(ports) = &counts.input_ports {
                visit("restricted_input_ports", ports.restricted() as f64);
            }
        });
    }

    /// The gauges of the entry to which `flow` hashes now; flows that collide share them. `classified_at_s` is the
    /// time at which the entry's credits first fell to `bf_credit_limit`, NaN before.
    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        let law = &self.law;
        self.table.read(|table| {
            let entry = &table.entries[table.index(hash_flow(flow, law.salt)) as usize];
            let classified = (entry.classified_at != Time::NEVER).then(|| entry.classified_at.seconds());
            visit("credits", f64::from(law.rules.max_credits.saturating_sub(entry.credits_lost)));
            visit("buffers_used", f64::from(entry.used_cells));
            visit("classified_at_s", classified.unwrap_or(f64::NAN));
            visit("dbl", f64::from(law.dbl(table)));
        });
    }
}

#[cfg(test)]
#[path = "dbl/tests.rs"]
mod tests;
