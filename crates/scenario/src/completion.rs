//! Completion times of flows of a given size, and their slowdowns: columns of the table of flows, and a summary.
//!
//! The completion time is from the start of a flow until its sender has the acknowledgment of everything. The slowdown
//! is this time as a multiple of the base: the time that the flow takes alone.

mod base;
mod summary;

use std::collections::BTreeMap;

use forebay_engine::RunResult;
use forebay_rdma::{HOMA_HEADER_BYTES, HomaConfig, NDP_HEADER_BYTES, NdpConfig, UEC_HEADER_BYTES, UecConfig};
use forebay_records::{Column, Warning};

use crate::plan::found_paths::{FoundPaths, Paths};
use crate::schema::{FlowGroup, ScenarioSpec, SlowdownBase, Transport};
use base::{Alone, PacketSizes};

/// A smaller share of unfinished flows is not worth a warning.
const FEW: f64 = 0.01;

/// Adds base and slowdown to the flows of a given size, and the summary. Without such flows nothing is added.
pub(crate) fn add(paths: &FoundPaths<'_>, result: &mut RunResult) {
    let spec = paths.spec();
    let flows = &result.flows;
    if flows.column("size_bytes").is_none() {
        return;
    }
    let (sizes, times) = (flows.floats("size_bytes"), flows.floats("fct_s"));
    let bases = bases(spec, &paths.get(), result);
    let slowdown = |(fct_s, base_s): (&f64, &f64)| spec.slowdown_base.slowdown(*fct_s, *base_s);
    let slowdowns: Vec<f64> = times.iter().zip(&bases).map(slowdown).collect();
    let starts = flows.floats("start_s");
    let is_measured = |row: &usize| !sizes[*row].is_nan() && starts[*row] >= result.warmup_s;
    let measured = (0..sizes.len()).filter(is_measured).map(|row| summary::Flow {
        group: &flows.texts("group")[row],
        size_bytes: sizes[row],
        fct_s: times[row],
        slowdown: slowdowns[row],
    });
    let groups = summary::groups(measured);
    let warnings: Vec<Warning> = groups.iter().filter_map(unfinished).collect();
    let table = summary::table(&groups, spec.slowdown_base.name());
    result.warnings.extend(warnings);
    result.completion_times = table;
    result.flows.push("base_s", Column::Float(bases));
    result.flows.push("slowdown", Column::Float(slowdowns));
}

fn unfinished(group: &summary::Group<'_>) -> Option<Warning> {
    let (unfinished, all) = (group.unfinished(), group.flows.len());
    (unfinished as f64 > FEW * all as f64).then(|| Warning {
        text: format!(
            "{unfinished} of {all} flows of `{}` had not finished at the end of the run: they are in no mean and no \
             percentile of completion times",
            group.name
        ),
        remedy: "set a longer `duration`, or an earlier `stop` for a pattern without an end".into(),
    })
}

/// The time in seconds that each flow of the result takes alone; NaN without a size.
fn bases(spec: &ScenarioSpec, paths: &Paths<'_, '_>, result: &RunResult) -> Vec<f64> {
    let alone = Alone::new(paths);
    let numbers: BTreeMap<&str, u32> = paths.plan.nodes.iter().map(|node| node.name.as_str()).zip(0..).collect();
    let groups: BTreeMap<&str, &FlowGroup> = spec.flows.iter().map(|group| (group.name.as_str(), group)).collect();
    let flows = &result.flows;
    let ends = flows.texts("source").iter().zip(flows.texts("destination").iter());
    let rows = flows.texts("group").iter().zip(ends).zip(flows.floats("size_bytes"));
    rows.map(|((group, (source, destination)), size_bytes)| {
        let sizes = groups.get(group).and_then(|group| packet_sizes(&group.transport, spec.slowdown_base));
        let ends = numbers.get(source).zip(numbers.get(destination));
        let (Some(sizes), Some((&source, &destination)), false) = (sizes, ends, size_bytes.is_nan()) else {
            return f64::NAN;
        };
        alone.seconds(spec.slowdown_base, *size_bytes as u64, sizes, [source, destination]).unwrap_or(f64::NAN)
    })
    .collect()
}

/// The packets of a transport that sends a given number of bytes.
fn packet_sizes(transport: &Transport, base: SlowdownBase) -> Option<PacketSizes> {
    match transport {
        Transport::Tcp(config) => Some(PacketSizes {
            payload_bytes: config.payload_bytes().into(),
            header_bytes: config.header_bytes(),
            ack_bytes: config.ack_bytes(),
        }),
        Transport::Uec(UecConfig { packet, .. }) => Some(PacketSizes::with_headers(packet.0, UEC_HEADER_BYTES)),
        Transport::Ndp(NdpConfig { packet, .. }) => Some(PacketSizes::with_headers(packet.0, NDP_HEADER_BYTES)),
        Transport::Homa(HomaConfig { packet, .. }) => Some(PacketSizes::with_headers(packet.0, HOMA_HEADER_BYTES)),
        Transport::Pfabric(config) => Some(PacketSizes::with_headers(config.packet.0, config.header.0 as u32)),
        Transport::Roce(config) => Some(PacketSizes {
            payload_bytes: config.payload.0,
            // The base of HPCC does not count telemetry.
            header_bytes: if base == SlowdownBase::Hpcc { config.header.0 } else { config.header_bytes() },
            ack_bytes: config.answer_bytes().into(),
        }),
        Transport::Udp(_) | Transport::Cells(_) | Transport::Frames(_) => None,
    }
}

impl SlowdownBase {
    /// Its name in a scenario.
    fn name(self) -> &'static str {
        match self {
            Self::StoreAndForward => "store_and_forward",
            Self::Hpcc => "hpcc",
        }
    }

    fn slowdown(self, fct_s: f64, base_s: f64) -> f64 {
        let ratio = fct_s / base_s;
        match self {
            // HPCC's analysis has no value below 1.
            Self::Hpcc if ratio < 1.0 => 1.0,
            _ => ratio,
        }
    }
}
