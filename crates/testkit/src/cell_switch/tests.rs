//! The slotted switch: its counters, its limits, its refusals. Comparisons with theory are in
//! `crates/switching/tests/theory.rs`.

use forebay_switching::{HotSpot, IslipConfig, PimConfig};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

use super::*;

pub fn rng(seed: u64) -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(seed)
}

fn crossbar(scheduler: SchedulerConfig, speedup: &str) -> CellFabric {
    CellFabric::Crossbar { scheduler, speedup: speedup.parse().unwrap() }
}

fn islip(speedup: &str) -> CellFabric {
    crossbar(SchedulerConfig::Islip(IslipConfig::default()), speedup)
}

fn run(config: &CellSwitchConfig, slots: u64) -> (CellSwitch, CellSwitchReport) {
    let mut switch = CellSwitch::new(config);
    let (mut arrivals, mut scheduler) = (rng(1), rng(2));
    let report = switch.run(0, slots, &mut CellSwitchRngs { arrivals: &mut arrivals, scheduler: &mut scheduler });
    (switch, report)
}

#[test]
fn every_cell_is_accounted_for() {
    let bursty = CellArrivals::Bursty(BurstyCells::default());
    let mut fabrics: Vec<CellFabric> = SchedulerConfig::every().into_iter().map(|one| crossbar(one, "3/2")).collect();
    let (islip, pim) = (IslipConfig { iterations: Some(1) }, PimConfig { iterations: Some(1) });
    fabrics.extend([SchedulerConfig::Islip(islip), SchedulerConfig::Pim(pim)].map(|one| crossbar(one, "3/2")));
    fabrics.extend([CellFabric::InputFifo, CellFabric::OutputQueued]);
    for fabric in fabrics {
        for arrivals in [CellArrivals::Bernoulli, bursty.clone(), CellArrivals::Saturated] {
            for limit in [None, Some(3)] {
                let mut config = CellSwitchConfig::new(6, fabric.clone(), 0.9);
                config.pattern = LoadPattern::HotSpot(HotSpot { output: 4, fraction: 0.4 });
                config.allow_overload = true;
                (config.arrivals, config.input_limit, config.output_limit) = (arrivals.clone(), limit, limit);
                let (switch, report) = run(&config, 500);
                let dropped = report.dropped_at_inputs + report.dropped_at_outputs;
                assert_eq!(report.arrived, report.departed + dropped + switch.cells(), "{config:?}");
                // A saturated FIFO gets no more than it sends, and no more than one cell an output crosses in a slot.
                let lossless =
                    limit.is_none() || (fabric == CellFabric::InputFifo && arrivals == CellArrivals::Saturated);
                assert_eq!(dropped > 0, !lossless, "{config:?}");
                assert!(limit.is_none() || report.max_at_outputs <= 3 * 6);
            }
        }
    }
}

#[test]
fn with_backpressure_nothing_is_lost_at_the_outputs() {
    let mut config = CellSwitchConfig::new(4, islip("2"), 1.0);
    (config.arrivals, config.output_limit, config.backpressure) = (CellArrivals::Saturated, Some(2), true);
    let (_, report) = run(&config, 1000);
    assert_eq!(report.dropped_at_outputs, 0);
    assert_eq!(report.max_at_outputs, 4);
    config.backpressure = false;
    assert!(run(&config, 1000).1.dropped_at_outputs > 3000);
}

#[test]
fn a_lone_cell_comes_and_goes_in_its_slot() {
    for fabric in [islip("1"), CellFabric::InputFifo, CellFabric::OutputQueued] {
        let mut config = CellSwitchConfig::new(2, fabric, 1.0);
        config.pattern = LoadPattern::Matrix(vec![vec![0.0, 1.0], vec![0.0, 0.0]]);
        let (_, report) = run(&config, 100);
        assert_eq!((report.delay_slots.mean, report.throughput), (0.0, vec![0.0, 1.0]));
    }
}

#[test]
#[should_panic(expected = "is overloaded")]
fn an_overload_is_refused() {
    let _ = CellSwitch::new(&CellSwitchConfig::new(4, islip("1"), 1.5));
}

#[test]
#[should_panic(expected = "`speedup` must be at most the number of ports")]
fn a_speedup_beyond_the_ports_is_refused() {
    let _ = CellSwitch::new(&CellSwitchConfig::new(4, islip("5"), 0.9));
}
