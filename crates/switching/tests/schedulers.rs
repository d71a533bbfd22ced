//! Laws of every scheduler for any queues at the inputs, and their configurations as written in a scenario.

use forebay_switching::*;
use proptest::prelude::*;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

fn islip(iterations: Option<u32>) -> SchedulerConfig {
    SchedulerConfig::Islip(IslipConfig { iterations })
}

fn pim(iterations: Option<u32>) -> SchedulerConfig {
    SchedulerConfig::Pim(PimConfig { iterations })
}

fn ilqf(iterations: Option<u32>) -> SchedulerConfig {
    SchedulerConfig::Ilqf(IlqfConfig { iterations })
}

/// Schedulers whose matching leaves no request between two free ports.
fn maximal() -> Vec<SchedulerConfig> {
    let most = Some(MAX_PORTS as u32);
    vec![
        SchedulerConfig::Mwm(MwmConfig {}),
        SchedulerConfig::MaximumSize(MaximumSizeConfig {}),
        SchedulerConfig::Wavefront(WavefrontConfig {}),
        ilqf(None),
        islip(most),
        pim(most),
    ]
}

/// Those, then each with its defaults, then each with the fewest iterations.
fn every() -> Vec<SchedulerConfig> {
    let fewest = [islip(Some(1)), pim(Some(1)), ilqf(Some(1))];
    maximal().into_iter().chain(SchedulerConfig::every()).chain(fewest).collect()
}

/// Occupancies of several phases of one switch: sparse and full ones, ties, and queues as long as can be counted.
fn occupancies() -> impl Strategy<Value = Vec<Occupancy>> {
    let length = prop_oneof![6 => Just(0_u32), 4 => 1_u32..=3, 1 => 1_u32..=1000, 1 => Just(u32::MAX)];
    (1..=MAX_PORTS).prop_flat_map(move |ports| {
        let lengths = prop_oneof![
            3 => prop::collection::vec(length.clone(), ports * ports),
            1 => Just(vec![1; ports * ports]),
            1 => prop::collection::vec(prop_oneof![15 => Just(0_u32), 1 => Just(1_u32)], ports * ports),
        ];
        prop::collection::vec(lengths.prop_map(move |lengths| Occupancy::from_lengths(ports, &lengths)), 1..4)
    })
}

fn outputs() -> impl Strategy<Value = u64> {
    prop_oneof![Just(u64::MAX), Just(0), any::<u64>()]
}

