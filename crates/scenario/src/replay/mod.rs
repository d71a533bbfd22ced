//! Real packets through a queue: a capture is replayed into one port.
//!
//! # What it does
//! [`replay`] reads a capture, lets its packets arrive at a port at the times at which they were captured, and sends
//! them at the port's rate through a queue discipline: the same code that the simulator runs, with [`CapturedPacket`]
//! for its packet. Per flow it tells what was dropped and why, what was marked, how long packets took from their
//! arrival until their last bit had left, and when the discipline classified the flow belligerent.
//!
//! Captures are pcap or pcapng, plain or in gzip, of Ethernet (VLAN tags are skipped), Linux cooked, loopback or raw IP
//! interfaces. The length of a packet is its original length, whatever the snaplen kept of it; the flow is the
//! five-tuple, the class the DSCP, the input port the interface of a pcapng file.
//!
//! # Where we differ
//! A replay is open-loop: the senders do not see what this port drops. TCP flows therefore keep the rate that they had
//! where the capture was made.
//!
//! Packets are brought into order of time within a window of 65 536 packets (equal times keep the file's order); a
//! capture that is further out of order is refused. Memory grows with the number of flows and with the queue, not with
//! the file.

mod arrivals;
mod books;
mod capture;
mod dissect;
mod error;
mod port;
mod port_spec;
#[cfg(test)]
mod tests;

use std::io::Read;
use std::net::IpAddr;

use forebay_engine::{Table, stream};
use forebay_qdisc::{Discipline, Rate};

pub use arrivals::{Arrivals, CapturedPacket, ORDER_WINDOW_PACKETS};
pub use capture::{CaptureReader, CapturedFrame};
pub use dissect::{FlowIdentity, Headers, LinkType, dissect};
pub use error::{CaptureError, ReplayError};
pub use port_spec::PortSpec;

use crate::schema::QueueSpec;

/// What of a capture is replayed, and with which dice.
#[derive(Clone, Copy, Debug)]
pub struct ReplayOptions {
    /// Only packets to this address: captures hold both directions, a port sends one. `None` takes all packets.
    pub destination: Option<IpAddr>,
    /// Seed of the discipline's random stream.
    pub seed: u64,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        Self { destination: None, seed: 1 }
    }
}

/// What a replay leaves behind. Times count from the capture's first packet.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayResult {
    /// Name of the discipline.
    pub discipline: String,
    /// Rate of the port in bits per second.
    pub rate_bps: u64,
    /// The seed.
    pub seed: u64,
    /// When the last bit of the last packet had left, in seconds.
    pub duration_s: f64,
    /// Packets replayed.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets left out because they go to other destinations.
    pub packets_unselected: u64,
    /// Packets stamped earlier than the one before them in the file; they were brought into order.
    pub packets_out_of_order: u64,
    /// One row a flow, in the order of first arrival: `flow` (text), `packets`, `bytes`, `packets_delivered`,
    /// `bytes_delivered`, `packets_dropped`, `bytes_dropped`, a column for each drop reason (`dropped_overflow`, …),
    /// `packets_marked`, `offered_bps` and `delivered_bps` (over the time from the flow's first to its last arrival),
    /// `delay_mean_s`, `delay_p50_s`, `delay_p99_s`, `delay_max_s`, `first_s`, `last_s`, `last_drop_s` (NaN: none),
    /// `classified_at_s` (belligerent for the first time; NaN: never), and what else the discipline tells of a flow at
    /// the end.
    pub flows: Table,
    /// One row: `discipline`, `packets_arrived`, `packets_dropped`, `packets_marked`, `bytes_dropped`, drops by reason,
    /// `length_max_packets`, `length_max_bytes`, and the discipline's gauges at the end.
    pub queue: Table,
}

/// Replays a capture into a port of `rate` with the queue of a scenario.
///
/// # Errors
/// A queue that cannot be built, a capture that cannot be read or holds nothing to replay, books that do not balance.
pub fn replay<R: Read>(
    capture: R,
    rate: Rate,
    queue: &QueueSpec,
    options: &ReplayOptions,
) -> Result<ReplayResult, ReplayError> {
    use forebay_qdisc::Rng;

    let salt = stream(options.seed, "replay/salt").next_u64();
    let mut discipline = queue.build(rate, salt)?.into_discipline();
    replay_through(capture, rate, queue.name(), &mut *discipline, options)
}

/// Replays a capture into a port of `rate` with any discipline; `name` is its name in the result.
///
/// # Errors
/// As [`replay`].
pub fn replay_through<R: Read>(
    capture: R,
    rate: Rate,
    name: &str,
    queue: &mut dyn Discipline<CapturedPacket>,
    options: &ReplayOptions,
) -> Result<ReplayResult, ReplayError> {
    let mut arrivals = Arrivals::new(CaptureReader::new(capture)?, options.destination);
    let mut rng = stream(options.seed, "replay/queue");
    let mut port = port::Port::new(rate, queue, &mut rng);
    port.run(&mut arrivals)?;
    let books = port.books;
    if arrivals.flows().is_empty() {
        let (packets, unselected) = (arrivals.packets_read(), arrivals.unselected);
        return Err(ReplayError::NoPackets { packets, unselected });
    }
    Ok(ReplayResult {
        discipline: name.to_owned(),
        rate_bps: rate.bits_per_second(),
        seed: options.seed,
        duration_s: books.now.seconds(),
        packets: books.packets(),
        bytes: books.bytes(),
        packets_unselected: arrivals.unselected,
        packets_out_of_order: arrivals.out_of_order,
        flows: books.flow_table(arrivals.flows(), queue),
        queue: books.queue_table(name, queue),
    })
}
