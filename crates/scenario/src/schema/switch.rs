//! Switches: their fabric, and the topology around a single one.

use forebay_switching::{LoadError, LoadMatrix, LoadPattern, MwmConfig, SchedulerConfig, Speedup};
use forebay_units::{Bytes, QueueSize};
use schemars::{JsonSchema, Schema};

use super::tagged::{self, algorithms};
use super::{LinkSpec, Placement};

/// Sources with access links of their own, a multiplexer before each input, a switch, and the sinks behind its outputs.
/// Links: `access-<flow>`, `in-<input>`, `out-<output>`, `back-<flow>`; inputs and outputs are numbered from 1. The
/// queue of an input is called `switch/input-<input>`, that of an output like its link. The tiny-buffers paper's Figure
/// 3.1.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchTopology {
    /// Number of inputs, and of outputs.
    #[schemars(range(min = 2, max = 64))]
    pub ports: u32,
    /// Link of each flow between its source and the multiplexer of its input. Cells need none.
    #[serde(default)]
    pub access: Option<LinkSpec>,
    /// Each of the links `in-<input>`, from a multiplexer to the switch. Its rate is the line rate.
    pub input: LinkSpec,
    /// Each of the links `out-<output>`, from the switch to the sinks. Its queue is the output's.
    pub output: LinkSpec,
    /// Return link of each flow for its ACKs. Default: the rate of `access`, and the propagation delay of the forward
    /// path.
    #[serde(default)]
    pub back: Option<LinkSpec>,
    /// The fabric that connects inputs to outputs.
    #[serde(default)]
    pub fabric: Fabric,
    /// Distribution of the traffic over inputs and outputs.
    #[serde(default)]
    pub load: LoadPattern,
    /// Placement of flows on the pairs of inputs and outputs: round-robin, so that each pair has its share of them to
    /// within one flow, or at random.
    #[serde(default)]
    pub placement: Placement,
    /// Accept a load that exceeds the line rate of an input or an output.
    #[serde(default)]
    pub allow_overload: bool,
}

/// The fabric that connects the inputs of a switch to its outputs: exactly one of these.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = bare_fabrics)]
pub enum Fabric {
    /// Every packet reaches its output at once: the ideal, which no fabric of a realistic size achieves.
    #[default]
    OutputQueued,
    /// One FIFO queue at each input: its first packet blocks those behind it.
    InputQueued(InputQueued),
    /// Virtual output queues at the inputs, a crossbar with a scheduler and a speedup, queues at the outputs.
    Cioq(Cioq),
}

fn bare_fabrics(schema: &mut Schema) {
    tagged::allow_bare(schema, &["input_queued", "cioq"]);
}

/// One FIFO queue at each input. In each slot every output takes a random one of the packets at the heads that are for
/// it.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InputQueued {
    /// Maximum number of packets at each input; further packets are dropped. Default: no limit.
    pub limit: Option<QueueSize>,
    /// Packet length whose transmission time on the line is a slot; no packet may be longer. Default: the longest
    /// packet of the scenario's flows.
    pub cell: Option<Bytes>,
    /// Phases in a slot: 1, 1.2, "6/5", … up to the number of ports.
    pub speedup: Speedup,
}

impl Default for InputQueued {
    fn default() -> Self {
        Self { limit: None, cell: None, speedup: Speedup::ONE }
    }
}

/// Combined input and output queueing: virtual output queues (VOQs) at each input, a crossbar that a scheduler sets
/// once in each phase, and the queues of the output links. In a phase one whole packet of any length leaves each
/// matched input. A packet is dropped if it finds its VOQ full or, after crossing, the queue of its output.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cioq {
    /// The scheduler that matches inputs to outputs.
    #[schemars(extend("default" = "mwm"))]
    pub scheduler: SchedulerConfig,
    /// Phases in a slot: 1, 1.2, "6/5", … up to the number of ports. With 1 no packet waits at an output; with the
    /// number of ports none waits at an input.
    pub speedup: Speedup,
    /// Maximum number of packets in each virtual output queue; further packets are dropped. Default: no limit.
    pub voq_limit: Option<QueueSize>,
    /// Packet length whose transmission time on the line is a slot; no packet may be longer. Default: the longest
    /// packet of the scenario's flows.
    pub cell: Option<Bytes>,
}

impl Default for Cioq {
    fn default() -> Self {
        Self { scheduler: SchedulerConfig::Mwm(MwmConfig {}), speedup: Speedup::ONE, voq_limit: None, cell: None }
    }
}

algorithms! {
    /// Every crossbar scheduler, in the order in which they are listed.
    SCHEDULERS;
    "mwm", forebay_switching::MwmConfig, "mwm.rs";
    "islip", forebay_switching::IslipConfig, "islip.rs";
    "pim", forebay_switching::PimConfig, "pim.rs";
    "ilqf", forebay_switching::IlqfConfig, "longest_queue_first.rs";
    "maximum_size", forebay_switching::MaximumSizeConfig, "maximum_size.rs";
    "wavefront", forebay_switching::WavefrontConfig, "wavefront.rs";
}

/// Cells in the slots of a line, as in switch theory; for the switch topology only. There is a source for each input,
/// and a flow for each pair of an input and an output that the load uses, named `<group>/<input>-<output>`.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cells {
    /// Length of a cell; its time on the input's line is a slot.
    pub size: Bytes,
    /// Mean number of cells in each slot of a line whose row of the load matrix adds up to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub load: f64,
    /// Mean length of a burst, in cells for one output in consecutive slots; a geometric number of empty slots
    /// separates bursts. Default: each slot has a cell or none independently of the others (Bernoulli).
    #[serde(default)]
    #[schemars(range(min = 1.0))]
    pub burst_cells: Option<f64>,
}

impl SwitchTopology {
    /// The part of each input's line that goes to each output, at a load of 1.
    ///
    /// # Errors
    /// When the load is none for this many ports.
    pub fn load_matrix(&self) -> Result<LoadMatrix, LoadError> {
        self.load.matrix(self.ports as usize, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheduler_has_its_page() {
        let every: Vec<_> = SchedulerConfig::every().iter().map(SchedulerConfig::name).collect();
        assert_eq!(SCHEDULERS.iter().map(|scheduler| scheduler.name).collect::<Vec<_>>(), every);
    }
}
