//! Switches: their ports, their fabric, and the load that is put on them.

use forebay_document::{Invalid, Path};
use forebay_switching::{LoadError, LoadPattern, MAX_PORTS, SchedulerConfig, Speedup};
use forebay_units::{Bytes, QueueSize};

use super::check::{Validity, require};
use crate::plan::outline::Outline;
use crate::schema::{Cells, Cioq, Fabric, FlowGroup, InputQueued, ScenarioSpec, SwitchTopology, Transport};

/// Checks the topology around one switch, but for its links.
pub(crate) fn validate(switch: &SwitchTopology, spec: &ScenarioSpec, path: &Path) -> Validity {
    let ports = switch.ports as usize;
    require(
        (2..=MAX_PORTS).contains(&ports),
        || path.key("ports"),
        || format!("a switch of {ports} ports"),
        "expected 2 to 64",
    )?;
    let at = path.key("fabric");
    match &switch.fabric {
        Fabric::OutputQueued => {}
        Fabric::Cioq(cioq) => self::cioq(cioq, ports, spec, &at.key("cioq"))?,
        Fabric::InputQueued(fifos) => input_queued(fifos, ports, spec, &at.key("input_queued"))?,
    }
    load(switch, spec, &path.key("load"))?;
    spec.flows.iter().try_for_each(|group| access(group, switch, path))
}

/// The sum of the loads of all groups of cells, by which the load matrix is multiplied. Without cells the matrix is
/// taken as it is.
fn load_of_cells(spec: &ScenarioSpec) -> f64 {
    let loads = spec.flows.iter().filter_map(|group| match &group.transport {
        // Another check refuses loads that are none.
        Transport::Cells(cells) => Some(cells.load).filter(|load| (0.0..=1.0).contains(load)),
        _ => None,
    });
    loads.reduce(|sum, load| sum + load).unwrap_or(1.0)
}

/// Checks the load: that it is one for this many ports, and that no line is asked for more than it carries.
fn load(switch: &SwitchTopology, spec: &ScenarioSpec, path: &Path) -> Validity {
    let refused = |error: LoadError| {
        let matrix = || path.key("matrix");
        let row = |input: usize| {
            if matches!(switch.load, LoadPattern::Matrix(_)) { matrix().index(input) } else { path.clone() }
        };
        let (at, label) = match error {
            LoadError::Ports { .. } | LoadError::OutputOverload { .. } => (path.clone(), "more than its line carries"),
            LoadError::HotSpot { .. } => (path.key("hot_spot"), "expected an existing output and a fraction"),
            LoadError::Rows { .. } => (matrix(), "expected a row for each input"),
            LoadError::Columns { input, .. } => (row(input), "expected a number for each output"),
            LoadError::NotALoad { input, output } => (row(input).index(output), "expected 0 or more"),
            LoadError::InputOverload { input, .. } => (row(input), "more than its line carries"),
        };
        let overload = matches!(error, LoadError::InputOverload { .. } | LoadError::OutputOverload { .. });
        let help = "lower `load`, or accept it with `allow_overload = true` in `topology.switch`";
        Invalid::new(at, error.to_string(), label).with_help(overload.then(|| help.to_owned()))
    };
    let matrix = switch.load_matrix().map_err(refused)?;
    let ports = switch.ports as usize;
    let any = (0..ports).any(|input| matrix.input_load(input) > 0.0);
    require(any, || path.clone(), || "a load of nothing but zeros".into(), "expected some traffic")?;
    if switch.allow_overload {
        return Ok(());
    }
    let offered = switch.load.matrix(ports, load_of_cells(spec)).map_err(refused)?;
    offered.check_admissible().map_err(refused)
}

/// Checks a crossbar of `ports` ports.
pub(super) fn cioq(cioq: &Cioq, ports: usize, spec: &ScenarioSpec, path: &Path) -> Validity {
    scheduler(&cioq.scheduler, ports, &path.key("scheduler"))?;
    speedup(cioq.speedup, ports, &path.key("speedup"))?;
    limit(cioq.voq_limit, &path.key("voq_limit"))?;
    cell(cioq.cell, spec, &path.key("cell"))
}

