//! The memory of events that are recorded one by one: each log is bounded by its largest number of events, and by what
//! may happen in its window.

use forebay_switching::SHORTEST_FRAME;
use forebay_units::Rate;

use crate::plan::PlannedKind;
use crate::plan::outline::Outline;
use crate::schema::Pause;
use crate::watch::WatchSpec;

/// An event of a packet, in a log that is cut when it has twice as many as it keeps, and in results.
const PACKET_EVENT: f64 = 110.0;
/// A change of a link that PAUSE stops, likewise.
const PAUSE_EVENT: f64 = 80.0;
/// A number in the log of a crossbar, in vectors that double as they grow.
const CROSSBAR_NUMBER: f64 = 4.0;

/// How many events of packets, numbers of crossbars and changes by PAUSE there are at most, and the bytes of each.
pub(super) fn recorded(outline: &Outline<'_>, watch: &WatchSpec) -> [(&'static str, f64, f64); 3] {
    let most = watch.most as f64;
    let numbers = outline.crossbars.iter().map(|crossbar| {
        let ports = crossbar.ports as f64;
        // A time, matched outputs, and lengths.
        (most / ports).floor() * (4.0 + ports + ports * ports)
    });
    let window_s = watch.to.saturating_sub(watch.from).seconds();
    let pauses = outline.ways().filter_map(|([_, to], direction)| {
        let (pause, classes) = pause(outline.kind(to))?;
        Some((2.0 * classes * (1.0 + window_s * pauses_per_s(pause, direction.spec.rate))).min(most))
    });
    [
        ("recorded events of packets", watch.links.len() as f64 * most, PACKET_EVENT),
        ("recorded numbers of crossbars", numbers.sum(), CROSSBAR_NUMBER),
        ("recorded changes by PAUSE", pauses.sum(), PAUSE_EVENT),
    ]
}

/// The watermarks at which a node stops the links that lead to it, and for how many classes each.
fn pause<'s>(node: &PlannedKind<'s>) -> Option<(&'s Pause, f64)> {
    let (all, by_class) = match node {
        PlannedKind::EthernetSwitch(switch) => (&switch.spec.pause, &switch.spec.priority_pause),
        PlannedKind::Adapter(adapter) => (&adapter.spec.pause, &adapter.spec.priority_pause),
        _ => return None,
    };
    all.as_ref().map(|pause| (pause, 1.0)).or(by_class.as_ref().map(|pause| (pause, 8.0)))
}

/// How often a link of this `rate` can be stopped: between two times it fills what is between the watermarks.
fn pauses_per_s(pause: &Pause, rate: Rate) -> f64 {
    // A buffer policy may decide differently after each frame.
    let bytes = pause.watermarks().map_or(SHORTEST_FRAME.0, |pause| pause.high.0.saturating_sub(pause.low.0).max(1));
    rate.bits_per_second() as f64 / (8.0 * bytes as f64)
}
