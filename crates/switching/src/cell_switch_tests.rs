//! The slotted switch: its books, its limits, what it refuses. What it shows of theory is in `tests/theory.rs`.

use alloc::string::ToString;

use super::*;
use crate::test_support::{every_scheduler, rng};
use crate::{BurstyCells, HotSpot, IslipConfig};

fn crossbar(scheduler: SchedulerConfig, speedup: &str) -> Fabric {
    Fabric::Crossbar { scheduler, speedup: speedup.parse().unwrap() }
}

fn islip(speedup: &str) -> Fabric {
    crossbar(SchedulerConfig::Islip(IslipConfig::default()), speedup)
}

fn run(config: &CellSwitchConfig, slots: u64) -> (CellSwitch, CellSwitchReport) {
    let mut switch = CellSwitch::new(config).unwrap();
    let (mut arrivals, mut scheduler) = (rng(1), rng(2));
    let report = switch.run(0, slots, &mut CellSwitchDice { arrivals: &mut arrivals, scheduler: &mut scheduler });
    (switch, report)
}

#[test]
fn every_cell_is_accounted_for() {
    let bursty = CellArrivals::Bursty(BurstyCells::default());
    let mut fabrics: Vec<Fabric> = every_scheduler().into_iter().map(|one| crossbar(one, "3/2")).collect();
    fabrics.extend([Fabric::InputFifo, Fabric::OutputQueued]);
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
                let lossless = limit.is_none() || (fabric == Fabric::InputFifo && arrivals == CellArrivals::Saturated);
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
    for fabric in [islip("1"), Fabric::InputFifo, Fabric::OutputQueued] {
        let mut config = CellSwitchConfig::new(2, fabric, 1.0);
        config.pattern = LoadPattern::Matrix(vec![vec![0.0, 1.0], vec![0.0, 0.0]]);
        let (_, report) = run(&config, 100);
        assert_eq!((report.delay_slots.mean, report.throughput), (0.0, vec![0.0, 1.0]));
    }
}

#[test]
fn what_cannot_be_is_refused_with_a_reason() {
    let good = CellSwitchConfig::new(4, islip("1"), 0.9);
    let error = |spoil: fn(&mut CellSwitchConfig)| {
        let mut config = good.clone();
        spoil(&mut config);
        CellSwitch::new(&config).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(error(|_| ()), "");
    assert_eq!(error(|config| config.ports = 65), "a switch has 1 to 64 ports, not 65");
    assert_eq!(error(|config| config.input_limit = Some(0)), "`input_limit` must be at least 1 cell");
    assert_eq!(error(|config| config.output_limit = Some(0)), "`output_limit` must be at least 1 cell");
    assert_eq!(error(|config| config.backpressure = true), "`backpressure` must come with an `output_limit`");
    assert_eq!(error(|config| config.fabric = islip("5")), "`speedup` must be at most the number of ports");
    let overload = "row 0 of the load matrix is overloaded: input 0 would send 1.5 of its line rate";
    assert_eq!(error(|config| config.load = 1.5), overload);
    assert_eq!(error(|config| (config.load, config.allow_overload) = (1.5, true)), "");
    let bursty = CellArrivals::Bursty(BurstyCells { mean_burst_cells: 0.5 });
    let mut config = CellSwitchConfig { arrivals: bursty, ..good.clone() };
    let message = |config: &CellSwitchConfig| CellSwitch::new(config).err().map(|error| error.to_string());
    assert_eq!(message(&config).as_deref(), Some("`mean_burst_cells` must be at least 1"));
    config.arrivals = CellArrivals::Bursty(BurstyCells::default());
    (config.load, config.allow_overload) = (1.5, true);
    let burst_rate = "`load` must be at most 1 for bursts, which come at the line rate";
    assert_eq!(message(&config).as_deref(), Some(burst_rate));
}
