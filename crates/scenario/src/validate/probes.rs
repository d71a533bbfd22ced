//! Time series and traces.

use forebay_document::{Invalid, Path, did_you_mean};

use std::collections::BTreeSet;
use std::path::{Component, Path as FilePath};

use forebay_units::Span;

use super::check::{Validity, require};
use crate::applications::Application;
use crate::plan::outline::{Direction, Outline};
use crate::schema::{FlowGauges, FlowGroup, Probes, SeriesKind, Transport};

/// 800 MB of samples.
const MOST_SAMPLES: u64 = 100_000_000;
/// An IPv4 and a TCP header.
const SHORTEST_SNAPSHOT: u32 = 40;
const LONGEST_SNAPSHOT: u32 = 65_535 + 14;
/// The longest name that file systems take, in bytes.
const LONGEST_FILE_NAME: usize = 255;
/// Results, figures and tables of a run have such names.
const TAKEN_EXTENSIONS: [&str; 8] = ["csv", "html", "json", "md", "parquet", "png", "svg", "toml"];
/// With more names than this, the nearest is not searched.
const NAMES_COMPARED: usize = 10_000;

pub(super) fn validate(outline: &Outline<'_>, root: &Path) -> Validity {
    if let Some(probes) = &outline.spec.probes {
        series(probes, outline, &root.key("probes"))?;
        senders(probes, outline, &root.key("probes"))?;
        for (index, gauges) in probes.flow_gauges.iter().enumerate() {
            flow_gauges(gauges, outline, &root.key("probes.flow_gauges").index(index))?;
        }
    }
    traces(outline, &root.key("traces"))
}

fn series(probes: &Probes, outline: &Outline<'_>, path: &Path) -> Validity {
    let interval = || path.key("interval");
    require(probes.interval > Span::ZERO, interval, || "`interval` is zero".into(), "expected more than 0 s")?;
    let mut seen = Vec::new();
    for (index, kind) in probes.series.iter().enumerate() {
        let again = seen.contains(kind);
        require(!again, || path.key("series").index(index), || "given twice".into(), "the second one")?;
        seen.push(*kind);
    }
    // A rough count: a queue has about six quantities with its gauges, a flow three, a link one, a sender ten.
    let links = outline.link_count();
    let kinds = probes.series.iter().map(|kind| match kind {
        SeriesKind::Queues => 6 * links.min(1_000),
        SeriesKind::Flows => 3 * outline.flow_count(),
        SeriesKind::Links => links,
    });
    let intervals = outline.spec.duration.picoseconds() / probes.interval.picoseconds();
    let senders = probes.senders.iter().map(|name| {
        let group = outline.spec.flows.iter().find(|group| group.name == *name);
        group.map_or(1, |group| outline.count_of(group))
    });
    let samples = intervals.saturating_mul(kinds.sum::<u64>().saturating_add(10 * senders.sum::<u64>()));
    let message = || format!("about {samples} samples would be recorded");
    require(samples <= MOST_SAMPLES, interval, message, "expected a longer interval: at most 100 million samples")
}

fn flow_gauges(gauges: &FlowGauges, outline: &Outline<'_>, path: &Path) -> Validity {
    let is_queue = |direction: &Direction<'_>| direction.link_name("") == gauges.queue;
    let mut of_ethernet = outline.ways().filter(|([from, _], _)| outline.kind(*from).is_ethernet());
    if let Some(([from, _], direction)) = of_ethernet.find(|(_, direction)| is_queue(direction)) {
        let none = || "the outputs of this Ethernet keep no gauges of single flows".to_owned();
        let has_gauges = direction.spec.queue.is_some() && !outline.has_class_queues(from);
        let label = "expected none: give it a `queue`, without queues for each class, or ask for `series`";
        require(has_gauges, || path.clone(), none, label)?;
    }
    check_link(&gauges.queue, "queue", outline, &path.key("queue"))?;
    for (index, name) in gauges.flows.iter().enumerate() {
        watched_flow(name, outline, &path.key("flows").index(index))?;
    }
    Ok(())
}

/// The flow or group of that name has the same packets, and the same state, throughout the run. Returns its group,
/// unless its flows are cells or frames with names of their own.
pub(super) fn watched_flow<'a>(
    name: &str,
    outline: &Outline<'a>,
    path: &Path,
) -> Result<Option<&'a FlowGroup>, Invalid> {
    let groups = || outline.spec.flows.iter().map(|group| group.name.clone());
    drawn_flow(name, outline, path)?;
    if !groups().chain(outline.flow_names()).any(|known| known == *name) {
        let known: Vec<String> = groups().chain(outline.flow_names()).take(NAMES_COMPARED).collect();
        let invalid = Invalid::new(path.clone(), format!("there is no flow `{name}`"), "expected a flow or a group");
        return Err(invalid.with_help(did_you_mean(name, known.iter().map(String::as_str))));
    }
    let is_of = |group: &&FlowGroup| match &group.pattern {
        // The flow is known, and its group the only one that can have it.
        Some(_) => number_in(group, name).is_some(),
        None => (0..group.flows()).any(|index| group.flow_name(index) == *name),
    };
    let group = outline.spec.flows.iter().find(|group| group.name == *name || is_of(group));
    let app = group.map(|group| &group.app);
    let several = app.is_some_and(|app| app.both_ways().is_some_and(|app| app.connections() > 1));
    for (has_flows, each) in
        [(app.is_some_and(|app| matches!(app, Application::Transfers(_))), "transfers"), (several, "connections")]
    {
        let message = || format!("`{name}` is a flow for each of its {each}");
        require(!has_flows, || path.clone(), message, "expected a flow of one connection")?;
    }
    Ok(group)
}

