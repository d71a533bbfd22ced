//! Overrides find their places, whatever form the file has.

use forebay_scenario::Scenario;
use forebay_scenario::schema::{QueueSpec, ScenarioSpec, Topology, Transport};
use forebay_units::{QueueSize, Rate, Span};

const STAR: &str = include_str!("scenarios/star.toml");
const CHAIN: &str = include_str!("scenarios/chain.toml");
const GRAPH: &str = include_str!("scenarios/graph.toml");

#[allow(clippy::unwrap_used, reason = "a helper of tests")]
fn with(text: &str, overrides: &[(&str, &str)]) -> ScenarioSpec {
    let overrides: Vec<_> = overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    Scenario::load(text, "s.toml", &overrides).map_err(|error| error.render(false)).unwrap().spec().clone()
}

fn bottleneck(spec: &ScenarioSpec) -> (Rate, Option<QueueSpec>) {
    let link = match &spec.topology {
        Topology::Star(star) => &star.bottleneck,
        Topology::Chain(chain) => &chain.link,
        _ => panic!("no bottleneck"),
    };
    (link.rate, link.queue.as_deref().cloned())
}

#[test]
fn a_value_replaces_the_one_in_the_file() {
    let spec = with(STAR, &[("duration", "20 s"), ("topology.star.bottleneck.rate", "10 Mbps"), ("seed", "9")]);
    assert_eq!((spec.duration, spec.seed), (Span::from_seconds(20), 9));
    assert_eq!(bottleneck(&spec).0, Rate::megabits(10));
}

#[test]
fn elements_of_a_list_go_by_name_or_number() {
    assert_eq!(with(STAR, &[("flows.tcp.count", "10")]).flows[0].count, Some(10));
    assert_eq!(with(STAR, &[("flows.0.count", "10")]).flows[0].count, Some(10));
    assert_eq!(with(STAR, &[("flows.\"tcp\".count", "10")]).flows[0].count, Some(10));
    let graph = with(GRAPH, &[("topology.graph.links.r1->r2.rate", "20 Mbps")]);
    let Topology::Graph(graph) = graph.topology else { panic!("no graph") };
    assert_eq!(graph.links[1].rate, Rate::megabits(20));
}

#[test]
fn what_is_not_there_yet_is_added() {
    let spec = with(CHAIN, &[("warmup", "1 s"), ("probes.interval", "1 s"), ("flows.tcp.transport.tcp.sack", "true")]);
    assert_eq!(spec.warmup, Span::from_seconds(1));
    assert_eq!(spec.probes.unwrap().interval, Span::from_seconds(1));
    assert!(matches!(&spec.flows[0].transport, Transport::Tcp(config) if config.sack));
}

#[test]
fn a_bare_name_stands_for_a_table_of_defaults() {
    let spec = with(CHAIN, &[("topology.chain.link.queue.red.limit", "20 packets")]);
    let (_, Some(QueueSpec::Red(red))) = bottleneck(&spec) else { panic!("no RED") };
    assert_eq!(red.limit, QueueSize::Packets(20));
}

#[test]
fn another_discipline_replaces_the_first() {
    let spec = with(STAR, &[("topology.star.bottleneck.queue", "drop_tail")]);
    assert!(matches!(bottleneck(&spec).1, Some(QueueSpec::DropTail(_))));
    let spec = with(STAR, &[("topology.star.bottleneck.queue", "{ drop_tail = { limit = \"9 packets\" } }")]);
    let (_, Some(QueueSpec::DropTail(drop_tail))) = bottleneck(&spec) else { panic!("no drop-tail") };
    assert_eq!(drop_tail.limit, QueueSize::Packets(9));
}

#[test]
fn the_last_override_counts() {
    assert_eq!(with(STAR, &[("seed", "3"), ("seed", "4")]).seed, 4);
}

#[test]
fn the_record_of_a_scenario_holds_its_overrides() {
    let overrides = [("flows.tcp.count".to_owned(), "10".to_owned())];
    let record = Scenario::load(STAR, "s.toml", &overrides).unwrap().to_toml();
    assert_eq!(with(&record, &[]).flows[0].count, Some(10));
}
