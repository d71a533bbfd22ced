//! Parameters of DBL.

use alloc::vec;
use alloc::vec::Vec;

use forebay_units::{Bytes, QueueSize, Span};

use super::limit_function::BufferLimitFunction;
use crate::ParameterError;
use crate::limit::check_probability;
use crate::require;

/// Parameters of DBL. Buffers are counted in cells.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
pub struct DblConfig {
    /// Whose values `bf_credit_limit`, `bf_buffer_limit_cells`, `mark_probability` and `max_packet_size` have where
    /// they are not given. Default: the paper's.
    pub preset: DblPreset,
    /// What the queue holds at most, in packets or bytes; the packet on the wire is not counted. Default: 1024 packets
    /// (paper, section 4).
    pub limit: QueueSize,
    /// Size of a cell, the unit in which buffers are given out; a packet occupies whole cells. Default: 64 B (paper,
    /// section 3).
    pub cell_size: Bytes,
    /// Size of the largest packet: with the preset it gives `bf_buffer_limit_cells`, and the length in cells of a
    /// `limit` in packets. Default: 1000 B, the paper's packets (catalyst4500: 1518 B).
    pub max_packet_size: Option<Bytes>,
    /// `maxCredits`: credits of a flow that is above suspicion. Default: 15, a 4-bit field (paper, section 3).
    pub max_credits: u8,
    /// `bfCreditLimit`: a flow with so few credits or fewer is held to be belligerent. Default: 2 (paper, section 2.2;
    /// catalyst4500: 10).
    pub bf_credit_limit: Option<u8>,
    /// `bfBufferLimit`: cells beyond which a belligerent flow's packets are dropped. Default: the cells of one packet
    /// of the largest size (paper, section 2.2; catalyst4500: of two).
    pub bf_buffer_limit_cells: Option<u32>,
    /// `markProb`: probability that a packet of a flow beyond `dbl` costs it a credit. Default: 0.333 (paper, section
    /// 4; catalyst4500: 0.15).
    pub mark_probability: Option<f64>,
    /// `dblMin`: least buffer limit of a flow, in cells. Default: 32 (paper, section 4).
    pub dbl_min_cells: u32,
    /// `dblMax`: greatest buffer limit of a flow, in cells. Default: 256 (paper, section 4).
    pub dbl_max_cells: u32,
    /// How `dbl` follows from the queue's length and the number of active flows. Default: `formula`.
    pub dbl_function: DblFunction,
    /// The queue length, in cells, to which `formula` and `linear` refer. Default: a quarter of `limit`.
    pub reference_cells: Option<u32>,
    /// Whether the arriving packet's own cells count in the comparisons, so that a belligerent flow never holds more
    /// than `bf_buffer_limit_cells`; otherwise it holds up to one packet more. Default: no (paper, table 1, read
    /// literally).
    pub include_arrival: bool,
    /// Whether the first signal to an ECN-capable flow is a mark instead of a drop (paper, footnote 2). Packets of
    /// belligerent flows are dropped all the same. Default: no.
    pub ecn: bool,
    /// Entries of the flow table. Default: 4096 (paper, section 5).
    pub flow_table_entries: u32,
    /// Whether the queue has a flow table of its own or shares one with the other queues of its switch (paper, section
    /// 5). Default: its own.
    pub flow_table: FlowTableScope,
    /// Largest `buffersUsed` that an entry's field can hold, in cells; the limits have to be below. Default: 16383, 14
    /// bits (paper, section 3, which also says 13 bits: the two do not agree).
    pub max_buffers_used_cells: u32,
    /// Time after which the flow table's hash function changes, so that no collision lasts (paper, section 5).
    /// Packets in the queue keep their entry; credits stay where they are. Default: never.
    pub rehash_interval: Option<Span>,
    /// Traffic classes that DBL leaves alone: their packets are dropped only when the queue is full (paper, section 5).
    /// They count in the queue's length but have no entry in the flow table. Default: none.
    pub off_classes: Vec<u8>,
    /// Traffic classes whose packets are all dropped beyond `dbl`, instead of one of them (paper, section 5). Default:
    /// none.
    pub hard_drop_classes: Vec<u8>,
    /// Watch over the input ports that belligerent flows come by (paper, section 5). Default: none.
    pub input_ports: Option<DblInputPorts>,
}

