//! Records in addition to the tables: time series and packet traces.

use forebay_units::Span;
use schemars::JsonSchema;

/// The time series to record.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Probes {
    /// Time between two values.
    pub interval: Span,
    /// Kinds of time series.
    pub series: Vec<SeriesKind>,
    /// Gauges that a queue keeps for single flows.
    pub flow_gauges: Vec<FlowGauges>,
    /// TCP flows whose senders are recorded: window, rates, round trips, data in flight and the state of the congestion
    /// controller. Names of flows, or of groups for all their flows.
    pub senders: Vec<String>,
}

impl Default for Probes {
    fn default() -> Self {
        Self {
            interval: Span::from_milliseconds(100),
            series: vec![SeriesKind::Queues, SeriesKind::Flows, SeriesKind::Links],
            flow_gauges: Vec::new(),
            senders: Vec::new(),
        }
    }
}

/// A kind of time series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SeriesKind {
    /// Length, drops and the discipline's gauges of each queue that the scenario describes.
    Queues,
    /// Goodput, sending rate and congestion window of each flow.
    Flows,
    /// Utilisation of each link.
    Links,
}

/// Gauges that a queue keeps for single flows, such as DBL's credits.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowGauges {
    /// Name of the queue: that of its link.
    pub queue: String,
    /// Names of flows, or of groups for all their flows.
    pub flows: Vec<String>,
}

/// A packet trace of one link, as pcapng.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// Name of the link.
    pub link: String,
    /// Name of the file, within the output folder. Default: the link's name with `.pcapng`.
    #[serde(default)]
    pub file: Option<String>,
    /// Number of bytes kept of each packet.
    #[serde(default = "headers")]
    pub snaplen: u32,
}

fn headers() -> u32 {
    96
}

impl Trace {
    /// Name of the file, within the output folder.
    #[must_use]
    pub fn file_name(&self) -> String {
        self.file.clone().unwrap_or_else(|| format!("{}.pcapng", self.link.replace("->", "-to-").replace('/', "-")))
    }
}