/// Checks FIFO queues at `ports` inputs.
pub(super) fn input_queued(fifos: &InputQueued, ports: usize, spec: &ScenarioSpec, path: &Path) -> Validity {
    speedup(fifos.speedup, ports, &path.key("speedup"))?;
    limit(fifos.limit, &path.key("limit"))?;
    cell(fifos.cell, spec, &path.key("cell"))
}

fn scheduler(config: &SchedulerConfig, ports: usize, path: &Path) -> Validity {
    config.build(ports).map(drop).map_err(|error| {
        let path = path.key(config.name()).key(error.field);
        let message = format!("{}: `{}` must {}", config.name(), error.field, error.bound);
        Invalid::new(path, message, format!("must {}", error.bound))
    })
}

fn speedup(speedup: Speedup, ports: usize, path: &Path) -> Validity {
    require(
        speedup.check(ports).is_ok(),
        || path.clone(),
        || format!("a speedup of {speedup} for {ports} ports"),
        "expected at most the number of ports: a switch cannot use more",
    )
}

fn limit(limit: Option<QueueSize>, path: &Path) -> Validity {
    let at = || path.clone();
    match limit {
        Some(QueueSize::Packets(0)) => require(false, at, || "a queue of 0 packets".into(), "expected at least 1"),
        Some(QueueSize::Bytes(_)) => {
            let message = || format!("`{}` in bytes", path.name());
            require(false, at, message, "expected a number of packets: in a phase whole packets cross")
        }
        Some(QueueSize::Packets(_)) | None => Ok(()),
    }
}

/// A packet that takes longer on the line than a slot would cross faster than any line can send.
fn cell(cell: Option<Bytes>, spec: &ScenarioSpec, path: &Path) -> Validity {
    let Some(cell) = cell else { return Ok(()) };
    let largest = spec.largest_packet();
    let message = || format!("`cell` is {cell}, but there are packets of {largest} B");
    require(cell.0 >= largest && cell.0 > 0, || path.clone(), message, "expected the length of the largest packet")?;
    let most = || format!("`cell` is {cell}");
    require(cell.0 <= u64::from(u16::MAX), || path.clone(), most, "expected at most 65535 B")
}

/// Checks cells, which go with no topology but a switch.
pub(super) fn cells(group: &FlowGroup, cells: &Cells, outline: &Outline<'_>, at: &Path) -> Validity {
    let path = at.key("transport.cells");
    let before_a_switch = || "cells need a switch".to_owned();
    require(outline.cells.is_some(), || path.clone(), before_a_switch, "expected `topology.switch`")?;
    for (key, given) in [
        ("count", group.count.is_some()),
        ("access", group.access.is_some()),
        ("stagger", group.stagger.picoseconds() > 0),
        ("app", !matches!(group.app, crate::applications::Application::Unlimited)),
        ("ecn", group.ecn.is_capable()),
    ] {
        let message = || format!("`{key}` is not for cells");
        require(!given, || at.key(key), message, "there is one source at each input, sending by `load`")?;
    }
    super::flows::check_packet(cells.size, &path.key("size"))?;
    let load = path.key("load");
    require(cells.load > 0.0, || load.clone(), || format!("`load` is {}", cells.load), "expected more than 0")?;
    super::check::check_fraction(cells.load, false, &load)?;
    if let Some(burst) = cells.burst_cells {
        let holds = (1.0..=1e9).contains(&burst);
        require(holds, || path.key("burst_cells"), || format!("`burst_cells` is {burst}"), "expected 1 or more")?;
    }
    Ok(())
}

/// Every flow but cells needs an access link.
fn access(group: &FlowGroup, switch: &SwitchTopology, path: &Path) -> Validity {
    let needs = !matches!(group.transport, Transport::Cells(_)) && group.access.is_none();
    let message = || format!("`{}` has no access link", group.name);
    require(!needs || switch.access.is_some(), || path.clone(), message, "expected the key `access`")
}
