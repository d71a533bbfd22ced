//! What is counted, sampled, traced and reported.

pub(crate) mod deadlock;
pub(crate) mod flow_book;
pub(crate) mod histogram;
pub(crate) mod machine;
pub(crate) mod meter;
pub mod pcapng;
pub(crate) mod queue_book;
pub(crate) mod report;
pub(crate) mod results;
pub(crate) mod trace;
pub(crate) mod window;
