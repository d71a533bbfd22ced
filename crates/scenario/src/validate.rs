//! Errors that the types alone cannot detect: values out of bounds, and values that do not go together.
//!
//! Each check names the path of the value that it refuses, from which its place in the text is found.

mod buffers;
pub(crate) mod check;
pub(crate) mod clos;
mod congestion;
pub(crate) mod ethernet;
mod flows;
mod frames;
pub(crate) mod graph;
pub(crate) mod headroom;
pub(crate) mod home;
mod links;
mod paths;
mod patterns;
mod probes;
mod reach;
pub(crate) mod switch;

use forebay_document::Path;
use forebay_units::Span;

use crate::plan::outline::Outline;
use crate::schema::ScenarioSpec;
use check::{LONGEST_RUN, Validity, check_name};
pub(crate) use check::{out_of_bounds, require};

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
    let at = root.key("topology").key(spec.topology.name());
    spec.topology.builder().check(spec, &at)?;
    let outline = Outline::new(spec);
    if let Some(ethernet) = &outline.ethernet {
        congestion::schemes(&outline, ethernet)?;
        congestion::disciplines(&outline, ethernet)?;
        buffers::classes_of_flows(spec, &root.key("flows"))?;
    }
    flows::validate(&outline, &root.key("flows"))?;
    if let Some(ethernet) = &outline.ethernet {
        buffers::memory(&outline, ethernet)?;
        congestion::paths(&outline, ethernet)?;
        congestion::control_frames(&outline, ethernet)?;
        congestion::tags(&outline, ethernet)?;
    }
    links::validate(&outline)?;
    paths::validate(&outline)?;
    probes::validate(&outline, &root)
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
