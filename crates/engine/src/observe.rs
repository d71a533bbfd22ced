//! Counters, samples, traces and reports.

pub(crate) mod deadlock;
pub(crate) mod delay_table;
pub(crate) mod digest;
pub(crate) mod flow_counters;
pub(crate) mod flow_table;
pub(crate) mod interval;
pub(crate) mod jitter;
pub(crate) mod loss_counters;
pub(crate) mod machine;
pub(crate) mod meter;
pub(crate) mod outcomes;
pub(crate) mod queue_counters;
pub(crate) mod queue_series;
pub(crate) mod report;
pub(crate) mod reported;
pub(crate) mod results;
pub(crate) mod sender_series;
pub(crate) mod so_far;
pub(crate) mod tables;
pub(crate) mod trace;
pub(crate) mod transfers;
pub(crate) mod voice;
pub(crate) mod warnings;