/// The number that a flow of this name would have in the group.
fn number_in(group: &FlowGroup, name: &str) -> Option<u32> {
    let number = name.strip_prefix(group.name.as_str())?.strip_prefix('-')?.parse().ok()?;
    (group.flow_name(number) == name).then_some(number)
}

/// No single flow of a pattern can be named if their number depends on the seed: another run may not have it.
fn drawn_flow(name: &str, outline: &Outline<'_>, path: &Path) -> Validity {
    let has_drawn_number =
        |group: &&FlowGroup| outline.pattern(group).is_some_and(|(pattern, _)| pattern.has_drawn_number());
    let Some(group) = outline.spec.flows.iter().filter(has_drawn_number).find(|it| number_in(it, name).is_some())
    else {
        return Ok(());
    };
    let message = format!("the number of flows of `{}` depends on the seed", group.name);
    Err(Invalid::new(path.clone(), message, "expected the group: another run may not have this flow"))
}

fn senders(probes: &Probes, outline: &Outline<'_>, path: &Path) -> Validity {
    for (index, name) in probes.senders.iter().enumerate() {
        let at = || path.key("senders").index(index);
        let group = watched_flow(name, outline, &at())?;
        let is_tcp = group.is_some_and(|group| matches!(group.transport, Transport::Tcp(_)));
        require(is_tcp, at, || format!("`{name}` has no window and no state"), "expected a TCP flow")?;
    }
    Ok(())
}

fn check_link(name: &str, what: &str, outline: &Outline<'_>, path: &Path) -> Validity {
    if outline.link_names().any(|known| known == name) {
        return Ok(());
    }
    let known: Vec<String> = outline.link_names().take(NAMES_COMPARED).collect();
    let help = did_you_mean(name, known.iter().map(String::as_str)).unwrap_or_else(|| {
        let first: Vec<&str> = known.iter().take(6).map(String::as_str).collect();
        let more = if outline.link_count() > 6 { ", …" } else { "" };
        format!("links here: {}{more}", first.join(", "))
    });
    Err(Invalid::new(path.clone(), format!("there is no {what} `{name}`"), "expected the name of a link")
        .with_help(help))
}

fn traces(outline: &Outline<'_>, path: &Path) -> Validity {
    let (mut links, mut files) = (BTreeSet::new(), BTreeSet::new());
    for (index, trace) in outline.spec.traces.iter().enumerate() {
        let at = path.index(index);
        check_link(&trace.link, "link", outline, &at.key("link"))?;
        let again = || format!("two traces of `{}`", trace.link);
        require(links.insert(&trace.link), || at.key("link"), again, "one is enough")?;
        let name = trace.file_name();
        let mut components = FilePath::new(&name).components();
        let plain = matches!((components.next(), components.next()), (Some(Component::Normal(_)), None));
        let bad = || format!("`{name}` is not a plain file name");
        require(
            plain && !name.contains(['/', '\\']),
            || at.key("file"),
            bad,
            "expected a name without folders: it goes into --out",
        )?;
        let long = || format!("a name of {} bytes is too long for a file", name.len());
        require(name.len() <= LONGEST_FILE_NAME, || at.key("file"), long, "expected at most 255 bytes")?;
        let extension = FilePath::new(&name).extension().and_then(|extension| extension.to_str());
        let taken = extension.is_some_and(|extension| TAKEN_EXTENSIONS.contains(&&*extension.to_ascii_lowercase()));
        let message = || format!("`{name}` could be the name of a result in the same folder");
        require(!taken, || at.key("file"), message, "expected another extension, such as `.pcapng`")?;
        require(
            files.insert(name.clone()),
            || at.key("file"),
            || format!("two traces go into `{name}`"),
            "the second one",
        )?;
        let holds = (SHORTEST_SNAPSHOT..=LONGEST_SNAPSHOT).contains(&trace.snaplen);
        let message = || format!("`snaplen` is {}", trace.snaplen);
        require(holds, || at.key("snaplen"), message, "expected 40, which holds the headers, to 65549")?;
    }
    Ok(())
}
