//! Time series during a run are those of its result.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use forebay_scenario::{Scenario, run, run_shown};

/// Scenarios of all kinds of nodes, with their durations and the kinds of series that they show before the end.
const SCENARIOS: [(&str, &str, &[&str]); 7] = [
    ("examples/first.toml", "1 s", &["flow", "link", "queue"]),
    ("examples/hops.toml", "1 s", &["flow", "link", "queue"]),
    ("examples/home.toml", "20 s", &["flow", "link", "queue"]),
    ("examples/ethernet.toml", "400 ms", &["flow", "queue"]),
    ("examples/switch.toml", "400 ms", &["flow", "link", "queue"]),
    ("examples/campus.toml", "1 s", &["flow", "link", "queue"]),
    ("examples/wifi.toml", "20 s", &["flow", "link", "queue"]),
];

#[test]
fn series_of_a_run_grow_to_those_of_its_result() {
    for (file, duration, kinds) in SCENARIOS {
        let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../..", file].iter().collect();
        let text = std::fs::read_to_string(Path::new(&path)).unwrap();
        let overrides = [("probes", "{ interval = \"10 ms\" }"), ("duration", duration), ("warmup", "100 ms")];
        let overrides = overrides.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let scenario = Scenario::load(&text, path.to_str().unwrap(), &overrides).unwrap();
        let mut shown: BTreeMap<(&str, String, String), Vec<f64>> = BTreeMap::new();
        let shown_run = run_shown(&scenario, None, None, &mut |_, so_far| {
            if let Some(so_far) = so_far {
                so_far.series(&mut |series| {
                    let values = shown.entry((series.kind, series.name.into(), series.quantity.into())).or_default();
                    assert!(same(values, &series.values[..values.len()]), "{file}: values change");
                    *values = series.values.to_vec();
                    assert!(series.interval_s == 0.01);
                });
            }
            true
        });
        let shown_run = shown_run.unwrap();
        assert_eq!(shown_run.digest, run(&scenario, None, None, &mut |_| true).unwrap().digest, "{file}");
        for ((kind, name, quantity), values) in &shown {
            let is_it = |series: &&forebay_records::Series| {
                series.kind == *kind && series.name == *name && series.quantity == *quantity
            };
            let series =
                shown_run.series.iter().find(is_it).unwrap_or_else(|| panic!("{file}: {kind} {name} {quantity}"));
            assert!(same(values, &series.values[..values.len()]), "{file}: {kind} {name} {quantity}");
        }
        for kind in kinds {
            let longest = shown.iter().filter(|((of, ..), _)| of == kind).map(|(_, values)| values.len()).max();
            assert!(longest > Some(20), "{file}: {kind}: {longest:?} values were shown");
        }
    }
}

/// Equal, where NaN is one value.
fn same(some: &[f64], others: &[f64]) -> bool {
    some.len() == others.len() && some.iter().zip(others).all(|(a, b)| a == b || (a.is_nan() && b.is_nan()))
}
