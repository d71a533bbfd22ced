//! Switches, adapters and frames of an Ethernet.

use forebay_engine::{
    AdapterSpec, Arbiter, EthernetSwitchSpec, FlowControl, FrameArrivals, OnOff, RunError, ServiceStep, Transport,
};
use forebay_qdisc::Span;
use forebay_switching::congestion::CongestionManagement;
use forebay_switching::{PauseConfig, SharedMemoryConfig};

use crate::lan::Lan;
use crate::plan::{FramesOfGenerator, PlannedFlow, Source};
use crate::schema::{self, Frames, Pause, Reaction, ServiceAt, SharedMemorySwitch};

pub(super) fn switch(lan: &Lan<'_>, spec: &SharedMemorySwitch, name: &str) -> EthernetSwitchSpec {
    EthernetSwitchSpec {
        memory: SharedMemoryConfig { share: spec.memory, policy: spec.buffer },
        flow_control: flow_control(spec.pause, spec.priority_pause),
        reaction: reaction(lan, spec.reaction, name),
        arbiter: match spec.arbiter {
            schema::Arbiter::Fifo => Arbiter::Fifo,
            schema::Arbiter::RoundRobin => Arbiter::RoundRobin,
        },
        strict_priority: spec.strict_priority,
        forwarding_delay: spec.forwarding_delay,
        congestion: lan.congestion_management.cloned(),
    }
}

/// The time in which a station obeys an order to stop. Validation refuses quanta where its links differ in rate.
fn reaction(lan: &Lan<'_>, reaction: Reaction, station: &str) -> Span {
    lan.rate_of(station).map_or(Span::ZERO, |rate| reaction.on(rate))
}

/// The adapter of a node.
pub(super) fn adapter(lan: &Lan<'_>, name: &str) -> AdapterSpec {
    let spec = lan.adapter;
    AdapterSpec {
        voq_limit: super::packets(spec.voq_limit),
        rate_limiters: spec.rate_limiters,
        egress_bytes: spec.egress_memory.0,
        flow_control: flow_control(spec.pause, spec.priority_pause),
        reaction: reaction(lan, spec.reaction, name),
        service: service(lan, name),
        congestion: lan.congestion_management.cloned(),
    }
}

/// The changes of the rate at which a node takes frames.
fn service(lan: &Lan<'_>, node: &str) -> Vec<ServiceStep> {
    let rate = lan.rate_of(node);
    rate.map_or_else(Vec::new, |rate| super::service_steps(rate, lan.service_of(node, ServiceAt::Node)))
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

/// The part that carries the frames of `planned`.
pub(super) fn frames_transport(
    frames: &Frames,
    planned: &PlannedFlow,
    lan: Option<&Lan<'_>>,
) -> Result<Transport, RunError> {
    let (Source::Frames(FramesOfGenerator { generator, share, link, .. }), Some(lan)) = (&planned.supply, lan) else {
        return Err(RunError::Invariant(format!("`{}`: frames without a generator", planned.name)));
    };
    Ok(Transport::Frames {
        generator: *generator,
        share: *share,
        arrivals: FrameArrivals {
            load: frames.load(*link),
            constant: frames.arrivals == schema::Arrivals::Constant,
            on_off: frames.on_off.map(|on_off| OnOff { period: on_off.period, on: on_off.on() }),
        },
        len_bytes: frames.size.0 as u16,
        ecn: lan.congestion_management.is_some_and(CongestionManagement::marks_frames),
        set_point: frames.set_point,
    })
}

#[cfg(test)]
mod tests {
    use forebay_qdisc::{Rate, Span};
    use forebay_switching::BufferPolicyConfig;
    use forebay_units::Bytes;

    use super::*;
    use crate::build::service_steps;
    use crate::load::Scenario;
    use crate::plan::outline::Outline;

    fn scenario(keys: &str) -> Scenario {
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
        Scenario::load(&text, "service.toml", &[]).unwrap_or_else(|error| panic!("{error}"))
    }

    fn lan(scenario: &Scenario) -> Lan<'_> {
        Outline::new(scenario.spec()).lan.unwrap_or_else(|| panic!("no Ethernet"))
    }

    fn steps(lan: &Lan<'_>, node: &str, at: ServiceAt) -> Vec<(u64, u64)> {
        let steps = service_steps(Rate::megabits(10_000), lan.service_of(node, at));
        steps
            .iter()
            .map(|step| (step.from.picoseconds() / 1_000_000_000, step.rate.map_or(0, Rate::bits_per_second)))
            .collect()
    }

    #[test]
    fn service_is_the_links_rate_before_between_and_after() {
        let scenario = scenario(
            r#"service = [
                { node = "2", rate = "2 Gbps", from = "300 ms" },
                { node = "2", rate = "1 Gbps", from = "100 ms", to = "200 ms" },
                { node = "1", rate = "3 Gbps", from = "10 ms", to = "20 ms", at = "node" },
                { node = "1", rate = "0 bps", from = "20 ms", to = "30 ms", at = "node" },
            ]"#,
        );
        let gigabit = 1_000_000_000;
        let expected = [(100, gigabit), (200, 10 * gigabit), (300, 2 * gigabit)];
        assert_eq!(steps(&lan(&scenario), "2", ServiceAt::Switch), expected);
        assert_eq!(steps(&lan(&scenario), "2", ServiceAt::Node), []);
        let expected = [(10, 3 * gigabit), (20, 0), (30, 10 * gigabit)];
        assert_eq!(steps(&lan(&scenario), "1", ServiceAt::Node), expected);
    }

    #[test]
    fn the_keys_of_switch_and_adapter_arrive() {
        let scenario = scenario(
            r#"
            switch = { pause = { high = "280 KB", low = "260 KB" }, reaction = "60 quanta", arbiter = "round_robin" }
            adapter = { voq_limit = "10 packets", priority_pause = { high = "90 KB", low = "80 KB" } }
            "#,
        );
        let lan = lan(&scenario);
        let switch = switch(&lan, lan.switches[0].spec, "SW");
        let watermarks = |high, low| PauseConfig { high: Bytes(high), low: Bytes(low) };
        assert_eq!(switch.flow_control, FlowControl::Pause(watermarks(280_000, 260_000)));
        assert_eq!(switch.reaction, Span::from_nanoseconds(3072));
        assert_eq!(switch.arbiter, Arbiter::RoundRobin);
        assert_eq!(switch.memory, SharedMemoryConfig { share: Bytes(300_000), policy: BufferPolicyConfig::default() });
        let adapter = adapter(&lan, "2");
        assert_eq!(adapter.flow_control, FlowControl::Priority(watermarks(90_000, 80_000)));
        assert_eq!((adapter.voq_limit, adapter.egress_bytes), (Some(10), 150_000));
        assert_eq!(lan.rate_of("2"), Some(Rate::megabits(10_000)));
    }
}
