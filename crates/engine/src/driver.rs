//! The driver: runs the nodes of a network in rounds, on one or several threads.

pub(crate) mod agenda;
pub(crate) mod barrier;
#[cfg(test)]
mod barrier_tests;
pub(crate) mod calendar;
pub(crate) mod feeders;
mod flow_info;
pub(crate) mod inbox;
pub(crate) mod node;
pub(crate) mod node_table;
#[cfg(test)]
pub(crate) mod one_node;
pub(crate) mod order;
pub(crate) mod partition;
pub(crate) mod pool;
pub(crate) mod prefetch;
pub(crate) mod progress;
pub(crate) mod ring;
pub(crate) mod routes;
pub(crate) mod stages;
pub(crate) mod sync;
pub(crate) mod threads;
pub(crate) mod ties;
pub(crate) mod tournament;
pub(crate) mod windows;
