//! The slotted switch against theory. Tolerances follow from the length of the run: unless a comment says otherwise, a
//! throughput is known to about 0.001 here, and a mean delay to the half-width that the report gives with it.

use forebay_switching::*;
use forebay_testkit::*;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

fn crossbar(scheduler: SchedulerConfig, speedup: &str) -> CellFabric {
    CellFabric::Crossbar { scheduler, speedup: speedup.parse().expect("a speedup") }
}

fn islip(iterations: u32) -> SchedulerConfig {
    SchedulerConfig::Islip(IslipConfig { iterations: Some(iterations) })
}

fn pim(iterations: u32) -> SchedulerConfig {
    SchedulerConfig::Pim(PimConfig { iterations: Some(iterations) })
}

fn mwm() -> SchedulerConfig {
    SchedulerConfig::Mwm(MwmConfig {})
}

fn run(config: &CellSwitchConfig, warm_up: u64, slots: u64) -> CellSwitchReport {
    let (mut arrivals, mut scheduler) = (Pcg64Mcg::seed_from_u64(1), Pcg64Mcg::seed_from_u64(2));
    let mut rng = CellSwitchRngs { arrivals: &mut arrivals, scheduler: &mut scheduler };
    CellSwitch::new(config).run(warm_up, slots, &mut rng)
}

/// Throughput of a saturated switch under uniform traffic.
fn saturated(ports: usize, fabric: CellFabric, slots: u64) -> f64 {
    let config = CellSwitchConfig { arrivals: CellArrivals::Saturated, ..CellSwitchConfig::new(ports, fabric, 1.0) };
    run(&config, 2000, slots).mean_throughput()
}

fn diagonal(fabric: CellFabric, load: f64) -> CellSwitchConfig {
    CellSwitchConfig { pattern: LoadPattern::Diagonal, ..CellSwitchConfig::new(8, fabric, load) }
}

/// M. Karol, M. Hluchyj and S. Morgan (1987), table I: the saturated throughput of FIFO input queueing falls to
/// 2 - sqrt(2) with the number of ports.
#[test]
fn fifo_input_queues_block_at_the_head_of_the_line() {
    let table = [(2, 0.75), (3, 0.6825), (4, 0.6553), (5, 0.6399), (6, 0.6302), (7, 0.6234), (8, 0.6184)];
    for (ports, throughput) in table {
        let measured = saturated(ports, CellFabric::InputFifo, 200_000);
        assert!((measured - throughput).abs() < 0.003, "{ports} ports: {measured}, not {throughput}");
    }
    // The table ends with 8 ports; the value for 32 is of another program with the same rules.
    let (limit, large) = (2.0 - 2.0_f64.sqrt(), saturated(32, CellFabric::InputFifo, 50_000));
    assert!((large - 0.5938).abs() < 0.003, "{large}");
    let larger = saturated(64, CellFabric::InputFifo, 50_000);
    assert!(limit < larger && larger < large && larger - limit < 0.006, "{larger}");
}

/// With n ports, an output is idle when no input accepts its grant: 1 - (1 - 1/n)^n of them are joined, which falls to
/// 1 - 1/e = 63 %. T. Anderson et al. (1993).
#[test]
fn one_iteration_of_pim_joins_63_percent() {
    for ports in [2, 4, 8, 16, 32] {
        let n = ports as f64;
        let theory = 1.0 - libm::pow(1.0 - 1.0 / n, n);
        let measured = saturated(ports, crossbar(pim(1), "1"), 50_000);
        assert!((measured - theory).abs() < 0.003, "{ports} ports: {measured}, not {theory}");
    }
}

/// Each iteration settles on average three quarters or more of the rest. The values are those of another program
/// with the same rules.
#[test]
fn more_iterations_of_pim_join_nearly_all() {
    for (iterations, throughput) in [(1, 0.644), (2, 0.881), (3, 0.973), (4, 0.999)] {
        let measured = saturated(16, crossbar(pim(iterations), "1"), 30_000);
        assert!((measured - throughput).abs() < 0.003, "{iterations} iterations: {measured}");
    }
}

/// N. McKeown (1999): under saturated uniform traffic the pointers fall out of step for good.
#[test]
fn islip_and_mwm_carry_all_of_uniform_traffic() {
    for ports in [2, 5, 8, 16] {
        for scheduler in [islip(1), islip(4), mwm(), SchedulerConfig::MaximumSize(MaximumSizeConfig {})] {
            let measured = saturated(ports, crossbar(scheduler.clone(), "1"), 5000);
            assert!((measured - 1.0).abs() < 1e-9, "{ports} ports, {scheduler:?}: {measured}");
        }
    }
}

