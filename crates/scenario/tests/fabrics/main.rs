//! Fabrics of data centers: their topologies, transports, patterns of traffic and sizes. One program, which is linked
//! once.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod clos;
mod closed_forms;
mod htsim;
mod hpcc;
mod mixed;
mod paths;
mod patterns;
mod ranks;
mod sizes;
mod tasks;
mod uec;