/// Whose parameters are the defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum DblPreset {
    /// The paper's simulations: credit limit 2, buffer limit one packet, mark probability 0.333, packets of 1000 B.
    #[default]
    Paper,
    /// The Catalyst 4500 switch as Cisco documents it: credit limit 10, buffer limit two packets, mark probability
    /// 0.15, packets of 1518 B.
    Catalyst4500,
}

/// How the dynamic buffer limit follows from the queue's length q and the number n of active flows, both in the state
/// before the arrival. The paper has a table of the operator's choice (section 3) and does not print its own; so the
/// default is ours, chosen for what the paper shows of it (figures 2 and 6). Always bounded by `dbl_min_cells` and
/// `dbl_max_cells`.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum DblFunction {
    /// An equal share of what is left of the reference length: (reference - q) / n.
    #[default]
    Formula,
    /// Falls in a line from `dbl_max_cells` at q = 0 to `dbl_min_cells` at q = reference, whatever n.
    Linear,
    /// A table, as in the hardware.
    Table(DblTable),
}

/// A table of buffer limits in steps of the queue's length and of the number of active flows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(deny_unknown_fields))]
pub struct DblTable {
    /// Queue length in cells from which each row holds, ascending; the first is 0.
    pub queue_cells: Vec<u32>,
    /// Number of active flows from which each column holds, ascending; the first is 0.
    pub active_flows: Vec<u32>,
    /// The buffer limits in cells: a row for each of `queue_cells`, in it a column for each of `active_flows`.
    pub dbl_cells: Vec<Vec<u32>>,
}

/// To whom a flow table belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum FlowTableScope {
    /// One table for each queue: congestion at one port cannot touch another.
    #[default]
    PerQueue,
    /// One table for all queues of a switch, with the queue in the hash.
    Shared,
}

/// Watch over input ports: one that is answerable for too many belligerent flows is throttled or shut down.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
pub struct DblInputPorts {
    /// Belligerent flows at one time that an input port is allowed; one more and `action` is taken. Default: 8.
    pub limit: u32,
    /// What is done with such a port's packets at this queue. Default: throttle.
    pub action: InputPortAction,
    /// Share of the link's rate that a throttled port is left with. Default: 0.01.
    pub share: f64,
    /// How long a throttled port must send no more than its share before it is free again; also how long a belligerent
    /// flow that has fallen silent is held against its port. Default: 1 s.
    pub hold: Span,
}

impl Default for DblInputPorts {
    fn default() -> Self {
        Self { limit: 8, action: InputPortAction::Throttle, share: 0.01, hold: Span::from_seconds(1) }
    }
}

/// What is done about an input port with too many belligerent flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum InputPortAction {
    /// Its packets pass a token bucket of `share` times the link's rate; the rest are dropped.
    #[default]
    Throttle,
    /// All its packets are dropped until an administrator reopens it.
    Shutdown,
}

impl Default for DblConfig {
    fn default() -> Self {
        Self {
            preset: DblPreset::Paper,
            limit: QueueSize::Packets(1024),
            cell_size: Bytes(64),
            max_packet_size: None,
            max_credits: 15,
            bf_credit_limit: None,
            bf_buffer_limit_cells: None,
            mark_probability: None,
            dbl_min_cells: 32,
            dbl_max_cells: 256,
            dbl_function: DblFunction::Formula,
            reference_cells: None,
            include_arrival: false,
            ecn: false,
            flow_table_entries: 4096,
            flow_table: FlowTableScope::PerQueue,
            max_buffers_used_cells: (1 << 14) - 1,
            rehash_interval: None,
            off_classes: vec![],
            hard_drop_classes: vec![],
            input_ports: None,
        }
    }
}

