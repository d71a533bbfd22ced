//! Real packets through queues: a capture is replayed into one port, or into several side by side.
//!
//! # What it does
//! [`replay`] reads a capture once. Its packets arrive at a port at the times of the capture, and leave at the port's
//! rate through a queue discipline. The code is the simulator's, with [`CapturedPacket`] for its packet. Of several
//! disciplines each has a port of its own, to which the same packets come. Per flow and queue it reports drops with
//! their reasons, marks, and the delays of packets from their arrival until their last bit had left. It also reports
//! when the discipline classified the flow belligerent, and, per queue, all this over time. Delivered and dropped
//! packets can be written as captures.
//!
//! Captures are pcap or pcapng, plain or in gzip, of Ethernet, 802.11, PPP, Linux cooked, loopback or raw IP
//! interfaces. Tags and labels before IP are skipped. The length of a packet is its original length, regardless of the
//! snaplen, without a radiotap header. The flow is the five-tuple, the class the DSCP, the input port the interface of
//! a pcapng file. From bytes to a flow key it is [`dissect()`] alone, which knows nothing of captures.
//!
//! A record of arrivals, which `forebay live record` writes ([`RecordWriter`] describes the format), is replayed like a
//! capture; its lengths include the framing that the port counted.
//!
//! # Where we differ
//! A replay is open-loop: the senders do not see what this port drops. TCP flows therefore keep the rate that they had
//! where the capture was made.
//!
//! Packets are brought into order of time within a window of 65 536 packets (equal times keep the file's order); a
//! capture that is further out of order is refused. Memory grows with the number of flows and with the queues, not with
//! the file.

mod arrivals;
mod capture;
mod counters;
mod dissect;
mod error;
mod facts;
mod frames;
mod record;
#[cfg(test)]
mod replay_tests;
mod series;
#[cfg(test)]
mod test_captures;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod warning_tests;
mod warnings;

use std::io::{Read, Write};
use std::net::IpAddr;

use forebay_qdisc::{Discipline, Line, Rate, Rng as _, Span, Time, Watcher as _};
use forebay_records::random::stream;
use forebay_records::{Series, Table, Warning};
use rand_pcg::Pcg64Mcg;

pub use arrivals::{Arrivals, CapturedPacket, ORDER_WINDOW_PACKETS};
pub use capture::{CaptureReader, CapturedFrame};
pub use dissect::{FlowIdentity, Headers, LinkType, dissect, identify, mark_ce, set_class, tcp_header};
pub use error::{CaptureError, ReplayError};
pub use facts::PacketFacts;
pub use record::{RECORD_MAGIC, RecordWriter, RecordedArrival};

use counters::QueueCounters;
use frames::{CaptureOutput, FrameStore, Outputs, SharedFrames};
use series::{MOST_ROWS_ASKED_FOR, SeriesRecord};

/// Packets between two calls of the function that may stop a replay.
const PACKETS_A_CALL: u64 = 1_024;

/// The replayed part of a capture, and its random stream.
#[derive(Clone, Copy, Debug)]
pub struct ReplayOptions {
    /// Only packets to this address: captures hold both directions, a port sends one. `None` takes all packets.
    pub destination: Option<IpAddr>,
    /// Seed of the disciplines' random streams.
    pub seed: u64,
    /// The interval of the time series; with `None` there are some hundreds of values.
    pub interval: Option<Span>,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        Self { destination: None, seed: 1, interval: None }
    }
}

/// A queue that a capture is replayed through.
pub struct ReplayedQueue<'a> {
    /// Its name in the results, unlike that of any other.
    pub name: String,
    /// Name of the discipline.
    pub discipline: String,
    /// The discipline.
    pub queue: Box<dyn Discipline<CapturedPacket> + 'a>,
    /// Where a capture (pcapng) of what is let through goes, with the times at which last bits leave, and CE in what
    /// was marked.
    pub delivered_to: Option<Box<dyn Write + 'a>>,
    /// Where a capture (pcapng) of what is dropped goes, with the times and reasons of the drops.
    pub dropped_to: Option<Box<dyn Write + 'a>>,
}

