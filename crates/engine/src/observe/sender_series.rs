//! The time series of a TCP sender.

use forebay_tcp::Sender;

use crate::observe::queue_series::GaugeSeries;

#[derive(Clone, Debug, Default)]
pub(crate) struct SenderSeries {
    pub gauges: GaugeSeries,
    /// The state as an index into `names`; NaN unless the connection is open.
    pub state: Vec<f64>,
    /// The names of states, in the order of their appearance.
    pub names: Vec<&'static str>,
}

impl SenderSeries {
    pub fn sample(&mut self, sender: &Sender) {
        self.gauges.sample(&|visit| sender.gauges(visit));
        let state = sender.state().map_or(f64::NAN, |state| self.index(state) as f64);
        self.state.push(state);
    }

    fn index(&mut self, state: &'static str) -> usize {
        self.names.iter().position(|name| *name == state).unwrap_or_else(|| {
            self.names.push(state);
            self.names.len() - 1
        })
    }
}
