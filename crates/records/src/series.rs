//! Time series.

/// A quantity sampled at equal intervals: `values[i]` belongs to `start_s + i * interval_s`.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// `"queue"`, `"flow"`, `"link"`, `"sender"` or `"queue_flow"`.
    pub kind: &'static str,
    /// The component: `"bottleneck"`, `"tcp-0"`, `"bottleneck/bf"`.
    pub name: String,
    /// The sampled quantity, with its unit last.
    pub quantity: String,
    /// Time of the first value.
    pub start_s: f64,
    /// Time between values.
    pub interval_s: f64,
    /// The samples.
    pub values: Vec<f64>,
    /// Names of states: a value is the index of its name. Empty for numbers.
    pub states: Vec<&'static str>,
}
