//! Switches, adapters and frames of an Ethernet.

use forebay_engine::{
    AdapterSpec, Arbiter, EthernetPort, EthernetSwitchSpec, FlowControl, FrameArrivals, NetworkBuilder, OnOff,
    RunError, ServiceStep, Transport,
};
use forebay_qdisc::Time;
use forebay_switching::congestion::CongestionManagement;
use forebay_switching::{PauseConfig, SharedMemoryConfig};

use crate::layout::{FramesOfGenerator, Layout, Route, Source, Station, StationPort};
use crate::schema::{self, Ethernet, Frames, Pause, ScenarioSpec, Service, ServiceAt};

/// Adds the switches and the adapters of `ethernet`, whose links are there.
pub(super) fn add_stations(ethernet: &Ethernet, layout: &Layout, builder: &mut NetworkBuilder) {
    for station in &layout.ethernet_switches {
        builder.add_ethernet_switch(switch(ethernet, station));
    }
    for station in &layout.adapters {
        builder.add_adapter(adapter(ethernet, station));
    }
}

fn switch(ethernet: &Ethernet, station: &Station) -> EthernetSwitchSpec {
    let spec = &ethernet.switch;
    let port = |port: &StationPort| EthernetPort {
        out: port.out,
        incoming: port.incoming,
        service: service(ethernet, &port.faces, ServiceAt::Switch),
    };
    EthernetSwitchSpec {
        name: station.name.clone(),
        ports: station.ports.iter().map(port).collect(),
        memory: SharedMemoryConfig { partition: spec.memory, output_limit: spec.output_limit },
        flow_control: flow_control(spec.pause, spec.priority_pause),
        reaction: spec.reaction.on(ethernet.link.rate),
        arbiter: match spec.arbiter {
            schema::Arbiter::Fifo => Arbiter::Fifo,
            schema::Arbiter::RoundRobin => Arbiter::RoundRobin,
        },
        strict_priority: spec.strict_priority,
        forwarding_delay: spec.forwarding_delay,
        congestion: ethernet.congestion_management.clone(),
    }
}

/// The adapter of a node, which has one port.
fn adapter(ethernet: &Ethernet, station: &Station) -> AdapterSpec {
    let spec = &ethernet.adapter;
    let port = &station.ports[0];
    AdapterSpec {
        name: station.name.clone(),
        port: EthernetPort { out: port.out, incoming: port.incoming, service: Vec::new() },
        voq_limit: super::packets(spec.voq_limit),
        rate_limiters: spec.rate_limiters,
        egress_bytes: spec.egress_memory.0,
        flow_control: flow_control(spec.pause, spec.priority_pause),
        reaction: spec.reaction.on(ethernet.link.rate),
        service: service(ethernet, &station.name, ServiceAt::Node),
        congestion: ethernet.congestion_management.clone(),
    }
}

fn flow_control(pause: Option<Pause>, priority_pause: Option<Pause>) -> FlowControl {
    let watermarks = |pause: Pause| PauseConfig { high: pause.high, low: pause.low };
    // Validation refuses both.
    match (pause, priority_pause) {
        (Some(pause), _) => FlowControl::Pause(watermarks(pause)),
        (None, Some(pause)) => FlowControl::Priority(watermarks(pause)),
        (None, None) => FlowControl::None,
    }
}

/// The changes of rate at the port to `node`, or at the node itself, in the order of time. Validation refuses those
/// that overlap.
fn service(ethernet: &Ethernet, node: &str, at: ServiceAt) -> Vec<ServiceStep> {
    let mut changes: Vec<&Service> =
        ethernet.service.iter().filter(|service| service.node == node && service.at == at).collect();
    changes.sort_by_key(|service| service.from);
    let mut steps: Vec<ServiceStep> = Vec::new();
    for service in changes {
        let from = Time::ZERO + service.from;
        // Where one follows the other at once the link's own rate does not come between them.
        if steps.last().is_some_and(|step| step.from == from) {
            steps.pop();
        }
        steps.push(ServiceStep { from, rate: service.rate });
        steps.extend(service.to.map(|to| ServiceStep { from: Time::ZERO + to, rate: ethernet.link.rate }));
    }
    steps
}

