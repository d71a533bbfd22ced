//! TBF: its buckets, and its queue.

use forebay_qdisc::{InnerQueues, TbfConfig};
use forebay_units::{QueueSize, Span};

use super::command::Qdisc;
use super::port::{Port, rate, time};
use super::qdisc::fifo;
use super::script::{Place, Script};
use crate::schema::QueueSpec;

/// Limit of the FIFO queue unless another one is given.
const FIFO_LIMIT: QueueSize = QueueSize::Packets(1000);

pub(super) fn commands(script: &mut Script<'_>, config: &TbfConfig<QueueSpec>, port: Port, place: Place) {
    let own_rate = config.rate.unwrap_or(port.rate);
    let inner = Port { rate: config.inner_rate(0, port.rate), ..port };
    // The least that tc's manual advises for a clock of 1000 Hz.
    let burst = config.burst.map_or_else(|| own_rate.bytes_in(Span::from_milliseconds(1)).max(3000), |burst| burst.0);
    let mut qdisc = Qdisc::new("tbf").with("rate", rate(own_rate)).with("burst", burst);
    if let (Some(peak), Some(mtu)) = (config.peakrate, config.mtu) {
        qdisc = qdisc.with("peakrate", rate(peak)).with("mtu", mtu.0);
    }
    // tc takes one of `limit` and `latency` (iproute2, `q_tbf.c`). Both are about the FIFO queue that Linux makes.
    let limit = config.limit.unwrap_or(FIFO_LIMIT);
    let qdisc = match (config.latency, limit) {
        (Some(latency), _) => qdisc.with("latency", time(latency)).note(format!(
            "limit = \"{limit}\": tc takes latency or limit. Here the latency bounds the queue, and no limit."
        )),
        (None, QueueSize::Bytes(bytes)) => qdisc.with("limit", bytes),
        // The queue below replaces that of this limit.
        (None, QueueSize::Packets(_)) => qdisc.with("limit", burst.max(port.burst_bytes())),
    };
    let handle = script.qdisc(place, qdisc);
    match &config.queue {
        Some(queue) => script.queue(queue, inner, Place::Class(handle, 1)),
        None if config.latency.is_some() || matches!(limit, QueueSize::Bytes(_)) => {}
        None => drop(script.qdisc(Place::Class(handle, 1), fifo(limit))),
    }
}
