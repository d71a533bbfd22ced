//! Warnings about simplifications that follow from the scenario alone.

mod headroom;
mod order;
mod sizes;
mod small_queues;
mod telemetry;
mod trimming;

use std::collections::BTreeSet;

use forebay_qdisc::Time;
use forebay_records::Warning;
use forebay_switching::PathPolicyConfig;
use petgraph::unionfind::UnionFind;

use crate::plan::found_paths::{FoundPaths, Paths};
use crate::plan::outages::{CutOff, avoided_times};
use crate::plan::outline::{Direction, Outline};
use crate::schema::{Pause, ScenarioSpec};

/// The warnings of a run, which writes no files unless `writes_files`.
pub(crate) fn warnings(found: &FoundPaths<'_>, writes_files: bool) -> Vec<Warning> {
    let outline = &found.outline;
    let single = [
        equal_paths(found),
        outages(outline),
        unreachable_hosts(found),
        traces(outline.spec, writes_files),
        lossy_ethernet(outline),
        headroom::too_little(outline),
        small_queues::uplinks_with_queues(found),
        telemetry::silent_ports(outline),
        trimming::queues_that_drop(outline),
        order::ports_in_order_of_arrival(outline),
    ];
    single.into_iter().flatten().chain(sizes::cut_sizes(outline.spec)).collect()
}

/// Where links lose frames that PAUSE protects from losses at full buffers.
fn lossy_ethernet(outline: &Outline<'_>) -> Option<Warning> {
    let adapter = outline.ethernet.as_ref()?.adapter;
    let pauses = |pause: &Option<Pause>, by_class: &Option<Pause>| pause.is_some() || by_class.is_some();
    let has_pause = pauses(&adapter.pause, &adapter.priority_pause)
        || outline.ethernet_switches().any(|switch| pauses(&switch.spec.pause, &switch.spec.priority_pause));
    let is_of_ethernet = |ends: &[u32; 2]| ends.iter().all(|&node| outline.kind(node).is_ethernet());
    let mut lossy = outline.ways().filter(|(_, direction)| direction.spec.impairments.lose());
    let [one, other] = lossy.find(|(ends, _)| is_of_ethernet(ends))?.0.map(|node| outline.name(node));
    has_pause.then(|| Warning {
        text: format!("the Ethernet has PAUSE, but the link between `{one}` and `{other}` loses frames"),
        remedy: "without `impairments.loss` no frame is lost; PAUSE frames never are".into(),
    })
}

/// Where a link is down while another way leads to its far end.
fn outages(outline: &Outline<'_>) -> Option<Warning> {
    let follow = |direction: &Direction<'_>| {
        outline.reroute_after.is_some_and(|after| !avoided_times(&direction.spec.down, after).is_empty())
    };
    let has_other_way = |ends: [u32; 2]| {
        let forwards = |node: u32| ends.contains(&node) || outline.kind(node).forwards();
        let mut connected = UnionFind::new(outline.nodes.len());
        for ([from, to], _) in outline.ways().filter(|([from, to], _)| !(ends.contains(from) && ends.contains(to))) {
            if forwards(from) && forwards(to) {
                connected.union(from, to);
            }
        }
        connected.equiv(ends[0], ends[1])
    };
    let mut down = outline.ways().filter(|(_, direction)| !direction.spec.down.is_empty() && !follow(direction));
    let (_, direction) = down.find(|&(ends, _)| has_other_way(ends))?;
    Some(Warning {
        text: format!("`{}` is down for a time, and packets take no other way meanwhile", direction.link_name("")),
        remedy: match outline.reroute_after {
            None => {
                "packets that the link sends then are lost; with `reroute_after` in the table of the topology routes \
                     follow"
                    .into()
            }
            Some(after) => format!(
                "packets that the link sends then are lost; `reroute_after` is {after}, and no outage of the link is \
                 longer"
            ),
        },
    })
}

/// Where routes follow outages, but no path leads to a host for a time.
fn unreachable_hosts(found: &FoundPaths<'_>) -> Option<Warning> {
    found.outline.reroute_after?;
    let plan = found.plan();
    let end = Time::ZERO + found.spec().duration;
    let cut_off = plan.cut_off();
    let CutOff { ends: (source, destination), from, to, link } = cut_off.first()?;
    let name = |node: u32| plan.nodes[node as usize].name.as_str();
    let until = if *to < end { format!("until {to}") } else { "until the end".into() };
    let pairs: BTreeSet<(u32, u32)> =
        cut_off.iter().map(|CutOff { ends: (a, b), .. }| (*a.min(b), *a.max(b))).collect();
    let others = match pairs.len() - 1 {
        0 => String::new(),
        1 => "; so it is for one more pair of hosts".into(),
        more => format!("; so it is for {more} more pairs of hosts"),
    };
    Some(Warning {
        text: format!(
            "`{}` cannot be reached from `{}` from {from} {until}: no path leads around `{}`{others}",
            name(*destination),
            name(*source),
            plan.links[*link as usize].name,
        ),
        remedy: "packets stay on their usual route, and are lost on the link that is down".into(),
    })
}

