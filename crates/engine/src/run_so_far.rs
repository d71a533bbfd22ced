//! A run so far, with the names of its components.

use forebay_qdisc::Span;

use crate::driver::node::Node;
use crate::observe::report::Report;

/// The values of a time series so far.
#[derive(Clone, Copy, Debug)]
pub struct SeriesSoFar<'a> {
    /// As in [`Series`](forebay_records::Series), like the others.
    pub kind: &'static str,
    /// The name of the component.
    pub name: &'a str,
    /// The quantity.
    pub quantity: &'a str,
    /// Time between values in seconds; the first is at the end of the first interval.
    pub interval_s: f64,
    /// The values.
    pub values: &'a [f64],
    /// The names of the values 0, 1, …, if they are states.
    pub states: &'a [&'static str],
}

/// A network in the middle of its run.
pub struct RunSoFar<'a> {
    nodes: &'a [Option<Box<dyn Node>>],
    report: &'a Report,
    interval: Option<Span>,
}

impl<'a> RunSoFar<'a> {
    pub(crate) fn new(nodes: &'a [Option<Box<dyn Node>>], report: &'a Report, interval: Option<Span>) -> Self {
        Self { nodes, report, interval }
    }

    /// Shows all series that the run records. On several threads there are none before the end.
    pub fn series(&self, show: &mut dyn FnMut(SeriesSoFar<'_>)) {
        let Some(interval) = self.interval else { return };
        let interval_s = interval.seconds();
        for node in self.nodes.iter().flatten() {
            node.show(&mut |of, quantity, values, states| {
                let (kind, name) = self.report.component(of);
                show(SeriesSoFar { kind, name: &name, quantity, interval_s, values, states });
            });
        }
    }
}
