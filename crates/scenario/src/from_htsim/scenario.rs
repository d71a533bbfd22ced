//! The scenario of a run, as TOML.

use forebay_document::escaped;
use forebay_units::Rate;

use super::HtsimRun;
use super::options::Options;
use super::topology::{Link, Network, Shape};

/// The part of rate, queue and thresholds that a failed link keeps.
const FAILED_PART: f64 = 0.25;

/// The text of the scenario.
pub(super) fn text(run: &HtsimRun<'_>, options: &Options, network: &Network) -> String {
    let in_a_line = |text: &str| escaped(text).replace('\n', " ");
    let mut lines = vec![format!("# The run of htsim_uec with {}", in_a_line(run.matrix.name))];
    if let Some(topology) = run.topology {
        lines[0] += &format!(" over {}", in_a_line(topology.name));
    }
    lines[0] += &format!("; options: {}", in_a_line(if run.options.is_empty() { "none" } else { run.options }));
    lines.extend(notes(run, options, network).iter().map(|note| format!("# {}", in_a_line(note))));
    lines.push(format!("duration = \"{} us\"\nseed = {}\n", options.end_us, options.seed));
    lines.extend(topology(options, network));
    let matrix = toml::Value::from(run.matrix.name);
    lines.push(format!("\n[[flows]]\nname = \"flow\"\n{}", transport(options, network)));
    lines.push(format!("pattern.matrix = {{ file = {matrix} }}\n"));
    lines.join("\n")
}

/// Comments about what differs, or has no effect.
fn notes(run: &HtsimRun<'_>, options: &Options, network: &Network) -> Vec<String> {
    let mut notes = [network.notes.clone(), options.notes.clone()].concat();
    let of_topology = ["-hop_latency", "-switch_latency", "-tiers"];
    let given = |word: &str| of_topology.contains(&word);
    if let Some(name) = run.options.split_whitespace().find(|word| run.topology.is_some() && given(word)) {
        notes.push(format!("{name}: it has no effect, since the topology has this."));
    }
    notes.push("Seeds differ: htsim draws other numbers, so single collisions of paths differ.".to_owned());
    notes
}

fn topology(options: &Options, network: &Network) -> Vec<String> {
    let (name, keys, tiers) = match network.shape {
        Shape::FatTree { k, edge_oversubscription, core_oversubscription } => {
            let keys = [
                ("k", k, 0),
                ("edge_oversubscription", edge_oversubscription, 1),
                ("core_oversubscription", core_oversubscription, 1),
            ];
            ("fat_tree", keys.to_vec(), ["host_link", "edge_link", "core_link"].as_slice())
        }
        Shape::LeafSpine { leaves, spines, hosts, parallel } => {
            let keys = [("leaves", leaves, 0), ("spines", spines, 0), ("hosts", hosts, 0), ("parallel", parallel, 1)];
            ("leaf_spine", keys.to_vec(), ["host_link", "uplink"].as_slice())
        }
    };
    let mut lines = vec![format!("[topology.{name}]")];
    lines.extend(
        keys.iter().filter(|(_, value, default)| value != default).map(|(key, value, _)| format!("{key} = {value}")),
    );
    let mut last = String::new();
    for (tier, (key, link)) in tiers.iter().zip(&network.links).enumerate() {
        // Where the receiver controls, its own link has no marks.
        let has_marks = tier > 0 || !options.has_receiver_control;
        let table = table(link, &queue(options, network, has_marks, 1.0));
        if table != last {
            lines.push(format!("{key} = {table}"));
        }
        last = table;
    }
    lines.extend(exceptions(options, network));
    lines
}

fn table(link: &Link, queue: &str) -> String {
    format!("{{ rate = \"{}\", delay = \"{}\", {queue} }}", link.rate, link.delay)
}

