//! Hosts: the endpoints of flows.

pub(crate) mod application;
pub(crate) mod by_host;
pub(crate) mod cells;
pub(crate) mod connection;
pub(crate) mod endpoint;
pub(crate) mod endpoints;
pub(crate) mod hosts;
pub(crate) mod nic;
pub(crate) mod outbox;
pub(crate) mod send_path;
pub(crate) mod several;
pub(crate) mod tasks;
pub(crate) mod tcp;
pub(crate) mod udp;
pub(crate) mod withdrawals;
