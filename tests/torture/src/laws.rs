//! Laws that the results of any run obey, as far as its tables tell.

use std::collections::BTreeMap;

use forebay_engine::RunResult;
use forebay_records::Table;
use forebay_scenario::schema::{
    Adapter, FlowGroup, Pause, ScenarioSpec, SharedMemorySwitch, SizeDistribution, Transport, UdpPattern,
};
use forebay_scenario::{PlanData, Scenario, ethernet, plan_data};
use forebay_units::{Rate, Span};

type Lawful = Result<(), String>;

/// The maximum rounding error of a sum.
const ROUNDING: f64 = 1e-9;
/// A quantile comes from a histogram: its part by which it may be too small.
const HISTOGRAM: f64 = 0.02;

pub fn check(scenario: &Scenario, result: &RunResult) -> Lawful {
    let (spec, plan) = (scenario.spec(), plan_data(scenario));
    links(&plan, result)?;
    queues(result)?;
    rows_of_queues(result)?;
    flows(spec, &plan, result)?;
    drops(spec, result)?;
    series(spec, result)?;
    ethernet(spec).map_or(Ok(()), |ethernet| ports(&ethernet, result))
}

fn law(holds: bool, what: &str, of: &str, how: impl FnOnce() -> String) -> Lawful {
    if holds { Ok(()) } else { Err(format!("{what}: `{of}`: {}", how())) }
}

fn window_s(result: &RunResult) -> f64 {
    result.duration_s - result.warmup_s
}

fn links(plan: &PlanData, result: &RunResult) -> Lawful {
    let fastest: BTreeMap<&str, Option<Rate>> =
        plan.links.iter().map(|link| (link.name.as_str(), link.fastest)).collect();
    let table = &result.links;
    for (row, name) in table.texts("name").iter().enumerate() {
        let used = table.floats("utilization")[row];
        law((0.0..=1.0 + ROUNDING).contains(&used), "a utilisation is from 0 to 1", name, || used.to_string())?;
        let Some(fastest) = fastest[name] else { continue };
        let bits = table.counts("bytes")[row] as f64 * 8.0;
        // The last packet may have been on its way already, or not yet across.
        let most = fastest.bits_per_second() as f64 * window_s(result) * (1.0 + ROUNDING) + 2.0 * 8.0 * 65_600.0;
        law(bits <= most, "a link carries no more than its rate", name, || format!("{bits} bits of {most}"))?;
    }
    Ok(())
}

fn queues(result: &RunResult) -> Lawful {
    let table = &result.queues;
    let reasons: Vec<&str> =
        table.columns.iter().map(|(name, _)| *name).filter(|name| name.starts_with("dropped_")).collect();
    for (row, name) in table.texts("name").iter().enumerate() {
        let count = |column: &str| table.counts(column)[row];
        let (mean, longest) = (table.floats("length_mean_packets")[row], count("length_max_packets"));
        let within = mean >= 0.0 && mean <= longest as f64 * (1.0 + ROUNDING);
        law(within, "a queue is no longer in the mean than at most", name, || format!("{mean} and {longest}"))?;
        let (dropped, by_reason) = (count("packets_dropped"), reasons.iter().map(|reason| count(reason)).sum::<u64>());
        law(dropped == by_reason, "drops have a reason", name, || format!("{dropped} and {by_reason}"))?;
        let wait = table.floats("wait_mean_s")[row];
        law(!(wait < 0.0 || wait > result.duration_s), "no wait is longer than the run", name, || wait.to_string())?;
        if result.warmup_s == 0.0 {
            let (arrived, marked) = (count("packets_arrived"), count("packets_marked"));
            // Control frames of an Ethernet are in the queue, but not in its counters.
            let has_counters = result.adapters.columns.is_empty();
            let fits = dropped <= arrived && marked <= arrived && (longest <= arrived || !has_counters);
            law(fits, "what is dropped, marked or queued has arrived", name, || {
                format!("{dropped} dropped, {marked} marked, {longest} queued of {arrived}")
            })?;
        }
    }
    Ok(())
}

/// The rows of a queue in `queue_flows` come to its own.
fn rows_of_queues(result: &RunResult) -> Lawful {
    let (queues, rows) = (&result.queues, &result.queue_flows);
    for column in ["packets_arrived", "packets_dropped", "packets_marked"] {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        for (queue, count) in rows.texts("queue").iter().zip(rows.counts(column)) {
            *sums.entry(queue).or_default() += count;
        }
        for (name, &count) in queues.texts("name").iter().zip(queues.counts(column)) {
            let sum = sums.get(name).copied().unwrap_or(0);
            law(sum == count, "the rows of a queue come to its own", name, || format!("{column} {sum} and {count}"))?;
        }
    }
    Ok(())
}