/// The results of a replay. Times count from the capture's first packet.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayResult {
    /// Rate of the port in bits per second.
    pub rate_bps: u64,
    /// The seed.
    pub seed: u64,
    /// When the last bit of the last packet had left the last queue, in seconds.
    pub duration_s: f64,
    /// Packets replayed.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets left out because they go to other destinations.
    pub packets_unselected: u64,
    /// Packets left out because they show no destination: no IP header is visible.
    pub packets_unaddressed: u64,
    /// Packets stamped earlier than the one before them in the file; they were brought into order.
    pub packets_out_of_order: u64,
    /// Packets that had arrived where a record was made, but were not recorded: the record's reader was too slow.
    pub packets_missed: u64,
    /// Packets of which the capture's snaplen kept too little to tell their flow: flows between the same addresses, or
    /// all of an EtherType, are one.
    pub packets_cut: u64,
    /// Packets that may carry IP, but show no IP header: all of an EtherType are one flow.
    pub packets_opaque: u64,
    /// Omissions and unexpected behaviour of the replay.
    pub warnings: Vec<Warning>,
    /// One row for each flow at each queue, in the order of queues and of first arrival. The columns are `queue`,
    /// `flow` (text), `packets`, `bytes`, `packets_delivered`, `bytes_delivered`, `packets_dropped`, `bytes_dropped`, a
    /// column for each drop reason (`dropped_overflow`, …), `packets_marked`, `packets_cut`, `offered_bps` and
    /// `delivered_bps` (over the time from the flow's first to its last arrival). Further columns are `delay_mean_s`,
    /// `delay_p50_s`, `delay_p99_s`, `delay_max_s`, `first_s`, `last_s`, `last_drop_s` (NaN: none), `classified_at_s`
    /// (belligerent for the first time; NaN: never), and the discipline's gauges of a flow at the end.
    pub flows: Table,
    /// One row a queue: `queue`, `discipline`, `packets_arrived`, `packets_delivered`, `packets_dropped`,
    /// `packets_marked`, `bytes_dropped`, drops by reason, `length_max_packets`, `length_max_bytes`,
    /// `length_mean_packets`, `length_mean_bytes` and `utilization` (until its last packet had left), `delay_mean_s`,
    /// `delay_p50_s`, `delay_p99_s`, `delay_max_s`, and the discipline's gauges at the end.
    pub queues: Table,
    /// The delays at each queue as a histogram: `queue`, `delay_s` (the end of a step) and `packets`.
    pub delays: Table,
    /// Of each queue, for each interval: `length_mean_packets`, `length_max_packets`, `length_mean_bytes`,
    /// `delay_mean_s` and `delay_max_s` (of what left; NaN where nothing did), `offered_bps`, `delivered_bps`
    /// (bits that the line carried within the interval), `packets_dropped`, `packets_marked`, and the discipline's
    /// gauges at the end of the interval. The last interval is half as long as the others, up to one and a half times.
    pub series: Vec<Series>,
}

/// The salt that separates the flow hashes of a replay's queues from those of other seeds.
#[must_use]
pub fn salt(seed: u64) -> u64 {
    stream(seed, "replay/salt").next_u64()
}

/// The random stream of the discipline in each of a replay's queues, and in others that must make the same decisions.
#[must_use]
pub fn rng(seed: u64) -> Pcg64Mcg {
    stream(seed, "replay/queue")
}

/// Replays a capture into ports of `rate`, one for each queue. `control` is called now and then, and answers whether to
/// go on. Equal seeds give a queue equal results, whatever other queues there are.
///
/// # Errors
/// A capture that cannot be read or holds nothing to replay, an output that cannot be written, counters that do not
/// balance.
pub fn replay<'a, R: Read + 'a>(
    capture: R,
    rate: Rate,
    queues: Vec<ReplayedQueue<'a>>,
    options: &ReplayOptions,
    control: &mut dyn FnMut() -> bool,
) -> Result<ReplayResult, ReplayError> {
    let mut arrivals = Arrivals::new(CaptureReader::new(capture)?, options.destination);
    let writing = queues.iter().filter(|queue| queue.delivered_to.is_some() || queue.dropped_to.is_some()).count();
    let frames = FrameStore::shared(writing);
    if writing > 0 {
        if arrivals.is_record() {
            return Err(ReplayError::NoBytes);
        }
        arrivals.keep_bytes(SharedFrames::clone(&frames));
    }
    let mut ports = queues
        .into_iter()
        .map(|queue| Port::new(queue, rate, &frames, options))
        .collect::<Result<Vec<_>, ReplayError>>()?;
    let mut packets = 0_u64;
    while let Some(packet) = arrivals.next_packet()? {
        if packets.is_multiple_of(PACKETS_A_CALL) {
            if !control() {
                return Err(ReplayError::Stopped);
            }
            ports.iter_mut().try_for_each(Port::check)?;
        }
        packets += 1;
        let (epoch_ps, facts) = (arrivals.epoch_ps(), *arrivals.facts());
        ports.iter_mut().for_each(|port| port.arrive(packet, facts, epoch_ps));
    }
    ports.iter_mut().try_for_each(|port| port.drain(control))?;
    let end = ports.iter().map(|port| port.counters.now).max().unwrap_or_default();
    let result = results(&mut ports, end, rate, &arrivals, options)?;
    for port in ports {
        port.counters.outputs.map_or(Ok(()), Outputs::finish).map_err(ReplayError::Write)?;
    }
    Ok(result)
}

