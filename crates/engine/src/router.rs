//! The output ports of hosts and routers.

pub(crate) mod port;
