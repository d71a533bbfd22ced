//! The stages of a plan: outline, network, and the data for callers.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use forebay_scenario::{Scenario, choices, names, plan_data, run};

/// The examples of all topologies, by name.
fn examples() -> Vec<(String, Scenario)> {
    let topologies = choices().into_iter().filter(|choice| choice.kind == "topology");
    let example = |choice: forebay_scenario::Choice| {
        let text = choice.sections.iter().find(|(heading, _)| heading == "Example").unwrap().1.clone();
        let toml = text.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
        (choice.name.clone(), load(toml))
    };
    topologies.map(example).collect()
}

fn load(text: &str) -> Scenario {
    Scenario::load(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

#[test]
fn the_outline_names_the_links_and_flows_of_the_network() {
    let mixed = r#"
        duration = "100 ms"
        [topology.dumbbell]
        sources = 2
        sinks = 3
        access = { rate = "100 Mbps", delay = "1 ms" }
        bottleneck = { rate = "10 Mbps", delay = "5 ms" }
        [[flows]]
        name = "shared"
        count = 4
        transport = "tcp"
        [[flows]]
        name = "own"
        count = 2
        access = { rate = "10 Mbps", delay = "2 ms" }
        transport = "tcp"
        [[flows]]
        name = "guest"
        hosts_of = "own"
        transport = "tcp"
        "#;
    for (name, scenario) in examples().into_iter().chain([("mixed".to_owned(), load(mixed))]) {
        let result = run(&scenario, None, None, &mut |_| true).unwrap();
        for (table, outlined) in
            [(&result.links, names::links(scenario.spec())), (&result.flows, names::flows(scenario.spec()))]
        {
            let simulated: BTreeSet<&str> = table.texts("name").iter().collect();
            let expected: BTreeSet<&str> = outlined.iter().map(String::as_str).collect();
            assert_eq!(simulated, expected, "{name}");
            assert_eq!(outlined.len(), expected.len(), "{name}: each once");
        }
        assert_eq!(names::link_count(scenario.spec()) as usize, names::links(scenario.spec()).len(), "{name}");
        assert_eq!(names::flow_count(scenario.spec()) as usize, names::flows(scenario.spec()).len(), "{name}");
    }
}

#[test]
fn a_place_is_the_key_whose_override_sets_its_queues() {
    for (name, scenario) in examples() {
        let plan = plan_data(&scenario);
        assert!(!plan.queues.is_empty(), "{name}");
        for (index, place) in plan.queues.iter().enumerate() {
            assert!(!place.links.is_empty() || place.role == "downlink", "{name}: {}", place.name);
            for path in place.paths.iter().flatten() {
                let overrides = [(path.clone(), "sfq".to_owned())];
                let other = Scenario::load(&scenario.to_toml(), "test.toml", &overrides);
                // An Ethernet may have a discipline or congestion management.
                let Ok(other) = other else { continue };
                let after = plan_data(&other);
                assert_eq!(after.queues[index].discipline, Some("sfq"), "{name}: {path}");
                let described = forebay_scenario::described_queues(&other);
                assert!(place.links.iter().all(|link| described.contains(link)), "{name}: {path}");
            }
        }
    }
}

#[test]
fn paths_are_those_of_the_scenario_as_written() {
    let text = r#"
        duration = "100 ms"
        [topology.graph]
        nodes = [{ name = "h", count = 3 }, { name = "r", kind = "router" }, { name = "s" }]
        links = [
            { from = "h", to = "r", rate = "10 Mbps", delay = "1 ms" },
            { from = "r", to = "s", rate = "10 Mbps", delay = "1 ms", queue = "red" },
        ]
        [[flows]]
        name = "f"
        count = 3
        from = "h"
        to = "s"
        transport = "tcp"
        "#;
    let plan = plan_data(&load(text));
    let of = |name: &str| plan.queues.iter().find(|place| place.name == name).unwrap();
    let paths = ["topology.graph.links.1.queue", "topology.graph.links.r->s.queue"].map(str::to_owned);
    assert_eq!(of("r->s").paths, Some(paths));
    assert_eq!(of("h->r").paths.as_ref().unwrap()[1], "topology.graph.links.h->r.queue");
    assert_eq!(of("h->r").links, ["h-0->r", "h-1->r", "h-2->r"]);
    assert_eq!(plan.links.iter().find(|link| link.name == "s->r").unwrap().queue, Some(1), "of both directions");
    assert_eq!(of("r->s").links, ["r->s"]);
    assert_eq!(plan.groups[0].rtt_s, Some(0.004));
}
