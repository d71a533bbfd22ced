//! Fabrics of data centers: their topologies, transports, patterns of traffic and sizes. One program, which is linked
//! once.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod by_size;
mod clos;
mod closed_forms;
mod hpcc;
mod htsim;
mod mixed;
mod paths;
mod patterns;
mod ranks;
mod sizes;
mod tasks;
mod uec;