fn results(
    ports: &mut [Port<'_>],
    end: Time,
    rate: Rate,
    arrivals: &Arrivals<'_>,
    options: &ReplayOptions,
) -> Result<ReplayResult, ReplayError> {
    let flows = arrivals.flows();
    if flows.is_empty() {
        let Arrivals { unselected, unaddressed, .. } = *arrivals;
        return Err(ReplayError::NoPackets { packets: arrivals.packets_read(), unselected, unaddressed });
    }
    let (mut flow_tables, mut queue_tables, mut delay_tables) = (Vec::new(), Vec::new(), Vec::new());
    let mut series = Vec::new();
    for Port { name, discipline, queue, counters, .. } in &mut *ports {
        flow_tables.push(counters.flow_table(name, flows, arrivals.cut(), &**queue));
        // Its means are over its own time. Its series continue, so that all are equally long.
        queue_tables.push(counters.queue_table(name, discipline, rate, &**queue));
        delay_tables.push(counters.delay_table(name));
        counters.advance(end, &**queue);
        if counters.series.is_full() {
            return Err(ReplayError::IntervalTooShort { most: MOST_ROWS_ASKED_FOR });
        }
        series.extend(counters.series.series(name, &|visit| queue.gauges(visit)));
    }
    let (packets, bytes) = ports.first().map_or((0, 0), |port| (port.counters.packets(), port.counters.bytes()));
    Ok(ReplayResult {
        rate_bps: rate.bits_per_second(),
        seed: options.seed,
        duration_s: end.seconds(),
        packets,
        bytes,
        packets_unselected: arrivals.unselected,
        packets_unaddressed: arrivals.unaddressed,
        packets_out_of_order: arrivals.out_of_order,
        packets_missed: arrivals.missed(),
        packets_cut: arrivals.cut().iter().sum(),
        packets_opaque: arrivals.opaque().iter().sum(),
        warnings: warnings::warnings(arrivals),
        flows: Table::stacked(flow_tables),
        queues: Table::stacked(queue_tables),
        delays: Table::stacked(delay_tables),
        series,
    })
}

/// A queue with its line and its counters.
struct Port<'a> {
    name: String,
    discipline: String,
    queue: Box<dyn Discipline<CapturedPacket> + 'a>,
    line: Line<CapturedPacket>,
    rng: Pcg64Mcg,
    counters: QueueCounters<'a>,
}

impl<'a> Port<'a> {
    fn new(
        replayed: ReplayedQueue<'a>,
        rate: Rate,
        frames: &SharedFrames,
        options: &ReplayOptions,
    ) -> Result<Self, ReplayError> {
        let ReplayedQueue { name, discipline, queue, delivered_to, dropped_to } = replayed;
        let outputs = if delivered_to.is_some() || dropped_to.is_some() {
            let open = |out: Option<Box<dyn Write + 'a>>| out.map(CaptureOutput::new).transpose();
            let delivered = open(delivered_to).map_err(ReplayError::Write)?;
            let dropped = open(dropped_to).map_err(ReplayError::Write)?;
            Some(Outputs::new(SharedFrames::clone(frames), delivered, dropped))
        } else {
            None
        };
        let counters = QueueCounters::new(SeriesRecord::new(options.interval, rate), outputs);
        let (line, rng) = (Line::new(rate), rng(options.seed));
        Ok(Self { name, discipline, queue, line, rng, counters })
    }

    /// `epoch_ps` is the absolute time of the replay's time zero, from this packet on.
    fn arrive(&mut self, packet: CapturedPacket, facts: PacketFacts, epoch_ps: i128) {
        let Self { queue, line, rng, counters, .. } = self;
        line.run_until(packet.time, &mut **queue, rng, counters);
        if let Some(outputs) = &mut counters.outputs {
            outputs.epoch_ps = epoch_ps;
        }
        counters.facts = facts;
        line.arrive(packet, packet.time, &mut **queue, rng, counters);
    }

    /// The error so far that no call could return.
    fn check(&mut self) -> Result<(), ReplayError> {
        if self.counters.series.is_full() {
            return Err(ReplayError::IntervalTooShort { most: MOST_ROWS_ASKED_FOR });
        }
        let error = self.counters.outputs.as_mut().and_then(Outputs::take_error);
        error.map_or(Ok(()), |error| Err(ReplayError::Write(error)))
    }

    /// Sends what is still queued.
    fn drain(&mut self, control: &mut dyn FnMut() -> bool) -> Result<(), ReplayError> {
        let Self { queue, line, rng, counters, .. } = self;
        let mut steps = 0_u64;
        while let Some(at) = line.next() {
            if at == Time::NEVER {
                return Err(ReplayError::TooLong);
            }
            line.run_until(at, &mut **queue, rng, counters);
            steps += 1;
            if steps.is_multiple_of(PACKETS_A_CALL) && !control() {
                return Err(ReplayError::Stopped);
            }
        }
        if let Some(error) = counters.outputs.as_mut().and_then(Outputs::take_error) {
            return Err(ReplayError::Write(error));
        }
        counters.check(queue.backlog()).map_err(ReplayError::Invariant)
    }
}