/// What carries the frames of `route`.
pub(super) fn frames_transport(frames: &Frames, route: &Route, scenario: &ScenarioSpec) -> Result<Transport, RunError> {
    let (Source::Frames(FramesOfGenerator { generator, share, .. }), Some(ethernet)) =
        (&route.source, scenario.topology.ethernet())
    else {
        return Err(RunError::Invariant(format!("`{}`: frames without a generator", route.name)));
    };
    Ok(Transport::Frames {
        generator: *generator,
        share: *share,
        arrivals: FrameArrivals {
            load: frames.load(ethernet.link.rate),
            constant: frames.arrivals == schema::Arrivals::Constant,
            on_off: frames.on_off.map(|on_off| OnOff { period: on_off.period, on: on_off.on() }),
        },
        len_bytes: frames.size.0 as u16,
        ecn: ethernet.congestion_management.as_ref().is_some_and(CongestionManagement::marks_frames),
        set_point: frames.set_point,
    })
}

#[cfg(test)]
mod tests {
    use forebay_qdisc::{Rate, Span};
    use forebay_units::Bytes;

    use super::*;
    use crate::load::Scenario;

    fn ethernet(keys: &str) -> Ethernet {
        let text = format!(
            r#"
            duration = "1 s"
            [topology.ethernet]
            link = {{ rate = "10 Gbps", delay = "500 ns" }}
            switches = [{{ name = "SW", nodes = ["1", "2"] }}]
            {keys}
            [[flows]]
            name = "frames"
            from = "1"
            to = "2"
            transport.frames = {{ rate = "5 Gbps" }}
            "#
        );
        let scenario = Scenario::load(&text, "service.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
        scenario.spec().topology.ethernet().cloned().unwrap_or_else(|| panic!("no Ethernet"))
    }

    fn steps(ethernet: &Ethernet, node: &str, at: ServiceAt) -> Vec<(u64, u64)> {
        let steps = service(ethernet, node, at);
        steps.iter().map(|step| (step.from.picoseconds() / 1_000_000_000, step.rate.bits_per_second())).collect()
    }

    #[test]
    fn service_is_the_links_rate_before_between_and_after() {
        let ethernet = ethernet(
            r#"service = [
                { node = "2", rate = "2 Gbps", from = "300 ms" },
                { node = "2", rate = "1 Gbps", from = "100 ms", to = "200 ms" },
                { node = "1", rate = "3 Gbps", from = "10 ms", to = "20 ms", at = "node" },
                { node = "1", rate = "4 Gbps", from = "20 ms", to = "30 ms", at = "node" },
            ]"#,
        );
        let gigabit = 1_000_000_000;
        let expected = [(100, gigabit), (200, 10 * gigabit), (300, 2 * gigabit)];
        assert_eq!(steps(&ethernet, "2", ServiceAt::Switch), expected);
        assert_eq!(steps(&ethernet, "2", ServiceAt::Node), []);
        let expected = [(10, 3 * gigabit), (20, 4 * gigabit), (30, 10 * gigabit)];
        assert_eq!(steps(&ethernet, "1", ServiceAt::Node), expected);
    }

    #[test]
    fn the_keys_of_switch_and_adapter_arrive() {
        let ethernet = ethernet(
            r#"
            switch = { pause = { high = "280 KB", low = "260 KB" }, reaction = "60 quanta", arbiter = "round_robin" }
            adapter = { voq_limit = "10 packets", priority_pause = { high = "90 KB", low = "80 KB" } }
            "#,
        );
        let of = |name: &str| Station {
            name: name.to_owned(),
            ports: vec![StationPort { out: 3, incoming: 4, faces: "2".to_owned() }],
        };
        let switch = switch(&ethernet, &of("SW"));
        let watermarks = |high, low| PauseConfig { high: Bytes(high), low: Bytes(low) };
        assert_eq!(switch.flow_control, FlowControl::Pause(watermarks(280_000, 260_000)));
        assert_eq!(switch.reaction, Span::from_nanoseconds(3072));
        assert_eq!(switch.arbiter, Arbiter::RoundRobin);
        assert_eq!(switch.memory, SharedMemoryConfig { partition: Bytes(300_000), output_limit: None });
        assert_eq!((switch.ports[0].out, switch.ports[0].incoming), (3, 4));
        let adapter = adapter(&ethernet, &of("2"));
        assert_eq!(adapter.flow_control, FlowControl::Priority(watermarks(90_000, 80_000)));
        assert_eq!((adapter.voq_limit, adapter.egress_bytes), (Some(10), 150_000));
        assert_eq!(ethernet.link.rate, Rate::megabits(10_000));
    }
}