/// Whether none is less than the one before it. NaN is where nothing was measured.
fn ascend(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair[0] <= pair[1] * (1.0 + ROUNDING) || pair[0].is_nan() || pair[1].is_nan())
}

fn flows(spec: &ScenarioSpec, plan: &PlanData, result: &RunResult) -> Lawful {
    let table = &result.flows;
    let groups = spec.flows.iter().zip(&plan.groups);
    let least_s = groups.map(|(group, placed)| least_delay_s(smallest_packet(group), &placed.ends, plan));
    let least_s: BTreeMap<&str, f64> = spec.flows.iter().map(|group| group.name.as_str()).zip(least_s).collect();
    // A duplicate comes or is lost as well. Tables count duplicates by link, not by flow.
    let duplicated: u64 = result.links.counts("packets_duplicated").iter().sum();
    for (row, name) in table.texts("name").iter().enumerate() {
        let (count, number) = (|column: &str| table.counts(column)[row], |column: &str| table.floats(column)[row]);
        let delays = ["delay_p50_s", "delay_p95_s", "delay_p99_s", "delay_max_s"].map(number);
        law(ascend(&delays), "percentiles ascend", name, || format!("{delays:?}"))?;
        let (mean, longest) = (number("delay_mean_s"), delays[3]);
        law(ascend(&[0.0, mean, longest]), "a mean is no more than the most", name, || {
            format!("{mean} and {longest}")
        })?;
        let measured = count("packets_delivered") > 0;
        law(measured != mean.is_nan(), "what is delivered has a delay", name, || format!("{measured}, {mean} s"))?;
        // The two directions of a conversation have names of their own.
        let least = least_s.get(&table.texts("group")[row]).copied().unwrap_or(0.0);
        let slow = !(mean < least * (1.0 - ROUNDING) || delays[0] < least * (1.0 - HISTOGRAM));
        law(slow, "nothing is faster than its links", name, || format!("{mean} s, {delays:?}, at least {least} s"))?;
        let rates = ["goodput_bps", "throughput_bps"].map(number);
        // Data that had arrived out of order before the measured interval counts when the gap is filled.
        let part = rates[0] >= 0.0 && (ascend(&rates) || result.warmup_s > 0.0);
        law(part, "goodput is part of throughput", name, || format!("{rates:?}"))?;
        let times = [number("start_s"), number("finished_s"), result.duration_s];
        law(ascend(&times), "a flow starts, ends, and then the run does", name, || format!("{times:?}"))?;
        let sent = count("packets_sent");
        law(count("packets_retransmitted") <= sent, "what is sent again is sent", name, || sent.to_string())?;
        if result.warmup_s == 0.0 {
            let (delivered, dropped) = (count("packets_delivered"), count("packets_dropped"));
            law(
                delivered + dropped <= sent + duplicated,
                "what comes or is dropped was sent or duplicated",
                name,
                || format!("{delivered} delivered and {dropped} dropped of {sent}"),
            )?;
        }
    }
    Ok(())
}

/// Losses of flows equal the drops of their data at queues plus the losses at links and ports.
fn drops(spec: &ScenarioSpec, result: &RunResult) -> Lawful {
    let sum = |table: &Table, column: &str| table.counts(column).iter().sum::<u64>();
    let directions = result.queue_flows.texts("direction").iter().zip(result.queue_flows.counts("packets_dropped"));
    let dropped: u64 = directions.filter(|(direction, _)| *direction == "data").map(|(_, count)| count).sum();
    let (of_flows, of_links) = (sum(&result.flows, "packets_dropped"), sum(&result.links, "packets_lost"));
    let of_ports = sum(&result.queues, "frames_lost") + sum(&result.adapters, "frames_lost");
    // A port may lose control frames as well.
    let most = dropped + of_links + of_ports;
    // An adapter whose queues are limited drops what endpoints send beyond them, and no table has that by itself.
    let is_limited = ethernet(spec).is_some_and(|(adapter, _)| adapter.voq_limit.is_some());
    // The same holds for the device queues of hosts, but a warning names their drops.
    let is_limited = is_limited || result.warnings.iter().any(|warning| warning.text.contains("the device queue of"));
    // Links also lose acknowledgements, answers of pings, and messages of congestion management.
    let messages = sum(&result.queues, "control_frames_sent") + sum(&result.adapters, "control_frames_sent");
    let is_ping = |transport: &Transport| matches!(transport, Transport::Udp(udp) if udp.is_ping());
    let is_answered = |transport: &Transport| transport.is_reliable() || is_ping(transport);
    let loses_others = messages > 0 || spec.flows.iter().any(|group| is_answered(&group.transport));
    let least = dropped + if loses_others { 0 } else { of_links };
    let holds = of_flows >= least && (of_flows <= most || is_limited);
    law(holds, "what flows lost is what queues dropped and links lost", "all", || {
        format!("{of_flows} of flows; {dropped} of queues, {of_links} of links, {of_ports} of ports")
    })
}

