//! The switch of a scenario against switch theory, with cells on its lines. Karol, Hluchyj and Morgan, "Input Versus
//! Output Queueing on a Space-Division Packet Switch", 1987, for the references; McKeown, "The iSLIP Scheduling
//! Algorithm for Input-Queued Switches", 1999.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use forebay_engine::RunResult;
use forebay_scenario::{Scenario, run};
use forebay_switching::{IslipConfig, LoadPattern, MwmConfig, SchedulerConfig, Speedup};
use forebay_testkit::{BurstyCells, CellArrivals, CellFabric, CellSwitch, CellSwitchConfig, CellSwitchRngs};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

/// Time of a cell on a line: 1000 B at 2.5 Gb/s.
const SLOT_S: f64 = 3.2e-6;

/// Where a cell waits for its phase: it reaches the switch 1 us after the start of a slot.
const PHASE_WAIT_SLOTS: f64 = 1.0 - 1e-6 / SLOT_S;

/// A switch with cells of this load on each line, measured for 25 000 slots.
fn cells(ports: usize, fabric: &str, pattern: &str, load: f64) -> RunResult {
    seeded_cells(ports, fabric, pattern, &format!("load = {load}"), 1)
}

/// The same with these keys for the cells, under this seed.
fn seeded_cells(ports: usize, fabric: &str, pattern: &str, cells: &str, seed: u64) -> RunResult {
    let text = format!(
        r#"
        duration = "100 ms"
        warmup = "20 ms"
        [topology.switch]
        ports = {ports}
        input = {{ rate = "2.5 Gbps", delay = "1 us" }}
        output = {{ rate = "2.5 Gbps", delay = "1 us", queue = {{ drop_tail = {{ limit = "100000 packets" }} }} }}
        fabric = {fabric}
        load = {pattern}
        [[flows]]
        name = "cells"
        transport.cells = {{ size = "1000 B", {cells} }}
        "#
    );
    let scenario = Scenario::load(&text, "cells.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, Some(seed), None, &mut |_| true).unwrap()
}

/// Mean utilisation of the output links.
fn throughput(result: &RunResult) -> f64 {
    let outputs = result.links.texts("name").iter().zip(result.links.floats("utilization"));
    let of_outputs: Vec<f64> = outputs.filter(|(name, _)| name.starts_with("out-")).map(|(_, &value)| value).collect();
    of_outputs.iter().sum::<f64>() / of_outputs.len() as f64
}

/// Mean time from the source of a cell to its sink, but for the two lines and their propagation, in slots.
fn mean_wait_slots(result: &RunResult) -> f64 {
    let packets = result.flows.counts("packets_delivered");
    let delays = result.flows.floats("delay_mean_s");
    let sum: f64 =
        packets.iter().zip(delays).filter(|(count, _)| **count > 0).map(|(&n, delay)| n as f64 * delay).sum();
    sum / packets.iter().sum::<u64>() as f64 / SLOT_S - 2.0 - 2e-6 / SLOT_S
}

#[test]
fn the_head_of_the_line_blocks() {
    for (ports, expected) in [(2, 0.75), (4, 0.6553), (8, 0.6184)] {
        let result = cells(ports, r#""input_queued""#, r#""uniform""#, 1.0);
        // Measured over 25 000 slots: a standard deviation of about 0.001.
        assert!((throughput(&result) - expected).abs() < 0.005, "{ports} ports: {}", throughput(&result));
    }
}

#[test]
fn an_output_queued_switch_waits_as_the_closed_form_says() {
    for load in [0.5, 0.8] {
        let result = cells(8, r#""output_queued""#, r#""uniform""#, load);
        let expected = 7.0 / 8.0 * load / (2.0 * (1.0 - load));
        let wait = mean_wait_slots(&result);
        assert!((wait / expected - 1.0).abs() < 0.05, "load {load}: {wait} against {expected}");
    }
}

#[test]
fn a_speedup_of_the_number_of_ports_is_output_queueing() {
    let load = 0.8;
    let reference = mean_wait_slots(&cells(4, r#""output_queued""#, r#""uniform""#, load));
    for scheduler in ["mwm", "islip", "pim", "ilqf", "maximum_size", "wavefront"] {
        let fabric = format!(r#"{{ cioq = {{ scheduler = "{scheduler}", speedup = 4 }} }}"#);
        let wait = mean_wait_slots(&cells(4, &fabric, r#""uniform""#, load));
        // Every cell waits for the next phase, the same part of a slot for all; several for one output cross one after
        // the other, within their slot. Both add less than a slot, the first exactly (1 us on a grid of 0.8 us: 0.6
        // us).
        let added = wait - reference;
        assert!((0.6e-6 / SLOT_S - 1e-9..1.0).contains(&added), "{scheduler}: {wait} against {reference}");
    }
}

#[test]
fn virtual_output_queues_carry_every_uniform_load() {
    for scheduler in ["mwm", "{ islip = { iterations = 1 } }", "maximum_size", "wavefront", "ilqf"] {
        let fabric = if scheduler.starts_with('{') { scheduler.to_owned() } else { format!(r#""{scheduler}""#) };
        let result = cells(4, &format!("{{ cioq = {{ scheduler = {fabric} }} }}"), r#""uniform""#, 1.0);
        // Saturated, with queues that have had 6 000 slots to fill.
        assert!(throughput(&result) > 0.985, "{scheduler}: {}", throughput(&result));
    }
    let one_iteration = cells(4, "{ cioq = { scheduler = { pim = { iterations = 1 } } } }", r#""uniform""#, 1.0);
    assert!((throughput(&one_iteration) - 0.6836).abs() < 0.005, "PIM-1: {}", throughput(&one_iteration));
}

#[test]
fn a_diagonal_load_parts_the_schedulers_and_a_little_speedup_helps() {
    let diagonal = |cioq: &str| throughput(&cells(8, &format!("{{ cioq = {cioq} }}"), r#""diagonal""#, 1.0));
    let mwm = diagonal(r#"{ scheduler = "mwm" }"#);
    let islip = diagonal(r#"{ scheduler = { islip = { iterations = 4 } } }"#);
    let faster = diagonal(r#"{ scheduler = { islip = { iterations = 4 } }, speedup = "6/5" }"#);
    assert!(mwm > 0.98, "MWM: {mwm}");
    assert!((0.79..0.87).contains(&islip), "iSLIP: {islip}");
    assert!(faster > 0.97, "iSLIP at 6/5: {faster}");
}

/// Mean and its variance of what a measurement gives under several seeds.
fn over_seeds(measure: impl Fn(u64) -> f64) -> (f64, f64) {
    let values: Vec<f64> = (1..=SEEDS).map(measure).collect();
    let mean = values.iter().sum::<f64>() / SEEDS as f64;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, squares / (SEEDS * (SEEDS - 1)) as f64)
}

const SEEDS: u64 = 6;

/// The simulator's switch and the slotted switch of the test kit share the scheduler and the queues, and nothing of
/// what is around them: arrivals, times of phases, outputs, counts. Each is run under several seeds of its own.
fn agrees_with_the_slotted_switch(fabric: &str, pattern: &str, cells: &str, slotted: &CellSwitchConfig) {
    let simulated = |seed| seeded_cells(slotted.ports, fabric, pattern, cells, seed);
    let reference = |seed| {
        let (mut arrivals, mut scheduler) = (Pcg64Mcg::seed_from_u64(seed), Pcg64Mcg::seed_from_u64(seed + SEEDS));
        let mut rng = CellSwitchRngs { arrivals: &mut arrivals, scheduler: &mut scheduler };
        CellSwitch::new(slotted).run(6250, 25_000, &mut rng)
    };
    let waits = (
        over_seeds(|seed| mean_wait_slots(&simulated(seed)) - PHASE_WAIT_SLOTS),
        over_seeds(|seed| reference(seed).delay_slots.mean),
    );
    let throughputs =
        (over_seeds(|seed| throughput(&simulated(seed))), over_seeds(|seed| reference(seed).mean_throughput()));
    for (what, ((here, variance), (there, its_variance))) in [("wait", waits), ("throughput", throughputs)] {
        let deviation = (variance + its_variance).sqrt();
        assert!(deviation < 0.1 * there, "{what}: too little is known to tell");
        // Student's t with five degrees of freedom or more exceeds 4 once in a hundred times.
        assert!((here - there).abs() < 4.0 * deviation, "{what}: {here} against {there}, deviation {deviation}");
    }
}

fn crossbar(scheduler: SchedulerConfig) -> CellFabric {
    CellFabric::Crossbar { scheduler, speedup: Speedup::ONE }
}

#[test]
fn islip_under_uniform_load_is_that_of_the_slotted_switch() {
    let fabric = crossbar(SchedulerConfig::Islip(IslipConfig { iterations: Some(1) }));
    agrees_with_the_slotted_switch(
        "{ cioq = { scheduler = { islip = { iterations = 1 } } } }",
        r#""uniform""#,
        "load = 0.8",
        &CellSwitchConfig::new(8, fabric, 0.8),
    );
}

#[test]
fn maximum_weight_under_diagonal_load_is_that_of_the_slotted_switch() {
    let fabric = crossbar(SchedulerConfig::Mwm(MwmConfig {}));
    agrees_with_the_slotted_switch(
        "{ cioq = { scheduler = \"mwm\" } }",
        r#""diagonal""#,
        "load = 0.9",
        &CellSwitchConfig { pattern: LoadPattern::Diagonal, ..CellSwitchConfig::new(8, fabric, 0.9) },
    );
}

#[test]
fn input_queues_under_bursts_are_those_of_the_slotted_switch() {
    let arrivals = CellArrivals::Bursty(BurstyCells { mean_burst_cells: 4.0 });
    agrees_with_the_slotted_switch(
        r#""input_queued""#,
        r#""uniform""#,
        "load = 0.4, burst_cells = 4.0",
        &CellSwitchConfig { arrivals, ..CellSwitchConfig::new(4, CellFabric::InputFifo, 0.4) },
    );
}

#[test]
fn a_node_of_a_graph_is_a_switch() {
    let text = r#"
        duration = "10 s"
        [topology.graph]
        nodes = [{ name = "a" }, { name = "b" }, { name = "c" }, { name = "sw", kind.cioq = { speedup = "6/5" } }]
        links = [
            { from = "a", to = "sw", rate = "10 Mbps", delay = "1 ms" },
            { from = "sw", to = "b", rate = "100 Mbps", delay = "1 ms" },
            { from = "c", to = "sw", rate = "10 Mbps", delay = "1 ms", queue.drop_tail = { limit = "20 packets" } },
        ]
        [[flows]]
        name = "file"
        count = 6
        from = ["a", "b", "c"]
        to = ["b", "c", "a"]
        transport = "tcp"
        app.fixed = { size = "300 KB" }
    "#;
    let result = run(&Scenario::load(text, "graph.toml", &[]).unwrap(), Some(1), None, &mut |_| true).unwrap();
    assert!(
        result.flows.floats("finished_s").iter().all(|time| time.is_finite()),
        "{:?}",
        result.flows.floats("finished_s")
    );
    let find = |table: &forebay_records::Table, column: &str, name: &str| {
        let row = table.texts("name").iter().position(|row| row == name);
        table.counts(column)[row.unwrap_or_else(|| panic!("no `{name}`"))]
    };
    // Data and ACKs of both directions cross: the packets of a link are those of its input. Ports are numbered in the
    // order of the links, whichever way these are written.
    for (input, link) in [("sw/input-1", "a->sw"), ("sw/input-2", "b->sw"), ("sw/input-3", "c->sw")] {
        let brought = find(&result.links, "packets", link);
        assert!(brought > 400, "{link}: {brought}");
        assert_eq!(find(&result.queues, "packets_arrived", input), brought, "{input}");
        assert_eq!(find(&result.queues, "packets_dropped", input), 0, "{input}");
    }
    // Two files for `c`, from a line of 100 Mb/s to one of 10 Mb/s: its queue is behind the crossbar.
    assert!(find(&result.queues, "length_max_packets", "sw->c") == 20);
}

#[test]
fn every_pair_of_ports_has_its_share_of_the_flows() {
    let text = r#"
        duration = "20 ms"
        [topology.switch]
        ports = 4
        access = { rate = "10 Mbps", delay = "1 ms" }
        input = { rate = "1 Gbps", delay = "10 us" }
        output = { rate = "1 Gbps", delay = "10 us" }
        load = "diagonal"
        [[flows]]
        name = "udp"
        count = 24
        transport.udp = { packet = "1000 B", constant = { rate = "8 Mbps" } }
    "#;
    let result = run(&Scenario::load(text, "spread.toml", &[]).unwrap(), Some(1), None, &mut |_| true).unwrap();
    // 24 flows over 4 inputs: 6 each, 4 of them to the next output and 2 to the one after it.
    let links = result.links.texts("name").iter().zip(result.links.counts("packets"));
    let packets: Vec<(&str, u64)> = links.map(|(name, &packets)| (name, packets)).collect();
    let of = |name: &str| packets.iter().find(|(link, _)| *link == name).unwrap().1;
    for port in 1..=4 {
        assert_eq!(of(&format!("in-{port}")), of("in-1"));
        assert_eq!(of(&format!("out-{port}")), of("out-1"));
    }
}
