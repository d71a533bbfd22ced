//! The probes.

use forebay_qdisc::Span;

/// The time series.
#[derive(Clone, Copy, Debug, Default)]
pub struct Probes {
    /// Time between samples; `None` for no series at all.
    pub interval: Option<Span>,
    /// Queue lengths, drops and gauges.
    pub queues: bool,
    /// Goodput, sending rate and congestion window of each flow.
    pub flows: bool,
    /// Utilisation of each link.
    pub links: bool,
}
