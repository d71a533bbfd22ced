//! CPU time of each scheduler for a slot, at 8, 16 and 32 ports, as shown by `make bench`. Prints a JSON document.
//!
//! `cargo run --release -p forebay-switching --example schedulers`
//!
//! A slot has one phase; the load is 0.95, uniform or diagonal, of Bernoulli cells. The time of the slotted switch
//! without its phases, measured with an output-queued one, is taken off.

#![allow(clippy::print_stdout, reason = "a command-line program")]

use cpu_time::ProcessTime;
use forebay_switching::*;
use forebay_testkit::*;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use serde_json::{Value, json};

const LOAD: f64 = 0.95;
const PORTS: [usize; 3] = [8, 16, 32];
const WARM_UP: u64 = 20_000;
const SLOTS: u64 = 30_000;
/// The least of this many is taken: other work of the machine only adds.
const REPEATS: usize = 3;

/// Nanoseconds of CPU time a slot.
fn ns_per_slot(ports: usize, pattern: &LoadPattern, fabric: CellFabric) -> f64 {
    let config = CellSwitchConfig { pattern: pattern.clone(), ..CellSwitchConfig::new(ports, fabric, LOAD) };
    let mut switch = CellSwitch::new(&config);
    let (mut arrivals, mut scheduler) = (Pcg64Mcg::seed_from_u64(1), Pcg64Mcg::seed_from_u64(2));
    let mut rng = CellSwitchRngs { arrivals: &mut arrivals, scheduler: &mut scheduler };
    (0..WARM_UP).for_each(|_| switch.advance(&mut rng));
    let repeats = (0..REPEATS).map(|_| {
        let start = ProcessTime::now();
        (0..SLOTS).for_each(|_| switch.advance(&mut rng));
        start.elapsed().as_secs_f64() * 1e9 / SLOTS as f64
    });
    repeats.fold(f64::INFINITY, f64::min)
}

fn main() {
    let mut measured = Vec::new();
    for (load, pattern) in [("uniform", LoadPattern::Uniform), ("diagonal", LoadPattern::Diagonal)] {
        let without_phases = PORTS.map(|ports| ns_per_slot(ports, &pattern, CellFabric::OutputQueued));
        for scheduler in SchedulerConfig::every() {
            let costs = PORTS.into_iter().zip(without_phases).map(|(ports, without)| {
                let fabric = CellFabric::Crossbar { scheduler: scheduler.clone(), speedup: Speedup::ONE };
                json!({ "ports": ports, "ns_per_slot": ns_per_slot(ports, &pattern, fabric) - without })
            });
            let costs: Vec<Value> = costs.collect();
            measured.push(json!({ "name": scheduler.name(), "load": load, "costs": costs }));
        }
    }
    println!("{}", json!({ "schedulers": measured }));
}
