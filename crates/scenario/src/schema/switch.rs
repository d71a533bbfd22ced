//! Switches: their fabric, and the topology around a single one.

use forebay_switching::{LoadError, LoadMatrix, LoadPattern, MwmConfig, SchedulerConfig, Speedup};
use forebay_units::{Bytes, QueueSize};
use schemars::{JsonSchema, Schema};

use super::tagged::{self, Algorithm};
use super::{LinkSpec, Placement};

/// Sources on access links of their own, a multiplexer before each input, a switch, and the sinks behind its outputs.
/// Links: `access-<flow>`, `in-<input>`, `out-<output>`, `back-<flow>`; inputs and outputs are numbered from 1. Queues
/// of the inputs: `switch/input-<input>`; of an output that of its link. The tiny-buffers paper's Figure 3.1.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchTopology {
    /// Number of inputs, and of outputs.
    #[schemars(range(min = 2, max = 64))]
    pub ports: u32,
    /// Each flow's own link between its source and the multiplexer of its input. Cells need none.
    #[serde(default)]
    pub access: Option<LinkSpec>,
    /// Each of the links `in-<input>`, from a multiplexer to the switch. Its rate is the line rate.
    pub input: LinkSpec,
    /// Each of the links `out-<output>`, from the switch to the sinks. Its queue is the output's.
    pub output: LinkSpec,
    /// Each flow's own way back for its ACKs. Default: the rate of `access`, and the propagation delay of the way
    /// there.
    #[serde(default)]
    pub back: Option<LinkSpec>,
    /// What joins inputs to outputs.
    #[serde(default)]
    pub fabric: Fabric,
    /// How the traffic is spread over inputs and outputs.
    #[serde(default)]
    pub load: LoadPattern,
    /// How flows are put onto the pairs of inputs and outputs: in turn, so that each pair has its share of them to
    /// within one flow, or at random.
    #[serde(default)]
    pub placement: Placement,
    /// Accept a load that asks more of an input or an output than its line carries.
    #[serde(default)]
    pub allow_overload: bool,
}

/// What joins the inputs of a switch to its outputs: exactly one of these.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = bare_fabrics)]
pub enum Fabric {
    /// Every packet reaches its output at once: the reference, which no fabric of a real size can be.
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

/// One FIFO queue at each input. In each slot every output takes one of the packets at the heads that want it, at
/// random.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InputQueued {
    /// The most packets at each input; further ones are dropped. Default: no limit.
    pub limit: Option<QueueSize>,
    /// The length of packet whose time on the line is a slot; no packet may be longer. Default: the longest packet of
    /// the scenario's flows.
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
/// once in each phase, and the queues of the output links. In a phase one whole packet leaves each matched input,
/// whatever its length. A packet that finds its VOQ full, or the queue of its output after crossing, is dropped.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cioq {
    /// Who matches inputs to outputs.
    #[schemars(extend("default" = "mwm"))]
    pub scheduler: SchedulerConfig,
    /// Phases in a slot: 1, 1.2, "6/5", … up to the number of ports. With 1 no packet waits at an output; with the
    /// number of ports none waits at an input.
    pub speedup: Speedup,
    /// The most packets in each virtual output queue; further ones are dropped. Default: no limit.
    pub voq_limit: Option<QueueSize>,
    /// The length of packet whose time on the line is a slot; no packet may be longer. Default: the longest packet of
    /// the scenario's flows.
    pub cell: Option<Bytes>,
}

impl Default for Cioq {
    fn default() -> Self {
        Self { scheduler: SchedulerConfig::Mwm(MwmConfig {}), speedup: Speedup::ONE, voq_limit: None, cell: None }
    }
}

/// Declares [`SCHEDULERS`]: a line is the name in a scenario, the configuration, and the file.
macro_rules! schedulers {
    ($($name:literal, $config:ident, $file:literal;)*) => {
        /// Every crossbar scheduler, in the order in which they are listed.
        pub(crate) const SCHEDULERS: &[Algorithm] = &[
            $(Algorithm {
                name: $name,
                source: include_str!(concat!("../../../switching/src/", $file)),
                parameters: <forebay_switching::$config as JsonSchema>::json_schema,
            },)*
        ];
    };
}

schedulers! {
    "mwm", MwmConfig, "mwm.rs";
    "islip", IslipConfig, "islip.rs";
    "pim", PimConfig, "pim.rs";
    "ilqf", IlqfConfig, "longest_queue_first.rs";
    "maximum_size", MaximumSizeConfig, "maximum_size.rs";
    "wavefront", WavefrontConfig, "wavefront.rs";
}

/// Cells in the slots of a line, as switch theory has them: only in front of a switch. There is a source for each
/// input, and a flow for each pair of an input and an output that the load uses, named `<group>/<input>-<output>`.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cells {
    /// Length of a cell; its time on the input's line is a slot.
    pub size: Bytes,
    /// Cells for each slot of a line whose row of the load matrix adds up to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub load: f64,
    /// The mean number of cells for one output in slots that follow each other; between bursts there is a geometric
    /// number of empty slots. Default: each slot has a cell or none independently of the others (Bernoulli).
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
