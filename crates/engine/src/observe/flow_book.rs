//! The books of the ends of a flow.
//!
//! The counters run from the start of the run, one line of cache for what every packet touches; at the end of the
//! warm-up they are copied, and the results are the differences.

use forebay_qdisc::{Ecn, Span, Time};

use crate::observe::histogram::DelayHistogram;
use crate::observe::interval::{Checkpoint, Checkpoints};
use crate::packet::{FlowId, Packet};

/// What the sending end of a flow counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct SendBook {
    pub count: SendCount,
    pub record: Box<SendRecord>,
}

/// The sending end's counters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SendCount {
    /// Data packets.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    pub retransmitted: u64,
    pub acks_received: u64,
    /// Filled in at a checkpoint and at the end.
    pub timeouts: u64,
}

/// What the sending end knows beside its counters.
#[derive(Clone, Debug, Default)]
pub(crate) struct SendRecord {
    pub at_warm_up: SendCount,
    pub started: Option<Time>,
    pub sent_series: Option<Vec<f64>>,
    pub window_series: Option<Vec<f64>>,
    /// What the flow's rate limiter allows, in bits per second.
    pub rate_limit_series: Option<Vec<f64>>,
    bytes_sampled: u64,
}

impl SendRecord {
    /// Takes note of what has been counted by a checkpoint.
    pub fn check(&mut self, count: &SendCount, checkpoint: Checkpoint, interval: Span) {
        match checkpoint {
            Checkpoint::WarmUp => self.at_warm_up = *count,
            Checkpoint::Sample => {
                if let Some(series) = &mut self.sent_series {
                    series.push((count.bytes - self.bytes_sampled) as f64 * 8.0 / interval.seconds());
                    self.bytes_sampled = count.bytes;
                }
            }
        }
    }
}

impl SendBook {
    /// Empty books, with time series if `sampled`.
    pub fn new(sampled: bool) -> Self {
        let record = SendRecord { sent_series: sampled.then(Vec::new), ..SendRecord::default() };
        Self { count: SendCount::default(), record: Box::new(record) }
    }

    #[inline]
    pub fn sent(&mut self, packet: &Packet, retransmission: bool) {
        self.count.packets += 1;
        self.count.bytes += u64::from(packet.len_bytes());
        self.count.retransmitted += u64::from(retransmission);
    }

    pub fn check(&mut self, checkpoint: Checkpoint, interval: Span) {
        self.record.check(&self.count, checkpoint, interval);
    }
}

/// What the receiving end of a flow counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReceiveBook {
    pub count: ReceiveCount,
    /// Of the measured interval.
    pub delay: DelayHistogram,
    pub record: Box<ReceiveRecord>,
}

/// The receiving end's counters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReceiveCount {
    /// Data packets.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    pub marked: u64,
    /// Payload handed to the application.
    pub payload: u64,
    pub acks_sent: u64,
}

/// What the receiving end knows beside its counters.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReceiveRecord {
    pub at_warm_up: ReceiveCount,
    pub finished: Option<Time>,
    /// Completed transfers of a request/response application within the measured interval, and their time in all.
    pub transfers: u64,
    pub transfer_time: Span,
    pub goodput_series: Option<Vec<f64>>,
    payload_sampled: u64,
}

impl ReceiveRecord {
    /// Takes note of what has been counted by a checkpoint.
    pub fn check(&mut self, count: &ReceiveCount, delay: &mut DelayHistogram, checkpoint: Checkpoint, interval: Span) {
        match checkpoint {
            Checkpoint::WarmUp => {
                self.at_warm_up = *count;
                *delay = DelayHistogram::default();
                self.transfers = 0;
                self.transfer_time = Span::ZERO;
            }
            Checkpoint::Sample => {
                if let Some(series) = &mut self.goodput_series {
                    series.push((count.payload - self.payload_sampled) as f64 * 8.0 / interval.seconds());
                    self.payload_sampled = count.payload;
                }
            }
        }
    }
}

impl ReceiveBook {
    /// Empty books, with time series if `sampled`.
    pub fn new(sampled: bool) -> Self {
        let record = ReceiveRecord { goodput_series: sampled.then(Vec::new), ..ReceiveRecord::default() };
        Self { record: Box::new(record), ..Self::default() }
    }

    #[inline]
    pub fn received(&mut self, packet: &Packet) {
        self.count.packets += 1;
        self.count.bytes += u64::from(packet.len_bytes());
        self.count.marked += u64::from(packet.ecn() == Ecn::CongestionExperienced);
        self.delay.record(packet.age());
    }

    pub fn check(&mut self, checkpoint: Checkpoint, interval: Span) {
        self.record.check(&self.count, &mut self.delay, checkpoint, interval);
    }
}

/// What every endpoint knows: its flow and its checkpoints.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndpointContext {
    pub checkpoints: Checkpoints,
    pub flow: FlowId,
    pub class: u8,
}
