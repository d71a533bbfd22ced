//! Errors that the types alone cannot detect: values out of bounds, and values that do not go together.
//!
//! Each check names the path of the value that it refuses, from which its place in the text is found.

mod check;
mod ethernet;
mod flows;
mod frames;
mod graph;
mod lan;
mod links;
mod probes;
mod switch;

use forebay_document::Path;
use forebay_units::Span;

use crate::schema::{ScenarioSpec, Topology};
pub(crate) use check::out_of_bounds;
use check::{LONGEST_RUN, Validity, check_name, require};

/// Checks everything about `spec` that its types do not.
pub(crate) fn validate(spec: &ScenarioSpec) -> Validity {
    let root = Path::default();
    times(spec, &root)?;
    if let Some(jitter) = &spec.host_jitter {
        flows::processing_time(jitter, &root.key("host_jitter"))?;
    }
    if let Some(name) = &spec.name {
        check_name(name, &root.key("name"))?;
    }
    if let Topology::Graph(graph) = &spec.topology {
        graph::validate(graph, &root.key("topology.graph"))?;
        graph::ethernet(graph, &root.key("topology.graph"))?;
    }
    if let Topology::Switch(switch) = &spec.topology {
        switch::validate(switch, spec, &root.key("topology.switch"))?;
    }
    let lan = spec.topology.lan();
    if let (Topology::Ethernet(ethernet), Some(lan)) = (&spec.topology, &lan) {
        ethernet::validate(ethernet, lan, &root.key("topology.ethernet"))?;
    }
    let at = root.key(if spec.topology.ethernet().is_some() { "topology.ethernet" } else { "topology.graph" });
    if let Some(lan) = &lan {
        lan::schemes(lan, &at)?;
        lan::disciplines(lan, &at)?;
        lan::classes_of_flows(spec, &root.key("flows"))?;
    }
    flows::validate(spec, &root.key("flows"))?;
    if let Some(lan) = &lan {
        lan::memory(lan, spec, &at)?;
        lan::control_frames(lan, spec, &at)?;
        lan::tags(lan, spec, &at)?;
    }
    if let Topology::Graph(graph) = &spec.topology {
        graph::switches(graph, spec, &root.key("topology.graph.nodes"))?;
    }
    links::validate(spec, &root.key("topology"))?;
    probes::validate(spec, &root)
}

fn times(spec: &ScenarioSpec, root: &Path) -> Validity {
    let duration = || root.key("duration");
    require(spec.duration > Span::ZERO, duration, || "`duration` is zero".into(), "expected more than 0 s")?;
    require(spec.duration <= LONGEST_RUN, duration, || "`duration` is too long".into(), "expected at most 100 days")?;
    require(
        spec.warmup < spec.duration,
        || root.key("warmup"),
        || format!("`warmup` does not end before the run, which lasts {}", spec.duration),
        "expected less than `duration`",
    )
}