/// Karol et al. (1987): the mean wait at an output-queued switch under uniform Bernoulli traffic is
/// (n-1)/n * load / (2 (1 - load)) slots.
#[test]
fn output_queueing_waits_as_long_as_the_closed_form_says() {
    for (ports, load, slots) in [(8, 0.5, 50_000), (8, 0.8, 200_000), (8, 0.9, 400_000), (2, 0.8, 400_000)] {
        let report = run(&CellSwitchConfig::new(ports, CellFabric::OutputQueued, load), 10_000, slots);
        let n = ports as f64;
        let theory = (n - 1.0) / n * load / (2.0 * (1.0 - load));
        let delay = report.delay_slots;
        assert!(delay.half_width < 0.04 * theory, "{delay:?} says too little");
        assert!(delay.agrees_with(theory, 1.5), "{ports} ports, load {load}: {delay:?}, not {theory}");
        // Little's law for the cells left after the departures; the run's ends are not quite the same.
        assert!((report.mean_at_outputs / (n * load) - delay.mean).abs() < 0.02 * theory);
    }
}

/// With as many phases in a slot as there are ports, every cell crosses at once: the same as output queueing, to the
/// last cell.
#[test]
fn a_speedup_of_n_is_output_queueing() {
    for arrivals in [CellArrivals::Bernoulli, CellArrivals::Bursty(BurstyCells::default())] {
        let config = |fabric| CellSwitchConfig { arrivals: arrivals.clone(), ..CellSwitchConfig::new(8, fabric, 0.9) };
        let output_queued = run(&config(CellFabric::OutputQueued), 1000, 20_000);
        for scheduler in [islip(1), pim(4), mwm(), SchedulerConfig::Wavefront(WavefrontConfig {})] {
            assert_eq!(run(&config(crossbar(scheduler, "8")), 1000, 20_000), output_queued);
        }
    }
}

/// One iteration of iSLIP under uniform Bernoulli traffic; the values are those of another program with the same rules,
/// from one seed each and good to about 1 %.
#[test]
fn islip_is_stable_under_uniform_traffic() {
    for (load, delay_slots) in [(0.5, 1.07), (0.8, 22.0), (0.9, 58.0), (0.95, 133.0)] {
        let report = run(&CellSwitchConfig::new(8, crossbar(islip(1), "1"), load), 50_000, 400_000);
        let delay = report.delay_slots;
        assert!((delay.mean - delay_slots).abs() < 0.02 * delay_slots + 1.5 * delay.half_width, "{load}: {delay:?}");
        assert!((report.mean_throughput() - load).abs() < 0.002, "{load}: {}", report.mean_throughput());
    }
}

/// Four iterations of iLQF under uniform Bernoulli traffic. The values are those of another program with the same
/// rules, which draws the order of equally long queues for grants and for accepts apart. With one order for both, an
/// input accepts from the output that most others wait for: 2 to 5 % more delay, and at load 0.5 more than with PIM's
/// random choices.
#[test]
fn ilqf_waits_as_long_as_with_equals_drawn_for_each_choice() {
    let config = |scheduler, load| CellSwitchConfig::new(8, crossbar(scheduler, "1"), load);
    let ilqf = || SchedulerConfig::Ilqf(IlqfConfig { iterations: Some(4) });
    for (load, delay_slots) in [(0.5, 0.64), (0.8, 3.0), (0.9, 6.7), (0.95, 12.6)] {
        let delay = run(&config(ilqf(), load), 20_000, 400_000).delay_slots;
        // The values have two or three figures: half a unit of the last, and what a run of this length leaves open.
        let rounding = if load < 0.6 { 0.005 } else { 0.05 };
        assert!(delay.half_width < 0.02 * delay_slots, "{delay:?} says too little");
        assert!((delay.mean - delay_slots).abs() < rounding + 1.5 * delay.half_width, "{load}: {delay:?}");
    }
    // The same arrivals for both.
    let mean = |scheduler| run(&config(scheduler, 0.5), 20_000, 400_000).delay_slots.mean;
    let (longest_first, at_random) = (mean(ilqf()), mean(pim(4)));
    assert!(longest_first < at_random, "{longest_first} {at_random}");
}

/// Diagonal traffic has only two matchings that keep all ports busy. MWM finds them (McKeown et al. 1999: it is stable
/// under all admissible traffic); round-robin and random arbiters do not, and their queues grow without end. PIM-1: an
/// output is asked by two inputs with two requests each, which gives 1 - (1/2)^2.
#[test]
fn diagonal_traffic_is_stable_under_mwm_and_not_under_islip() {
    let run = |scheduler, load| run(&diagonal(crossbar(scheduler, "1"), load), 20_000, 50_000);
    let largest = SchedulerConfig::MaximumSize(MaximumSizeConfig {});
    for scheduler in [mwm(), largest.clone()] {
        let report = run(scheduler.clone(), 0.95);
        assert!((report.mean_throughput() - 0.95).abs() < 0.003, "{scheduler:?}: {report:?}");
        assert!(report.max_at_inputs < 250, "{scheduler:?}: {report:?}");
        assert!(run(scheduler, 1.0).mean_throughput() > 0.99);
    }
    for (scheduler, ceiling) in [(pim(1), 0.75), (islip(4), 0.83)] {
        let report = run(scheduler.clone(), 0.95);
        assert!(report.max_at_inputs > 30_000, "{scheduler:?}: {report:?}");
        let measured = run(scheduler.clone(), 1.0).mean_throughput();
        assert!((measured - ceiling).abs() < 0.006, "{scheduler:?}: {measured}");
    }
}

