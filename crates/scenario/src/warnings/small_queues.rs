//! Hosts whose packets wait in a queue that TCP small queues do not see.

use forebay_records::Warning;

use crate::plan::PlannedKind;
use crate::plan::found_paths::FoundPaths;
use crate::plan::outline::{Direction, Outline, Role};
use crate::schema::{FlowGroup, Transport};

/// A warning where senders with small queues are on hosts whose uplink has a queue: the limit holds for plain uplinks
/// only.
pub(super) fn uplinks_with_queues(found: &FoundPaths<'_>) -> Option<Warning> {
    let keeps_small = |group: &FlowGroup| matches!(&group.transport, Transport::Tcp(config) if config.small_queues);
    let outline = &found.outline;
    // A plan takes memory for each flow.
    if !outline.spec.flows.iter().any(keeps_small) || outline.ethernet.is_none() && !may_queue_at_hosts(outline) {
        return None;
    }
    let plan = found.plan();
    let mut queue_of = vec![None; plan.nodes.len()];
    for link in &plan.links {
        let has_queue = match plan.nodes[link.from as usize].kind {
            PlannedKind::Host => plan.spec(link).queue.is_some(),
            PlannedKind::Adapter(_) => true,
            _ => false,
        };
        if has_queue {
            queue_of[link.from as usize] = Some(&link.name);
        }
    }
    let mut affected = plan.flows.iter().filter_map(|flow| {
        let group = &outline.spec.flows[flow.group];
        let queue = |node: u32| queue_of[node as usize];
        let answers = || group.app.both_ways().is_some();
        let queue = queue(flow.source).or_else(|| queue(flow.destination).filter(|_| answers()))?;
        keeps_small(group).then_some((&flow.name, queue))
    });
    let (flow, queue) = affected.next()?;
    let others = match affected.count() {
        0 => String::new(),
        1 => "; so has one more flow".into(),
        more => format!("; so have {more} more flows"),
    };
    Some(Warning {
        text: format!(
            "`{flow}` sends by `{queue}`, which has a queue: TCP small queues do not keep its segments out of \
             it{others}"
        ),
        remedy:
            "on Linux a sender has at most a millisecond of its rate in its host's own queue. Put the queue into a \
                 router behind the host, or write `small_queues = false` if this does not matter"
                .into(),
    })
}

/// Whether a host may send by a link with a queue. Where nodes have no names, only sources have links of their own.
fn may_queue_at_hosts(outline: &Outline<'_>) -> bool {
    outline.links.iter().any(|links| {
        let has_queue = |way: &Direction<'_>| way.spec.queue.is_some();
        let ends = links.ends.map(|ends| ends.map(|node| !outline.kind(node).forwards()));
        let [may_there, may_back] = ends.unwrap_or([links.role == Role::Uplink, true]);
        may_there && has_queue(&links.there) || may_back && links.back.as_ref().is_some_and(has_queue)
    })
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    fn texts(access: &str, tcp: &str, more: &str) -> Vec<String> {
        let text = format!(
            r#"
            duration = "1 s"
            [topology.dumbbell]
            access = {{ rate = "1 Gbps", delay = "1 ms"{access} }}
            bottleneck = {{ rate = "10 Mbps", delay = "1 ms", queue.drop_tail = {{ limit = "100 packets" }} }}
            [[flows]]
            name = "f"
            count = 3
            transport.tcp = {{ {tcp} }}
            {more}
            "#
        );
        let scenario = Scenario::load(&text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
        super::uplinks_with_queues(&super::FoundPaths::new(scenario.spec(), 1))
            .into_iter()
            .map(|warning| warning.text)
            .collect()
    }

    #[test]
    fn a_host_of_a_graph_with_a_queue_is_named_and_a_router_is_not() {
        let graph = |first: &str, second: &str| {
            let text = format!(
                r#"
                duration = "1 s"
                [topology.graph]
                nodes = [{{ name = "a" }}, {{ name = "r", kind = "router" }}, {{ name = "b" }}]
                links = [
                    {{ from = "a", to = "r", rate = "1 Gbps", delay = "1 ms"{first} }},
                    {{ from = "r", to = "b", rate = "1 Gbps", delay = "1 ms"{second} }},
                ]
                [[flows]]
                name = "f"
                from = "a"
                to = "b"
                transport = "tcp"
                "#
            );
            let scenario = Scenario::load(&text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
            super::uplinks_with_queues(&super::FoundPaths::new(scenario.spec(), 1)).is_some()
        };
        let queue = ", queue = \"pie\"";
        assert!(graph(queue, ""));
        assert!(!graph("", queue));
    }

    #[test]
    fn an_uplink_with_a_queue_is_named_and_a_plain_one_is_not() {
        let queue = ", queue.fq_codel = {}";
        let expected = "`f-0` sends by `access-f-0`, which has a queue: TCP small queues do not keep its segments out \
                        of it; so have 2 more flows";
        assert_eq!(texts(queue, "", ""), [expected]);
        assert_eq!(texts(queue, "small_queues = false", ""), [""; 0]);
        assert_eq!(texts(queue, "preset = \"rfc\"", ""), [""; 0]);
        assert_eq!(texts("", "", ""), [""; 0]);
    }
}
