//! The time series of a queue.

use forebay_qdisc::FlowKey;

use crate::observe::so_far::{Of, QueueName, Show};
use crate::packet::{FlowId, flow_key};

/// Shows a queue's gauges to a visitor.
pub(crate) type Gauges<'a> = dyn Fn(&mut dyn FnMut(&'static str, f64)) + 'a;

pub(crate) type FlowGauges<'a> = dyn Fn(FlowKey, &mut dyn FnMut(&'static str, f64)) + 'a;

#[derive(Default)]
pub(crate) struct QueueSeries {
    pub length_packets: Vec<f64>,
    pub length_bytes: Vec<f64>,
    pub dropped_packets: Vec<f64>,
    dropped_before: u64,
    pub gauges: GaugeSeries,
}

impl QueueSeries {
    pub fn sample(&mut self, backlog: forebay_qdisc::Backlog, dropped_total: u64, gauges: &Gauges<'_>) {
        self.length_packets.push(backlog.packets as f64);
        self.length_bytes.push(backlog.bytes as f64);
        self.dropped_packets.push((dropped_total - self.dropped_before) as f64);
        self.dropped_before = dropped_total;
        self.gauges.sample(gauges);
    }

    pub fn show(&self, of: Of<'_>, show: &mut Show<'_>) {
        show(of, "length_packets", &self.length_packets, &[]);
        show(of, "length_bytes", &self.length_bytes, &[]);
        show(of, "dropped_packets", &self.dropped_packets, &[]);
        self.gauges.show(of, show);
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct GaugeSeries {
    samples: usize,
    pub columns: Vec<(&'static str, Vec<f64>)>,
}

impl GaugeSeries {
    pub fn sample(&mut self, gauges: &Gauges<'_>) {
        gauges(&mut |name, value| {
            let index = self.columns.iter().position(|(column, _)| *column == name).unwrap_or_else(|| {
                // A gauge that appears late was not there before.
                self.columns.push((name, vec![f64::NAN; self.samples]));
                self.columns.len() - 1
            });
            self.columns[index].1.push(value);
        });
        self.samples += 1;
        for (_, values) in &mut self.columns {
            values.resize(self.samples, f64::NAN);
        }
    }

    pub fn show(&self, of: Of<'_>, show: &mut Show<'_>) {
        for (gauge, values) in &self.columns {
            show(of, gauge, values, &[]);
        }
    }
}

pub(crate) struct WatchedFlow {
    pub flow: FlowId,
    pub series: GaugeSeries,
}

impl WatchedFlow {
    pub fn new(flow: FlowId) -> Self {
        Self { flow, series: GaugeSeries::default() }
    }

    pub fn show(&self, queue: QueueName<'_>, show: &mut Show<'_>) {
        self.series.show(Of::QueueFlow(queue, self.flow), show);
    }

    pub fn key(&self) -> FlowKey {
        flow_key(self.flow, false)
    }
}