/// The preset's values where none are given, checked.
pub(super) struct Resolved {
    pub bf_credit_limit: u8,
    pub bf_buffer_limit_cells: u32,
    pub mark_probability: f64,
    pub function: BufferLimitFunction,
}

impl DblConfig {
    /// The defaults of a preset.
    #[must_use]
    pub fn preset(preset: DblPreset) -> Self {
        Self { preset, ..Self::default() }
    }

    /// Fills in the preset's values and checks every field but `limit`.
    pub(super) fn resolve(&self) -> Result<Resolved, ParameterError> {
        let (credit_limit, packets, mark_probability, packet_bytes) = match self.preset {
            DblPreset::Paper => (2, 1, 0.333, 1000),
            DblPreset::Catalyst4500 => (10, 2, 0.15, 1518),
        };
        require((1..=65_535).contains(&self.cell_size.0), "cell_size", "be between 1 B and 65535 B")?;
        let packet_bytes = self.max_packet_size.map_or(packet_bytes, |size| size.0);
        require((1..=65_535).contains(&packet_bytes), "max_packet_size", "be between 1 B and 65535 B")?;
        let packet_cells = packet_bytes.div_ceil(self.cell_size.0) as u32;
        let resolved = Resolved {
            bf_credit_limit: self.bf_credit_limit.unwrap_or(credit_limit),
            bf_buffer_limit_cells: self.bf_buffer_limit_cells.unwrap_or(packets * packet_cells),
            mark_probability: self.mark_probability.unwrap_or(mark_probability),
            function: self.buffer_limit_function(packet_cells)?,
        };
        check_probability(resolved.mark_probability, "mark_probability")?;
        require(self.max_credits > 0, "max_credits", "be at least 1")?;
        require(resolved.bf_credit_limit < self.max_credits, "bf_credit_limit", "be less than `max_credits`")?;
        let widest = self.max_buffers_used_cells;
        require(resolved.bf_buffer_limit_cells < widest, "bf_buffer_limit_cells", "be below `max_buffers_used_cells`")?;
        self.check_table_and_classes()?;
        Ok(resolved)
    }

    fn buffer_limit_function(&self, packet_cells: u32) -> Result<BufferLimitFunction, ParameterError> {
        let (min, max) = (self.dbl_min_cells, self.dbl_max_cells);
        require(min > 0, "dbl_min_cells", "be at least 1")?;
        require(min <= max, "dbl_max_cells", "be at least `dbl_min_cells`")?;
        require(max < self.max_buffers_used_cells, "dbl_max_cells", "be below `max_buffers_used_cells`")?;
        let limit_cells = match self.limit {
            QueueSize::Packets(packets) => packets.saturating_mul(u64::from(packet_cells)),
            QueueSize::Bytes(bytes) => bytes / self.cell_size.0,
        };
        let quarter = u32::try_from(limit_cells / 4).unwrap_or(u32::MAX).max(1);
        let reference = self.reference_cells.unwrap_or(quarter);
        require(reference > 0, "reference_cells", "be at least 1")?;
        BufferLimitFunction::new(&self.dbl_function, min, max, reference)
    }

    fn check_table_and_classes(&self) -> Result<(), ParameterError> {
        require(
            (1..=1 << 24).contains(&self.flow_table_entries),
            "flow_table_entries",
            "be between 1 and 16777216 (24 bits)",
        )?;
        require(self.rehash_interval != Some(Span::ZERO), "rehash_interval", "be more than zero")?;
        let hard_and_off = self.hard_drop_classes.iter().any(|class| self.off_classes.contains(class));
        require(!hard_and_off, "hard_drop_classes", "name no class of `off_classes`")?;
        if let Some(ports) = &self.input_ports {
            let share_holds = ports.share > 0.0 && ports.share <= 1.0;
            require(share_holds, "input_ports.share", "be more than 0 and at most 1")?;
            require(ports.hold > Span::ZERO, "input_ports.hold", "be more than zero")?;
        }
        Ok(())
    }
}
