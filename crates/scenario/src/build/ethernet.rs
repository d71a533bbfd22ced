//! Switches, adapters and frames of an Ethernet.

use forebay_engine::{
    AdapterSpec, Arbiter, EthernetSwitchSpec, FlowControl, FrameArrivals, OnOff, RunError, Transport, WatchdogSpec,
};
use forebay_switching::SharedMemoryConfig;
use forebay_switching::congestion::CongestionManagement;

use crate::plan::{EthernetPlan, FramesOfGenerator, PlannedAdapter, PlannedFlow, PlannedSwitch, Source};
use crate::schema::{self, Frames, Pause, Watchdog, WatchdogAction};

pub(super) fn switch(planned: &PlannedSwitch<'_>) -> EthernetSwitchSpec {
    let PlannedSwitch { spec, congestion_management, line_rate, .. } = *planned;
    EthernetSwitchSpec {
        memory: SharedMemoryConfig { share: spec.memory, policy: spec.buffer },
        flow_control: flow_control(spec.pause, spec.priority_pause),
        watchdog: spec.watchdog.map(watchdog),
        // Validation refuses quanta where links differ in rate.
        reaction: spec.reaction.on(line_rate),
        arbiter: match spec.arbiter {
            schema::Arbiter::Fifo => Arbiter::Fifo,
            schema::Arbiter::RoundRobin => Arbiter::RoundRobin,
        },
        strict_priority: spec.strict_priority,
        forwarding_delay: spec.forwarding_delay,
        congestion: congestion_management.cloned(),
    }
}

pub(super) fn adapter(planned: &PlannedAdapter<'_>) -> AdapterSpec {
    let PlannedAdapter { spec, congestion_management, line_rate, ref service } = *planned;
    AdapterSpec {
        voq_limit: super::packets(spec.voq_limit),
        rate_limiters: spec.rate_limiters,
        egress_bytes: spec.egress_memory.0,
        flow_control: flow_control(spec.pause, spec.priority_pause),
        reaction: spec.reaction.on(line_rate),
        service: super::links::period_steps(line_rate, service),
        congestion: congestion_management.cloned(),
    }
}

fn flow_control(pause: Option<Pause>, priority_pause: Option<Pause>) -> FlowControl {
    // Validation refuses both, and neither watermarks nor a policy that decides.
    match (pause, priority_pause) {
        (Some(pause), _) => pause.watermarks().map_or(FlowControl::OfBuffer { by_class: false }, FlowControl::Pause),
        (None, Some(pause)) => {
            pause.watermarks().map_or(FlowControl::OfBuffer { by_class: true }, FlowControl::Priority)
        }
        (None, None) => FlowControl::None,
    }
}

fn watchdog(watchdog: Watchdog) -> WatchdogSpec {
    let Watchdog { detection, restoration, action, .. } = watchdog;
    WatchdogSpec { poll: watchdog.poll(), detection, restoration, drops: action == WatchdogAction::Drop }
}

/// The part that carries the frames of `planned`.
pub(super) fn frames_transport(
    frames: &Frames,
    planned: &PlannedFlow,
    ethernet: Option<&EthernetPlan<'_>>,
) -> Result<Transport, RunError> {
    let Source::Frames(FramesOfGenerator { generator, share, link, .. }) = &planned.supply else {
        return Err(RunError::Invariant(format!("`{}`: frames without a generator", planned.name)));
    };
    let congestion_management = ethernet.and_then(|ethernet| ethernet.congestion_management);
    Ok(Transport::Frames {
        generator: *generator,
        share: *share,
        arrivals: FrameArrivals {
            load: frames.load(*link),
            constant: frames.arrivals == schema::Arrivals::Constant,
            on_off: frames.on_off.map(|on_off| OnOff { period: on_off.period, on: on_off.on() }),
        },
        len_bytes: frames.size.0 as u16,
        ecn: congestion_management.is_some_and(CongestionManagement::marks_frames),
        set_point: frames.set_point,
    })
}

#[cfg(test)]
mod tests {
    use forebay_qdisc::{Rate, Span};
    use forebay_switching::{BufferPolicyConfig, PauseConfig};
    use forebay_units::Bytes;

    use super::*;
    use crate::build::links::period_steps;
    use crate::load::Scenario;
    use crate::plan::{Plan, PlannedKind};
    use crate::schema::ServicePeriod;

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

    fn kind<'s>(plan: &'s Plan<'_>, node: &str) -> &'s PlannedKind<'s> {
        let of_node = plan.nodes.iter().find(|planned| planned.name == node);
        of_node.map_or_else(|| panic!("no node {node}"), |planned| &planned.kind)
    }

    fn adapter_of<'s>(plan: &'s Plan<'_>, node: &str) -> &'s PlannedAdapter<'s> {
        if let PlannedKind::Adapter(adapter) = kind(plan, node) { adapter } else { panic!("no adapter of {node}") }
    }

    fn steps(periods: &[ServicePeriod]) -> Vec<(u64, u64)> {
        let steps = period_steps(Rate::megabits(10_000), periods);
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
        let plan = Plan::new(scenario.spec(), 1);
        let of_link = |name: &str| {
            let link = plan.links.iter().find(|link| link.name == name);
            link.map_or_else(Vec::new, |link| steps(&plan.spec(link).service))
        };
        let gigabit = 1_000_000_000;
        assert_eq!(of_link("SW->2"), [(100, gigabit), (200, 10 * gigabit), (300, 2 * gigabit)]);
        assert_eq!([of_link("2->SW"), of_link("1->SW"), of_link("SW->1")], [[], [], []]);
        assert_eq!(steps(&adapter_of(&plan, "2").service), []);
        let expected = [(10, 3 * gigabit), (20, 0), (30, 10 * gigabit)];
        assert_eq!(steps(&adapter_of(&plan, "1").service), expected);
    }

    #[test]
    fn the_keys_of_switch_and_adapter_arrive() {
        let scenario = scenario(
            r#"
            switch = { pause = { high = "280 KB", low = "260 KB" }, reaction = "60 quanta", arbiter = "round_robin" }
            adapter = { voq_limit = "10 packets", priority_pause = { high = "90 KB", low = "80 KB" } }
            "#,
        );
        let plan = Plan::new(scenario.spec(), 1);
        let planned = kind(&plan, "SW").ethernet_switch().unwrap_or_else(|| panic!("no switch"));
        let switch = switch(planned);
        let watermarks = |high, low| PauseConfig { high: Bytes(high), low: Bytes(low) };
        assert_eq!(switch.flow_control, FlowControl::Pause(watermarks(280_000, 260_000)));
        assert_eq!(switch.reaction, Span::from_nanoseconds(3072));
        assert_eq!(switch.arbiter, Arbiter::RoundRobin);
        assert_eq!(switch.memory, SharedMemoryConfig { share: Bytes(300_000), policy: BufferPolicyConfig::default() });
        let adapter = adapter(adapter_of(&plan, "2"));
        assert_eq!(adapter.flow_control, FlowControl::Priority(watermarks(90_000, 80_000)));
        assert_eq!((adapter.voq_limit, adapter.egress_bytes), (Some(10), 150_000));
        assert_eq!(adapter_of(&plan, "2").line_rate, Rate::megabits(10_000));
    }
}