/// The queue of a port, or of one with `part` of it. htsim's count the packet that is being sent.
fn queue(options: &Options, network: &Network, has_marks: bool, part: f64) -> String {
    let packets = options.queue_packets(network);
    let [low, high] = options.ecn_packets(network);
    let bytes = |packets: u64| ((packets * options.packet_bytes) as f64 * part) as u64;
    let is_whole = part >= 1.0;
    let size = |packets: u64| if is_whole { format!("{packets} packets") } else { format!("{} B", bytes(packets)) };
    let least = options.packet_bytes;
    let waiting = format!("{} B", bytes(packets).saturating_sub(least).max(least));
    let limit = if is_whole { size(packets - 1) } else { waiting };
    let marks = if has_marks {
        format!(", ecn = true, min_threshold = \"{}\", max_threshold = \"{}\"", size(low), size(high))
    } else {
        String::new()
    };
    let headers = 2 * bytes(packets);
    format!(
        "queue.trimming = {{ limit = \"{limit}\", header_limit = \"{headers} B\", headers_per_data = 100000{marks} }}"
    )
}

/// The links that `-failed` slows down. Between aggregation and core switches only the direction downwards is slow, in
/// two tiers both.
fn exceptions(options: &Options, network: &Network) -> Option<String> {
    if options.failed == 0 {
        return None;
    }
    let mut ports = Vec::new();
    match network.shape {
        Shape::FatTree { k, edge_oversubscription, core_oversubscription } => {
            let [aggs, up] = [k / 2 / edge_oversubscription, k / 2 / core_oversubscription];
            for (agg, link) in (0..k * aggs).flat_map(|agg| (0..up).map(move |link| (agg, link))) {
                if u64::from(link) + u64::from(agg) * u64::from(aggs) < options.failed {
                    ports.push(format!("core{}.port{}", agg % aggs + aggs * link, agg / aggs));
                }
            }
        }
        Shape::LeafSpine { leaves, hosts, parallel, .. } => {
            let cables = (0..leaves).flat_map(|leaf| (0..parallel).map(move |cable| (leaf, cable)));
            for spine in 0..options.failed as u32 {
                ports.extend(cables.clone().flat_map(|(leaf, cable)| {
                    let [up, down] = [hosts + spine * parallel + cable, leaf * parallel + cable];
                    [format!("leaf{leaf}.port{up}"), format!("spine{spine}.port{down}")]
                }));
            }
        }
    }
    let rate = network.links.last().map_or(options.rate, |link| link.rate);
    let rate = Rate::new((rate.bits_per_second() as f64 * FAILED_PART) as u64)?;
    let queue = queue(options, network, true, FAILED_PART);
    let ports = ports.iter().map(|port| format!("\"{port}\"")).collect::<Vec<_>>().join(", ");
    Some(format!("exceptions = [{{ ports = [{ports}], rate = \"{rate}\", one_way = true, {queue} }}]"))
}

fn transport(options: &Options, network: &Network) -> String {
    let mut keys = vec![format!("control = \"{}\"", options.control_name())];
    if options.packet_bytes != 4150 {
        keys.push(format!("packet = \"{} B\"", options.packet_bytes));
    }
    if options.load_balancing != "mixed" {
        keys.push(format!("load_balancing = \"{}\"", options.load_balancing));
    }
    if options.paths != 64 {
        keys.push(format!("paths = {}", options.paths));
    }
    if options.window_packets > 0 {
        keys.push(format!("first_window = \"{} B\"", options.window_packets * options.packet_bytes));
    }
    if network.oversubscription > 1 && options.control_name() == "rccc" && options.follows_oversubscription {
        keys.push(format!("oversubscription = {}", network.oversubscription));
    }
    keys.push(format!("round_trip = \"{}\"", options.round_trip(network)));
    keys.extend(options.timeout(network).map(|timeout| format!("timeout = \"{timeout}\"")));
    format!("transport.uec = {{ {} }}", keys.join(", "))
}
