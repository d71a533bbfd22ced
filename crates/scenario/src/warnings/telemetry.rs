//! Controllers that follow the telemetry of switches, where a switch reports none.

use forebay_records::Warning;

use crate::plan::PlannedKind;
use crate::plan::outline::Outline;
use crate::schema::Transport;

/// A warning where a port of a router or of a crossbar, which HPCC may follow, reports nothing.
pub(super) fn silent_ports(outline: &Outline<'_>) -> Option<Warning> {
    let takes =
        |transport: &Transport| matches!(transport, Transport::Roce(config) if config.control.takes_telemetry());
    let group = outline.spec.flows.iter().find(|group| takes(&group.transport))?;
    let ([from, _], link) = outline.ways().find(|([from, _], direction)| match outline.kind(*from) {
        PlannedKind::Router => direction.spec.queue.is_none(),
        PlannedKind::Crossbar(_) => true,
        PlannedKind::Host | PlannedKind::Adapter(_) | PlannedKind::EthernetSwitch(_) => false,
    })?;
    let (why, remedy) = match outline.kind(from) {
        PlannedKind::Router => ("has no queue", "give every link of a router a queue, such as `drop_tail`"),
        _ => ("leaves a crossbar", "use routers or Ethernet switches"),
    };
    Some(Warning {
        text: format!(
            "`{}` follows the telemetry of switches, but `{}` {why} and appends none: HPCC does not see that port",
            group.name,
            link.link_name("")
        ),
        remedy: remedy.into(),
    })
}

#[cfg(test)]
mod tests {
    use crate::warnings::tests::one_message;

    fn texts(queue: &str, control: &str) -> Vec<String> {
        let scenario = one_message(queue, &format!("roce = {{ control = \"{control}\" }}"));
        super::silent_ports(&super::Outline::new(scenario.spec())).into_iter().map(|warning| warning.text).collect()
    }

    #[test]
    fn a_port_without_a_queue_is_named() {
        let expected = "`m` follows the telemetry of switches, but `leaf0.port0` has no queue and appends none: HPCC \
                        does not see that port";
        assert_eq!(texts("", "hpcc"), [expected]);
        assert_eq!(texts(", queue = \"drop_tail\"", "hpcc"), [""; 0]);
        assert_eq!(texts("", "dcqcn"), [""; 0]);
    }
}