fn check(occupancy: &Occupancy, outputs: u64, matching: &Matching, maximal: bool) -> Result<(), TestCaseError> {
    let (mut inputs_seen, mut outputs_seen) = (0_u64, 0_u64);
    for (input, output) in matching.pairs() {
        prop_assert!(occupancy.length(input, output) > 0, "{input} to {output} was not requested");
        prop_assert!(outputs >> output & 1 == 1, "output {output} may not receive");
        prop_assert!(inputs_seen >> input & 1 == 0 && outputs_seen >> output & 1 == 0, "a port is joined twice");
        prop_assert_eq!(matching.input_of(output), Some(input));
        inputs_seen |= 1 << input;
        outputs_seen |= 1 << output;
    }
    prop_assert_eq!((inputs_seen, outputs_seen), (matching.inputs(), matching.outputs()));
    for input in (0..occupancy.ports()).filter(|input| maximal && inputs_seen >> input & 1 == 0) {
        prop_assert_eq!(occupancy.requests_of_input(input) & outputs & !outputs_seen, 0, "input {}", input);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_scheduler_gives_a_matching_of_requests(phases in occupancies(), outputs in outputs(), seed: u64) {
        for (index, config) in every().into_iter().enumerate() {
            let ports = phases[0].ports();
            let mut scheduler = config.build(ports).unwrap();
            let (mut rng, mut matching) = (Pcg64Mcg::seed_from_u64(seed), Matching::new(ports));
            for occupancy in &phases {
                scheduler.schedule(occupancy, outputs, &mut rng, &mut matching);
                check(occupancy, outputs, &matching, index < maximal().len())?;
            }
        }
    }

    #[test]
    fn the_same_dice_give_the_same_matching(phases in occupancies(), seed: u64) {
        for config in every() {
            let run = || {
                let ports = phases[0].ports();
                let (mut scheduler, mut rng) = (config.build(ports).unwrap(), Pcg64Mcg::seed_from_u64(seed));
                let mut matching = Matching::new(ports);
                let mut results = Vec::new();
                for occupancy in &phases {
                    scheduler.schedule(occupancy, u64::MAX, &mut rng, &mut matching);
                    results.push(matching.clone());
                }
                results
            };
            prop_assert_eq!(run(), run());
        }
    }
}

/// Greedy is within a factor of two of the best weight, and wavefront and iSLIP to the end of the largest size.
#[test]
fn maximal_matchings_are_at_least_half_the_best() {
    let mut rng = Pcg64Mcg::seed_from_u64(7);
    for round in 0..500_u64 {
        let lengths: Vec<u32> = (0..144).map(|_| (rng.next_u32() % 7).saturating_sub(3)).collect();
        let occupancy = Occupancy::from_lengths(12, &lengths);
        let weight = |matching: &Matching| matching.pairs().map(|(i, j)| occupancy.length(i, j)).sum::<u32>();
        let matching = |config: SchedulerConfig| {
            let mut matching = Matching::new(12);
            let mut rng = Pcg64Mcg::seed_from_u64(round);
            config.build(12).unwrap().schedule(&occupancy, u64::MAX, &mut rng, &mut matching);
            matching
        };
        let best = weight(&matching(SchedulerConfig::Mwm(MwmConfig {})));
        assert!(2 * weight(&matching(ilqf(None))) >= best);
        let largest = matching(SchedulerConfig::MaximumSize(MaximumSizeConfig {})).len();
        for config in maximal() {
            let one = matching(config);
            assert!(2 * one.len() >= largest && one.len() <= largest && weight(&one) <= best);
        }
    }
}

#[cfg(feature = "config")]
mod config {
    use super::*;

    #[test]
    fn an_empty_table_is_the_defaults() {
        macro_rules! empty_tables {
            ($($config:ident)*) => { $(assert_eq!(toml::from_str::<$config>(""), Ok($config::default()));)* };
        }
        empty_tables! {
            MwmConfig IslipConfig PimConfig IlqfConfig MaximumSizeConfig WavefrontConfig HotSpot
        }
    }

    #[test]
    fn a_scheduler_is_written_as_a_table_by_its_name() {
        for config in SchedulerConfig::every() {
            let text = format!("{} = {{}}", config.name());
            assert_eq!(toml::from_str::<SchedulerConfig>(&text), Ok(config));
        }
        assert_eq!(toml::from_str::<SchedulerConfig>("islip.iterations = 3"), Ok(islip(Some(3))));
        let unknown = toml::from_str::<SchedulerConfig>("islip = { iteration = 3 }").unwrap_err().to_string();
        assert!(unknown.contains("unknown field `iteration`"), "{unknown}");
    }

    #[test]
    fn a_load_is_written_as_a_table() {
        let load = toml::from_str::<LoadPattern>("hot_spot = { output = 2, fraction = 0.2 }");
        assert_eq!(load, Ok(LoadPattern::HotSpot(HotSpot { output: 2, fraction: 0.2 })));
    }

    #[test]
    fn a_speedup_is_a_number_or_a_text() {
        #[derive(serde::Deserialize)]
        struct Table {
            speedup: Speedup,
        }
        let read = |text: &str| toml::from_str::<Table>(text).map(|table| table.speedup.to_string());
        for (text, speedup) in [("2", "2"), ("1.2", "6/5"), ("\"1.2\"", "6/5"), ("\"4/3\"", "4/3"), ("8.0", "8")] {
            assert_eq!(read(&format!("speedup = {text}")).as_deref(), Ok(speedup));
        }
        for (text, why) in [
            ("0.9", "at least 1"),
            ("-3", "at least 1"),
            ("\"fast\"", "not a rational number"),
            ("nan", "not a rational number"),
            ("true", "2, 1.2 or \"6/5\""),
        ] {
            let error = read(&format!("speedup = {text}")).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
