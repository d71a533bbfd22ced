//! The counters of the ends of a flow.
//!
//! Counters run from the start; results subtract their values at the end of the warm-up.

use forebay_qdisc::{Ecn, Span, Time};
use forebay_records::DelayHistogram;
use forebay_tcp::SenderCounters;

use crate::observe::interval::{Checkpoint, Checkpoints};
use crate::observe::jitter::Jitter;
use crate::observe::sender_series::SenderSeries;
use crate::observe::so_far::{Of, Show};
use crate::observe::transfers::TransferRecord;
use crate::packet::{FlowId, Packet};

#[derive(Clone, Debug, Default)]
pub(crate) struct SendCounters {
    pub count: SendCount,
    pub record: Box<SendRecord>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SendCount {
    /// Data packets.
    pub packets: u64,
    /// On the wire.
    pub bytes: u64,
    pub retransmitted: u64,
    pub acks_received: u64,
    /// Set at checkpoints and at the end.
    pub timeouts: u64,
}

/// Few packets touch this.
#[derive(Clone, Debug, Default)]
pub(crate) struct SendRecord {
    pub at_warm_up: SendCount,
    pub started: Option<Time>,
    /// Payload, of a flow that sends a given number of bytes.
    pub size_bytes: Option<u64>,
    /// When such a flow had the acknowledgment of everything.
    pub acknowledged: Option<Time>,
    pub series: Option<Box<SendSeries>>,
    /// Only of transfers that arrive during the run.
    pub transfers: Option<Box<TransferRecord>>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SendSeries {
    /// In bit/s.
    pub sent: Option<Vec<f64>>,
    bytes_sampled: u64,
    /// In bytes, of a transport with a window.
    pub window: Option<Vec<f64>>,
    /// In bit/s.
    pub rate_limit: Option<Vec<f64>>,
    /// Of TCP, if the sender is watched.
    pub sender: Option<SenderSeries>,
}

impl SendCount {
    fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.retransmitted += other.retransmitted;
        self.acks_received += other.acks_received;
        self.timeouts += other.timeouts;
    }

    /// Adds the counts of a sender.
    pub fn add_sender(&mut self, sender: &SenderCounters) {
        self.packets += sender.segments_sent;
        self.retransmitted += sender.segments_retransmitted;
        self.timeouts += sender.timeouts;
    }
}

impl SendRecord {
    pub fn check(&mut self, count: &SendCount, checkpoint: Checkpoint, interval: Span) {
        match checkpoint {
            Checkpoint::WarmUp => self.at_warm_up = *count,
            Checkpoint::Sample => {
                if let Some(series) = &mut self.series
                    && let Some(sent) = &mut series.sent
                {
                    sent.push((count.bytes - series.bytes_sampled) as f64 * 8.0 / interval.seconds());
                    series.bytes_sampled = count.bytes;
                }
            }
        }
    }
}

impl SendRecord {
    pub fn show(&self, flow: FlowId, show: &mut Show<'_>) {
        let Some(series) = &self.series else { return };
        let of_flow = [
            ("sent_bps", &series.sent),
            ("congestion_window_bytes", &series.window),
            ("rate_limit_bps", &series.rate_limit),
        ];
        for (quantity, values) in of_flow {
            if let Some(values) = values {
                show(Of::Flow(flow), quantity, values, &[]);
            }
        }
        if let Some(sender) = &series.sender {
            show(Of::Sender(flow), "state", &sender.state, &sender.names);
            sender.gauges.show(Of::Sender(flow), show);
        }
    }
}

impl SendCounters {
    pub fn new(sampled: bool) -> Self {
        let series = || Box::new(SendSeries { sent: Some(Vec::new()), ..SendSeries::default() });
        let record = SendRecord { series: sampled.then(series), ..SendRecord::default() };
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

    /// Adds the counters of another connection, which has the same row. Windows have no sum.
    pub fn add(&mut self, other: &Self) {
        self.count.add(&other.count);
        self.record.at_warm_up.add(&other.record.at_warm_up);
        self.record.started = self.record.started.into_iter().chain(other.record.started).min();
        if let (Some(series), Some(others)) = (&mut self.record.series, &other.record.series) {
            series.window = None;
            if let (Some(sent), Some(others)) = (&mut series.sent, &others.sent) {
                add_samples(sent, others);
            }
        }
    }
}

fn add_samples(samples: &mut [f64], others: &[f64]) {
    samples.iter_mut().zip(others).for_each(|(sample, other)| *sample += other);
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ReceiveCounters {
    pub count: ReceiveCount,
    /// Delays in the measured interval.
    pub delay: DelayHistogram,
    pub record: Box<ReceiveRecord>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReceiveCount {
    /// Data packets.
    pub packets: u64,
    /// On the wire.
    pub bytes: u64,
    pub marked: u64,
    /// Bytes handed to the application.
    pub payload: u64,
    pub acks_sent: u64,
}

impl ReceiveCount {
    fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.marked += other.marked;
        self.payload += other.payload;
        self.acks_sent += other.acks_sent;
    }
}

/// Few packets touch this.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReceiveRecord {
    pub at_warm_up: ReceiveCount,
    pub finished: Option<Time>,
    /// Transfers of a request/response application in the measured interval, and the sum of their times.
    pub transfers: u64,
    pub transfer_time: Span,
    /// Packets of earlier generations, since the start.
    pub stale: u64,
    /// Only of datagrams.
    pub jitter: Jitter,
    /// In bit/s, with the payload sampled so far.
    pub goodput_series: Option<Box<(Vec<f64>, u64)>>,
}

impl ReceiveRecord {
    pub fn new(sampled: bool) -> Self {
        Self { goodput_series: sampled.then(Box::default), ..Self::default() }
    }

    pub fn check(&mut self, count: &ReceiveCount, delay: &mut DelayHistogram, checkpoint: Checkpoint, interval: Span) {
        match checkpoint {
            Checkpoint::WarmUp => {
                self.at_warm_up = *count;
                *delay = DelayHistogram::default();
                self.transfers = 0;
                self.transfer_time = Span::ZERO;
            }
            Checkpoint::Sample => {
                if let Some((series, sampled)) = self.goodput_series.as_deref_mut() {
                    series.push((count.payload - *sampled) as f64 * 8.0 / interval.seconds());
                    *sampled = count.payload;
                }
            }
        }
    }
}

impl ReceiveRecord {
    pub fn show(&self, flow: FlowId, show: &mut Show<'_>) {
        if let Some(series) = &self.goodput_series {
            show(Of::Flow(flow), "goodput_bps", &series.0, &[]);
        }
    }
}

impl ReceiveCounters {
    pub fn new(sampled: bool) -> Self {
        Self { record: Box::new(ReceiveRecord::new(sampled)), ..Self::default() }
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

    /// Adds the counters of another connection, which has the same row and carries no datagrams.
    pub fn add(&mut self, other: &Self) {
        self.count.add(&other.count);
        self.delay.add(&other.delay);
        let (record, others) = (&mut self.record, &other.record);
        record.at_warm_up.add(&others.at_warm_up);
        record.finished = record.finished.max(others.finished);
        record.transfers += others.transfers;
        record.transfer_time += others.transfer_time;
        if let (Some(series), Some(others)) = (&mut record.goodput_series, &others.goodput_series) {
            add_samples(&mut series.0, &others.0);
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct EndpointContext {
    pub checkpoints: Checkpoints,
    pub flow: FlowId,
    pub class: u8,
}