fn series(spec: &ScenarioSpec, result: &RunResult) -> Lawful {
    let Some(probes) = &spec.probes else {
        return law(result.series.is_empty(), "no probes, no series", "", String::new);
    };
    let samples = spec.duration.picoseconds() / probes.interval.picoseconds();
    for series in &result.series {
        let name = format!("{} of {}", series.quantity, series.name);
        let length = series.values.len() as u64;
        law(length == samples, "a sample for each interval", &name, || format!("{length}, not {samples}"))?;
        let known = match series.quantity.as_str() {
            "utilization" => Some(0.0..=1.0 + ROUNDING),
            "length_packets" | "goodput_bps" | "sent_bps" | "congestion_window_bytes" => Some(0.0..=1e18),
            _ => None,
        };
        let outside = known.and_then(|known| series.values.iter().find(|value| !known.contains(value)));
        law(outside.is_none(), "samples keep their bounds", &name, || format!("{outside:?}"))?;
    }
    Ok(())
}

fn ports((adapter, switches): &(&Adapter, Vec<&SharedMemorySwitch>), result: &RunResult) -> Lawful {
    // Under a policy that shares, an input may take the memory of all ports of its switch.
    let ports = result.queues.texts("name").len() as u64;
    let has_own = |switch: &SharedMemorySwitch| switch.buffer == SharedMemorySwitch::default().buffer;
    let of_input = |switch: &&SharedMemorySwitch| switch.memory.0 * if has_own(switch) { 1 } else { ports };
    let most = switches.iter().map(of_input).fold(adapter.egress_memory.0, u64::max);
    let is_lossless = |pauses: [Option<Pause>; 2]| {
        pauses.iter().any(Option::is_some) && pauses.iter().flatten().all(|pause| !pause.allow_loss)
    };
    let lossless = is_lossless([adapter.pause, adapter.priority_pause])
        && switches.iter().all(|switch| is_lossless([switch.pause, switch.priority_pause]));
    let named = |table| Table::texts(table, "name").iter().enumerate().map(move |(row, name)| (table, row, name));
    for (table, row, name) in [&result.queues, &result.adapters].into_iter().flat_map(named) {
        let held = table.counts("memory_max_bytes")[row];
        law(held <= most, "a buffer holds no more than its memory", name, || format!("{held} B of {most} B"))?;
        let lost = table.counts("frames_lost")[row];
        law(!lossless || lost == 0, "with PAUSE no frame is lost", name, || lost.to_string())?;
        let paused = table.floats("paused_s")[row];
        let most = 8.0 * window_s(result) * (1.0 + ROUNDING);
        law((0.0..=most).contains(&paused), "no class pauses longer than the run", name, || paused.to_string())?;
    }
    Ok(())
}

/// The least time in seconds from any source of a group to any of its sinks: propagation, and the transmission of the
/// smallest packet on each link. 0 without a way.
fn least_delay_s(bytes: u64, [sources, sinks]: &[Vec<u32>; 2], plan: &PlanData) -> f64 {
    let mut earliest_s = vec![f64::INFINITY; plan.nodes.len()];
    for &source in sources {
        earliest_s[source as usize] = 0.0;
    }
    let mut is_settled = false;
    while !is_settled {
        is_settled = true;
        for link in &plan.links {
            let [from, to] = link.ends.map(|node| node as usize);
            let transmission = link.fastest.map_or(Span::ZERO, |fastest| fastest.transmission_time(bytes));
            let hop = transmission + link.least_delay;
            let arrival_s = earliest_s[from] + hop.seconds();
            if arrival_s < earliest_s[to] {
                earliest_s[to] = arrival_s;
                is_settled = false;
            }
        }
    }
    let least_s = sinks.iter().map(|&sink| earliest_s[sink as usize]).fold(f64::INFINITY, f64::min);
    if least_s.is_finite() { least_s } else { 0.0 }
}

fn smallest_packet(group: &FlowGroup) -> u64 {
    match &group.transport {
        // A SYN is as long as an ACK.
        Transport::Tcp(config) => config.header.0.min(config.ack_size.0),
        // A message may have a byte, and headers may be none.
        Transport::Uec(_) | Transport::Ndp(_) | Transport::Homa(_) | Transport::Pfabric(_) | Transport::Roce(_) => 1,
        Transport::Udp(udp) => match (&udp.packet, &udp.pattern) {
            (SizeDistribution::Constant(size) | SizeDistribution::Uniform(size, _), UdpPattern::Constant(_)) => size.0,
            _ => 1,
        },
        Transport::Cells(cells) => cells.size.0,
        Transport::Frames(frames) => frames.size.0,
    }
}
