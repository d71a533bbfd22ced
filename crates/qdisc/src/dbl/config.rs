//! Parameters of DBL.

use alloc::vec;
use alloc::vec::Vec;

use forebay_units::{Bytes, QueueSize, Span};

use super::limit_function::BufferLimitFunction;
use crate::ParameterError;
#[cfg(feature = "config")]
use crate::limit::Limit;
use crate::limit::check_probability;
use crate::require;

parameters! {
    /// Parameters of DBL. Buffers are counted in cells.
    pub struct DblConfig {
        /// Source of the values of `bf_credit_limit`, `bf_buffer_limit_cells`, `mark_probability` and `max_packet_size`
        /// that are not given. Default: the paper.
        pub preset: DblPreset = DblPreset::Paper;
        /// Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1024 packets (paper,
        /// section 4).
        pub limit: QueueSize = QueueSize::Packets(1024);
        /// Size of a cell, the unit in which buffers are allocated; a packet occupies whole cells. Default: 64 B
        /// (paper, section 3).
        pub cell_size: Bytes = Bytes(64);
        /// Maximum packet size: `bf_buffer_limit_cells` follows from it and the preset, and so does the length in cells
        /// of a `limit` in packets. Default: 1000 B, the paper's packets (catalyst4500: 1518 B).
        pub max_packet_size: Option<Bytes> = None;
        /// `maxCredits`: credits of a flow that is not under suspicion. Default: 15, a 4-bit field (paper, section 3).
        pub max_credits: u8 = 15;
        /// `bfCreditLimit`: a flow with this number of credits or fewer is belligerent. Default: 2 (paper, section 2.2;
        /// catalyst4500: 10).
        pub bf_credit_limit: Option<u8> = None;
        /// `bfBufferLimit`: cells beyond which a belligerent flow's packets are dropped. Default: the cells of one
        /// packet of the largest size (paper, section 2.2; catalyst4500: of two).
        pub bf_buffer_limit_cells: Option<u32> = None;
        /// `markProb`: probability that a packet of a flow beyond `dbl` costs it a credit. Default: 0.333 (paper,
        /// section 4; catalyst4500: 0.15).
        pub mark_probability: Option<f64> = None;
        /// `dblMin`: minimum buffer limit of a flow, in cells. Default: 32 (paper, section 4).
        pub dbl_min_cells: u32 = 32;
        /// `dblMax`: maximum buffer limit of a flow, in cells. Default: 256 (paper, section 4).
        pub dbl_max_cells: u32 = 256;
        /// How `dbl` depends on the queue's length and the number of active flows. Default: `formula`.
        pub dbl_function: DblFunction = DblFunction::Formula;
        /// The queue length, in cells, to which `formula` and `linear` refer. Default: a quarter of `limit`.
        pub reference_cells: Option<u32> = None;
        /// Whether the arriving packet's own cells count in the comparisons, so that a belligerent flow never holds
        /// more than `bf_buffer_limit_cells`; otherwise it holds up to one packet more. Default: no (paper, table 1,
        /// read literally).
        pub include_arrival: bool = false;
        /// Whether the first signal to an ECN-capable flow is a mark instead of a drop (paper, footnote 2). Packets of
        /// belligerent flows are always dropped. Default: no.
        pub ecn: bool = false;
        /// Entries of the flow table. Default: 4096 (paper, section 5).
        pub flow_table_entries: u32 = 4096;
        /// Whether the queue has a flow table of its own or shares one with the other queues of its switch (paper,
        /// section 5). Default: its own.
        pub flow_table: FlowTableScope = FlowTableScope::PerQueue;
        /// Largest `buffersUsed` that the field of an entry can hold, in cells; the limits must be below it. Default:
        /// 16383, 14 bits (paper, section 3, which contradicts itself with 13 bits).
        pub max_buffers_used_cells: u32 = (1 << 14) - 1;
        /// Time after which the hash function of the flow table changes, so that no collision lasts (paper, section 5).
        /// Packets in the queue keep their entry, and entries keep their credits. Default: never.
        pub rehash_interval: Option<Span> = None;
        /// Traffic classes to which DBL does not apply: their packets are dropped only when the queue is full (paper,
        /// section 5). They count in the queue's length but have no entry in the flow table. Default: none.
        pub off_classes: Vec<u8> = vec![];
        /// Traffic classes that lose every packet beyond `dbl`, instead of one of them (paper, section 5). Default:
        /// none.
        pub hard_drop_classes: Vec<u8> = vec![];
        /// Monitoring of the input ports through which belligerent flows arrive (paper, section 5). Default: none.
        pub input_ports: Option<DblInputPorts> = None;
    }
}

/// Source of the default values.
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

/// The dynamic buffer limit as a function of the queue's length q and the number n of active flows, both as before the
/// arrival. The paper leaves the table to the operator (section 3) and does not print its own, so the default is ours,
/// chosen to match the paper's figures 2 and 6. Always bounded by `dbl_min_cells` and `dbl_max_cells`.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum DblFunction {
    /// An equal share of what is left of the reference length: (reference - q) / n.
    #[default]
    Formula,
    /// Falls linearly from `dbl_max_cells` at q = 0 to `dbl_min_cells` at q = reference, for any n.
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

/// Scope of a flow table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum FlowTableScope {
    /// One table for each queue: congestion at one port does not affect another.
    #[default]
    PerQueue,
    /// One table for all queues of a switch, with the queue in the hash.
    Shared,
}

parameters! {
    /// Monitoring of input ports: a port with too many belligerent flows is throttled or shut down.
    pub struct DblInputPorts {
        /// Number of belligerent flows that an input port may have at one time; with more, `action` is taken. Default:
        /// 8.
        pub limit: u32 = 8;
        /// Treatment of such a port's packets at this queue. Default: throttle.
        pub action: InputPortAction = InputPortAction::Throttle;
        /// Share of the link's rate that a throttled port keeps. Default: 0.01.
        pub share: f64 = 0.01;
        /// Time for which a throttled port must send no more than its share before it is free again; also the time for
        /// which a silent belligerent flow still counts against its port. Default: 1 s.
        pub hold: Span = Span::from_seconds(1);
    }
}

/// Action against an input port with too many belligerent flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum InputPortAction {
    /// A token bucket limits its packets to `share` times the link's rate; the rest is dropped.
    #[default]
    Throttle,
    /// All its packets are dropped until an administrator reopens it.
    Shutdown,
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

    /// Checks every field.
    #[cfg(feature = "config")]
    pub(crate) fn check(&self) -> Result<(), ParameterError> {
        self.resolve()?;
        Limit::new(self.limit, "limit").map(drop)
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