/// The same with a speedup of 6/5: figure 3.3 of the tiny-buffers paper in short.
#[test]
fn a_speedup_of_six_fifths_makes_up_for_islip() {
    let throughput =
        |iterations| run(&diagonal(crossbar(islip(iterations), "6/5"), 1.0), 50_000, 100_000).mean_throughput();
    let (four, one) = (throughput(4), throughput(1));
    assert!(four > 0.99, "{four}");
    assert!((one - 0.977).abs() < 0.004, "{one}");
}

/// J. Dai and B. Prabhakar, "The Throughput of Data Switches with and without Speedup" (2000): with a speedup of 2, any
/// maximal matching carries all admissible traffic.
#[test]
fn a_speedup_of_two_is_enough_for_any_maximal_matching() {
    // Permutations with weights that make each row and column 0.97, and a hot output at 0.98.
    let mut rows = vec![vec![0.0; 8]; 8];
    for (step, weight) in [(1, 0.5), (3, 0.3), (5, 0.15), (7, 0.02)] {
        (0..8).for_each(|input| rows[input][(step * input + step / 2) % 8] += weight);
    }
    let hot = LoadPattern::HotSpot(HotSpot { output: 5, fraction: 0.25 });
    let schedulers = [
        islip(8),
        pim(8),
        SchedulerConfig::Ilqf(IlqfConfig::default()),
        SchedulerConfig::Wavefront(WavefrontConfig {}),
        SchedulerConfig::MaximumSize(MaximumSizeConfig {}),
    ];
    for (pattern, load) in [(LoadPattern::Matrix(rows), 1.0), (hot, 0.49), (LoadPattern::Uniform, 0.97)] {
        for scheduler in &schedulers {
            let fabric = crossbar(scheduler.clone(), "2");
            let config = CellSwitchConfig { pattern: pattern.clone(), ..CellSwitchConfig::new(8, fabric, load) };
            let report = run(&config, 5000, 30_000);
            // Stable inputs hold a few cells a port; unstable ones would by now hold hundreds at the least.
            assert!(report.max_at_inputs < 8 * 15, "{config:?}: {report:?}");
            assert!(report.departed as f64 > 0.99 * report.arrived as f64, "{config:?}: {report:?}");
        }
    }
}

/// A switch of VOQs without a speedup cannot beat output queueing under the same arrivals. With MWM it comes near.
#[test]
fn output_queueing_is_the_least_delay() {
    let delay = |fabric| run(&CellSwitchConfig::new(8, fabric, 0.9), 10_000, 100_000).delay_slots.mean;
    let (least, best, islip) =
        (delay(CellFabric::OutputQueued), delay(crossbar(mwm(), "1")), delay(crossbar(islip(4), "1")));
    assert!(least < best && best < 1.5 * least && best < islip, "{least} {best} {islip}");
}

/// VOQs of three cells, uniform load 0.95: another program with the same rules carried 0.942.
#[test]
fn three_cells_a_queue_carry_nearly_all() {
    let config = CellSwitchConfig { input_limit: Some(3), ..CellSwitchConfig::new(8, crossbar(mwm(), "1"), 0.95) };
    let report = run(&config, 5000, 200_000);
    assert!((report.mean_throughput() - 0.942).abs() < 0.003, "{report:?}");
    assert_eq!(report.dropped_at_outputs, 0);
}

/// Bursts of one output each: the same throughput, and longer queues.
#[test]
fn bursts_cost_delay_and_no_throughput() {
    let bursty = CellArrivals::Bursty(BurstyCells { mean_burst_cells: 10.0 });
    let smooth = CellSwitchConfig::new(8, crossbar(islip(4), "1"), 0.7);
    let rough = CellSwitchConfig { arrivals: bursty, ..smooth.clone() };
    let (smooth, rough) = (run(&smooth, 10_000, 200_000), run(&rough, 10_000, 200_000));
    // A mean over bursts of 10 cells is known about four times less well.
    assert!((rough.mean_throughput() - 0.7).abs() < 0.01, "{rough:?}");
    assert!(rough.delay_slots.mean > 5.0 * smooth.delay_slots.mean, "{smooth:?} {rough:?}");
}
