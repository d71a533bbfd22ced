//! Transports that count on switches which choose among packets, where a port sends them in the order of their arrival.

use forebay_qdisc::RankConfig;
use forebay_records::Warning;

use crate::plan::outline::{Direction, Outline};
use crate::schema::{QueueSpec, Transport};

/// A warning where packets of Homa or pFabric may cross a port of a switch that does not serve them as they ask for.
pub(super) fn ports_in_order_of_arrival(outline: &Outline<'_>) -> Option<Warning> {
    outline.spec.flows.iter().find_map(|group| match &group.transport {
        Transport::Homa(config) if config.priorities > 1 => {
            let port = first_port(outline, |node, queue| {
                outline.has_class_queues(node)
                    || queue.is_some_and(|queue| favors(queue, group.class, config.priorities))
            })?;
            Some(Warning {
                text: format!(
                    "`{}` counts on switches that serve the higher class first, but `{port}` does not: short messages \
                     wait behind long ones",
                    group.name
                ),
                remedy: "give every link the queue `prio` with a band for each class, the highest first, or Ethernet \
                         switches `strict_priority`"
                    .into(),
            })
        }
        Transport::Pfabric(_) => {
            let by_size = |queue: &QueueSpec| queue.ranks() == Some(&RankConfig::RemainingSize);
            let port = first_port(outline, |_, queue| queue.is_some_and(by_size))?;
            Some(Warning {
                text: format!(
                    "`{}` counts on switches that rank packets by the bytes left of their flows, but `{port}` does \
                     not: nothing slows down its flows but losses",
                    group.name
                ),
                remedy: "give every link a short queue, `pifo` with `ranks = \"remaining_size\"`".into(),
            })
        }
        _ => None,
    })
}

/// The name of the first port of a switch of which `serves` does not hold, given the switch and the queue of the port.
fn first_port(outline: &Outline<'_>, serves: impl Fn(u32, Option<&QueueSpec>) -> bool) -> Option<String> {
    let is_other = |(ends, direction): &([u32; 2], &Direction<'_>)| {
        outline.kind(ends[0]).forwards() && !serves(ends[0], direction.spec.queue.as_deref())
    };
    outline.ways().find(is_other).map(|(_, port)| port.link_name(""))
}

/// Whether a queue serves packets of higher classes first.
fn favors(queue: &QueueSpec, lowest: u8, classes: u8) -> bool {
    let by_class = |bands: &[(&[u8], &str)], default: Option<&str>| {
        let last = bands.len().saturating_sub(1);
        let default = bands.iter().position(|(_, name)| Some(*name) == default).unwrap_or(last);
        let band = |class: u8| bands.iter().position(|(classes, _)| classes.contains(&class)).unwrap_or(default);
        let places: Vec<usize> = (0..classes).map(|priority| band(lowest.saturating_add(priority))).collect();
        places.windows(2).all(|pair| pair[0] >= pair[1]) && places.first() > places.last()
    };
    match queue {
        QueueSpec::Prio(config) => {
            let bands: Vec<_> = config.bands.iter().map(|band| (&band.classes[..], &*band.name)).collect();
            by_class(&bands, config.default_band.as_deref())
        }
        QueueSpec::Ets(config) => {
            let bands: Vec<_> = config.bands.iter().map(|band| (&band.classes[..], &*band.name)).collect();
            config.strict.unwrap_or(0) > 0 && by_class(&bands, config.default_band.as_deref())
        }
        QueueSpec::Cbq(_) | QueueSpec::Htb(_) | QueueSpec::Taprio(_) | QueueSpec::Python(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::warnings::tests::one_message;

    fn texts(queue: &str, transport: &str) -> Vec<String> {
        let scenario = one_message(queue, transport);
        super::ports_in_order_of_arrival(&super::Outline::new(scenario.spec()))
            .into_iter()
            .map(|warning| warning.text)
            .collect()
    }

    #[test]
    fn a_port_that_does_not_distinguish_priorities_is_named() {
        let expected = "`m` counts on switches that serve the higher class first, but `leaf0.port0` does not: short \
                        messages wait behind long ones";
        let bands = |high: &str, low: &str| {
            format!(", queue.prio.bands = [{{ name = \"a\", classes = {high} }}, {{ name = \"b\", classes = {low} }}]")
        };
        for queue in ["", ", queue = \"drop_tail\"", ", queue = \"prio\"", &bands("[0, 1]", "[2]")] {
            assert_eq!(texts(queue, "homa = {}"), [expected], "{queue}");
            assert_eq!(texts(queue, "homa = { priorities = 1, cutoffs = [] }"), [""; 0]);
            assert_eq!(texts(queue, "ndp = {}"), [""; 0]);
        }
        assert_eq!(texts(&bands("[4, 5, 6, 7]", "[0]"), "homa = {}"), [""; 0]);
        let ets = bands("[4, 5, 6, 7]", "[0]").replace("prio.bands", "ets.bands");
        assert_eq!(texts(&ets, "homa = {}"), [expected]);
        assert_eq!(texts(&format!("{ets}, queue.ets.strict = 1"), "homa = {}"), [""; 0]);
    }

    #[test]
    fn a_port_that_does_not_rank_by_size_is_named() {
        let expected = "`m` counts on switches that rank packets by the bytes left of their flows, but `leaf0.port0` \
                        does not: nothing slows down its flows but losses";
        for queue in ["", ", queue = \"drop_tail\"", ", queue = \"pifo\""] {
            assert_eq!(texts(queue, "pfabric = {}"), [expected], "{queue}");
        }
        for discipline in ["pifo", "sp_pifo", "aifo"] {
            let queue = format!(", queue.{discipline}.ranks = \"remaining_size\"");
            assert_eq!(texts(&queue, "pfabric = {}"), [""; 0]);
        }
    }
}
