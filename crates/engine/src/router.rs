//! The output ports of hosts and routers: a link, and the queue at its sending end.

mod counting_sink;
pub(crate) mod law_port;
pub(crate) mod path_chooser;
pub(crate) mod plain_port;
pub(crate) mod port_telemetry;
pub(crate) mod queue_port;
pub(crate) mod shared_ports;
