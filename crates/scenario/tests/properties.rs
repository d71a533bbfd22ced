//! No text makes loading panic, and each scenario that passes is written and read back with the same result.

use forebay_scenario::Scenario;
use proptest::prelude::*;

const VALID: &[&str] = &[
    include_str!("scenarios/star.toml"),
    include_str!("scenarios/dumbbell.toml"),
    include_str!("scenarios/chain.toml"),
    include_str!("scenarios/switch.toml"),
    include_str!("scenarios/graph.toml"),
];

/// Loads, and renders what comes of it: that must not panic either.
fn load(text: &str, overrides: &[(String, String)]) -> Option<Scenario> {
    match Scenario::load(text, "p.toml", overrides) {
        Ok(scenario) => Some(scenario),
        Err(error) => {
            assert!(!error.render(false).is_empty() && !error.message.is_empty() && !error.label.is_empty());
            assert!(error.line >= 1 && error.column >= 1);
            None
        }
    }
}

#[test]
fn the_valid_scenarios_load_and_read_back() {
    for text in VALID {
        let scenario = Scenario::load(text, "p.toml", &[]).map_err(|error| error.render(false)).unwrap();
        let again = Scenario::load(&scenario.to_toml(), "p.toml", &[]).map_err(|error| error.render(false)).unwrap();
        assert_eq!(scenario.spec(), again.spec());
    }
}

/// Insertions by mistake or malice.
fn scrap() -> impl Strategy<Value = String> {
    let scraps: Vec<String> = serde_json::from_str(include_str!("scraps.json")).expect("a list of texts");
    prop_oneof![
        Just(String::new()),
        any::<char>().prop_map(String::from),
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|n| n.to_string()),
        (any::<u64>(), "( )?(s|ms|ps|h|Mbps|Gbps|Tbps|bps|B|KB|GiB|packets)")
            .prop_map(|(n, unit)| format!("{n}{unit}")),
        prop::sample::select(scraps),
    ]
}

/// A position in `text` that is the border of a character.
fn border(text: &str, at: prop::sample::Index) -> usize {
    let borders: Vec<usize> = text.char_indices().map(|(position, _)| position).chain([text.len()]).collect();
    borders[at.index(borders.len())]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        load(&text, &[]);
    }

    #[test]
    fn text_of_toml_pieces_never_panics(pieces in prop::collection::vec(scrap(), 0..40)) {
        load(&pieces.concat(), &[]);
    }

    #[test]
    fn mutations_of_a_valid_scenario_never_panic(
        which in 0..VALID.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..12, scrap()), 1..6),
    ) {
        let mut text = VALID[which].to_owned();
        for (at, length, scrap) in edits {
            let start = border(&text, at);
            let end = text[start..].char_indices().nth(length).map_or(text.len(), |(position, _)| start + position);
            text.replace_range(start..end, &scrap);
        }
        load(&text, &[]);
    }

    #[test]
    fn any_number_in_place_of_any_number_never_panics(
        which in 0..VALID.len(),
        nth in any::<prop::sample::Index>(),
        number in scrap(),
    ) {
        let text = VALID[which];
        let starts: Vec<usize> = text
            .match_indices(|c: char| c.is_ascii_digit())
            .map(|(position, _)| position)
            .filter(|&position| !text[..position].ends_with(|c: char| c.is_ascii_digit()))
            .collect();
        let start = starts[nth.index(starts.len())];
        let length = text[start..].find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len() - start);
        load(&format!("{}{number}{}", &text[..start], &text[start + length..]), &[]);
    }

    #[test]
    fn arbitrary_overrides_never_panic(
        which in 0..VALID.len(),
        key in "[a-z_.\"0-9>-]{0,60}",
        value in any::<String>(),
    ) {
        load(VALID[which], &[(key, value)]);
    }

    #[test]
    fn any_value_for_a_known_key_never_panics(
        which in 0..VALID.len(),
        key in prop::sample::select(vec![
            "duration", "warmup", "seed", "flows.tcp.count", "flows.0.start", "flows.0.stagger", "flows.tcp.transport",
            "flows.tcp.app", "topology.star.bottleneck.queue", "topology.star.bottleneck.rate",
            "topology.dumbbell.sources",
            "topology.chain.hops", "topology.graph.nodes", "topology.graph.links", "probes", "probes.interval",
            "traces",
        ]),
        value in scrap(),
    ) {
        load(VALID[which], &[(key.to_owned(), value)]);
    }
}

#[test]
fn deep_nesting_is_an_error_and_not_an_overflow_of_the_stack() {
    let deep = 100_000;
    for text in [
        "[".repeat(deep),
        format!("a = {}", "[".repeat(deep)),
        format!("a = {}", "{ a = ".repeat(deep)),
        format!("a{} = 1", ".a".repeat(deep)),
        format!("[a{}]", ".a".repeat(deep)),
        format!("[[a{}]]", ".a".repeat(deep)),
    ] {
        assert!(load(&text, &[]).is_none());
    }
    assert!(load(VALID[0], &[(format!("a{}", ".a".repeat(deep)), "1".into())]).is_none());
    assert!(load(VALID[0], &[("name".into(), "[".repeat(deep))]).is_none());
}