fn traces(spec: &ScenarioSpec, writes_files: bool) -> Option<Warning> {
    if writes_files || spec.traces.is_empty() {
        return None;
    }
    let names: Vec<String> = spec.traces.iter().map(|trace| format!("`{}`", trace.link)).collect();
    Some(Warning {
        text: format!("no trace of {} is written: the run has no output folder", names.join(", ")),
        remedy: "name a folder with --out DIR, or `out` in Python".into(),
    })
}

/// Where a route is one of several that are equally short.
fn equal_paths(found: &FoundPaths<'_>) -> Option<Warning> {
    if found.outline.paths != Some(&PathPolicyConfig::default()) {
        return None;
    }
    let Paths { plan, forwarding, edges } = found.get();
    if !forwarding.has_equal_paths() {
        return None;
    }
    let name = |node: u32| plan.nodes[node as usize].name.as_str();
    let pairs: BTreeSet<(u32, u32)> = plan.flows.iter().map(|flow| (flow.source, flow.destination)).collect();
    let counted = pairs.into_iter().map(|(from, to)| (name(from), name(to), forwarding.count_paths(edges, from, to)));
    let mut affected: Vec<(&str, &str, u64)> = counted.filter(|(.., paths)| *paths > 1).collect();
    affected.sort_unstable();
    let &(from, to, paths) = affected.first()?;
    let others = match affected.len() - 1 {
        0 => String::new(),
        1 => "; so has one more pair".into(),
        more => format!("; so have {more} more pairs"),
    };
    Some(Warning {
        text: format!(
            "`{from}` to `{to}` has {paths} equally short paths, of which all packets take the same one{others}"
        ),
        remedy:
            "the capacity of the other paths is not used; `paths = \"ecmp\"` in the table of the topology spreads the \
             flows, and a larger `metric` of a link takes it out of the choice"
                .into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    /// A message between two leaves at 100 Gb/s, with `queue` as a further key of all links.
    pub(super) fn one_message(queue: &str, transport: &str) -> Scenario {
        let text = format!(
            r#"
            duration = "1 ms"
            [topology.leaf_spine]
            leaves = 2
            spines = 1
            hosts = 1
            host_link = {{ rate = "100 Gbps", delay = "1 us" {queue} }}
            [[flows]]
            name = "m"
            from = "host0"
            to = "host1"
            transport = {{ {transport} }}
            "#
        );
        Scenario::load(&text, "w.toml", &[]).unwrap_or_else(|error| panic!("{error:?}"))
    }

    fn texts(scenario: &str) -> Vec<String> {
        let scenario = Scenario::load(scenario, "w.toml", &[]).unwrap_or_else(|error| panic!("{error:?}"));
        warnings(&FoundPaths::new(scenario.spec(), scenario.spec().seed), false)
            .into_iter()
            .map(|warning| warning.text)
            .collect()
    }

    fn graph(links: &str) -> String {
        format!(
            r#"
            duration = "1 s"
            [topology.graph]
            nodes = [
                {{ name = "a" }}, {{ name = "b" }}, {{ name = "c" }},
                {{ name = "L", kind = "router" }}, {{ name = "R", kind = "router" }}, {{ name = "S", kind = "router" }},
            ]
            links = [{links}]
            [[flows]]
            name = "f"
            count = 4
            from = ["a", "b"]
            to = "c"
            transport = "tcp"
            "#
        )
    }

    fn link(from: &str, to: &str, rest: &str) -> String {
        format!("{{ from = \"{from}\", to = \"{to}\", rate = \"1 Gbps\", delay = \"1 us\"{rest} }},")
    }

    fn links(rest: &str) -> String {
        let access = [("a", "L"), ("b", "L"), ("R", "c")].map(|(from, to)| link(from, to, "")).concat();
        access + &link("L", "R", ", metric = 2") + rest
    }

    #[test]
    fn equal_paths_are_named_and_a_longer_one_is_not() {
        assert_eq!(texts(&graph(&links(""))), [""; 0]);
        let diamond = links(&(link("L", "S", "") + &link("S", "R", "")));
        let expected =
            "`a` to `c` has 2 equally short paths, of which all packets take the same one; so has one more pair";
        assert_eq!(texts(&graph(&diamond)), [expected]);
        let detour = links(&(link("L", "S", ", metric = 2") + &link("S", "R", "")));
        assert_eq!(texts(&graph(&detour)), [""; 0]);
    }

    #[test]
    fn an_outage_with_another_way_is_named() {
        let down = ", down = [{ from = \"100 ms\", to = \"200 ms\" }]";
        let one_way = links(&link("R", "S", ""));
        assert_eq!(texts(&graph(&one_way.replace(&link("L", "R", ", metric = 2"), &link("L", "R", down)))), [""; 0]);
        let detour = links(&(link("L", "S", ", metric = 2") + &link("S", "R", "")));
        let expected = "`L->R` is down for a time, and packets take no other way meanwhile";
        let detour = graph(&detour.replace(&link("L", "R", ", metric = 2"), &link("L", "R", down)));
        assert_eq!(texts(&detour), [expected]);
        let after =
            |after: &str| detour.replace("[topology.graph]", &format!("[topology.graph]\nreroute_after = \"{after}\""));
        assert_eq!(texts(&after("100 ms")), [expected], "the outage is no longer");
        assert_eq!(texts(&after("99 ms")), [""; 0]);
    }

    #[test]
    fn hosts_that_cannot_be_reached_are_named_where_routes_follow() {
        let follow = |text: String| text.replace("[topology.graph]", "[topology.graph]\nreroute_after = \"1 ms\"");
        let down = ", down = [{ from = \"100 ms\", to = \"200 ms\" }]";
        let one_way = links("").replace(&link("L", "R", ", metric = 2"), &link("L", "R", down));
        let expected = "`c` cannot be reached from `a` from 100 ms until 200 ms: no path leads around `L->R`; so it is \
                        for one more pair of hosts";
        assert_eq!(texts(&follow(graph(&one_way))), [expected]);
        let detour = one_way.clone() + &link("L", "S", ", metric = 2") + &link("S", "R", "");
        assert_eq!(texts(&follow(graph(&detour))), [""; 0]);
        // The way around goes down later, and does not come back.
        let both = one_way + &link("L", "S", ", metric = 2, down = [{ from = \"150 ms\" }]") + &link("S", "R", "");
        let expected = expected.replace("100 ms", "150 ms");
        assert_eq!(texts(&follow(graph(&both))), [expected]);
        // Another link changes meanwhile; flows that have stopped do not matter.
        let unrelated = ", metric = 9, down = [{ from = \"120 ms\", to = \"130 ms\" }]";
        let with_other =
            links("").replace(&link("L", "R", ", metric = 2"), &link("L", "R", down)) + &link("R", "S", unrelated);
        assert!(texts(&follow(graph(&with_other)))[0].contains("from 100 ms until 200 ms"));
        let stopped = follow(graph(&with_other)).replace("transport =", "stop = \"50 ms\"\ntransport =");
        assert_eq!(texts(&stopped), [""; 0]);
        // Only the way back of a flow of datagrams, which does not matter.
        let back = format!("{}, reverse = {{ rate = \"1 Gbps\", delay = \"1 us\"{down} }}", ", metric = 2");
        let one_way = links("").replace(&link("L", "R", ", metric = 2"), &link("L", "R", &back));
        let udp = "transport.udp = { packet = \"100 B\", constant = { rate = \"1 Mbps\" } }";
        assert_eq!(texts(&follow(graph(&one_way)).replace("transport = \"tcp\"", udp)), [""; 0]);
        assert_eq!(texts(&follow(graph(&one_way))).len(), 1);
    }

    #[test]
    fn a_trace_without_a_folder_is_named() {
        let trace = graph(&links("")) + "\n[[traces]]\nlink = \"L->R\"\n";
        assert_eq!(texts(&trace), ["no trace of `L->R` is written: the run has no output folder"]);
    }

    #[test]
    fn an_ethernet_with_two_spines_warns_for_each_pair() {
        let ethernet = r#"
            duration = "1 ms"
            [topology.ethernet]
            link = { rate = "10 Gbps", delay = "1 us" }
            switches = [
                { name = "A", nodes = ["1", "2"] }, { name = "B", nodes = ["3"] }, { name = "C" }, { name = "D" },
            ]
            trunks = [["A", "C"], ["A", "D"], ["B", "C"], ["B", "D"]]
            [[flows]]
            name = "f"
            from = ["1", "2"]
            to = "others"
            transport.frames = { rate = "1 Gbps" }
            "#;
        let expected =
            "`1` to `3` has 2 equally short paths, of which all packets take the same one; so has one more pair";
        assert_eq!(texts(ethernet), [expected]);
    }

    #[test]
    fn losses_of_an_ethernet_with_pause_are_named() {
        let ethernet = |pause: &str, loss: f64| {
            format!(
                r#"
                duration = "1 s"
                [topology.ethernet]
                link = {{ rate = "10 Gbps", delay = "1 us", impairments.loss = {loss} }}
                switch = {{ memory = "600 KB"{pause} }}
                switches = [{{ name = "S", nodes = ["a", "b"] }}]
                [[flows]]
                name = "f"
                from = "a"
                to = "b"
                transport.frames = {{ rate = "1 Gbps" }}
                "#
            )
        };
        let pause = ", pause = { high = \"150 KB\", low = \"130 KB\" }";
        let expected = "the Ethernet has PAUSE, but the link between `a` and `S` loses frames";
        assert_eq!(texts(&ethernet(pause, 0.1)), [expected]);
        assert_eq!(texts(&ethernet(pause, 0.0)), [""; 0]);
        assert_eq!(texts(&ethernet("", 0.1)), [""; 0]);
    }
}
