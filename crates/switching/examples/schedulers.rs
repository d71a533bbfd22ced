//! CPU time of one scheduling phase for each scheduler, beside the traffic that the phase serves.
//!
//! `cargo run --release -p forebay-switching --example schedulers`
//!
//! Prints nanoseconds a slot at load 0.95 under uniform and diagonal Bernoulli traffic. The time of the slotted switch
//! without its phases, measured with an output-queued one, is taken off.

use cpu_time::ProcessTime;
use forebay_switching::*;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

const LOAD: f64 = 0.95;
const WARM_UP: u64 = 20_000;
const SLOTS: u64 = 30_000;
/// The least of so many is taken: what else the machine does only adds.
const REPEATS: usize = 3;

/// Nanoseconds of CPU time a slot.
fn nanoseconds(ports: usize, pattern: &LoadPattern, fabric: Fabric) -> f64 {
    let config = CellSwitchConfig { pattern: pattern.clone(), ..CellSwitchConfig::new(ports, fabric, LOAD) };
    let mut switch = CellSwitch::new(&config).expect("every parameter here is within its bounds");
    let (mut arrivals, mut scheduler) = (Pcg64Mcg::seed_from_u64(1), Pcg64Mcg::seed_from_u64(2));
    let mut dice = CellSwitchDice { arrivals: &mut arrivals, scheduler: &mut scheduler };
    (0..WARM_UP).for_each(|_| switch.advance(&mut dice));
    let repeats = (0..REPEATS).map(|_| {
        let start = ProcessTime::now();
        (0..SLOTS).for_each(|_| switch.advance(&mut dice));
        start.elapsed().as_secs_f64() * 1e9 / SLOTS as f64
    });
    repeats.fold(f64::INFINITY, f64::min)
}

fn main() {
    let schedulers = [
        SchedulerConfig::Mwm(MwmConfig::default()),
        SchedulerConfig::Islip(IslipConfig { iterations: Some(1) }),
        SchedulerConfig::Islip(IslipConfig::default()),
        SchedulerConfig::Pim(PimConfig::default()),
        SchedulerConfig::Ilqf(IlqfConfig::default()),
        SchedulerConfig::MaximumSize(MaximumSizeConfig::default()),
        SchedulerConfig::Wavefront(WavefrontConfig::default()),
    ];
    println!("{:<16}{:<10}{:>10}{:>10}{:>10}", "scheduler", "load", "8 ports", "16 ports", "32 ports");
    for scheduler in schedulers {
        for (name, pattern) in [("uniform", LoadPattern::Uniform), ("diagonal", LoadPattern::Diagonal)] {
            let phase = |ports| {
                let fabric = Fabric::Crossbar { scheduler: scheduler.clone(), speedup: Speedup::ONE };
                nanoseconds(ports, &pattern, fabric) - nanoseconds(ports, &pattern, Fabric::OutputQueued)
            };
            let iterations = match &scheduler {
                SchedulerConfig::Islip(IslipConfig { iterations: Some(count) }) => format!("-{count}"),
                _ => String::new(),
            };
            let label = format!("{}{iterations}", scheduler.name());
            println!("{label:<16}{name:<10}{:>10.0}{:>10.0}{:>10.0}", phase(8), phase(16), phase(32));
        }
    }
}
